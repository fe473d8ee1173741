//! Words under a card that do not simply agree to it or decline it.
use fugato::{
    state::ToolCall,
    words::{
        ShortAnswer, after_phrase, after_word, decided, denied, is_question, normalize, path,
        strip_phrase, wishes, without_code,
    },
};
use serde_json::Value;

use super::{asks, wish};

/// Returns the arguments of a write as words under its card change them: "no, call it
/// shopping.md", 内容改成咖啡, "no, call dad"; none if they change nothing.
pub(crate) fn corrected(call: &ToolCall, words: &str) -> Option<Value> {
    if call.name != "write_file" || is_question(words) || takes_its_place(words) {
        return None;
    }
    let mut arguments = call.arguments.as_object()?.clone();
    let mut parts = wishes(words, |_, part| is_change(part));
    parts.retain(|part| ShortAnswer::of(&without_code(part).0) != Some(ShortAnswer::No));
    if parts.len() < 2 {
        parts = vec![words];
    }
    for part in parts {
        let (field, said) = change(part)?;
        if said.is_empty() {
            return None;
        }
        arguments.insert(field.to_owned(), said.into());
    }
    let arguments = Value::Object(arguments);
    (arguments != call.arguments).then_some(arguments)
}

/// Returns what follows a no to a card, with its code or without: "no K7F2, three".
pub(crate) fn declined(words: &str) -> Option<String> {
    let (agrees, rest) = decided(words)?;
    (!agrees).then_some(rest)
}

/// Returns true if words decline a card, and wish for something else: "no, list files".
pub(crate) fn takes_its_place(words: &str) -> bool {
    const NAMED: [&str; 2] = ["call ", "调用"];
    let Some(reason) = declined(words) else {
        return false;
    };
    let is_text = |tool: &str| ["calculate", "time"].contains(&tool) && !asks(&reason);
    let wished = wish(&reason, None)
        .map(|wish| wish.calls)
        .unwrap_or_default();
    let is_call = strip_phrase(&reason, &NAMED).is_some();
    !wished.is_empty() && !is_call && !wished.iter().any(|(tool, _)| is_text(tool))
}

/// The words before the name of a file.
const NAMES: [&str; 12] = [
    "the name to ",
    "the file name to ",
    "the filename to ",
    "the file to ",
    "call it ",
    "name it ",
    "文件名改成",
    "文件名改为",
    "文件名换成",
    "名字改成",
    "名字改为",
    "叫",
];
/// The words before a text, or before a name that has the form of one.
const TEXTS: [&str; 8] = [
    "change it to ",
    "make it ",
    "the text to ",
    "the content to ",
    "the contents to ",
    "改成",
    "改为",
    "换成",
];

/// Returns true if words begin to change one thing: 内容改成三.
fn is_change(words: &str) -> bool {
    const THINGS: [&str; 4] = ["内容", "文字", "文本", "正文"];
    let words = strip_phrase(words, &["change ", "把"]).unwrap_or(words);
    let words = strip_phrase(words, &THINGS).unwrap_or(words);
    strip_phrase(words, &NAMES)
        .or_else(|| strip_phrase(words, &TEXTS))
        .is_some()
}

/// Returns the field that words change, and what is to stand there.
fn change(words: &str) -> Option<(&'static str, String)> {
    let marks = |c: char| c.is_whitespace() || ".。!！“”\"「」".contains(c);
    let plain = |said: &str| -> String {
        let said = said.trim_matches(marks).trim_end_matches('吧');
        said.strip_suffix(" instead").unwrap_or(said).to_owned()
    };
    let named = after_phrase(words, &NAMES).or_else(|| after_phrase(words, &TEXTS));
    let named = named.map(plain).filter(|it| path(it).as_ref() == Some(it));
    Some(match named {
        Some(file) => ("path", file),
        None => {
            if let Some(text) = after_phrase(words, &TEXTS) {
                ("text", plain(text))
            } else {
                let said = plain(&wanted_instead(words)?);
                let file = path(&said).filter(|file| *file == said);
                (if file.is_some() { "path" } else { "text" }, said)
            }
        }
    })
}

/// Returns what words under a card want in its place: "no, call dad", 不对，写第二天; none if they only
/// say why not.
fn wanted_instead(words: &str) -> Option<String> {
    const WRITES: [&str; 22] = [
        "it should say ",
        "it should be ",
        "it should read ",
        "it should go to ",
        "i meant ",
        "i mean ",
        "write to ",
        "write into ",
        "write ",
        "save it to ",
        "save to ",
        "to ",
        "应该是",
        "应该写",
        "我是说",
        "写到",
        "写入",
        "写成",
        "写进",
        "存到",
        "写",
        "是",
    ];
    const WHY: [&str; 21] = [
        "i", "i'm", "it", "it's", "that", "that's", "this", "because", "too", "we", "you", "later",
        "there", "不", "太", "我", "没", "先", "等", "因为", "这",
    ];
    let reason = declined(words)?;
    let reason = reason.trim();
    let wanted = strip_phrase(reason, &WRITES).map(str::trim);
    let said = normalize(reason);
    let is_why = after_word(&said, &WHY).is_some() || denied(&said).is_some();
    wanted
        .or_else(|| (!is_why).then_some(reason))
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
}
