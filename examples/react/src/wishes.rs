//! The wishes that rules can read in a message.
mod card;
mod files;
mod sums;
mod times;

use std::borrow::Cow;

use fugato::{
    agent::memory::{to_quote, to_recall, to_remember},
    state::{Lang, say},
    words::{
        self, RestrictionKind, ShortAnswer, after_word, before_word, condition, courtesy, denied,
        forget_limit, forget_refusal, has_any_word, is_question, keywords, normalize, path,
        restriction, strip_phrase, to_forget, wishes,
    },
};
use serde_json::{Value, json};

pub(crate) use card::{corrected, declined, takes_its_place};
pub(crate) use files::{AllFiles, all_files};

use files::{depends, excepted, listed, named_again, read_besides, written};
use sums::{bare, expression};
use times::{TIME, times};

/// The intent of a message, as far as it is plain.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Intent {
    /// The calls of tools, each with its arguments, in the order of the words.
    pub(crate) calls: Vec<(String, Value)>,
    /// The answers about the parts that no tool does, or that are not done at all.
    pub(crate) told: Vec<String>,
}

impl Intent {
    fn call(tool: &str, arguments: Value) -> Self {
        Self {
            calls: vec![(tool.to_owned(), arguments)],
            told: vec![],
        }
    }

    fn answer(text: String) -> Self {
        Self {
            calls: vec![],
            told: vec![text],
        }
    }
}

/// Returns what a message plainly asks for, after this one; none if it asks for nothing of the
/// kind.
pub(crate) fn wish(message: &str, before: Option<&str>) -> Option<Intent> {
    if let Some(courtesy) = courtesy(message) {
        return Some(Intent::answer(courtesy.reply(Lang::current()).to_owned()));
    }
    if let Some(wanted) = instead(message) {
        return wish(wanted, before);
    }
    let parts = parts(message);
    if parts.len() < 2 {
        return one(message, before);
    }
    let mut all = Intent::default();
    for part in parts {
        let again = named_again(part)
            .then(|| all.calls.iter().rev().find_map(file))
            .flatten();
        let read = match again {
            Some(path) => Some(Intent::call("read_file", json!({ "path": path }))),
            None if to_forget(part).is_some() => Some(Intent::answer(say!(
                "Nothing was forgotten yet: say “{part}” alone.",
                "还什么都没有忘掉：请单独说“{part}”。"
            ))),
            None => one(part, None),
        };
        match read {
            Some(more) => {
                all.calls.extend(more.calls);
                all.told.extend(more.told);
            }
            None if courtesy(part).is_some() || bare(&normalize(part)).is_empty() => {}
            None => all.told.push(unread(part)),
        }
    }
    Some(all)
}

/// Returns the part of a message that asks to remember something, without what it takes back itself;
/// the first, if several do.
pub(crate) fn noted(message: &str) -> Option<String> {
    let parts = parts(message).into_iter();
    let mut notes = parts.filter(|part| to_remember(part).is_some());
    notes.find_map(|part| words::corrected(part).ok().map(Cow::into_owned))
}

/// Returns the note that a part of a message asks to remember, without what it takes back itself.
pub(crate) fn note(part: &str) -> Option<String> {
    let meant = words::corrected(part).ok()?;
    to_remember(&meant).map(str::to_owned)
}

/// Returns the file that a call is about.
fn file((tool, arguments): &(String, Value)) -> Option<String> {
    let path = arguments.get("path")?.as_str()?;
    tool.ends_with("_file").then(|| path.to_owned())
}

fn unread(part: &str) -> String {
    say!(
        "I did not understand “{part}”, and did nothing of it.",
        "没有听懂“{part}”，这一部分什么都没有做。"
    )
}

/// The number of bytes from which a message is no single sum.
const LONGEST_SUM: usize = 400;

/// Splits a message where another wish begins.
pub(crate) fn parts(message: &str) -> Vec<&str> {
    // "About tea, what do you remember?" and "one hundred and two minus 1".
    let about = strip_phrase(message.trim(), &["about ", "关于"]).and(to_recall(message));
    let is_sum = || message.len() < LONGEST_SUM && expression(message).is_some();
    // "Keep Priya, but forget the desk" is one wish.
    let keeps = || forget_refusal(message, Lang::current()).is_some();
    if about.is_some() || is_sum() || keeps() {
        return vec![message];
    }
    let parts = wishes(message, begins);
    match parts.as_slice() {
        [_, _, ..] => parts.into_iter().flat_map(self::parts).collect(),
        _ => parts,
    }
}

