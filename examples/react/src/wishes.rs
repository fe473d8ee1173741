//! The wishes that rules can read in a message.
use fugato::{agent::memory::to_remember, state::ToolCall, words::strip_phrase};
use serde_json::{Value, json};

use crate::calculator::{CalculationError, calculate};

/// Returns the call that a message plainly asks for: the tool and its arguments; none if it asks
/// for nothing of the kind.
pub(crate) fn wish(message: &str) -> Option<(String, Value)> {
    let text = message.trim();
    let call = |tool: &str, arguments: Value| Some((tool.to_owned(), arguments));
    if let Some(note) = to_remember(text) {
        // The note was stored when the run began; `recall` shows whether it is there.
        return call("recall", json!({ "query": note }));
    }
    if let Some((tool, arguments)) = named(text) {
        return call(tool, arguments);
    }
    if let Some(query) = recalled(text) {
        return call("recall", json!({ "query": query }));
    }
    if let Some((path, text)) = written(text) {
        return call("write_file", json!({ "path": path, "text": text }));
    }
    if is_any(text, LIST) {
        return call("list_files", json!({}));
    }
    if let Some(path) = after(text, READ).filter(|path| !path.contains(char::is_whitespace)) {
        return call("read_file", json!({ "path": path }));
    }
    if let Some(expression) = expression(text) {
        return call("calculate", json!({ "expression": expression }));
    }
    if is_any(text, TIME) {
        return match zone(text) {
            Some(zone) => call("time", json!({ "zone": zone })),
            None => call("time", json!({})),
        };
    }
    None
}

/// Returns the same as a call, whose id has nothing but its number.
pub(crate) fn call(message: &str, number: usize) -> Option<ToolCall> {
    let (tool, arguments) = wish(message)?;
    Some(ToolCall::new(format!("rule-{number}"), tool, arguments))
}

const LIST: &[&str] = &[
    "list files",
    "list the files",
    "list my files",
    "what files",
    "which files",
    "show files",
    "列出文件",
    "有哪些文件",
    "有什么文件",
    "查看文件列表",
];
const READ: &[&str] = &[
    "read the file ",
    "read file ",
    "read ",
    "show me ",
    "open ",
    "读取文件",
    "读取",
    "打开文件",
    "打开",
    "读一下",
];
const WRITE: &[&str] = &[
    "write to ",
    "write into ",
    "write the file ",
    "write ",
    "save to ",
    "写入文件",
    "写入",
    "保存到",
];
const TIME: &[&str] = &[
    "what time",
    "what is the time",
    "what's the time",
    "the time in ",
    "what day",
    "which day",
    "what date",
    "what is the date",
    "today's date",
    "几点",
    "什么时间",
    "现在时间",
    "几号",
    "星期几",
    "什么日期",
];
const RECALL: &[&str] = &[
    "what do you remember about ",
    "what do you remember of ",
    "what do you remember",
    "what did i tell you about ",
    "what do you know about ",
    "what did i ask you to remember",
    "do you remember ",
    "你还记得",
    "你记得",
    "你记住了什么",
    "我让你记住了什么",
];
const CALCULATE: &[&str] = &[
    "what is ",
    "what's ",
    "how much is ",
    "calculate ",
    "compute ",
    "请计算",
    "计算",
    "算一下",
];

fn is_any(text: &str, phrases: &[&str]) -> bool {
    let text = text.to_lowercase();
    phrases.iter().any(|phrase| text.contains(phrase))
}

/// Returns the text after a leading phrase, without the marks at its end.
fn after<'t>(text: &'t str, phrases: &[&str]) -> Option<&'t str> {
    let rest = strip_phrase(text, phrases)?.trim();
    let rest = rest.trim_end_matches(['?', '？', '!', '！', '。']).trim();
    (!rest.is_empty()).then_some(rest)
}

/// Reads `call TOOL {"argument": …}`: any tool, also one of a server.
fn named(text: &str) -> Option<(&str, Value)> {
    let rest = after(text, &["call ", "调用"])?;
    let (tool, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, "{}"));
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    arguments.is_object().then_some((tool, arguments))
}

