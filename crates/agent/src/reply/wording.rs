//! Checks of a model's words before a person reads them: claims, contracts, cuts.
use fugato_llm::{ChatRequest, ChatResponse, FinishReason, RejectedAnswer};
use fugato_state::{Lang, Role, say};

/// Returns true if a text is in Chinese, or shows no language and Chinese is spoken.
pub(crate) fn is_chinese(text: &str) -> bool {
    Lang::evident(text).unwrap_or_else(Lang::current) == Lang::Zh
}

/// Returns the mark of an answer that reached the limit of tokens.
pub(crate) fn cut_mark(chinese: bool) -> &'static str {
    if chinese {
        " [被截断：模型达到了长度上限]"
    } else {
        " [cut off: the model reached its length limit]"
    }
}

/// Returns the text of an answer, with a mark if the model reached the limit of tokens.
///
/// ```
/// use fugato_agent::reply::marked;
/// use fugato_llm::{ChatDelta, FinishReason, ResponseFold};
///
/// let mut fold = ResponseFold::default();
/// fold.push(ChatDelta::text("The answer is"));
/// fold.push(ChatDelta::Finish(FinishReason::Length));
/// let text = marked(&fold.finish());
/// assert_eq!(text, "The answer is [cut off: the model reached its length limit]");
/// ```
pub fn marked(response: &ChatResponse) -> String {
    let text = &response.message.content;
    if is_cut(response) && !text.trim().is_empty() {
        format!("{text}{}", cut_mark(is_chinese(text)))
    } else {
        text.clone()
    }
}

/// Returns true if an answer reached the limit of tokens.
pub(crate) fn is_cut(response: &ChatResponse) -> bool {
    response.finish == Some(FinishReason::Length)
}

/// Rejects words that are meant for programs: a fragment of a contract, or an echo of the prompt.
pub(crate) fn for_people(text: &str, request: &ChatRequest) -> Result<(), RejectedAnswer> {
    if is_contract(text) {
        return Err(RejectedAnswer::words(
            text,
            say!("it is JSON for a program", "它是写给程序的 JSON"),
        ));
    }
    if is_echo(text, request) {
        // An echo may be out of date at the next request, so it is not repeated.
        return Err(RejectedAnswer::words(
            say!("(the prompt, said back)", "（复述了提示词）"),
            say!("it says the prompt back", "它复述了提示词"),
        ));
    }
    Ok(())
}

/// The keys in the contracts of models, and in calls of other forms.
const KEYS: [&str; 13] = [
    "speak",
    "steps",
    "action",
    "tool_call",
    "tool_calls",
    "tool_name",
    "function_call",
    "name",
    "type",
    "intent",
    "thought",
    "goal",
    "params",
];

/// Returns true if a text begins like an object of a contract, complete or cut.
fn is_contract(text: &str) -> bool {
    let text = text.trim_start();
    if text.starts_with("<tool_call") || text.starts_with("[TOOL_CALLS]") {
        return true;
    }
    let fenced = text.strip_prefix("```json").or(text.strip_prefix("```"));
    let text = fenced.unwrap_or(text).trim_start();
    let Some(object) = text.strip_prefix('{') else {
        return false;
    };
    let Some(rest) = object.trim_start().strip_prefix('"') else {
        return false;
    };
    let Some((key, after)) = rest.split_once('"') else {
        // The text was cut within its first key.
        return KEYS.iter().any(|key| key.starts_with(rest));
    };
    KEYS.contains(&key) && after.trim_start().starts_with(':')
}

/// Returns true if words that are still coming may turn out to be for programs.
pub(crate) fn may_be_contract(text: &str) -> bool {
    let text = text.trim_start();
    let fenced = text.strip_prefix("```json").or(text.strip_prefix("```"));
    let is_object = |text: &str| matches!(text.trim_start().chars().next(), None | Some('{'));
    text.starts_with(['<', '[']) || "```json".starts_with(text) || is_object(fenced.unwrap_or(text))
}

/// The minimum number of characters of a line that identifies a prompt.
const TELLING: usize = 40;

/// Returns true if a text has a line that only the prompt has: an instruction, or a heading.
fn is_echo(text: &str, request: &ChatRequest) -> bool {
    let lines = text.lines().map(str::trim);
    let mut said = lines.filter(|line| line.starts_with("# ") || line.chars().count() >= TELLING);
    said.any(|line| {
        request.messages.iter().any(|message| {
            let mut told = message.content.lines().map(str::trim);
            match message.role {
                Role::System => told.any(|told| told == line),
                // Words of a person or a tool may be quoted; headings are from the program.
                Role::User if line.starts_with("# ") => {
                    message.content.starts_with("# ") && told.any(|told| told == line)
                }
                _ => false,
            }
        })
    })
}

