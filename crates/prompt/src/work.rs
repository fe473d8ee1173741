//! The work of a stage, as text or as messages that can be left out step by step.
use fugato_state::{Message, Role};

use crate::{Wording, work_view};

/// The work of a stage so far.
#[derive(derive_more::From, Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StageWork {
    /// A text of the program. It is shown whole.
    #[from(&str, String)]
    Text(String),
    /// The messages themselves. If a prompt is too long, results are shortened and old steps left
    /// out.
    #[from(&[Message], Vec<Message>)]
    Messages(Vec<Message>),
}

impl Default for StageWork {
    fn default() -> Self {
        Self::Messages(vec![])
    }
}

impl StageWork {
    /// Returns the number of steps that can be left out: all but the newest.
    pub(crate) fn can_leave_out(&self) -> usize {
        steps(self.messages()).len().saturating_sub(1)
    }

    /// Returns the number of results with more than `most` characters.
    pub(crate) fn longer_than(&self, most: usize) -> usize {
        let is_long = |message: &&Message| {
            message.role == Role::Tool && message.content.chars().count() > most
        };
        self.messages().iter().filter(is_long).count()
    }

    /// Returns the work without its first steps, and with results of at most so many characters.
    pub(crate) fn shown(&self, left_out: usize, most: Option<usize>, wording: &Wording) -> String {
        if let Self::Text(text) = self {
            return text.clone();
        }
        let messages = self.messages();
        let from = match left_out {
            0 => 0,
            n => steps(messages).get(n).copied().unwrap_or_default(),
        };
        let mut messages = messages.get(from..).unwrap_or_default().to_vec();
        if let Some(most) = most {
            let results = messages
                .iter_mut()
                .filter(|message| message.role == Role::Tool);
            results.for_each(|message| shorten(&mut message.content, most, wording));
        }
        let view = work_view(&messages, wording);
        if left_out == 0 {
            return view;
        }
        let told = Wording::counted(&wording.steps_left_out, left_out);
        format!("{told}\n{view}")
    }

    fn messages(&self) -> &[Message] {
        match self {
            Self::Text(_) => &[],
            Self::Messages(messages) => messages,
        }
    }
}

/// Returns the places where steps begin. A call and its results are one step, as are an answer and
/// its correction.
fn steps(messages: &[Message]) -> Vec<usize> {
    let begins = |(at, message): (usize, &Message)| (message.role == Role::Assistant).then_some(at);
    messages.iter().enumerate().filter_map(begins).collect()
}

/// Shortens a text to its beginning and its end, which identify most results.
fn shorten(text: &mut String, most: usize, wording: &Wording) {
    let length = text.chars().count();
    if length <= most {
        return;
    }
    let head: String = text.chars().take(most.div_ceil(2)).collect();
    let tail: String = text.chars().skip(length - most / 2).collect();
    let told = Wording::counted(&wording.characters_left_out, length - most);
    *text = format!("{head} {told} {tail}");
}

#[cfg(test)]
mod tests {
    use fugato_state::ToolCall;
    use serde_json::json;

    use super::*;
    use crate::correction;

    fn work() -> StageWork {
        let call = |id: &str| ToolCall::new(id, "look", json!({}));
        StageWork::from(vec![
            Message::user("Look!"),
            Message::assistant("I look twice.").with_tool_calls([call("a"), call("b")]),
            Message::tool("a", "0123456789"),
            Message::tool("b", "9876543210"),
            Message::assistant("[DONE]"),
            correction("answer with one JSON object"),
            Message::assistant("").with_tool_calls([call("c")]),
            Message::tool("c", "short"),
        ])
    }

    #[test]
    fn l10_a_call_is_left_out_together_with_its_results() {
        let (work, wording) = (work(), Wording::english());
        assert_eq!(work.can_leave_out(), 2);
        assert_eq!(
            work.shown(1, None, &wording),
            "(earlier steps that are left out: 1)\nAssistant: [DONE]\n\
             [correction] answer with one JSON object\n[c] look {}\n[c] → short"
        );
        assert_eq!(
            work.shown(2, None, &wording),
            "(earlier steps that are left out: 2)\n[c] look {}\n[c] → short"
        );
    }

    #[test]
    fn sch_116_a_long_result_keeps_its_ends() {
        let (work, wording) = (work(), Wording::english());
        assert_eq!((work.longer_than(9), work.longer_than(10)), (2, 0));
        let shown = work.shown(0, Some(5), &wording);
        assert!(
            shown.contains("[a] → 012 … (characters left out: 5) … 89\n"),
            "{shown}"
        );
        assert!(shown.contains("[c] → short"), "{shown}");
    }
}
