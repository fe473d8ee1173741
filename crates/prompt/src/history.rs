//! Views of a history: as a conversation between user and model, and as the work of a stage.
use std::fmt::Write as _;

use fugato_state::{Message, Role};

use crate::Wording;

/// The prefix of a correction, for the model.
const CORRECTION: &str = "[correction] ";
/// The key that marks a correction; its prefix alone can be typed by a user.
const MARK: &str = "correction";

/// Creates the message that tells a model what was wrong with its answer. It is marked, so that a
/// conversation view leaves it out, together with the answer before it.
pub fn correction(text: &str) -> Message {
    let mut message = Message::user(format!("{CORRECTION}{text}"));
    message.kept.insert(MARK.to_owned(), vec![]);
    message
}

/// Returns true if a message is a [`correction`]. A message that a user types is never one,
/// whatever its text.
pub fn is_correction(message: &Message) -> bool {
    message.role == Role::User && message.kept.contains_key(MARK)
}

/// Returns the messages of a conversation that a person said or was meant to read, without rejected
/// answers and their corrections.
pub fn spoken(history: &[Message]) -> impl Iterator<Item = &Message> {
    let next = history.iter().skip(1).map(Some).chain([None]);
    let said = history.iter().zip(next);
    let said =
        said.filter(|(message, next)| !is_correction(message) && !next.is_some_and(is_correction));
    said.map(|(message, _)| message)
}

/// Creates a message that marks a place in the history, such as the end of a loop. No view shows
/// it.
pub fn marker(name: &str) -> Message {
    Message::system(format!("[[{name}]]"))
}

/// Returns true if a message is the [`marker`] with this name.
pub fn is_marker(message: &Message, name: &str) -> bool {
    let inner = message
        .content
        .strip_prefix("[[")
        .and_then(|rest| rest.strip_suffix("]]"));
    message.role == Role::System && inner == Some(name)
}

/// Returns the messages after the last marker with this name; all of them if there is none.
pub fn since_marker<'a>(history: &'a [Message], name: &str) -> &'a [Message] {
    let after = history
        .iter()
        .rposition(|message| is_marker(message, name))
        .map_or(0, |at| at + 1);
    history.get(after..).unwrap_or_default()
}

/// Returns the conversation of user and model as text, without tools, corrections and the answers
/// that were corrected. Messages that are appended to the history are appended to the view.
pub fn conversation_view(history: &[Message], wording: &Wording) -> String {
    let lines: Vec<_> = said(history, wording).map(|(_, line)| line).collect();
    lines.join("\n")
}

/// Returns the lines of the conversation view, each with its role.
pub(crate) fn said<'a>(
    history: &'a [Message],
    wording: &'a Wording,
) -> impl Iterator<Item = (Role, String)> + 'a {
    let line = |(at, message): (usize, &Message)| {
        let corrected = || history.get(at + 1).is_some_and(is_correction);
        let (who, shown) = match message.role {
            Role::User => (&wording.user, !is_correction(message)),
            Role::Assistant => (&wording.assistant, !corrected()),
            _ => return None,
        };
        let text = message.content.trim();
        (shown && !text.is_empty()).then(|| (message.role, format!("{who}: {text}")))
    };
    history.iter().enumerate().filter_map(line)
}

/// Returns the work of a stage as text: answers, calls of tools, their results and corrections. The
/// messages of the user are in the conversation.
pub fn work_view(history: &[Message], wording: &Wording) -> String {
    let mut view = String::new();
    for message in history {
        let text = message.content.trim();
        match message.role {
            Role::Assistant => {
                if !text.is_empty() {
                    push_line(&mut view, &format!("{}: {text}", wording.assistant));
                }
                for call in &message.tool_calls {
                    push_line(
                        &mut view,
                        &format!("[{}] {} {}", call.id, call.name, call.arguments),
                    );
                }
            }
            Role::Tool => {
                let id = message.tool_call_id.as_deref().unwrap_or_default();
                push_line(&mut view, &format!("[{id}] → {text}"));
            }
            Role::User if is_correction(message) => push_line(&mut view, text),
            _ => {}
        }
    }
    view
}

fn push_line(view: &mut String, line: &str) {
    if !view.is_empty() {
        view.push('\n');
    }
    // Writing to a String cannot fail.
    let _ = write!(view, "{line}");
}

#[cfg(test)]
mod tests {
    use fugato_state::ToolCall;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn history() -> Vec<Message> {
        let call = ToolCall::new("c1", "place", json!({ "task": 7 }));
        vec![
            Message::user("Plan my week."),
            Message::assistant("[NEXT_PLAN]"),
            correction("answer with one JSON object"),
            Message::assistant("I place it.").with_tool_calls([call]),
            Message::tool("c1", "placed"),
            marker("execute_loop_closed"),
            Message::assistant("Done."),
        ]
    }

    #[test]
    fn sch_112_the_conversation_view_leaves_out_tools_and_corrections() {
        assert_eq!(
            conversation_view(&history(), &Wording::english()),
            "User: Plan my week.\nAssistant: I place it.\nAssistant: Done."
        );
    }

    #[test]
    fn words_that_look_like_a_correction_are_none() {
        let told = correction("answer with one JSON object");
        let stored = serde_json::to_string(&told).unwrap();
        assert!(is_correction(&serde_json::from_str(&stored).unwrap()));
        let typed = [
            Message::assistant("Which day?"),
            Message::user("[correction] not Monday, Tuesday"),
        ];
        assert_eq!(
            conversation_view(&typed, &Wording::english()),
            "Assistant: Which day?\nUser: [correction] not Monday, Tuesday"
        );
        let worked = work_view(&typed, &Wording::english());
        assert_eq!(worked, "Assistant: Which day?");
    }

    #[test]
    fn sch_55_a_finished_loop_leaves_the_working_area() {
        let wording = Wording::english();
        assert_eq!(
            work_view(&history(), &wording),
            "Assistant: [NEXT_PLAN]\n\
             [correction] answer with one JSON object\n\
             Assistant: I place it.\n\
             [c1] place {\"task\":7}\n\
             [c1] → placed\n\
             Assistant: Done."
        );
        let history = history();
        let current = since_marker(&history, "execute_loop_closed");
        assert_eq!(work_view(current, &wording), "Assistant: Done.");
        assert_eq!(since_marker(&history, "execute_step_advanced"), history);
    }

    fn any_message() -> impl Strategy<Value = Message> {
        ("[a-z]{0,5}", 0..4u8).prop_map(|(text, kind)| match kind {
            0 => Message::user(text),
            1 => Message::assistant(text),
            2 => Message::tool("c", text),
            _ => marker(&text),
        })
    }

    proptest! {
        /// A server can cache the beginning of a prompt only if it stays.
        #[test]
        fn l6_a_longer_history_only_adds_to_the_end_of_the_view(
            history in proptest::collection::vec(any_message(), 0..12),
            cut in 0usize..12,
        ) {
            let wording = Wording::english();
            let part = history.get(..cut).unwrap_or(&history);
            let whole = conversation_view(&history, &wording);
            prop_assert!(whole.starts_with(&conversation_view(part, &wording)));
        }
    }
}
