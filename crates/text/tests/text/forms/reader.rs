//! Tests of reading a form from words.
use std::sync::LazyLock;

use fugato_text::forms::{Fields, FormReader, Forms, TextRules};
use jiff::civil::date;
use proptest::prelude::*;
use serde_json::{Value, json};

const FORMS: &str = r#"
[[form]]
name = "trip"
zh = "出差"
en = "trip"
fields = [
  { name = "why", kind = "text", zh = "事由", en = "reason", patterns = ['(?i)\bto (see [^,]+)', '(拜访[^，]*)'] },
  { name = "start", kind = "day", zh = "开始", en = "start" },
  { name = "end", kind = "day", not_before = "start", zh = "结束", en = "end" },
  { name = "to", kind = "place", zh = "目的地", en = "destination" },
  { name = "by", kind = "choice", zh = "交通", en = "transport", words = [
    { means = "train", words = ["高铁", "train"] },
    { means = "car", words = ["自驾", "car (own)"] },
  ] },
  { name = "cost", kind = "amount", zh = "预算", en = "budget" },
]
[[form]]
name = "claim"
zh = "报销"
en = "claim"
toward = "back"
fields = [
  { name = "on", kind = "day", zh = "日期", en = "day" },
  { name = "trip", kind = "document", prefix = "T", zh = "申请", en = "trip" },
  { name = "claim", kind = "document", prefix = "RB", zh = "报销单", en = "claim" },
  { name = "files", kind = "files", zh = "附件", en = "files" },
]
"#;

const RULES: &str = r#"
amount = ["budget", "预算"]
files = '[\p{L}\p{N}_.-]+\.(?:pdf|png)\b'
before_files = ["附件是", "附件", "和"]
labels = { why = '(?i)reason:\s*([^,]+)' }
cut = '(?i)\s+(?:on|by|for|with|and)\b.*$'
facts = ['(?i)\bby (?:{by})(?:\b|$)', '交通(?:{by})']
[places]
known = [{ zh = "上海", en = "Shanghai" }, { zh = "北京", en = "Beijing" }]
toward = ["到", "to "]
elsewhere = ['\bto ([A-Z][a-z]+)', '到(\p{Han}{2})出差']
"#;

static DESK: LazyLock<(Forms, FormReader)> = LazyLock::new(|| {
    let forms = toml::from_str(FORMS).expect("these are forms");
    let rules = toml::from_str(RULES).expect("these are rules");
    let reader = FormReader::new(rules, &forms).expect("these are patterns");
    (forms, reader)
});

fn read(form: &str, text: &str) -> Value {
    let (forms, reader) = &*DESK;
    let form = forms.get(form).expect("only these are asked for");
    Value::Object(reader.read(form, text, date(2026, 2, 25)))
}

#[test]
fn each_kind_is_read_as_it_is_said() {
    let trip = |text: &str| read("trip", text);
    assert_eq!(
        trip("从北京到上海，3月2日到3月5日，高铁，预算1200，拜访客户"),
        json!({ "why": "拜访客户", "start": "2026-03-02", "end": "2026-03-05", "to": "上海", "by": "train", "cost": 1200 })
    );
    assert_eq!(
        trip("to Oslo to see friends by train, budget 3k"),
        json!({ "why": "see friends", "to": "Oslo", "by": "train", "cost": 3000 })
    );
    assert_eq!(trip("北京和上海"), json!({ "to": "北京" }));
    assert_eq!(trip("到大连出差"), json!({ "to": "大连" }));
    assert_eq!(trip("hello"), json!({}));
    let claim = |text: &str| read("claim", text);
    assert_eq!(
        claim("附件是一.pdf 和b-2.png，rb-7，T-12，2月20日"),
        json!({ "on": "2026-02-20", "trip": "T-12", "claim": "RB-7", "files": ["一.pdf", "b-2.png"] })
    );
}

