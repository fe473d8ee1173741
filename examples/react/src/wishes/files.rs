//! Wishes about files.
use fugato::words::{
    RestrictionKind, after_phrase, denied, is_left_out, path, restriction, strip_phrase,
};

use super::{after, is_any};

pub(super) const LIST: &[&str] = &[
    "list files",
    "list the files",
    "list my files",
    "what files",
    "how many files",
    "多少个文件",
    "多少文件",
    "几个文件",
    "which files",
    "show files",
    "show my files",
    "列出文件",
    "列出我的文件",
    "列出所有文件",
    "有哪些文件",
    "有什么文件",
    "查看文件列表",
];

const READ: &[&str] = &[
    "read the file ",
    "read file ",
    "read ",
    "show me what is in ",
    "show me ",
    "can you show me what is in ",
    "could you read ",
    "what is in ",
    "what's in ",
    "tell me what is in ",
    "tell me what's in ",
    "open ",
    "can you open ",
    "could you open ",
    "can you read ",
    "please read ",
    "please open ",
    "读取文件",
    "读取",
    "打开文件",
    "打开",
    "读一下",
    "看看",
    "看一下",
];

pub(super) const WRITE: &[&str] = &[
    "write to ",
    "write into ",
    "write the file ",
    "write ",
    "save to ",
    "写入文件",
    "写文件",
    "写入",
    "保存到",
];

/// The words before the name of a file that is to be written, or before nothing at all.
const NEW: &[&str] = &[
    "create a file",
    "create a new file",
    "write a file",
    "write a new file",
    "make a file",
    "make a new file",
    "创建文件",
    "创建一个文件",
    "新建文件",
    "新建一个文件",
    "建一个文件",
    "写一个文件",
    "写个文件",
];

/// Reads a wish to see files.
pub(super) fn read(text: &str) -> Vec<String> {
    const HOLDS: [&str; 8] = [
        "what's in ",
        "what is in ",
        "what does ",
        "the contents of ",
        "有什么",
        "写了什么",
        "写着什么",
        "的内容",
    ];
    let told = after(text, READ);
    let lead = ["请告诉我", "告诉我", "请看看", "看看", "说说", "请问"];
    let text = strip_phrase(text, &lead).unwrap_or(text);
    let is_meant = |path: &String| !is_left_out(text, path);
    let asks = || {
        let holds = is_any(&text.replace('’', "'"), &HOLDS);
        path(text).filter(|path| holds && is_meant(path))
    };
    let Some(rest) = told else {
        return asks().into_iter().collect();
    };
    let mut parts = vec![rest];
    for at in [" and ", ", ", "、", "和", "，", "以及", "还有", " but "] {
        parts = parts.into_iter().flat_map(|part| part.split(at)).collect();
    }
    let all = parts.len();
    // 别读b.txt has no space before the name.
    let is_wanted = |part: &str| denied(&part.to_lowercase()).is_none();
    parts.retain(|part| is_wanted(part) && path(part).as_ref().is_none_or(is_meant));
    let rest = match parts.as_slice() {
        [only] if all > 1 => only.trim(),
        _ => rest,
    };
    let files: Option<Vec<String>> = parts.iter().map(|part| path(part.trim())).collect();
    match files {
        Some(files) if files.len() > 1 => files,
        _ if !rest.contains(char::is_whitespace) => {
            let whole = asks().unwrap_or_else(|| rest.to_owned());
            vec![whole]
        }
        _ => path(rest).filter(is_meant).into_iter().collect(),
    }
}

/// Returns the words by which a wish about files leaves some of them out.
pub(super) fn excepted(text: &str) -> Option<&str> {
    let limit = restriction(text).filter(|it| it.kind == RestrictionKind::Exception)?;
    let of_files = is_any(text, &["file", "文件"]) || path(limit.words).is_some();
    of_files.then_some(limit.words)
}

/// Returns the words by which a text that is to be written makes that depend on its file.
pub(super) fn depends(said: &str) -> Option<&str> {
    const FILE: [&str; 8] = [
        "exist",
        "already",
        "is there",
        "is empty",
        "is new",
        "存在",
        "已经有",
        "还没有",
    ];
    let limit = restriction(said).filter(|it| it.kind == RestrictionKind::Condition)?;
    is_any(limit.words, &FILE).then_some(limit.words)
}

