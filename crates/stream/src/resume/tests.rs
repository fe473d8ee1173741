use proptest::prelude::*;
use serde_json::json;

use super::*;

fn answered(id: &str, reply: ReplyForm) -> QuestionAnswer {
    QuestionAnswer::to(id, reply)
}

fn with(answers: Vec<QuestionAnswer>) -> Resume {
    Resume {
        answers,
        ..Resume::default()
    }
}

#[test]
fn ag_ui_resolves_or_cancels_each_interrupt() {
    let request = json!({
        "threadId": "t", "runId": "r2", "messages": [],
        "resume": [
            { "interruptId": "a", "status": "resolved", "payload": { "ok": true } },
            { "interruptId": "b", "status": "resolved" },
            { "interruptId": "c", "status": "cancelled" },
        ],
    });
    let expected = vec![
        answered("a", ReplyForm::Value(json!({ "ok": true }))),
        answered("b", ReplyForm::Value(Value::Null)),
        answered("c", ReplyForm::Cancel),
    ];
    assert_eq!(Resume::ag_ui(&request).unwrap(), with(expected));
    assert_eq!(Resume::ag_ui(&json!({})).unwrap(), Resume::default());
    let strange = json!({ "resume": [{ "interruptId": "a", "status": "perhaps" }] });
    assert!(matches!(
        Resume::ag_ui(&strange),
        Err(ResumeError::Shape { .. })
    ));
}

#[test]
fn the_ai_sdk_answers_in_the_parts_of_its_last_message() {
    let part = |call: &str, approval: &str, approved: bool| {
        json!({
            "type": "dynamic-tool", "toolName": "place", "toolCallId": call, "input": {},
            "state": "approval-responded",
            "approval": { "id": approval, "approved": approved, "reason": "too early" },
        })
    };
    let waiting = json!({
        "type": "dynamic-tool", "toolName": "place", "toolCallId": "c3",
        "state": "approval-requested", "approval": { "id": "i3" },
    });
    let request = json!({
        "messages": [
            { "role": "assistant", "parts": [part("c0", "i0", true)] },
            { "role": "assistant", "parts": [
                { "type": "text", "text": "…" }, part("c1", "i1", true), part("c2", "i2", false), waiting,
            ] },
        ],
        "answers": { "i4": 7 },
        "after": 12,
    });
    let said = |answered: QuestionAnswer| QuestionAnswer {
        reason: Some("too early".to_owned()),
        ..answered
    };
    let expected = Resume {
        answers: vec![
            answered("i4", ReplyForm::Value(json!(7))),
            said(answered("i1", ReplyForm::Approve)),
            said(answered("i2", ReplyForm::Reject)),
        ],
        after: Some(12),
        calls: ["c1", "c2", "c3"].map(str::to_owned).to_vec(),
    };
    assert_eq!(Resume::ai_sdk(&request).unwrap(), expected);
    let asks = json!({ "messages": [{ "role": "user", "parts": [part("c1", "i1", true)] }] });
    assert_eq!(Resume::ai_sdk(&asks).unwrap(), Resume::default());
}

#[test]
fn sch_23_a_resume_is_beside_the_message_in_both_shapes() {
    let request = |extra: Value| {
        let messages = [
            json!({ "role": "user", "content": "hi" }),
            json!({ "role": "user", "content": "not on Monday" }),
        ];
        json!({ "model": "desk", "messages": messages, "extra": extra })
    };
    let read = |extra: Value| Resume::openai(&request(extra));
    let resume = |action: &str| json!({ "resume": { "interaction_id": "i1", "type": "confirm", "action": action } });
    assert_eq!(
        read(resume("approve")).unwrap(),
        with(vec![answered("i1", ReplyForm::Approve)])
    );
    assert_eq!(
        read(resume("cancel")).unwrap(),
        with(vec![answered("i1", ReplyForm::Cancel)])
    );
    let because = Some("not on Monday".to_owned());
    let rejected = QuestionAnswer {
        reason: because.clone(),
        ..answered("i1", ReplyForm::Reject)
    };
    assert_eq!(
        read(resume("reject")).unwrap(),
        with(vec![rejected.clone()])
    );
    let bare = QuestionAnswer {
        id: None,
        ..rejected
    };
    assert_eq!(
        read(json!({ "confirm_action": "reject" })).unwrap(),
        with(vec![bare])
    );
    let asked = json!({ "resume": { "interaction_id": "i1", "type": "ask_user" } });
    let text = ReplyForm::Value(json!("not on Monday"));
    assert_eq!(read(asked).unwrap(), with(vec![answered("i1", text)]));
    assert_eq!(read(json!({})).unwrap(), Resume::default());
    let seen = json!({ "resume": { "after": 4 } });
    assert_eq!(read(seen).unwrap().after, Some(4));
}

#[test]
fn sch_24_an_unknown_action_is_named() {
    let request = json!({ "ext": { "confirm_action": "maybe" } });
    let error = Resume::openai(&request).unwrap_err();
    assert_eq!(
        error.to_string(),
        "\"maybe\" is no action: approve, reject and cancel are"
    );
}

#[test]
fn trn_w4_a_message_answers_or_says_what_was_seen() {
    let answer =
        json!({ "event": "answer", "data": { "id": "i1", "answer": false, "digest": "d" } });
    let expected = QuestionAnswer {
        digest: Some("d".to_owned()),
        ..answered("i1", ReplyForm::Value(json!(false)))
    };
    assert_eq!(Resume::envelope(&answer).unwrap(), with(vec![expected]));
    let back = json!({ "event": "resume", "data": { "after": 4 } });
    assert_eq!(Resume::envelope(&back).unwrap().after, Some(4));
    let other = json!({ "event": "user_input", "data": { "content": "hi" } });
    assert_eq!(Resume::envelope(&other).unwrap(), Resume::default());
    assert_eq!(Resume::last_event_id(" 4\n").unwrap().after, Some(4));
    assert!(Resume::last_event_id("4a").is_err());
}

proptest! {
    #[test]
    fn no_request_makes_it_panic(text in "[\\[\\]{}:,\"a-z0-9]{0,60}", field in 0usize..6) {
        let value: Value = serde_json::from_str(&text).unwrap_or(Value::String(text.clone()));
        let names = ["resume", "messages", "extra", "data", "answers", "after"];
        let mut request = json!({ "event": "answer" });
        if let Some(name) = names.get(field) {
            request[*name] = value.clone();
        }
        for request in [&request, &value] {
            let _ = Resume::ag_ui(request);
            let _ = Resume::ai_sdk(request);
            let _ = Resume::openai(request);
            let _ = Resume::envelope(request);
        }
        let _ = Resume::last_event_id(&text);
    }
}