fn recalled(text: &str) -> Option<&str> {
    // Without anything behind it, a phrase asks for everything.
    if RECALL
        .iter()
        .any(|phrase| strip_phrase(text, &[phrase.trim_end()]).is_some())
    {
        let query = after(text, RECALL).unwrap_or_default();
        return Some(query.trim_end_matches(['吗', '什', '么']));
    }
    None
}

/// Reads `write PATH: TEXT`.
fn written(text: &str) -> Option<(&str, &str)> {
    // The marks at the end belong to what is to be written.
    let rest = strip_phrase(text, WRITE)?;
    let at = rest.find([':', '：'])?;
    let (path, said) = rest.split_at(at);
    let said = said.trim_start_matches([':', '：']).trim();
    let path = path.trim();
    (!path.is_empty() && !path.contains(char::is_whitespace)).then_some((path, said))
}

/// Returns an expression that can be calculated, or that fails with a division by zero or a result
/// that is too large.
fn expression(text: &str) -> Option<&str> {
    let said = after(text, CALCULATE).unwrap_or(text);
    let said = said.trim_end_matches(['?', '？', '=', '＝', '。', ' ']);
    let said = said.trim_end_matches("等于多少").trim_end_matches("是多少");
    let said = said.trim_end_matches("等于几").trim();
    let operates = said.contains(|c: char| "+-*/%^×÷".contains(c));
    let counts = said.contains(|c: char| c.is_ascii_digit());
    match calculate(said) {
        Ok(_) | Err(CalculationError::DivisionByZero | CalculationError::TooLarge)
            if operates && counts =>
        {
            Some(said)
        }
        _ => None,
    }
}

/// Returns a zone that is named in full, such as `Europe/London`.
fn zone(text: &str) -> Option<&str> {
    let marks = |c: char| c.is_whitespace() || matches!(c, '?' | '？' | ',' | '，' | '。');
    let mut words = text.split(marks);
    words.find(|word| word.contains('/') || *word == "UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str) -> Option<String> {
        wish(message).map(|(tool, arguments)| format!("{tool} {arguments}"))
    }

    #[test]
    fn plain_wishes_are_read_in_both_languages() {
        for (message, expected) in [
            (
                "(17 + 25) * 2",
                r#"calculate {"expression":"(17 + 25) * 2"}"#,
            ),
            ("What is 2^10?", r#"calculate {"expression":"2^10"}"#),
            ("计算 3×4 等于多少？", r#"calculate {"expression":"3×4"}"#),
            ("1/0", r#"calculate {"expression":"1/0"}"#),
            ("What time is it?", "time {}"),
            ("现在几点了", "time {}"),
            (
                "What time is it in Asia/Tokyo?",
                r#"time {"zone":"Asia/Tokyo"}"#,
            ),
            ("List the files, please", "list_files {}"),
            ("有哪些文件？", "list_files {}"),
            ("Read notes.md.", r#"read_file {"path":"notes.md."}"#),
            ("读取 计划.md", r#"read_file {"path":"计划.md"}"#),
            (
                "write todo.md: milk!",
                r#"write_file {"path":"todo.md","text":"milk!"}"#,
            ),
            (
                "写入 待办.md：牛奶",
                r#"write_file {"path":"待办.md","text":"牛奶"}"#,
            ),
            (
                "Remember that I drink tea",
                r#"recall {"query":"I drink tea"}"#,
            ),
            ("What do you remember?", r#"recall {"query":""}"#),
            ("what do you know about tea?", r#"recall {"query":"tea"}"#),
            (
                "call files_list {\"path\": \".\"}",
                r#"files_list {"path":"."}"#,
            ),
        ] {
            assert_eq!(said(message).as_deref(), Some(expected), "{message}");
        }
    }

    #[test]
    fn what_is_no_plain_wish_is_left_alone() {
        for message in [
            "hello",
            "I was born in 1990",
            "how do you do?",
            "read me a story about dragons",
            "a - b",
            "call me later",
            "write a poem",
            "",
        ] {
            assert_eq!(said(message), None, "{message}");
        }
    }
}
