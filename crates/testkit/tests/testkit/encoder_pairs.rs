//! Two protocols require pairs, and clients refuse a stream without them: for any events in any
//! order, every item is opened once, used while it is open, and closed.
use std::collections::HashSet;

use fugato_stream::{AgUiEncoder, AiSdkEncoder, Encoder, Event, Frames};
use fugato_testkit::encoder::any_events;
use proptest::prelude::*;
use serde_json::Value;

/// The open items: kind and id.
type Open = HashSet<(&'static str, String)>;

fn sent(mut encoder: impl Encoder, events: &[Event]) -> Vec<Value> {
    let mut frames = Frames::new();
    for event in events {
        encoder.encode(event, &mut frames);
    }
    encoder.finish(&mut frames);
    let lines = frames.as_str().lines();
    lines
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).expect("every frame is JSON"))
        .collect()
}

fn text<'a>(frame: &'a Value, field: &str) -> &'a str {
    frame[field].as_str().expect("the field is a text")
}

/// Returns the effect of an AG-UI event: it opens (`+`), uses (`=`) or closes (`-`) an item of this
/// kind, whose id is in this field.
fn ag_ui(kind: &str) -> Option<(char, &'static str, &'static str)> {
    Some(match kind {
        "TEXT_MESSAGE_START" => ('+', "text", "messageId"),
        "TEXT_MESSAGE_CONTENT" => ('=', "text", "messageId"),
        "TEXT_MESSAGE_END" => ('-', "text", "messageId"),
        "REASONING_START" => ('+', "span", "messageId"),
        "REASONING_END" => ('-', "span", "messageId"),
        "REASONING_MESSAGE_START" => ('+', "reasoning", "messageId"),
        "REASONING_MESSAGE_CONTENT" => ('=', "reasoning", "messageId"),
        "REASONING_MESSAGE_END" => ('-', "reasoning", "messageId"),
        "TOOL_CALL_START" => ('+', "call", "toolCallId"),
        "TOOL_CALL_ARGS" => ('=', "call", "toolCallId"),
        "TOOL_CALL_END" => ('-', "call", "toolCallId"),
        "STEP_STARTED" => ('+', "step", "stepName"),
        "STEP_FINISHED" => ('-', "step", "stepName"),
        _ => return None,
    })
}

fn ai_sdk(kind: &str) -> Option<(char, &'static str, &'static str)> {
    Some(match kind {
        "text-start" => ('+', "text", "id"),
        "text-delta" => ('=', "text", "id"),
        "text-end" => ('-', "text", "id"),
        "reasoning-start" => ('+', "reasoning", "id"),
        "reasoning-delta" => ('=', "reasoning", "id"),
        "reasoning-end" => ('-', "reasoning", "id"),
        _ => return None,
    })
}

fn pair(open: &mut Open, step: char, kind: &'static str, id: &str) -> Result<(), TestCaseError> {
    let key = (kind, id.to_owned());
    match step {
        '+' => prop_assert!(open.insert(key), "{kind} {id:?} is opened twice"),
        '=' => prop_assert!(open.contains(&key), "{kind} {id:?} is not open"),
        _ => prop_assert!(
            open.remove(&key),
            "{kind} {id:?} is closed and was not open"
        ),
    }
    Ok(())
}

proptest! {
    #[test]
    fn l12_ag_ui_opens_and_closes_everything(events in any_events()) {
        let (mut open, mut used, mut running) = (Open::new(), HashSet::new(), false);
        for frame in sent(AgUiEncoder::new(), &events) {
            let kind = text(&frame, "type");
            prop_assert_eq!(running, kind != "RUN_STARTED", "{}", frame);
            running = !matches!(kind, "RUN_FINISHED" | "RUN_ERROR");
            if let Some((step, what, field)) = ag_ui(kind) {
                let id = text(&frame, field);
                pair(&mut open, step, what, id)?;
                let once = step == '+' && matches!(what, "text" | "reasoning" | "call");
                let key = (what == "call", id.to_owned());
                prop_assert!(!once || used.insert(key), "{} is not new", frame);
            }
            if kind == "TOOL_CALL_RESULT" {
                let call = (true, text(&frame, "toolCallId").to_owned());
                prop_assert!(used.contains(&call), "{} has no call", frame);
            }
            if !running {
                prop_assert!(open.is_empty(), "{:?} are open at the end", open);
                used.clear();
            }
        }
        prop_assert!(!running, "the run has no end");
    }

    #[test]
    fn l12_the_ai_sdk_gets_one_message_with_everything_closed(events in any_events()) {
        let (mut open, mut calls, mut asked) = (Open::new(), HashSet::new(), HashSet::new());
        // Two tasks may write calls of one id, which are one part of the message.
        let (mut begun, mut writing) = (HashSet::new(), HashSet::new());
        let frames = sent(AiSdkEncoder::new(), &events);
        let kinds: Vec<_> = frames.iter().map(|frame| text(frame, "type")).collect();
        let ends = ["finish", "error", "abort"];
        prop_assert!(ends.contains(kinds.last().expect("there is an end")));
        prop_assert_eq!(kinds.iter().filter(|kind| ends.contains(kind)).count(), 1);
        prop_assert!(events.is_empty() || kinds.starts_with(&["start", "start-step"]));
        for (frame, kind) in frames.iter().zip(&kinds) {
            if let Some((step, what, field)) = ai_sdk(kind) {
                pair(&mut open, step, what, text(frame, field))?;
            }
            match *kind {
                "tool-input-start" => {
                    begun.insert(text(frame, "toolCallId"));
                    writing.insert(text(frame, "toolCallId"));
                }
                "tool-input-delta" => {
                    prop_assert!(begun.contains(text(frame, "toolCallId")), "{}", frame);
                }
                "tool-input-error" => {
                    prop_assert!(writing.remove(text(frame, "toolCallId")), "{}", frame);
                }
                "tool-input-available" => {
                    prop_assert!(begun.contains(text(frame, "toolCallId")), "{}", frame);
                    writing.remove(text(frame, "toolCallId"));
                    calls.insert(text(frame, "toolCallId"));
                }
                "tool-output-available" | "tool-output-error" => {
                    prop_assert!(calls.contains(text(frame, "toolCallId")), "{}", frame);
                }
                "tool-approval-request" => {
                    prop_assert!(calls.contains(text(frame, "toolCallId")), "{}", frame);
                    asked.insert(text(frame, "approvalId"));
                }
                "tool-approval-response" => {
                    prop_assert!(asked.contains(text(frame, "approvalId")), "{}", frame);
                }
                _ => {}
            }
        }
        prop_assert!(writing.is_empty(), "{:?} are still written at the end", writing);
        prop_assert!(open.is_empty(), "{:?} are open at the end", open);
    }
}
