//! Wishes about files.
use fugato::words::{
    RestrictionKind, after_phrase, courtesy, denied, has_any_word, is_left_out, keywords,
    mentioned, normalize, path, restriction, strip_phrase, wishes,
};
use serde_json::json;

use super::{Intent, after, is_any, sums::bare, unread};

const LIST: &[&str] = &[
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

/// The words around a wish for the list that say nothing about its files.
const AROUND: &[&str] = &[
    "there",
    "are",
    "folder",
    "here",
    "exist",
    "now",
    "currently",
    "just",
    "again",
    "first",
    "then",
    "total",
    "tell",
    "give",
    "see",
    "want",
    "would",
    "like",
    "available",
    "只",
    "里面",
    "里",
    "中",
    "现在",
    "目前",
    "一共",
    "总共",
    "先",
    "再",
    "给我",
    "告诉我",
    "看看",
    "看",
    "这里",
    "吗",
    "呢",
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
    "只读取",
    "只读",
    "读",
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
    "写一下",
    "写",
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

/// The words that ask for what a file says.
const HOLDS: &[&str] = &[
    "what's in ",
    "what is in ",
    "what does ",
    "what it says",
    "the contents of ",
    "有什么",
    "写了什么",
    "写着什么",
    "的内容",
];

/// Reads a wish to see files.
fn read(text: &str) -> Vec<String> {
    let told = after(text, READ);
    let lead = ["请告诉我", "告诉我", "请看看", "看看", "说说", "请问"];
    let text = strip_phrase(text, &lead).unwrap_or(text);
    let is_meant = |path: &String| !is_left_out(text, path);
    let asks = || {
        let holds = is_any(&text.replace('’', "'"), HOLDS);
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
    let is_wanted = |part: &str| {
        let refused = part.trim_start().strip_prefix('不');
        let refused = refused.and_then(|part| strip_phrase(part, READ));
        refused.is_none() && denied(&part.to_lowercase()).is_none()
    };
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

/// Reads a wish to see files, and what else stands behind their names: "remember the landlord".
pub(super) fn read_besides(text: &str) -> (Vec<String>, Vec<&str>) {
    let is_other = |part: &str| {
        let is_polite = courtesy(part).is_some() || bare(&normalize(part)).is_empty();
        !is_polite && !named_again(part) && !is_any(part, HOLDS)
    };
    let mut parts = wishes(text, |before, part| {
        path(before).is_some() && path(part).is_none() && denied(&part.to_lowercase()).is_none()
    });
    let files = parts.first().map(|first| read(first)).unwrap_or_default();
    if files.is_empty() {
        return (read(text), vec![]);
    }
    parts.remove(0);
    parts.retain(|part| is_other(part));
    (files, parts)
}

/// Returns the words by which a wish about files leaves some of them out.
pub(super) fn excepted(text: &str) -> Option<&str> {
    let limit = restriction(text).filter(|it| it.kind == RestrictionKind::Exception)?;
    let of_files = is_any(text, &["file", "文件"]) || path(limit.words).is_some();
    of_files.then_some(limit.words)
}

/// A wish for all files, or for all but some.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AllFiles<'t> {
    /// The message.
    text: &'t str,
    /// The words that leave some out.
    excepted: Option<&'t str>,
    /// True if they are to be read, and not only listed.
    pub(crate) is_read: bool,
}

/// Reads a wish for all files; none if it says more than which are left out.
pub(crate) fn all_files(text: &str) -> Option<AllFiles<'_>> {
    const ALL: [&str; 10] = [
        "all files",
        "all the files",
        "all my files",
        "every file",
        "each file",
        "everything",
        "所有文件",
        "所有的文件",
        "全部文件",
        "每个文件",
    ];
    let limit = restriction(text).filter(|it| it.kind == RestrictionKind::Exception);
    let is_read = has_any_word(text, &["read", "open"]) || text.contains(['读', '开']);
    let lists = has_any_word(text, &["list", "show", "which files", "what files"])
        || is_any(text, &["列", "哪些", "看看", "查看"]);
    let of_files = is_any(text, &["file", "文件"]) || is_read;
    let wanted = (is_read || lists) && (limit.is_some() && of_files || is_any(text, &ALL));
    (wanted && denied(&text.to_lowercase()).is_none()).then_some(AllFiles {
        text,
        excepted: limit.map(|limit| limit.words),
        is_read,
    })
}

impl<'t> AllFiles<'t> {
    /// Returns those of the listed files that are wanted; the words that leave some out, if they name
    /// none of them, or say something else.
    pub(crate) fn of<'f>(&self, listed: &[&'f str]) -> Result<Vec<&'f str>, &'t str> {
        /// Words beside the files and the names of those that are left out.
        const BESIDE: &str = "a all also and apart are aside but can contents could each every everything \
            except excluding exclude file files for from i in is leave leaving list me my not of off one ones open \
            other out please read show than that the them there to what which with without you";
        const BESIDE_ZH: &str = "除了 除开 除去 除外 以外 之外 不包括 不包含 其他 其余 所有 全部 每个 文件 内容 里面 \
            读取 读一下 读一遍 打开 列出 列一下 显示 查看 看看 给我 帮我 哪些 一下 一遍 但是 请 把 我 的 都 读 念 列 有 \
            了 吧 来 是 那个 这个 除 外 但 不要 别 不";
        let named = |name: &str| mentioned(self.text, [name]).is_some();
        let mut said = self.text.to_lowercase();
        let mut kinds = self.excepted.unwrap_or_default().to_lowercase();
        while let Some(name) = path(&kinds) {
            kinds = kinds.replace(&name, " ");
        }
        let mut wanted = vec![];
        for file in listed {
            let lower = file.to_lowercase();
            let name = lower.rsplit('/').next().unwrap_or_default();
            let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
            let of_kind = mentioned(&kinds, [ending]).is_some();
            // Nothing but what is left out is named by such a wish.
            if named(&lower) || named(name) {
                said = said.replace(&lower, " ").replace(name, " ");
            } else if of_kind {
                said = said.replace(ending, " ");
            } else {
                wanted.push(*file);
            }
        }
        for word in BESIDE_ZH.split_whitespace() {
            said = said.replace(word, " ");
        }
        let mut left = said
            .split(|c: char| !c.is_alphanumeric())
            .filter(|it| !it.is_empty());
        let is_beside = |word: &str| BESIDE.split_whitespace().any(|it| it == word);
        let is_whole =
            left.all(is_beside) && (wanted.len() < listed.len()) == self.excepted.is_some();
        is_whole
            .then_some(wanted)
            .ok_or(self.excepted.unwrap_or(self.text))
    }
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
        let (to, said) = rest.split_once([':', '：'])?;
        let said = said.trim_start_matches([':', '：']).trim();
        let name = name(to)?;
        // 写信给老王：… names no file.
        let is_file = name.is_ascii() || path(&name).is_some() || !text.starts_with("写");
        (is_file || strip_phrase(text, &["写入", "写文件"]).is_some())
            .then(|| (name, said.to_owned()))
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
    let rest = strip_phrase(text, &wants)?;
    let Some((before, said, after)) = MARKS.iter().find_map(|(open, close)| {
        let (before, rest) = text.split_once(*open)?;
        let (said, after) = rest.split_once(*close)?;
        Some((before, said, after))
    }) else {
        return put(rest);
    };
    let is_place = |c: char| c.is_whitespace() || "到入在进里".contains(c);
    let after = after
        .trim_start_matches(['写', '存', '保'])
        .trim_start_matches(is_place);
    let place = format!("{before} {after}");
    let file = path(after).or_else(|| path(before))?;
    let is_plain = excepted(&place).is_none() && !is_left_out(&place, &file);
    is_plain.then(|| (file, said.to_owned()))
}