/// Returns true if a wish begins here. What is to be written or noted may have words in it that
/// would be one elsewhere.
fn begins(before: &str, part: &str) -> bool {
    const NEXT: [&str; 6] = ["then", "then please", "然后", "再", "接着", "随后"];
    const WRITES: [&str; 3] = ["write", "save", "create"];
    const WRITES_ZH: [&str; 3] = ["写", "保存", "创建"];
    let before = before.trim_end().to_lowercase();
    let is_next = NEXT.iter().any(|word| before.ends_with(word));
    let writes = has_any_word(&before, &WRITES) || WRITES_ZH.iter().any(|it| before.contains(it));
    let notes = parts_note(&before);
    if named_again(part) {
        return is_next;
    }
    // What is left out belongs to the wish before it.
    let limit = restriction(part).filter(|it| it.kind == RestrictionKind::Exception);
    if limit.is_some_and(|it| part.starts_with(it.words)) {
        return false;
    }
    // So does what a limit stands before.
    let only = before.trim_matches(|c: char| !c.is_alphanumeric());
    let limit = condition(only).or_else(|| restriction(only).map(|limit| limit.words));
    if limit.is_some_and(|limit| only.eq_ignore_ascii_case(limit)) {
        return false;
    }
    let Some(wish) = one(part, None) else {
        // A question that nothing answers is quoted, and the wish before it is done.
        let plain = before_word(&before, &["and", "then", "also", "还有", "然后"]);
        let plain = plain
            .unwrap_or(&before)
            .trim_matches(|c: char| !c.is_alphanumeric());
        let is_done = || one(plain, None).is_some_and(|wish| !wish.calls.is_empty());
        return !writes && !notes && is_question(part) && courtesy(part).is_none() && is_done();
    };
    let is_note = to_remember(part).is_some();
    let of_files = wish.calls.iter().any(|call| file(call).is_some()) && path(part).is_some();
    let refused = wish.calls.is_empty() && files::writes(part);
    if is_note || of_files || refused {
        return true;
    }
    match (writes, notes) {
        (true, _) => is_next && !wish.calls.is_empty(),
        (false, true) => asks(part) || cannot(part) && is_any(part, &["remind", "提醒"]),
        (false, false) => !denies(part),
    }
}

/// Returns true if a text asks to remember what follows.
fn parts_note(before: &str) -> bool {
    let last = before
        .rsplit(['.', '。', '!', '！'])
        .find(|it| !it.trim().is_empty());
    to_remember(before).is_some() || last.is_some_and(|last| to_remember(last).is_some())
}

/// Returns true if words ask for an answer.
fn asks(text: &str) -> bool {
    const ASKS: [&str; 12] = [
        "what",
        "how much",
        "calculate",
        "compute",
        "tell me",
        "list",
        "等于",
        "多少",
        "几",
        "什么",
        "算",
        "列出",
    ];
    is_question(text) || is_any(text, &ASKS)
}

/// Returns true if words begin by denying what follows: "don't list files".
fn denies(text: &str) -> bool {
    let said = normalize(text);
    denied(&said).is_some() && !said.trim_end().ends_with('?')
}

/// Returns true if words begin with something that no tool does.
fn cannot(text: &str) -> bool {
    const CANNOT: [&str; 24] = [
        "delete",
        "remove",
        "rename",
        "copy",
        "move",
        "append",
        "add",
        "send",
        "email",
        "remind me",
        "search",
        "please delete",
        "please remove",
        "please rename",
        "删除",
        "删掉",
        "重命名",
        "复制",
        "移动",
        "追加",
        "发送",
        "发给",
        "提醒我",
        "搜索",
    ];
    after_word(normalize(text).trim(), &CANNOT).is_some()
}

/// Returns what is wanted behind what is not: "do not write anything, just tell me the time".
fn instead(message: &str) -> Option<&str> {
    const ONLY: [&str; 11] = [
        "instead", "just", "only", "please", "but", "只要", "只", "就", "直接", "而是", "请",
    ];
    let (unwanted, wanted) = message.split_once([',', '，', ';', '；'])?;
    if !denies(unwanted) {
        return None;
    }
    let mut wanted = wanted.trim();
    while let Some(rest) = ONLY.iter().find_map(|word| {
        let head = wanted.get(..word.len())?;
        let rest = wanted.get(word.len()..)?;
        let goes_on = word.is_ascii() && rest.starts_with(|c: char| c.is_ascii_alphanumeric());
        (head.eq_ignore_ascii_case(word) && !goes_on).then(|| rest.trim())
    }) {
        wanted = rest;
    }
    (!wanted.is_empty()).then_some(wanted)
}

