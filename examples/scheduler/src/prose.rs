//! Checks of model text for the person: only content that a contract allows, and no claim of an
//! action without a receipt.
mod claim;

use std::sync::LazyLock;

use fugato::{prompt::Wording, state::say};

use crate::report::Receipts;

pub(crate) use claim::numbers_are_known;

/// The reasons for not showing a text of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProseError {
    /// It repeats the prompt, or contains a decision or a part of one.
    #[error("{}", say!(
        "the words for the person must not repeat the instructions, a tag or a decision",
        "写给用户的文字不得重复指令、标签或决定"
    ))]
    Echo,
    /// It claims an action that was not done.
    #[error("{}", say!(
        "the words for the person say that something was done that no result shows; say only what was done",
        "写给用户的文字说做了某事，却没有结果表明；只能说做过的事"
    ))]
    Claim,
}

/// Checks a text of a model: it repeats no prompt, and claims no action without a receipt.
///
/// # Errors
/// See [`ProseError`].
pub(crate) fn check(text: &str, receipts: &Receipts) -> Result<(), ProseError> {
    if is_echo(text) {
        return Err(ProseError::Echo);
    }
    if claim::is_unborne(text, receipts) {
        return Err(ProseError::Claim);
    }
    Ok(())
}

/// The marks of a prompt or a decision: tags, keys of the contracts, and sentences of the prompts.
const MARKS: [&str; 29] = [
    "<decision",
    "</decision",
    "<route",
    "</route",
    "<tool",
    "</tool",
    "<function",
    "</function",
    "<think",
    "</think",
    "<|",
    "nonce=",
    "```json",
    "[[execute_",
    "[correction]",
    "\"intent\":",
    "\"action\":",
    "\"speak\":",
    "\"tool_call\":",
    "inside this tag",
    "what the person reads, or nothing",
    "write to the person in",
    "you are a scheduling assistant",
    "is one json object",
    "写在这个标签里",
    "标签之后写给用户看的文字",
    "请用中文回答用户",
    "你是日程助手",
    "是一个 json 对象",
];

/// The headings of the prompts, in both languages and in lower case.
static HEADINGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let headings = [Wording::english(), Wording::chinese()].map(|wording| {
        [
            wording.tools,
            wording.rules,
            wording.summary,
            wording.conversation,
            wording.work,
            wording.work_summary,
            wording.state,
            wording.memory,
            wording.resume,
            wording.hints,
            wording.instruction,
            wording.trust,
        ]
    });
    let headings = headings.iter().flatten();
    headings.map(|heading| heading.to_lowercase()).collect()
});

/// Returns true if a text repeats a prompt, or contains a decision or the beginning of one.
pub(crate) fn is_echo(text: &str) -> bool {
    let low = text.to_lowercase();
    MARKS.iter().any(|mark| low.contains(mark)) || has_object(text) || low.lines().any(is_heading)
}

/// Returns true if a JSON object begins somewhere, or a line consists of its brackets.
fn has_object(text: &str) -> bool {
    let begins = |(at, _): (usize, &str)| {
        let after = text.get(at + 1..).unwrap_or_default().trim_start();
        after.starts_with(['"', '…']) || after.starts_with("...")
    };
    let bracket = |line: &str| line.trim_start().starts_with(['{', '}']);
    text.match_indices('{').any(begins) || text.lines().any(bracket)
}

fn is_heading(line: &str) -> bool {
    let Some(heading) = line.trim_start().strip_prefix('#') else {
        return false;
    };
    let heading = heading.trim_start_matches('#').trim_start();
    HEADINGS
        .iter()
        .any(|known| heading.starts_with(known.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_and_decisions_are_echoes_and_sentences_are_not() {
        for echo in [
            "# Now Decide on the next action.",
            "## 当前任务\n请决定",
            "<decision nonce=\"6\">{...}</decision>",
            "lorem ipsum {\"action\": lorem",
            "{\"intent\"",
            "{\n  \"speak\"",
            "[{ \"a\": 1 }]",
            "After the tag write what the person reads, or nothing.",
        ] {
            assert!(is_echo(echo), "{echo}");
        }
        for words in [
            "Your Wednesday is quite full; shall I look at Friday?",
            "# Wednesday\n- Gym {sections 1 to 2}",
            "a < b, and the set {1, 2}",
            "周三很满，要看看周五吗？",
            "",
        ] {
            assert!(!is_echo(words), "{words}");
        }
    }
}
