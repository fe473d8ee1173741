//! Tests of forms as data: values, missing fields, views for a model and a person, and refused
//! data.
mod reader;

use fugato_text::{
    Lang,
    forms::{Fields, Forms, FormsError, amount_text, amount_value, cents},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Trip,
    Claim,
    Loan,
}

const FORMS: &str = r#"
[[form]]
name = "trip"
zh = "出差"
en = "trip"
fields = [
  { name = "start", kind = "day", required = true, zh = "开始", en = "start" },
  { name = "end", kind = "day", not_before = "start", zh = "结束", en = "end" },
  { name = "to", kind = "place", required = true, zh = "目的地", en = "destination" },
  { name = "by", kind = "choice", zh = "交通", en = "transport", words = [
    { means = "train", words = ["高铁", "Train"] },
    { means = "bus", words = ["大巴", "bus", "train bus"] },
  ] },
]
[[form]]
name = "claim"
zh = "报销"
en = "claim"
toward = "back"
fields = [
  { name = "trip", kind = "document", prefix = "T", zh = "申请", en = "trip" },
  { name = "cost", kind = "amount", required = true, zh = "金额", en = "amount" },
  { name = "why", kind = "text", zh = "事由", en = "reason" },
  { name = "files", kind = "files", zh = "附件", en = "files" },
]
"#;

fn forms() -> Forms<Kind> {
    toml::from_str(FORMS).expect("these are forms")
}

fn fields(value: Value) -> Fields {
    serde_json::from_value(value).expect("only objects are given")
}

#[test]
fn values_are_kept_in_one_form_however_they_are_given() {
    let forms = forms();
    let read = |kind: Kind, given| forms.read(&kind, &fields(given)).map(Value::Object);
    let cases = [
        (
            Kind::Trip,
            json!({ "start": " 2026-03-02 " }),
            json!({ "start": "2026-03-02" }),
        ),
        (
            Kind::Trip,
            json!({ "start": "2026-03-02", "end": "2026-03-02" }),
            json!({ "start": "2026-03-02", "end": "2026-03-02" }),
        ),
        (
            Kind::Trip,
            json!({ "end": "2026-03-02" }),
            json!({ "end": "2026-03-02" }),
        ),
        (
            Kind::Trip,
            json!({ "to": " Oslo ", "by": "bus" }),
            json!({ "to": "Oslo", "by": "bus" }),
        ),
        (
            Kind::Trip,
            json!({ "by": "坐高铁" }),
            json!({ "by": "train" }),
        ),
        (
            Kind::Trip,
            json!({ "by": "the TRAIN BUS" }),
            json!({ "by": "bus" }),
        ),
        (Kind::Trip, json!({ "to": null, "by": "  " }), json!({})),
        (
            Kind::Claim,
            json!({ "cost": 1200.0, "files": "a.pdf" }),
            json!({ "cost": 1200, "files": ["a.pdf"] }),
        ),
        (
            Kind::Claim,
            json!({ "files": ["b", " a ", "b"], "trip": "T-1" }),
            json!({ "files": ["b", "a"], "trip": "T-1" }),
        ),
        (Kind::Claim, json!({ "files": [] }), json!({})),
        (Kind::Loan, json!({ "anything": 1 }), json!({})),
    ];
    for (kind, given, expected) in cases {
        assert_eq!(read(kind, given.clone()), Ok(expected), "{given}");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_what_is_allowed() {
    let forms = forms();
    let cases = [
        (
            Kind::Trip,
            json!({ "when": 1 }),
            r#""when" of the trip cannot be 1; its fields are start, end, to, by"#,
        ),
        (
            Kind::Trip,
            json!({ "start": "soon" }),
            r#""start" of the trip cannot be "soon"; a day is allowed, such as 2026-03-02"#,
        ),
        (
            Kind::Trip,
            json!({ "to": 7 }),
            r#""to" of the trip cannot be 7; a text is allowed"#,
        ),
        (
            Kind::Trip,
            json!({ "by": "horse" }),
            r#""by" of the trip cannot be "horse"; allowed are train, bus"#,
        ),
        (
            Kind::Trip,
            json!({ "start": "2026-03-02", "end": "2026-03-01" }),
            r#""end" of the trip cannot be "2026-03-01"; its start is 2026-03-02: that day or a later one is allowed"#,
        ),
        (
            Kind::Claim,
            json!({ "cost": 0 }),
            r#""cost" of the claim cannot be 0; a positive amount with at most two decimals is allowed"#,
        ),
        (
            Kind::Claim,
            json!({ "files": [1] }),
            r#""files" of the claim cannot be [1]; a list of file names is allowed"#,
        ),
        (
            Kind::Claim,
            json!({ "files": ["a", " "] }),
            r#""files" of the claim cannot be ["a"," "]; a list of file names is allowed"#,
        ),
    ];
    for (kind, given, expected) in cases {
        let refused = forms.read(&kind, &fields(given)).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    }
}

#[test]
fn what_is_missing_and_filled_in_is_in_the_order_of_the_form() {
    let forms = forms();
    let trip = forms.get(&Kind::Trip).unwrap();
    let known = fields(json!({ "by": "train", "end": "2026-03-02" }));
    assert_eq!(trip.missing(&known), ["start", "to"]);
    assert_eq!(forms.missing(&Kind::Claim, &Fields::new()), ["cost"]);
    assert_eq!(
        forms.missing(&Kind::Loan, &Fields::new()),
        Vec::<String>::new()
    );
    let shown = |lang: Lang| {
        let lines = trip.filled(&known);
        let line = |(field, value): (&fugato_text::forms::Field, &Value)| {
            format!("{} {}", field.label(lang), field.shown(value, lang))
        };
        lines.map(line).collect::<Vec<_>>()
    };
    assert_eq!(shown(Lang::En), ["end 2026-03-02", "transport train"]);
    assert_eq!(shown(Lang::Zh), ["结束 2026-03-02", "交通 高铁"]);
    let claim = forms.get(&Kind::Claim).unwrap();
    let given = fields(json!({ "cost": 12.5, "files": ["a", "b"] }));
    let shown: Vec<_> = claim
        .filled(&given)
        .map(|(field, value)| field.shown(value, Lang::En))
        .collect();
    assert_eq!(
        (shown, claim.label(Lang::Zh)),
        (vec!["12.50".to_owned(), "a, b".to_owned()], "报销")
    );
}

#[test]
fn a_model_is_told_the_schema_and_the_outline() {
    let forms = forms();
    let schema = forms.get(&Kind::Claim).unwrap().schema();
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "trip": { "type": "string", "description": "trip" },
                "cost": { "type": "number", "exclusiveMinimum": 0, "description": "amount" },
                "why": { "type": "string", "description": "reason" },
                "files": { "type": "array", "items": { "type": "string" }, "minItems": 1, "description": "files" },
            },
            "additionalProperties": false,
        })
    );
    let all = forms.properties();
    assert_eq!(
        all["start"],
        json!({ "type": "string", "format": "date", "description": "start" })
    );
    assert_eq!(all["by"]["enum"], json!(["train", "bus"]));
    assert_eq!(all.len(), 8);
    assert_eq!(forms.names(), [&Kind::Trip, &Kind::Claim]);
    let outline = "- trip: trip\n  - start (start, required)\n  - end (end)\n  - to (destination, required)\n  - by (transport)\n\
                   - claim: claim\n  - trip (trip)\n  - cost (amount, required)\n  - why (reason)\n  - files (files)";
    assert_eq!(forms.outline(), outline);
}