/// Returns the one thing that a message plainly asks for.
fn one(message: &str, before: Option<&str>) -> Option<Intent> {
    let text = message.trim();
    let call = |tool: &str, arguments: Value| Some(Intent::call(tool, arguments));
    if to_remember(text).is_some() {
        return Some(remembered(text));
    }
    if let Some(document) = to_quote(text) {
        return Some(Intent::answer(say!(
            "Nothing was noted: the notebook has what you say yourself, and not what {document} says. \
             Read it, and tell me what to remember.",
            "什么都没有记：记事本里只有您自己说的话，没有{document}里的内容。请先读取它，再告诉我要记住什么。"
        )));
    }
    if drops(text) {
        // Something may have been done before, in the same message.
        let told = say!("I leave it at that.", "好，就到这里。");
        return Some(Intent::answer(told));
    }
    if denies(text) {
        return Some(Intent::answer(say!(
            "Nothing was done: “{text}”.",
            "什么都没有做：“{text}”。"
        )));
    }
    if let Some(limit) = condition(text).filter(|limit| text.starts_with(limit)) {
        return Some(Intent::answer(say!(
            "I cannot tell whether that holds (“{limit}”), and do nothing on a condition: nothing of it was done (“{text}”).",
            "无法判断“{limit}”是否成立，不能按条件做事，所以什么都没有做（“{text}”）。"
        )));
    }
    if forget_limit(text).is_some() {
        return forget_refusal(text, Lang::current()).map(Intent::answer);
    }
    if let Some(query) = to_forget(text) {
        // The notes are looked up first: the card shows the one that is meant, word by word.
        return call("recall", json!({ "query": query }));
    }
    if let Some((tool, arguments)) = named(text) {
        return call(tool, arguments);
    }
    if let Some(query) = to_recall(text) {
        return call("recall", json!({ "query": query }));
    }
    if let Some((path, said)) = written(text) {
        let limit = depends(&said).map(|limit| {
            say!(
                "I write nothing on a condition, such as “{limit}”: nothing was written. Say it \
                 without that, or ask first which files there are.",
                "不能按条件写入，例如“{limit}”：什么都没有写。请去掉条件再说，或者先问有哪些文件。"
            )
        });
        return match limit {
            Some(told) => Some(Intent::answer(told)),
            None => call("write_file", json!({ "path": path, "text": said })),
        };
    }
    if files::writes(text) {
        return Some(Intent::answer(say!(
            "Nothing was written: I do not know what shall stand in which file by “{text}”. Say \
             “write NAME: TEXT”.",
            "什么都没有写：不知道“{text}”是要把什么写到哪个文件。请说“写入 文件名：内容”。"
        )));
    }
    if cannot(text) || is_any(text, &["remind me", "提醒我"]) {
        return Some(Intent::answer(say!(
            "I cannot do “{text}”: nothing of it was done.",
            "“{text}”我做不了：这一部分什么都没有做。"
        )));
    }
    if all_files(text).is_some() {
        // Which they are shows the list.
        return call("list_files", json!({}));
    }
    if let Some(limit) = excepted(text) {
        return Some(Intent::answer(say!(
            "I cannot leave files out (“{limit}”), so nothing was done. Name each file that is meant; \
             “list files” shows which there are.",
            "我不能把一些文件排除在外（“{limit}”），所以什么都没有做。请把要用的文件一个一个说出来；\
             说“列出文件”可以看到有哪些。"
        )));
    }
    // A file that is named beside them is another wish.
    if let Some(wish) = listed(text).filter(|_| path(text).is_none()) {
        return Some(wish);
    }
    let (files, besides) = read_besides(text);
    if !files.is_empty() {
        let calls = files.into_iter();
        let calls = calls.map(|path| ("read_file".to_owned(), json!({ "path": path })));
        return Some(Intent {
            calls: calls.collect(),
            told: besides.into_iter().map(unread).collect(),
        });
    }
    if let Some(expression) = expression(text) {
        return call("calculate", json!({ "expression": expression }));
    }
    let follows = before.is_some_and(|before| is_any(before, TIME));
    if let Some(wish) = times(text, follows) {
        return Some(wish);
    }
    asked_of_notes(text).then(|| Intent::call("recall", json!({ "query": subject(text) })))
}

