use std::collections::BTreeMap;

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

fn repairs(text: &str) -> Vec<JsonRepair> {
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
    use JsonRepair::*;
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
            "{'a': \"b\" 'c': 3, d\": [\"e\"\n\"f\"], # why\n}",
            json!({ "a": "b", "c": 3, "d": ["e", "f"] }),
            vec![
                TrailingComma,
                MissingComma,
                UnquotedKey,
                OtherQuotes,
                Comment,
            ],
        ),
        (
            "{\"a\": [{\"b\": [1, 2}, {\"b\": +.5, \"c\": 1.}]}",
            json!({ "a": [{ "b": [1, 2] }, { "b": 0.5, "c": 1 }] }),
            vec![LooseNumber, MissingBracket],
        ),
        (
            r#"{"a": "He said "yes", and "no", then "bye"", "b": ["用户说"好"。"]}"#,
            json!({ "a": "He said \"yes\", and \"no\", then \"bye\"", "b": ["用户说\"好\"。"] }),
            vec![InnerQuotes],
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
    const QUOTES: &str = "quotes within a string to be escaped";
    for text in [
        "{\"a\": \"cut in a wo",
        "{\"day\": 1",
        "{\"a\": 1,",
        "{\"a\":",
        "{\"a\": tr",
        "{",
        "{\"a\": {\"b\": [1, 2}, \"c\": 3",
    ] {
        assert_eq!(extract(text), Err(NoObject::Truncated), "{text}");
    }
    for (text, near, expected) in [
        ("{\"id\": 1, \"id\": 2}", "\"id\": 2}", "each key once"),
        ("{\"a\": {\"b\": 1} or null}", "or null}", "`,` or `}`"),
        ("{\"a\": ...}", "...}", "a value"),
        ("{\"a\": 01}", "01}", "a number"),
        ("{\"a\": [1)", ")", "`,` or `]`"),
        (
            "{\"a\": ?, \"b\": {\"c\": 1}}",
            "?, \"b\": {\"c\": 1}}",
            "a value",
        ),
        (
            "{\"id\": 1, \"id\": {\"a\": 1}}",
            "\"id\": {\"a\": 1}}",
            "each key once",
        ),
        (r#"{"a": "b, "c": "d"}"#, r#"": "d"}"#, QUOTES),
        (r#"{"a": "he said "no"}"#, r#""}"#, QUOTES),
        (r#"{"a": ["b, "c, "d"]}"#, r#""d"]}"#, QUOTES),
        (r#"{"a": ["say "b" "c"]}"#, r#""]}"#, QUOTES),
        ("{'a': 'b, 'c': 'd'}", "'c': 'd'}", QUOTES),
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

/// Feeds the text piece by piece. Returns the fields that were reported and not voided, and the
/// result.
fn grown(text: &str, cuts: &[usize]) -> (BTreeMap<String, Value>, Result<ExtractedJson, NoObject>) {
    let (mut reader, mut seen) = (ObjectReader::default(), BTreeMap::new());
    let mut texts = BTreeMap::<String, String>::new();
    for pair in cuts.windows(2) {
        for piece in reader.push(&text[pair[0]..pair[1]]) {
            match piece {
                ObjectPiece::Text { name, more } => {
                    assert!(!more.is_empty() && !seen.contains_key(&*name));
                    texts.entry(name.to_string()).or_default().push_str(&more);
                }
                ObjectPiece::Field { name, value } => {
                    if let Some(text) = texts.remove(&*name) {
                        assert_eq!(value, Value::from(text));
                    }
                    assert_eq!(seen.insert(name.to_string(), value), None);
                }
                ObjectPiece::Void => {
                    seen.clear();
                    texts.clear();
                }
            }
        }
    }
    let found = reader.finish();
    if let Ok(found) = &found {
        // An incomplete field is a prefix of the result.
        for (name, text) in texts {
            let whole = found.object.get(&name).and_then(Value::as_str);
            assert!(whole.is_some_and(|whole| whole.starts_with(&text)));
        }
    }
    (seen, found)
}

/// Returns every place at which a text can be cut.
fn every_cut(text: &str) -> Vec<usize> {
    let ends = text.char_indices().map(|(at, _)| at);
    ends.chain([text.len()]).collect()
}

#[test]
fn l4_fields_become_visible_while_the_object_grows() {
    let mut reader = ObjectReader::default();
    let mut seen = vec![];
    for piece in [
        "Sure {friend}: {\"spe",
        "ak\": \"Hel",
        "lo \\u00",
        "e9\"",
        ", n: 1",
        "2, l: [\"x\"]",
        "}",
    ] {
        seen.push(reader.push(piece));
    }
    let text = |name: &str, more: &str| ObjectPiece::Text {
        name: name.into(),
        more: more.into(),
    };
    let field = |name: &str, value: Value| ObjectPiece::Field {
        name: name.into(),
        value,
    };
    let expected = [
        vec![],
        vec![text("speak", "Hel")],
        vec![text("speak", "lo ")],
        vec![text("speak", "é")],
        vec![field("speak", json!("Hello é"))],
        vec![field("n", json!(12)), field("l", json!(["x"]))],
        vec![],
    ];
    assert_eq!(seen, expected);
    assert!(reader.finish().is_ok());
}

#[test]
fn what_was_told_of_a_broken_object_is_taken_back() {
    let mut reader = ObjectReader::default();
    assert_eq!(reader.push("{\"id\": 1, \"id\": 2").len(), 1);
    assert_eq!(reader.push("}{\"a\": 1}"), [ObjectPiece::Void]);
    assert!(matches!(reader.finish(), Err(NoObject::Broken { .. })));
}

#[test]
fn growing_garbage_ends_quickly_too() {
    for unit in [
        "{",
        "[",
        "{\"a\":",
        "{'",
        "1",
        "{\"a\":\"  ",
        "/*",
        "x ",
        "`",
        "<think>",
    ] {
        let text = format!("{{\"a\": {}", unit.repeat(20_000));
        let start = std::time::Instant::now();
        let _ = grown(&text, &every_cut(&text));
        assert!(start.elapsed().as_secs() < 5, "{unit}");
    }
}

/// Generates text that is almost JSON.
fn almost_json() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        8 => prop::sample::select(vec![
            "{", "}", "[", "]", ":", ",", "\"", "'", "“", "”", "，", "：", "\n", " ", "//", "/*", "*/", "#",
            "```", "`", "<think>", "</think>", "\\", "\\u00e9", "\\ud83d", "\\n", "\"a\":", "\"b\": \"",
            "key", "true", "None", "1", "-2.5e3", "+", "a|b", "你好", "\"x\"", "\"y\",", "{\"a\": 1",
        ]).prop_map(str::to_owned),
        1 => "\\PC{0,4}",
    ];
    prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn an_object_that_grows_is_read_like_a_whole_one(text in almost_json(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8), every in any::<bool>()) {
        let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(text.len() + 1)).filter(|at| text.is_char_boundary(*at)).collect();
        at.extend([0, text.len()]);
        at.sort_unstable();
        let at = if every { every_cut(&text) } else { at };
        let (seen, found) = grown(&text, &at);
        prop_assert_eq!(&found, &extract(&text));
        if let Ok(found) = found {
            for (name, value) in seen {
                prop_assert_eq!(found.object.get(&name), Some(&value));
            }
        }
    }

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