/// Reads `TEXT into PATH`. What names something to be written, such as "a poem" or "the result", is no
/// text.
fn put(rest: &str) -> Option<(String, String)> {
    const TO: [&str; 10] = [
        " into ",
        " to ",
        " in ",
        "写入",
        "写到",
        "写进",
        "写在",
        "保存到",
        "存到",
        "存进",
    ];
    const NAMES: &str =
        "a an the some my your it this that these those them everything all another what";
    const NAMES_ZH: [&str; 11] = [
        "我", "你", "一", "它", "这", "那", "结果", "上面", "刚才", "所有", "全部",
    ];
    let (said, to) = TO.iter().find_map(|to| rest.rsplit_once(to))?;
    let to = to.trim().trim_end_matches(['里', '中', '.', '。', '吧']);
    let file = name(to).filter(|name| path(name).as_ref() == Some(name))?;
    let said = said.trim();
    let first = said
        .split(|c: char| !c.is_alphanumeric())
        .next()?
        .to_lowercase();
    let is_named = NAMES.split_whitespace().any(|word| word == first)
        || NAMES_ZH.iter().any(|word| said.starts_with(word))
        || path(said).is_some()
        || is_any(said, &["content", "内容"]);
    (!said.is_empty() && !is_named).then(|| (file, said.to_owned()))
}

/// Returns the wish for the list of files of a text, with an answer to what it says besides, such as "that
/// are older than a week".
pub(super) fn listed(text: &str) -> Option<Intent> {
    let lower = text.to_ascii_lowercase();
    let phrases = LIST
        .iter()
        .filter_map(|phrase| Some((lower.find(phrase)?, phrase.len())));
    let (at, length) = phrases.max_by_key(|(_, length)| *length)?;
    let says = |part: &&str| {
        let mut words = keywords(part).into_iter().filter(|word| {
            let mut left = word.clone();
            if word.is_ascii() {
                return !AROUND.contains(&word.as_str());
            }
            for around in AROUND {
                left = left.replace(around, "");
            }
            left.chars().nth(1).is_some()
        });
        words.next().is_some()
    };
    let parts = [text.get(at + length..), text.get(..at)];
    let mut parts = parts
        .into_iter()
        .flatten()
        .map(|part| part.trim_matches(|c: char| !c.is_alphanumeric()));
    let mut wish = Intent::call("list_files", json!({}));
    wish.told.extend(parts.find(says).map(unread));
    Some(wish)
}
