//! The judgement of the cases of a corpus.
use fugato_testkit::corpus::{CaseOutcome, CorpusCase};
use serde_json::{Map, Value, json};

fn case(fields: &Value) -> CorpusCase<Map<String, Value>> {
    let case = json!({ "id": "one-en", "turns": ["hello"] });
    let all = [&case, fields].into_iter().filter_map(Value::as_object);
    let all: Map<String, Value> = all
        .flatten()
        .map(|(key, it)| (key.clone(), it.clone()))
        .collect();
    serde_json::from_value(all.into()).expect("a case")
}

#[test]
fn a_case_is_judged_by_what_is_read_and_by_its_card() {
    let card = json!({ "side": "Buy", "quantity": "0.10", "text": "a\n" });
    let outcome = CaseOutcome {
        reply: "There is no such file.".to_owned(),
        last: "There is no such file. It costs 12,500 euros, a, b.".to_owned(),
        read: "earlier 好的".to_owned(),
        data: "这些都好的".to_owned(),
        card: Some(("place_order".to_owned(), card)),
        excusable: vec!["it is not due".to_owned()],
        faults: vec![],
    };
    let faults = |fields: Value| case(&fields).faults(&["no such".to_owned()], &outcome);
    let chinese = CaseOutcome {
        data: String::new(),
        ..outcome.clone()
    };
    let foreign = case(&json!({})).faults(&[], &chinese);
    assert_eq!(
        foreign,
        ["it says \"好的\", which is not in en", "it is not due"]
    );
    let excused = ["it is not due"];
    for right in [
        json!({ "honest": true }),
        json!({ "card": "place_order", "has": { "side": "buy", "quantity": 0.1 } }),
        json!({ "is": { "text": "a" }, "hasnt": { "side": "sell" } }),
        json!({ "says": ["12500", "a, b"], "says_any": [["none", "FILE"]] }),
    ] {
        assert_eq!(faults(right.clone()), excused, "{right}");
    }
    assert_eq!(faults(json!({ "or_honest": true, "says": ["x"] })), [""; 0]);
    assert_eq!(
        faults(json!({
            "card": "", "has": { "quantity": 0.2 }, "hasnt": { "side": "b" },
            "says": ["x"], "says_any": [["y", "z"]], "never": ["EARLIER"],
        })),
        [
            "it says \"EARLIER\"",
            "it is not due",
            "the card is \"place_order\" and not \"\"",
            "quantity is \"0.10\", 0.2",
            "side is \"Buy\", \"b\"",
            "nothing says \"x\"",
            "nothing says any of [\"y\", \"z\"]",
        ]
    );
}