/// Verbs that claim no action, as they only look.
const LOOKING: [&str; 26] = [
    "looked",
    "checked",
    "searched",
    "tried",
    "noticed",
    "wanted",
    "asked",
    "needed",
    "failed",
    "learned",
    "used",
    "called",
    "listed",
    "counted",
    "calculated",
    "computed",
    "compared",
    "considered",
    "reviewed",
    "analyzed",
    "analysed",
    "assumed",
    "stopped",
    "mentioned",
    "received",
    "opened",
];

/// Verbs that claim an action and do not end in "ed".
const ACTING: [&str; 16] = [
    "bought",
    "sold",
    "made",
    "wrote",
    "written",
    "sent",
    "told",
    "set",
    "paid",
    "put",
    "done",
    "overwrote",
    "overwritten",
    "rebuilt",
    "built",
    "cut",
];

/// States of a thing after an action.
const RESULTS: [&str; 52] = [
    "filled",
    "executed",
    "placed",
    "sold",
    "bought",
    "ordered",
    "cancelled",
    "canceled",
    "created",
    "made",
    "written",
    "overwritten",
    "saved",
    "stored",
    "deleted",
    "removed",
    "sent",
    "notified",
    "informed",
    "told",
    "scheduled",
    "booked",
    "submitted",
    "approved",
    "transferred",
    "paid",
    "moved",
    "renamed",
    "updated",
    "changed",
    "added",
    "set",
    "registered",
    "remembered",
    "done",
    "complete",
    "completed",
    "finished",
    "closed",
    "confirmed",
    "processed",
    "reserved",
    "edited",
    "appended",
    "recorded",
    "uploaded",
    "performed",
    "carried",
    "replaced",
    "applied",
    "adjusted",
    "kept",
];

/// Words that make a sentence no claim: the action may come, or did not.
const OPEN: [&str; 20] = [
    "will", "would", "can", "could", "should", "may", "might", "must", "to", "not", "never", "if",
    "when", "once", "until", "unless", "nothing", "cannot", "no", "what",
];

/// Returns true if words claim that an action was done: in the first person, or as the new state of
/// a thing. In doubt it returns true, as the consequence is only an additional true line.
///
/// ```
/// use fugato_agent::reply::claims_action;
///
/// assert!(claims_action("Done: I bought 0.1 BTC at 64010. Order #7 is filled."));
/// assert!(claims_action("All done, the boss was notified."));
/// assert!(claims_action("好的，已经买入0.1个比特币。"));
/// assert!(!claims_action("It is 25 °C in Oslo; I looked it up."));
/// assert!(!claims_action("I have not written the file."));
/// assert!(!claims_action("文件没有写入。"));
/// ```
pub fn claims_action(text: &str) -> bool {
    let sentences = text.split(['.', '!', '?', ';', '\n', '。', '！', '？', '；']);
    let lower = sentences.map(str::to_lowercase);
    lower
        .into_iter()
        .any(|said| claims(&said) || claims_in_chinese(&said))
}

