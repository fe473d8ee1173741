use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(text: &str) -> Value {
    Value::Object(
        extract(text)
            .unwrap_or_else(|why| panic!("{why}: {text}"))
            .object,
    )
}

fn repairs(text: &str) -> Vec<Repair> {
    extract(text).unwrap().repairs.into_iter().collect()
}

#[test]
fn sch_59_the_first_balanced_object_is_taken_whatever_stands_around_it() {
    let object = json!({ "a": { "b": "}{\\\"" } });
    let json = object.to_string();
    for text in [
        json.clone(),
        format!("```json\n{json}\n```"),
        format!("```\n{json}```\n\n\n"),
        format!("Of course {{friend}}, here it is: {json} And {{\"another\": 1}}."),
        format!("<think>perhaps {{\"a\": 1}}?</think>\n{json}"),
        format!("\u{feff} {json}"),
    ] {
        assert_eq!(
            extract(&text).map(|found| (Value::Object(found.object), found.repairs)),
            Ok((object.clone(), BTreeSet::new())),
            "{text}"
        );
    }
}

#[test]
fn sch_59_a_list_is_not_an_object() {
    for text in [
        "[{\"a\": 1}]",
        "```json\n[\n{\"a\": 1}]\n```",
        "[\"a\"]",
        "[[{\"a\":1}]]",
    ] {
        assert_eq!(extract(text), Err(NoObject::Array), "{text}");
    }
}

#[test]
fn small_repairs_are_made_and_named() {
    use Repair::*;
    for (text, expected, repaired) in [
        (
            "{\"a\": [1, 2,], }",
            json!({ "a": [1, 2] }),
            vec![TrailingComma],
        ),
        (
            "{a: 1, b-c: {d: 2}}",
            json!({ "a": 1, "b-c": { "d": 2 } }),
            vec![UnquotedKey],
        ),
        (
            "{\"a\": {\"b\": [1]",
            json!({ "a": { "b": [1] } }),
            vec![MissingBracket],
        ),
        (
            "```json\n{\"a\": 1\n```",
            json!({ "a": 1 }),
            vec![MissingBracket],
        ),
        (
            "{\"a\": 1\n \"b\": 2}",
            json!({ "a": 1, "b": 2 }),
            vec![MissingComma],
        ),
        (
            "{'a': 'it''s don't'}",
            json!({ "a": "it''s don't" }),
            vec![OtherQuotes],
        ),
        (
            "{\"a\": True, \"b\": None}",
            json!({ "a": true, "b": null }),
            vec![OtherLiteral],
        ),
        ("{\"a\": move}", json!({ "a": "move" }), vec![UnquotedValue]),
        (
            "{\"a\": 1, // why\n \"b\": 2 /* done */}",
            json!({ "a": 1, "b": 2 }),
            vec![Comment],
        ),
        (
            "{“动作”：“移动”，“天”：3}",
            json!({ "动作": "移动", "天": 3 }),
            vec![OtherQuotes, OtherPunctuation],
        ),
        (
            "{\"a\": \"x\ny\"}",
            json!({ "a": "x\ny" }),
            vec![LooseString],
        ),
        (
            r#"{"a": "\d \' \u00e9 \ud83d\ude00"}"#,
            json!({ "a": "\\d ' é 😀" }),
            vec![LooseString],
        ),
    ] {
        assert_eq!((read(text), repairs(text)), (expected, repaired), "{text}");
    }
}

#[test]
fn what_could_be_meant_in_two_ways_is_refused() {
    for text in [
        "{\"a\": \"cut in a wo",
        "{\"day\": 1",
        "{\"a\": 1,",
        "{\"a\":",
        "{\"a\": tr",
        "{",
    ] {
        assert_eq!(extract(text), Err(NoObject::Truncated), "{text}");
    }
    for (text, near, expected) in [
        ("{\"id\": 1, \"id\": 2}", "\"id\": 2}", "each key once"),
        ("{\"a\": {\"b\": 1} or null}", "or null}", "`,` or `}`"),
        ("{\"a\": ...}", "...}", "a value"),
        ("{\"a\": 01}", "01}", "a number"),
        ("{\"a\": [1}", "}", "`,` or `]`"),
        ("{\"a\": undefined}", "undefined}", "a value"),
    ] {
        let expected = NoObject::Broken {
            near: near.into(),
            expected: expected.into(),
        };
        assert_eq!(extract(text), Err(expected), "{text}");
    }
    assert_eq!(extract(" \n"), Err(NoObject::Empty));
    assert_eq!(extract("I would move it."), Err(NoObject::Absent));
}

#[test]
fn deep_nesting_and_long_garbage_end_quickly() {
    for unit in [
        "{", "[", "{\"a\":", "{a:[", "{'", "'", "\"", "{\"a\":1", "/*", "{//\n", "``` {", "{x} ",
        "{ ' ' ",
    ] {
        let text = unit.repeat(200_000);
        let start = std::time::Instant::now();
        let _ = extract(&text);
        assert!(start.elapsed().as_secs() < 5, "{unit}");
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,8}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn extraction_never_panics(text in "\\PC*|[{}\\[\\]\"':,a|\\\\u0\\n `/*]{0,60}") {
        let _ = extract(&text);
    }

    #[test]
    fn every_json_object_is_read_as_it_is(value in json_value(), pretty in any::<bool>(), before in "[a-z .\n]{0,20}") {
        let object = json!({ "value": value });
        let json = if pretty { serde_json::to_string_pretty(&object) } else { serde_json::to_string(&object) }.unwrap();
        let found = extract(&format!("{before}{json} and so on")).unwrap();
        prop_assert_eq!((Value::Object(found.object), found.repairs), (object, BTreeSet::new()));
    }
}
