//! The wishes that rules can read in a message.
use fugato::{
    agent::memory::{to_quote, to_recall, to_remember},
    state::{Lang, ToolCall, say},
    words::{
        Phrases, RestrictionKind, ShortAnswer, after_phrase, after_word, courtesy, day_mentions,
        is_negated, is_question, keywords, normalize, number, numerals, path, restriction,
        strip_phrase, to_forget,
    },
};
use serde_json::{Value, json};

use crate::{
    calculator::{CalculationError, calculate, plain},
    tools::place::places,
};

/// The request that a message plainly makes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wish {
    /// Calls of tools, each with its arguments.
    Calls(Vec<(String, Value)>),
    /// Nothing that a tool does: this is the answer.
    Answer(String),
}

/// Returns what a message plainly asks for, after this one; none if it asks for nothing of the
/// kind.
pub(crate) fn wish(message: &str, before: Option<&str>) -> Option<Wish> {
    if let Some(courtesy) = courtesy(message) {
        let told = courtesy.reply(Lang::current()).to_owned();
        return Some(Wish::Answer(told));
    }
    if let Some(wanted) = instead(message) {
        return wish(wanted, before);
    }
    several(message).or_else(|| one(message, before))
}

/// Returns the calls of a message that plainly asks for several things, each of which is read alone.
fn several(message: &str) -> Option<Wish> {
    /// The tools that only read: what is written is one wish with all that follows.
    const READS: [&str; 5] = ["calculate", "list_files", "read_file", "recall", "time"];
    let breaks = [
        " and then ",
        ", then ",
        ", and ",
        " and ",
        "，然后",
        "，再",
        "，还有",
        "，",
    ];
    let mut parts = vec![message];
    for at in breaks {
        parts = parts.into_iter().flat_map(|part| part.split(at)).collect();
    }
    if parts.len() < 2 {
        return None;
    }
    let mut calls = vec![];
    for part in parts {
        match one(part, None)? {
            Wish::Calls(more) if more.iter().all(|(tool, _)| READS.contains(&&**tool)) => {
                calls.extend(more);
            }
            _ => return None,
        }
    }
    Some(Wish::Calls(calls))
}