fn claims(sentence: &str) -> bool {
    let apart = |c: char| !(c.is_alphanumeric() || c == '\'' || c == '’');
    let words = sentence.split(apart).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(|word| word.replace('’', "'")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let first = words.first().copied().unwrap_or_default();
    let second = words.get(1).copied().unwrap_or_default();
    if matches!(
        (first, second),
        ("done" | "completed" | "finished" | "success", _) | ("all" | "it's", "done" | "set")
    ) {
        return true;
    }
    (0..words.len()).any(|at| {
        let before = words.get(..at).unwrap_or_default();
        let after = words.get(at + 1..).unwrap_or_default();
        match words.get(at).copied().unwrap_or_default() {
            "i" | "we" | "i've" | "we've" => acts(after),
            "is" | "are" | "was" | "were" | "been" | "has" | "have" => {
                let open = before.iter().any(|word| OPEN.contains(word));
                !open && follows(after, |word| RESULTS.contains(&word))
            }
            _ => false,
        }
    })
}

/// Returns true if the words after "I" claim an action.
fn acts(after: &[&str]) -> bool {
    follows(after, |word| {
        let regular = word.len() > 4 && word.ends_with("ed") && !LOOKING.contains(&word);
        regular || ACTING.contains(&word)
    })
}

/// Returns true if such a word comes next, after adverbs and auxiliary verbs.
fn follows(after: &[&str], is_such: impl Fn(&str) -> bool) -> bool {
    const BETWEEN: [&str; 11] = [
        "have",
        "has",
        "just",
        "already",
        "now",
        "also",
        "successfully",
        "been",
        "then",
        "all",
        "fully",
    ];
    let mut next = after
        .iter()
        .copied()
        .skip_while(|word| BETWEEN.contains(word));
    next.next().is_some_and(is_such)
}

/// Phrases that claim an action in Chinese.
const DONE: [&str; 26] = [
    "已",
    "完成了",
    "已完成",
    "办好",
    "搞定",
    "成功",
    "下单了",
    "买了",
    "买入了",
    "卖了",
    "卖出了",
    "写好",
    "写入了",
    "保存了",
    "通知了",
    "删除了",
    "取消了",
    "发送了",
    "提交了",
    "添加了",
    "修改了",
    "创建了",
    "设置了",
    "安排了",
    "成交了",
    "改好了",
];

fn claims_in_chinese(sentence: &str) -> bool {
    if Lang::of(sentence) == Lang::En {
        return false;
    }
    DONE.iter().any(|done| {
        sentence.match_indices(done).any(|(at, _)| {
            let before = sentence.get(..at).unwrap_or_default();
            let after = sentence.get(at + done.len()..).unwrap_or_default();
            let denied = before
                .chars()
                .rev()
                .take(4)
                .any(|c| "没未不无若如".contains(c));
            let known = *done == "已" && after.starts_with(['有', '知', '停', '过']);
            !denied && !known
        })
    })
}

#[cfg(test)]
mod tests {
    use fugato_state::Message;

    use super::*;

    #[test]
    fn claims_are_told_from_answers() {
        let claims = [
            "Done: I bought 0.1 BTC at 64010. Order #7 is filled.",
            "All done, the boss was notified.",
            "Okay. I've just written notes.md for you.",
            "Your file has been saved!",
            "I have successfully placed the order",
            "You're right, the user approved. The plan is now complete",
            "好的，已经通知老板了。",
            "订单成交了",
        ];
        for text in claims {
            assert!(claims_action(text), "{text}");
        }
        let answers = [
            "It is 9 o'clock in Tokyo.",
            "I looked at the files: there are three.",
            "Shall I write it to notes.md?",
            "I will send it once you agree.",
            "A limit order will be filled when the price comes.",
            "Nothing was written.",
            "The order was not placed.",
            "没有写入任何文件。",
            "文件里已有三行。",
            "2 + 2 = 4",
        ];
        for text in answers {
            assert!(!claims_action(text), "{text}");
        }
    }

    #[test]
    fn words_for_programs_are_held_back_until_they_are_known() {
        for text in [
            "```\n{\"action\": 1}",
            "```json\n{\"steps\": []}",
            " {\"speak\": \"x\"}",
        ] {
            let ends = text.char_indices().map(|(at, _)| &text[..at]);
            for begun in ends.chain([text]).filter(|begun| !is_contract(begun)) {
                assert!(may_be_contract(begun), "{begun:?}");
            }
        }
        for text in ["```rust\nfn a() {}", "It is 9 o'clock", "```\nls"] {
            assert!(!may_be_contract(text), "{text:?}");
        }
    }

    #[test]
    fn words_for_programs_are_refused() {
        let request = ChatRequest::new([
            Message::system("Answer the person. Believe the facts before everything else."),
            Message::user("# Goal\nbalances\n\n# Steps so far\n{}"),
        ]);
        let refused = [
            "{\"speak\": \"Mov",
            "{\"steps\":[{\"type\":\"respond\"",
            "```json\n{\"action\": \"finish\"}\n```",
            "{\"st",
            "# Goal\nbalances",
            "Well: \nAnswer the person. Believe the facts before everything else.",
        ];
        for text in refused {
            assert!(for_people(text, &request).is_err(), "{text}");
        }
        for text in [
            "You have 5 BTC.",
            "{\"colour\": \"red\"}",
            "# Balances\n5 BTC",
        ] {
            assert!(for_people(text, &request).is_ok(), "{text}");
        }
    }
}