#[test]
fn the_same_day_lies_ahead_in_one_form_and_back_in_another() {
    assert_eq!(read("trip", "1月5日"), json!({ "start": "2027-01-05" }));
    assert_eq!(read("claim", "12月5日"), json!({ "on": "2025-12-05" }));
}

#[test]
fn what_is_labelled_counts_whole_and_what_is_found_is_cut() {
    let why = |text: &str| read("trip", text)["why"].clone();
    assert_eq!(why("to see Ann on Monday for lunch"), json!("see Ann"));
    assert_eq!(
        why("reason: see Ann for lunch, to see Bob"),
        json!("see Ann for lunch")
    );
    assert_eq!(why("reason: by train, to see Bob"), Value::Null);
}

#[test]
fn people_are_not_cut_however_they_are_written() {
    let why = |text: &str| read("trip", text)["why"].clone();
    for said in [
        "see john and anna",
        "see ann and bob with our client and peter",
    ] {
        assert_eq!(why(&format!("to {said} by train")), json!(said));
    }
    assert_eq!(why("to see the fair with receipt"), json!("see the fair"));
}

#[test]
fn what_is_quoted_is_read_or_named() {
    let (forms, reader) = &*DESK;
    let unread = |text: &str| {
        let (form, base) = (forms.get("trip").unwrap(), date(2026, 2, 25));
        reader.unread(form, text, &reader.read(form, text, base), base)
    };
    assert_eq!(unread("reason: “see Ann”, project \"Falcon\""), ["Falcon"]);
    assert_eq!(unread("by “train”"), [""; 0]);
}

#[test]
fn facts_of_other_fields_are_no_text_and_their_words_are_those_of_the_form() {
    let cleaned = |text: &str| DESK.1.cleaned(text);
    assert_eq!(cleaned("see Ann by train").as_deref(), Some("see Ann"));
    assert_eq!(cleaned("see Ann by car (own)").as_deref(), Some("see Ann"));
    assert_eq!(cleaned("train Ann").as_deref(), Some("train Ann"));
    assert_eq!(cleaned("，交通高铁。"), None);
}

#[test]
fn names_of_files_and_documents_are_no_days_or_amounts() {
    assert_eq!(read("trip", "budget RB-500, 2026-03-02.pdf"), json!({}));
}

#[test]
fn rules_that_are_left_out_read_nothing_and_wrong_ones_are_refused() {
    let forms = &DESK.0;
    let reader = FormReader::new(TextRules::default(), forms).unwrap();
    let trip = forms.get("trip").unwrap();
    let read = reader.read(
        trip,
        "到上海，预算1200，3月2日，reason: x",
        date(2026, 2, 25),
    );
    assert_eq!(Value::Object(read), json!({ "start": "2026-03-02" }));
    let mut rules = TextRules::default();
    rules.facts.push("(".into());
    assert!(FormReader::new(rules, forms).is_err());
    assert!(toml::from_str::<TextRules>("amounts = []").is_err());
}

proptest! {
    /// The values that rules read are in canonical form: the form accepts them unchanged.
    #[test]
    fn what_is_read_fits_into_the_form(
        text in "([0-9]{1,2}月[0-9]{1,2}日|到上海|to Oslo|to see x|预算[0-9.,]{1,6}|T-[0-9]{1,3}|附件[a-z]{0,3}\\.pdf|高铁|reason: |[ ，,]|\\PC){0,12}"
    ) {
        let (forms, reader) = &*DESK;
        for form in forms.iter() {
            let mut said: Fields = reader.read(form, &text, date(2026, 2, 25));
            // The order of the two days is checked by the form.
            let end = said.remove("end");
            prop_assert_eq!(form.read(&said), Ok(said.clone()));
            let end: Fields = end.into_iter().map(|day| ("end".to_owned(), day)).collect();
            prop_assert_eq!(form.read(&end), Ok(end.clone()));
        }
    }
}