/// Returns the look at a note that was stored when the run began, which shows whether it is there.
fn remembered(text: &str) -> Intent {
    let meant = match words::corrected(text) {
        Ok(meant) => meant,
        Err(words) => {
            return Intent::answer(say!(
                "Nothing was noted: I cannot tell what “{words}” takes the place of. Say the note once \
                 more as it is meant.",
                "什么都没有记：不清楚“{words}”要替换哪一部分。请把要记的内容重新完整地说一遍。"
            ));
        }
    };
    let note = to_remember(&meant).unwrap_or_default();
    let mut wish = Intent::call("recall", json!({ "query": note }));
    wish.told.extend(behind(&meant, note).map(unread));
    wish
}

/// Returns what stands behind a note, and is neither a part of it nor of asking to remember it.
fn behind<'t>(text: &'t str, note: &str) -> Option<&'t str> {
    let at = text.find(note)? + note.len();
    let (noted, rest) = text.split_at_checked(at)?;
    let rest = rest.trim_matches(|c: char| !c.is_alphanumeric());
    let is_part = matches!(rest, "" | "吗" | "好吗" | "可以吗" | "行吗");
    (!is_part && to_remember(noted) == Some(note)).then_some(rest)
}

/// Returns true if a person asks about themselves, which may be in the notebook.
fn asked_of_notes(text: &str) -> bool {
    const HOW: [&str; 9] = [
        "how do i",
        "how can i",
        "how to",
        "should i",
        "shall i",
        "怎么",
        "如何",
        "该不该",
        "要不要",
    ];
    let words = format!(" {} ", normalize(text));
    let is_own = [" my ", " i ", " me ", "我"]
        .iter()
        .any(|word| words.contains(word));
    let asks = ["什么", "谁", "哪", "多少"];
    let asks = is_question(text) || asks.iter().any(|word| text.contains(word));
    let is_how = HOW
        .iter()
        .any(|how| words.trim_start().starts_with(how) || !how.is_ascii() && words.contains(how));
    asks && is_own && !is_how
}

/// Returns what a question is about, without the words that most notes have: 储物柜号码 of
/// 我的储物柜号码是多少.
fn subject(text: &str) -> String {
    const ASKS: [&str; 9] = [
        "是多少",
        "多少",
        "是什么",
        "是谁",
        "是哪",
        "什么",
        "？",
        "?",
        "我的",
    ];
    let plain = ASKS
        .iter()
        .fold(text.to_owned(), |text, asks| text.replace(asks, " "));
    let words = keywords(&plain).join(" ");
    if words.is_empty() {
        text.to_owned()
    } else {
        words
    }
}

