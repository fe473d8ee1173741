//! Conditions, on which a text makes what it wants.
use crate::{
    is_question,
    word::{after_word, before_word, has_any_word, is_inside},
};

/// The words that begin a condition.
const LATIN: [&str; 8] = [
    "if",
    "unless",
    "provided",
    "as long as",
    "as soon as",
    "in case",
    "assuming",
    "once",
];
const CHINESE: [&str; 9] = [
    "如果", "万一", "假如", "假使", "要是", "倘若", "除非", "一旦", "等到",
];
/// These make one of what somebody else decides: "when my boss agrees", 等老板批准后.
const WAITS: [&str; 6] = ["when", "after", "until", "before", "只要", "等"];
const DECIDES: [&str; 18] = [
    "agrees",
    "agreed",
    "approves",
    "approved",
    "approval",
    "confirms",
    "confirmed",
    "signs",
    "signed",
    "says yes",
    "同意",
    "批准",
    "批了",
    "答应",
    "点头",
    "通过后",
    "审批",
    "签字",
];
/// These follow where a wish is only kind.
const KIND: [&str; 14] = [
    "possible",
    "you can",
    "you could",
    "you like",
    "you want",
    "you please",
    "needed",
    "necessary",
    "that is ok",
    "that's ok",
    "可以",
    "可能",
    "方便",
    "需要",
];
/// Behind these there is no condition.
const BEFORE: [&str; 11] = [
    "see", "check", "know", "ask", "tell me", "wonder", "sure", "at", "as", "even", "find out",
];
/// With "once" only a sentence is a condition, and "once more" is none.
const OF_SENTENCES: [&str; 8] = ["my", "the", "he", "she", "they", "it", "we", "our"];

/// Returns the condition on which a text makes what it wants; `None` if it makes none, or asks.
///
/// ```
/// use fugato_text::condition;
///
/// assert_eq!(condition("If my boss agrees, apply for it"), Some("If my boss agrees"));
/// assert_eq!(condition("如果老板同意，就申请"), Some("如果老板同意"));
/// assert_eq!(condition("等老板批准后申请"), Some("等老板批准后申请"));
/// assert_eq!([condition("apply for it if possible"), condition("ask if it is open")], [None; 2]);
/// ```
pub fn condition(text: &str) -> Option<&str> {
    if is_question(text) {
        return None;
    }
    // Lower case by ASCII keeps the byte positions.
    let lower = text.to_ascii_lowercase();
    let begins = |at: usize| -> Option<()> {
        let (before, here) = lower.split_at_checked(at)?;
        let said = match after_word(here, &CHINESE) {
            Some(said) if !(here.starts_with("要是") && before.ends_with(['主', '需', '重'])) => {
                said
            }
            Some(_) => return None,
            None if after_word(here, &WAITS).is_some() && !is_inside(before) => {
                let clause = here.split([',', '，', '.', '。', ';', '；']).next()?;
                return has_any_word(clause, &DECIDES).then_some(());
            }
            None => {
                let said = after_word(here, &LATIN).filter(|_| !is_inside(before))?;
                if before_word(before.trim_end(), &BEFORE).is_some() {
                    return None;
                }
                let said = said.trim_start();
                if here.starts_with("once") {
                    after_word(said, &OF_SENTENCES)?;
                }
                said
            }
        };
        let is_kind = after_word(said.trim_start(), &KIND).is_some();
        (!is_kind && !said.is_empty()).then_some(())
    };
    let mut from = lower.char_indices().map(|(at, _)| at);
    let from = from.find(|at| begins(*at).is_some())?;
    let said = text.get(from..)?;
    let end = said.find([',', '，', '.', '。', ';', '；', '!', '！', '\n']);
    let said = said.get(..end.unwrap_or(said.len()))?;
    // 如果老板同意就申请: what is wanted follows without a sign.
    let said = said.split_once('就').map_or(said, |(said, _)| said);
    Some(said.trim_end())
}
