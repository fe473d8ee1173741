//! The model's answers about an intent that are accepted.
use fugato_testkit::assert_contains;
use serde_json::json;
use transparent::intent::{Intent, IntentKind, Params, contract};

#[test]
fn trn_2_an_intent_has_parameters() {
    let said = r#"```json
        {"intent": "search", "params": {"type": "document", "query": "项目计划书",
         "location": null, "time_range": "last week"}, "complexity": 0.7}
        ```"#;
    let read = contract().read(said).unwrap();
    let params = Params {
        kind: "document".into(),
        query: "项目计划书".into(),
        time_range: "last week".into(),
        ..Params::default()
    };
    assert_eq!(read, Intent::new(IntentKind::Search, 0.7, params));
    let kinds = [
        "search",
        "remind",
        "create",
        "execute",
        "ask_memory",
        "chat",
    ];
    for kind in kinds {
        let said = json!({ "intent": kind }).to_string();
        assert!(contract().read(&said).is_ok(), "{kind}");
    }
    let wrong = contract().read(r#"{"intent": "sing"}"#).unwrap_err();
    assert_contains(&wrong.correction(), "ask_memory");
    let wrong = contract()
        .read(r#"{"intent": "chat", "complexity": 7}"#)
        .unwrap_err();
    assert!(wrong.correction().contains("between 0 and 1"));
}

#[test]
fn trn_c4_a_query_may_be_a_list_and_keywords_a_text() {
    for params in [
        json!({ "query": ["项目", "计划书"] }),
        json!({ "query": "项目 计划书", "keywords": "项目，计划书" }),
        json!({ "query": "项目 计划书", "keywords": ["项目", "计划书"] }),
    ] {
        let said = json!({ "intent": "search", "params": params }).to_string();
        let read = contract().read(&said).unwrap().params;
        assert_eq!(
            (read.query.as_str(), read.keywords),
            ("项目 计划书", vec!["项目".to_owned(), "计划书".to_owned()])
        );
    }
}