/// Returns true if words only drop what was begun: "never mind, not now".
pub(crate) fn drops(text: &str) -> bool {
    ShortAnswer::leading(text) == Some(ShortAnswer::Cancel)
}

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
    let bare = || rest.contains('_').then_some((rest, "{}"));
    // "Call Bob" names no tool.
    let (tool, arguments) = rest.split_once(char::is_whitespace).or_else(bare)?;
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    arguments.is_object().then_some((tool, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str) -> Option<String> {
        let Intent { calls, told } = wish(message, None)?;
        let calls = calls.into_iter();
        let calls = calls.map(|(tool, arguments)| format!("{tool} {arguments}"));
        Some(calls.chain(told).collect::<Vec<_>>().join("; "))
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
            ("东京现在几点", r#"time {"zone":"Asia/Tokyo"}"#),
            (
                "柏林和洛杉矶现在分别几点？",
                r#"time {"zone":"Europe/Berlin"}; time {"zone":"America/Los_Angeles"}"#,
            ),
            ("后天是星期几", r#"time {"days":2}"#),
            ("一百天以后是几月几号？", r#"time {"days":100}"#),
            ("what day was 100 days ago?", r#"time {"days":-100}"#),
            ("两天前是几号", r#"time {"days":-2}"#),
            ("what date is it in 10 days", r#"time {"days":10}"#),
            (
                "what time is it in Atlantis?",
                "I do not know “atlantis”: I can tell the time of cities, countries and zones.",
            ),
            (
                "帮我算一下1234*5678",
                r#"calculate {"expression":"1234*5678"}"#,
            ),
            ("12% of 350", r#"calculate {"expression":"12% * 350"}"#),
            ("八十的百分之十五", r#"calculate {"expression":"80*15%"}"#),
            ("2的64次方是多少", r#"calculate {"expression":"2^64"}"#),
            (
                "算一下 12*7 然后减 4",
                r#"calculate {"expression":"(12*7) - 4"}"#,
            ),
            (
                "3 加 4 再乘以 2",
                r#"calculate {"expression":"(3 + 4) * 2"}"#,
            ),
            (
                "what is 12 times 7, then subtract 4 from it",
                r#"calculate {"expression":"(12 * 7) - 4"}"#,
            ),
            (
                "Could you tell me what 19 times 23 is, please?",
                r#"calculate {"expression":"19 * 23"}"#,
            ),
            ("what do you know about me?", r#"recall {"query":""}"#),
            (
                "what is my sister called?",
                r#"recall {"query":"sister called"}"#,
            ),
            (
                "把“买牛奶”写到 清单.md",
                r#"write_file {"path":"清单.md","text":"买牛奶"}"#,
            ),
            (
                "把茶写到清单.txt",
                r#"write_file {"path":"清单.txt","text":"茶"}"#,
            ),
            (
                "write tea, milk into list.txt",
                r#"write_file {"path":"list.txt","text":"tea, milk"}"#,
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
    fn each_file_and_each_wish_of_a_message_is_read() {
        for (message, expected) in [
            (
                "read letter.txt and groceries.txt",
                r#"read_file {"path":"letter.txt"}; read_file {"path":"groceries.txt"}"#,
            ),
            (
                "读取 信.txt 和 购物.txt",
                r#"read_file {"path":"信.txt"}; read_file {"path":"购物.txt"}"#,
            ),
            (
                "what's in shopping.txt?",
                r#"read_file {"path":"shopping.txt"}"#,
            ),
            (
                "先别写，告诉我购物.txt里有什么",
                r#"read_file {"path":"购物.txt"}"#,
            ),
            ("how many files do I have", "list_files {}"),
            (
                "把茶写到a.txt，把米写进b.txt里",
                r#"write_file {"path":"a.txt","text":"茶"}; write_file {"path":"b.txt","text":"米"}"#,
            ),
            (
                "what is 3 plus 4 and then what is 5 times 6",
                r#"calculate {"expression":"3 + 4"}; calculate {"expression":"5 * 6"}"#,
            ),
            (
                "save \"a and write b.txt: c\" to x.txt",
                r#"write_file {"path":"x.txt","text":"a and write b.txt: c"}"#,
            ),
            (
                "write todo.txt: call mum and then tell me what's in shopping.txt",
                r#"write_file {"path":"todo.txt","text":"call mum"}; read_file {"path":"shopping.txt"}"#,
            ),
            (
                "write a.txt: one and write b.txt: two",
                r#"write_file {"path":"a.txt","text":"one"}; write_file {"path":"b.txt","text":"two"}"#,
            ),
            (
                "写入 a.txt：你好，然后告诉我现在几点",
                r#"write_file {"path":"a.txt","text":"你好"}; time {}"#,
            ),
            (
                "写入 c.txt：一，写入 d.txt：二",
                r#"write_file {"path":"c.txt","text":"一"}; write_file {"path":"d.txt","text":"二"}"#,
            ),
            (
                "write a.txt: milk, bread and eggs, then sleep",
                r#"write_file {"path":"a.txt","text":"milk, bread and eggs, then sleep"}"#,
            ),
            (
                "write a.txt: if it rains, stay",
                r#"write_file {"path":"a.txt","text":"if it rains, stay"}"#,
            ),
            (
                "write foo.txt: hello but only if it doesn't exist yet",
                "I write nothing on a condition, such as “but only if it doesn't exist yet”: nothing was \
                 written. Say it without that, or ask first which files there are.",
            ),
        ] {
            assert_eq!(said(message).as_deref(), Some(expected), "{message}");
        }
    }

    #[test]
    fn what_is_no_plain_wish_is_left_alone() {
        for message in [
            "I was born in 1990",
            "read me a story about dragons",
            "a - b",
            "call me later",
            "write a poem",
            "",
        ] {
            assert_eq!(wish(message, None), None, "{message}");
        }
    }
}