/// Returns what is wanted behind what is not: "do not write anything, just tell me the time".
fn instead(message: &str) -> Option<&str> {
    const DENIES: [&str; 14] = [
        "please don't",
        "please do not",
        "don't",
        "do not",
        "dont",
        "什么都不要",
        "什么都别",
        "什么也别",
        "请不要",
        "请别",
        "不要",
        "不用",
        "先别",
        "别",
    ];
    const ONLY: [&str; 11] = [
        "instead", "just", "only", "please", "but", "只要", "只", "就", "直接", "而是", "请",
    ];
    let (denied, wanted) = message.split_once([',', '，', ';', '；'])?;
    let denied = normalize(denied);
    after_word(denied.trim(), &DENIES)?;
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
fn one(message: &str, before: Option<&str>) -> Option<Wish> {
    let text = message.trim();
    let call = |tool: &str, arguments: Value| Some(Wish::Calls(vec![(tool.to_owned(), arguments)]));
    if let Some(note) = to_remember(text) {
        // The note was stored when the run began; `recall` shows whether it is there.
        return call("recall", json!({ "query": note }));
    }
    if let Some(document) = to_quote(text) {
        return Some(Wish::Answer(say!(
            "Nothing was noted: the notebook has what you say yourself, and not what {document} says. \
             Read it, and tell me what to remember.",
            "什么都没有记：记事本里只有您自己说的话，没有{document}里的内容。请先读取它，再告诉我要记住什么。"
        )));
    }
    if drops(text) {
        let told = say!("Nothing was done.", "什么都没有做。");
        return Some(Wish::Answer(told));
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
        if let Some(limit) = depends(&said) {
            return Some(Wish::Answer(say!(
                "I write nothing on a condition, such as “{limit}”: nothing was written. Say it \
                 without that, or ask first which files there are.",
                "不能按条件写入，例如“{limit}”：什么都没有写。请去掉条件再说，或者先问有哪些文件。"
            )));
        }
        // What is in quotation marks ends there.
        let is_open = text.ends_with(&*said);
        let (said, then) = if is_open {
            followed(&said)
        } else {
            (&*said, None)
        };
        let mut calls = vec![(
            "write_file".to_owned(),
            json!({ "path": path, "text": said }),
        )];
        match then {
            Some(Wish::Calls(more)) => calls.extend(more),
            Some(answer) => return Some(answer),
            None => {}
        }
        return Some(Wish::Calls(calls));
    }
    // A file that is named beside them is another wish.
    if is_any(text, LIST) && path(text).is_none() {
        return call("list_files", json!({}));
    }
    let files = read(text);
    if !files.is_empty() {
        let calls = files.into_iter();
        let calls = calls.map(|path| ("read_file".to_owned(), json!({ "path": path })));
        return Some(Wish::Calls(calls.collect()));
    }
    if let Some(expression) = expression(text) {
        return call("calculate", json!({ "expression": expression }));
    }
    let follows = before.is_some_and(|before| is_any(before, TIME));
    if let Some(wish) = times(text, follows) {
        return Some(wish);
    }
    // What the person asks about themselves may be in the notebook.
    let words = format!(" {} ", normalize(text));
    let is_own = [" my ", " i ", " me ", "我"]
        .iter()
        .any(|word| words.contains(word));
    let asks = ["什么", "谁", "哪", "多少"];
    let asks = is_question(text) || asks.iter().any(|word| text.contains(word));
    if asks && is_own {
        return call("recall", json!({ "query": subject(text) }));
    }
    None
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

/// Returns the arguments of a write as words under its card change them: "no, call it
/// shopping.md", 内容改成咖啡, "no, call dad"; none if they change nothing.
pub(crate) fn corrected(call: &ToolCall, words: &str) -> Option<Value> {
    const NAMES: [&str; 4] = ["call it ", "name it ", "make it ", "叫"];
    const TEXTS: [&str; 4] = ["change it to ", "change the text to ", "改成", "改为"];
    if call.name != "write_file" || is_question(words) {
        return None;
    }
    let marks = |c: char| c.is_whitespace() || ".。!！“”\"「」".contains(c);
    let plain = |said: &str| -> String {
        let said = said.trim_matches(marks).trim_end_matches('吧');
        said.strip_suffix(" instead").unwrap_or(said).to_owned()
    };
    let named = after_phrase(words, &NAMES).or_else(|| after_phrase(words, &TEXTS));
    let named = named.map(plain).filter(|it| path(it).as_ref() == Some(it));
    let (field, said) = match named {
        Some(file) => ("path", file),
        None => {
            if let Some(text) = after_phrase(words, &TEXTS) {
                ("text", plain(text))
            } else {
                let said = plain(wanted_instead(words)?);
                let file = path(&said).filter(|file| *file == said);
                (if file.is_some() { "path" } else { "text" }, said)
            }
        }
    };
    let mut arguments = call.arguments.as_object()?.clone();
    if said.is_empty() || arguments.get(field)? == said.as_str() {
        return None;
    }
    arguments.insert(field.to_owned(), said.into());
    Some(Value::Object(arguments))
}

/// Returns what words under a card want in its place: "no, call dad", 不对，写第二天; none if they only
/// say why not.
fn wanted_instead(words: &str) -> Option<&str> {
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
    const WHY: [&str; 26] = [
        "not", "i", "i'm", "it", "it's", "that", "that's", "this", "because", "too", "we", "you",
        "don't", "do not", "later", "never", "there", "不", "别", "太", "我", "没", "先", "等",
        "因为", "这",
    ];
    let reason = Phrases::default().decline_reason(words)?.trim();
    let wanted = strip_phrase(reason, &WRITES).map(str::trim);
    let is_why = after_word(&normalize(reason), &WHY).is_some();
    wanted
        .or_else(|| (!is_why).then_some(reason))
        .filter(|it| !it.is_empty())
}

/// Returns true if words only drop what was begun: "never mind, not now".
pub(crate) fn drops(text: &str) -> bool {
    let first = text.split([',', '，', '.', '。']).next();
    first.and_then(ShortAnswer::of) == Some(ShortAnswer::Cancel)
}

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
const WRITE: &[&str] = &[
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
/// Phrases that ask for the time or the date.
const TIME: &[&str] = &[
    "what time",
    "what is the time",
    "what's the time",
    "the time in ",
    "time in ",
    "current time",
    "tell me the time",
    "what day",
    "which day",
    "what date",
    "the date",
    "'s date",
    "几点",
    "什么时间",
    "时间",
    "几号",
    "星期几",
    "周几",
    "什么日期",
];
/// The words beside places in a question about the time.
const TIME_WORDS: &[&str] = &[
    "what",
    "time",
    "is",
    "it",
    "the",
    "in",
    "at",
    "now",
    "right",
    "current",
    "currently",
    "please",
    "do",
    "they",
    "have",
    "and",
    "of",
    "today",
    "date",
    "day",
    "which",
    "was",
    "i",
    "want",
    "tell",
    "me",
    "local",
    "s",
    "on",
    "not",
    "about",
    "how",
    "could",
    "you",
    "can",
    "today's",
    "there",
    "tomorrow",
    "yesterday",
    "after",
    "before",
    "days",
    "week",
    "weeks",
    "hi",
    "hello",
    "will",
    "be",
];
const TIME_WORDS_ZH: &[&str] = &[
    "你好",
    "您好",
    "一下",
    "现在",
    "几点钟",
    "几点",
    "了",
    "请问",
    "请",
    "是",
    "什么时间",
    "时间",
    "今天",
    "今日",
    "几月",
    "几号",
    "星期几",
    "周几",
    "礼拜几",
    "什么日期",
    "日期",
    "什么",
    "分别",
    "和",
    "的",
    "呢",
    "那",
    "在",
    "当地",
    "告诉我",
    "大后天",
    "后天",
    "明天",
    "昨天",
    "前天",
    "天以后",
    "天之后",
    "天后",
    "吗",
];
/// Words for days, by their distance from today.
const DAYS: &[(&str, i64)] = &[
    ("day after tomorrow", 2),
    ("day before yesterday", -2),
    ("tomorrow", 1),
    ("yesterday", -1),
    ("大后天", 3),
    ("后天", 2),
    ("明天", 1),
    ("昨天", -1),
    ("前天", -2),
];
/// Words of sums, and their signs.
const OPERATORS: &[(&str, &str)] = &[
    ("the square root of ", "√"),
    ("square root of ", "√"),
    ("根号", "√"),
    (" percent of ", "% * "),
    ("% of ", "% * "),
    (" percent", "%"),
    ("half of ", "0.5 * "),
    (" squared", "^2"),
    (" cubed", "^3"),
    (" to the power of ", "^"),
    (" multiplied by ", " * "),
    (" times ", " * "),
    (" divided by ", " / "),
    (" plus ", " + "),
    (" minus ", " - "),
    (" mod ", " % "),
    ("除以", "/"),
    ("乘以", "*"),
    ("乘", "*"),
    ("再加上", "+"),
    ("再加", "+"),
    ("再减去", "-"),
    ("再减", "-"),
    ("加上", "+"),
    ("加", "+"),
    ("减去", "-"),
    ("减", "-"),
    ("的平方", "^2"),
    ("的立方", "^3"),
];
/// The words around a sum.
const AROUND: &[&str] = &[
    "hi",
    "hello",
    "could you",
    "can you",
    "please",
    "tell me",
    "what is",
    "what's",
    "whats",
    "what",
    "how much is",
    "calculate",
    "compute",
    "work out",
    "is",
    "sorry",
    "i meant",
    "no",
    "thanks",
    "the result of",
    "帮我",
    "请问",
    "请",
    "算一下",
    "算算",
    "计算",
    "谢谢",
    "等于多少",
    "等于几",
    "是多少",
    "得多少",
    "得几",
    "多少",
    "是",
    "不对",
    "我是说",
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

/// Reads a wish to see files.
fn read(text: &str) -> Vec<String> {
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
    let asks = || path(text).filter(|_| is_any(&text.replace('’', "'"), &HOLDS));
    let Some(rest) = told else {
        return asks().into_iter().collect();
    };
    let mut parts = vec![rest];
    for at in [" and ", ", ", "、", "和", "，", "以及", "还有"] {
        parts = parts.into_iter().flat_map(|part| part.split(at)).collect();
    }
    let files: Option<Vec<String>> = parts.iter().map(|part| path(part.trim())).collect();
    match files {
        Some(files) if files.len() > 1 => files,
        _ if !rest.contains(char::is_whitespace) => {
            let whole = asks().unwrap_or_else(|| rest.to_owned());
            vec![whole]
        }
        _ => path(rest).into_iter().collect(),
    }
}

/// Returns the words by which a text that is to be written makes that depend on its file.
fn depends(said: &str) -> Option<&str> {
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

/// Splits a text that is to be written where another wish follows it: "milk, and then list files".
fn followed(said: &str) -> (&str, Option<Wish>) {
    /// After these anything may be wished, and after the others only something about files.
    const THEN: [&str; 8] = [
        " and then ",
        ", then ",
        "; then ",
        ". then ",
        "，然后",
        "。然后",
        "，再",
        "；然后",
    ];
    const AND: [&str; 8] = [", and ", " and ", ", ", "; ", ". ", "，", "；", "。"];
    if said.starts_with(['"', '“', '「']) {
        return (said, None);
    }
    let lower = said.to_ascii_lowercase();
    let breaks = THEN.iter().chain(&AND).flat_map(|at| {
        let places = lower.match_indices(at);
        places.map(|(from, at)| (from, from + at.len(), THEN.contains(&at)))
    });
    let mut breaks: Vec<_> = breaks.collect();
    breaks.sort_unstable();
    let found = breaks.into_iter().find_map(|(from, to, is_next)| {
        let rest = said.get(to..)?;
        let rest = strip_phrase(rest, &["then ", "然后", "再"]).unwrap_or(rest);
        let then = several(rest).or_else(|| one(rest, None))?;
        let is_of_file = |(tool, _): &(String, Value)| tool.ends_with("_file");
        let wanted = match &then {
            Wish::Calls(calls) => is_next || calls.iter().any(is_of_file),
            Wish::Answer(_) => false,
        };
        wanted.then_some((said.get(..from)?, Some(then)))
    });
    found.map_or((said, None), |(text, then)| (text.trim(), then))
}

/// Reads `write PATH: TEXT`, or what is in quotation marks and a file for it.
fn written(text: &str) -> Option<(String, String)> {
    const MARKS: [(char, char); 3] = [('"', '"'), ('“', '”'), ('「', '」')];
    // The marks at the end belong to what is to be written.
    if let Some((path, said)) = strip_phrase(text, WRITE).and_then(|rest| {
        let at = rest.find([':', '：'])?;
        let (path, said) = rest.split_at(at);
        let path = path.trim();
        (!path.is_empty() && !path.contains(char::is_whitespace)).then_some((path, said))
    }) {
        let said = said.trim_start_matches([':', '：']).trim();
        return Some((path.to_owned(), said.to_owned()));
    }
    let named = after_phrase(text, &["create a file ", "创建文件"]);
    if let Some((path, said)) = named.and_then(|rest| {
        let at = [" with the text ", " with ", "，内容是", "，内容："];
        at.iter().find_map(|at| rest.split_once(at))
    }) {
        return Some((path.trim().to_owned(), said.trim().to_owned()));
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
    let file = path(after).or_else(|| path(before))?;
    Some((file, said.to_owned()))
}

/// Returns an expression that can be calculated, or that fails with a division by zero or a result
/// that is too large.
fn expression(text: &str) -> Option<String> {
    // What a person types on a keyboard stays as it is, such as ×.
    let narrow = |c: char| if c > '\u{ff00}' { plain(c) } else { c };
    let typed: String = normalize(text).chars().map(narrow).collect();
    let mut said = format!(" {} ", numerals(&typed));
    for (word, sign) in OPERATORS {
        said = said.replace(word, sign);
    }
    if let Some((base, rest)) = said.split_once('的')
        && let Some((by, after)) = number(rest)
    {
        // 2的64次方, and 350的12%.
        let power = after.strip_prefix("次方");
        said = match power {
            Some(after) => format!("{base}^{by}{after}"),
            None => format!("{base}*{rest}"),
        };
    }
    let said = bare(&said);
    let operates = said.contains(|c: char| "+-*/%^×÷√".contains(c));
    let counts = said.contains(|c: char| c.is_ascii_digit());
    match calculate(said) {
        Ok(_) | Err(CalculationError::DivisionByZero | CalculationError::TooLarge)
            if operates && counts =>
        {
            Some(said.to_owned())
        }
        _ => None,
    }
}

/// Returns a sum without what stands around it.
fn bare(text: &str) -> &str {
    let marks = |c: char| c.is_whitespace() || "?=＝,.!".contains(c);
    let latin = |c: char| c.is_ascii_alphanumeric();
    let mut said = text.trim_matches(marks);
    loop {
        let before = said;
        for phrase in AROUND {
            let is_latin = phrase.ends_with(latin);
            if let Some(rest) = said.strip_prefix(phrase)
                && !(is_latin && rest.starts_with(latin))
            {
                said = rest.trim_matches(marks);
            }
            if let Some(rest) = said.strip_suffix(phrase)
                && !(is_latin && rest.ends_with(latin))
            {
                said = rest.trim_matches(marks);
            }
        }
        if said == before {
            return said;
        }
    }
}

/// Reads a question about the time or the date, here or elsewhere; one that only names a place may
/// follow another.
fn times(text: &str, follows: bool) -> Option<Wish> {
    let asks = is_any(text, TIME);
    if is_negated(text, TIME) || is_negated(text, &["tell"]) {
        return None;
    }
    let said = normalize(text);
    let days = days(&numerals(&said));
    let named = if days.is_none() {
        named_days(&said)
    } else {
        None
    };
    let (day, said) = named.map_or((None, said), |(day, rest)| (Some(day), rest));
    let (places, rest) = places(&numerals(&said));
    if !asks && (!follows || places.is_empty()) {
        return None;
    }
    let unknown = unknown(&rest, days.is_some());
    if !unknown.is_empty() {
        let told = || {
            say!(
                "I do not know “{unknown}”: I can tell the time of cities, countries and zones.",
                "不知道“{unknown}”：我能说出城市、国家和时区的时间。"
            )
        };
        return asks.then(|| Wish::Answer(told()));
    }
    if let Some(place) = places.iter().find(|place| place.zone.is_none()) {
        let name = &place.name;
        let told = say!(
            "There are several zones in {name}, and I cannot tell which one: name a city.",
            "{name} 有几个时区，不知道是哪一个：请说城市。"
        );
        return Some(Wish::Answer(told));
    }
    let call = |zone: Option<String>| {
        let days = days.map(|days| ("days", json!(days)));
        let zone = zone.map(|zone| ("zone", json!(zone)));
        let day = day.as_ref().map(|day| ("day", json!(day)));
        let arguments = days.into_iter().chain(day).chain(zone);
        let arguments = arguments.map(|(name, value)| (name.to_owned(), value));
        ("time".to_owned(), Value::Object(arguments.collect()))
    };
    let mut calls: Vec<_> = places.into_iter().map(|place| call(place.zone)).collect();
    if calls.is_empty() {
        calls.push(call(None));
    }
    Some(Wish::Calls(calls))
}

/// Returns the words with which a text names days, such as "monday next week" and 12月24日, and the
/// text without them.
fn named_days(text: &str) -> Option<(String, String)> {
    let found = day_mentions(text);
    let first = found.first()?;
    let last = found.last().filter(|last| last.joined).unwrap_or(first);
    let (from, to) = (first.range.start, last.range.end);
    let named = text.get(from..to)?.trim().to_owned();
    let rest = format!("{} {}", text.get(..from)?, text.get(to..)?);
    Some((named, rest))
}

/// Returns the distance of the day that a text names from today.
fn days(text: &str) -> Option<i64> {
    let named = DAYS.iter().find(|(word, _)| text.contains(word));
    let after = |phrase: &str| {
        let (_, rest) = text.split_once(phrase)?;
        let (many, rest) = number(rest.trim_start())?;
        let unit = rest.trim_start();
        let days = if unit.starts_with("week") { 7 } else { 1 };
        let named = unit.starts_with("day") || days == 7;
        named.then(|| many.checked_mul(days)).flatten()
    };
    let before = || {
        let ends = ["天以后", "天之后", "天后"];
        let (head, _) = ends.iter().find_map(|end| text.split_once(end))?;
        let digits = head.trim_end_matches(|c: char| c.is_ascii_digit());
        head.get(digits.len()..)?.parse().ok()
    };
    let named = named.map(|(_, days)| *days);
    named.or_else(|| after("in ")).or_else(before)
}

/// Returns what of a question about the time is neither a place nor about time.
fn unknown(text: &str, has_days: bool) -> String {
    let mut text = text.to_owned();
    let mut known: Vec<&str> = TIME_WORDS_ZH.to_vec();
    known.sort_by_key(|word| std::cmp::Reverse(word.len()));
    for word in known {
        text = text.replace(word, " ");
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '\'';
    let words = text.split(|c| !is_part(c));
    let is_known = |word: &&str| {
        let word = word.trim_end_matches("'s");
        let counts = word.bytes().all(|b| b.is_ascii_digit());
        !(word.is_empty() || TIME_WORDS.contains(&word) || has_days && counts)
    };
    let words: Vec<&str> = words.filter(is_known).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str) -> Option<String> {
        match wish(message, None)? {
            Wish::Calls(calls) => {
                let calls = calls.into_iter();
                let calls = calls.map(|(tool, arguments)| format!("{tool} {arguments}"));
                Some(calls.collect::<Vec<_>>().join("; "))
            }
            Wish::Answer(text) => Some(text),
        }
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
