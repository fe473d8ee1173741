use fugato_state::{EstimatedTokens, ToolCall};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn call(id: &str) -> Message {
    Message::assistant("").with_tool_calls([ToolCall::new(id, "look", json!({}))])
}

fn fitted(messages: Vec<Message>, room: u64) -> Result<Vec<Message>, u64> {
    fit(ChatRequest::new(messages), room, &EstimatedTokens).map(|request| request.messages)
}

#[test]
fn the_oldest_messages_go_first_and_pairs_together() {
    let old = Message::user("a".repeat(400));
    let messages = vec![
        Message::system("Be brief."),
        old.clone(),
        call("a"),
        Message::tool("a", "b".repeat(400)),
        Message::user("And now?"),
        call("b"),
        Message::tool("b", "c"),
    ];
    assert_eq!(fitted(messages.clone(), 1_000), Ok(messages.clone()));
    let without = |gone: &[usize]| {
        let left = messages.iter().enumerate();
        let left = left.filter(|(at, _)| !gone.contains(at));
        left.map(|(_, message)| message.clone()).collect::<Vec<_>>()
    };
    assert_eq!(fitted(messages.clone(), 170), Ok(without(&[1])));
    assert_eq!(fitted(messages.clone(), 60), Ok(without(&[1, 2, 3])));
    let least = EstimatedTokens.messages(&without(&[1, 2, 3]));
    assert_eq!(fitted(messages, 20), Err(least));
}

#[test]
fn a_long_text_loses_its_beginning() {
    let lines: Vec<_> = (0..100)
        .map(|n| format!("line {n} of what was said"))
        .collect();
    let messages = vec![Message::user(lines.join("\n")), Message::user("And now?")];
    let fitted = fitted(messages, 500).expect("half of it fits");
    let text = &fitted[0].content;
    assert!(text.starts_with("[…]\nline "), "{text}");
    assert!(text.ends_with("line 99 of what was said"), "{text}");
    assert!(text.len() > 1_000, "{text}");
}

proptest! {
    #[test]
    fn what_is_fitted_fits_and_keeps_its_pairs(
        texts in prop::collection::vec((0..4_u8, "[a长\n]{0,200}"), 1..12),
        room in 0..600_u64,
    ) {
        let messages: Vec<_> = texts.iter().enumerate().flat_map(|(at, (role, text))| match role {
            0 => vec![Message::system(text.clone())],
            1 => vec![Message::user(text.clone())],
            2 => vec![Message::assistant(text.clone())],
            _ => vec![call(&at.to_string()), Message::tool(at.to_string(), text.clone())],
        }).collect();
        if let Ok(left) = fitted(messages.clone(), room) {
            prop_assert!(EstimatedTokens.messages(&left) <= room);
            prop_assert_eq!(left.last(), messages.last());
            let of = |role| move |message: &&Message| message.role == role;
            prop_assert!(left.iter().filter(of(Role::System)).eq(messages.iter().filter(of(Role::System))));
            prop_assert_eq!(left.iter().rfind(of(Role::User)), messages.iter().rfind(of(Role::User)));
            let calls = left.iter().flat_map(|it| &it.tool_calls).map(|call| call.id.clone());
            let results = left.iter().filter_map(|it| it.tool_call_id.clone());
            prop_assert!(calls.eq(results));
        }
    }
}