/// Returns true if words ask to read the file that was named before: "read it".
pub(super) fn named_again(text: &str) -> bool {
    const AGAIN: [&str; 5] = ["it", "it back", "it again", "that file", "the file"];
    const AGAIN_ZH: [&str; 8] = [
        "读取它",
        "读取",
        "读一下",
        "读出来",
        "打开它",
        "打开",
        "读给我听",
        "读取这个文件",
    ];
    let text = text.trim_matches(|c: char| c.is_whitespace() || ".!。！".contains(c));
    let lower = text.to_lowercase();
    let rest = strip_phrase(
        &lower,
        &["read ", "show me ", "show ", "open ", "please read "],
    );
    rest.is_some_and(|rest| AGAIN.contains(&rest)) || AGAIN_ZH.contains(&&*lower)
}

/// Returns true if words want something written to a file that they name, whatever it is.
pub(super) fn writes(text: &str) -> bool {
    const PUTS: [&str; 5] = ["写入", "写到", "写进", "保存到", "存到"];
    let asks = [WRITE, &["save ", "please write ", "please save "]];
    let begins = asks.iter().any(|asks| strip_phrase(text, asks).is_some());
    let puts = text.starts_with('把') && PUTS.iter().any(|word| text.contains(word));
    let is_new = strip_phrase(text, NEW).is_some();
    is_new || (begins || puts) && path(text).is_some()
}

/// Returns the name of a file as words give it: "called todo.txt", "j.txt, no, k.txt"; none if they
/// name none, or several.
fn name(words: &str) -> Option<String> {
    const CALLED: [&str; 7] = [
        "a file called ",
        "a file named ",
        "called ",
        "named ",
        "名为",
        "叫做",
        "叫",
    ];
    const CORRECTS: [&str; 8] = [
        "no, ",
        "no wait, ",
        "sorry, ",
        "i mean ",
        "不对，",
        "不，",
        "错了，",
        "应该是",
    ];
    let words = words.trim();
    let words = after_phrase(words, &CORRECTS).unwrap_or(words).trim();
    let words = strip_phrase(words, &CALLED).unwrap_or(words).trim();
    let is_one = |c: char| c.is_whitespace() || "，,；;、\"“”".contains(c);
    let is_name = !words.is_empty() && !words.contains(is_one) && excepted(words).is_none();
    is_name.then(|| words.to_owned())
}

/// Reads `write PATH: TEXT`, or what is in quotation marks and a file for it.
pub(super) fn written(text: &str) -> Option<(String, String)> {
    const MARKS: [(char, char); 3] = [('"', '"'), ('“', '”'), ('「', '」')];
    // The marks at the end belong to what is to be written.
    if let Some(told) = strip_phrase(text, WRITE).and_then(|rest| {
        let (path, said) = rest.split_once([':', '：'])?;
        let said = said.trim_start_matches([':', '：']).trim();
        Some((name(path)?, said.to_owned()))
    }) {
        return Some(told);
    }
    let named = after_phrase(text, NEW);
    if let Some(told) = named.and_then(|rest| {
        let at = [" with the text ", " with ", "，内容是", "，内容："];
        let (path, said) = at.iter().find_map(|at| rest.split_once(at))?;
        Some((name(path)?, said.trim().to_owned()))
    }) {
        return Some(told);
    }
    let wants = ["save ", "write ", "please save ", "please write ", "把"];
    strip_phrase(text, &wants)?;
    let (before, said, after) = MARKS.iter().find_map(|(open, close)| {
        let (before, rest) = text.split_once(*open)?;
        let (said, after) = rest.split_once(*close)?;
        Some((before, said, after))
    })?;
    let is_place = |c: char| c.is_whitespace() || "到入在进里".contains(c);
    let after = after
        .trim_start_matches(['写', '存', '保'])
        .trim_start_matches(is_place);
    let place = format!("{before} {after}");
    let file = path(after).or_else(|| path(before))?;
    let is_plain = excepted(&place).is_none() && !is_left_out(&place, &file);
    is_plain.then(|| (file, said.to_owned()))
}