#[test]
fn data_that_makes_no_form_is_refused_where_it_is_read() {
    let one = |field: &str| {
        format!(
            "[[form]]\nname = \"trip\"\nzh = \"出差\"\nen = \"trip\"\nfields = [{{ name = \"a\", zh = \"\", en = \"\", {field} }}]"
        )
    };
    let cases = [
        (
            one("kind = \"choice\""),
            r#""a" of the trip is a choice and must have "words" to choose from"#,
        ),
        (
            one("kind = \"text\", prefix = \"A\""),
            r#""a" of the trip has a "prefix", which only a document has"#,
        ),
        (
            one("kind = \"day\", patterns = [\"x\"]"),
            r#""a" of the trip has "patterns", which only a text has"#,
        ),
        (
            one("kind = \"text\", not_before = \"b\""),
            r#""a" of the trip has "not_before", which only a day has"#,
        ),
        (
            one("kind = \"day\", not_before = \"a\""),
            r#""a" of the trip is not before "a", which is no other day of it"#,
        ),
        (
            one("kind = \"text\", words = [{ means = \"x\", words = [] }]"),
            r#""a" of the trip has "words", which only a choice has"#,
        ),
        (
            one("kind = \"text\", patterns = [\"(\"]"),
            "regex parse error",
        ),
        (one("kind = \"texts\""), "unknown variant `texts`"),
        (one("kind = \"text\", need = true"), "unknown field `need`"),
        (
            FORMS
                .replace("\"claim\"", "\"trip\"")
                .replace("en = \"trip\"\ntoward", "en = \"claim\"\ntoward"),
            "the claim has the name of another form",
        ),
        (
            FORMS.replace("\"why\"", "\"files\""),
            r#"there are two fields "files" in the claim"#,
        ),
    ];
    for (text, expected) in cases {
        let refused = toml::from_str::<Forms>(&text).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    let twice = FormsError::FormTwice {
        form: "trip".into(),
    };
    assert_eq!(twice.to_string(), "the trip has the name of another form");
}

#[test]
fn one_amount_is_one_number_however_it_is_written() {
    for given in [
        json!(1200),
        json!(1200.0),
        json!("¥1,200"),
        json!("1200.00元"),
    ] {
        let value = cents(&given).map(amount_value);
        assert_eq!(value, Some(json!(1200)), "{given}");
    }
    let value = cents(&json!("12.5 yuan")).map(amount_value);
    assert_eq!(value, Some(json!(12.5)));
    assert_eq!(amount_text(&json!(12.5)), "12.50");
    let long = json!("9".repeat(40));
    for wrong in [
        json!("soon"),
        json!(1.001),
        json!([]),
        json!(-3),
        long,
        json!("-300"),
        json!("86,50"),
        json!("300-500"),
    ] {
        let cents = cents(&wrong).filter(|cents| *cents > 0);
        assert_eq!(cents, None, "{wrong}");
    }
}
