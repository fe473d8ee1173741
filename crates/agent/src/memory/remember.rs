//! Notes that a person explicitly asks to remember.
use std::sync::Arc;

use fugato_graph::{Context, IntoNode as _, IntoUpdates, Node, Outcome};
use fugato_memory::LongTermMemory;
use fugato_state::{EffectClass, State};
use serde_json::json;

use crate::text::{custom, explain};

/// The name of the event that a note was stored, or could not be stored.
pub const REMEMBERED: &str = "remembered";

/// Returns the note that a message asks to remember: 请记住……, "remember that …"; none if there is
/// none. The instruction must begin the message or one of its sentences, and a question does not
/// count. Words behind it that take it back, or want nothing written down, leave none: “remember that
/// I like tea. Actually, don't”. What a document says is no note of the person: [`to_quote`] names the
/// document. Control characters around a note are no part of it, and alone are none.
///
/// ```
/// use fugato_agent::memory::to_remember;
///
/// assert_eq!(to_remember("remember that \0I like tea\u{1b}"), Some("I like tea"));
/// assert_eq!(to_remember("remember that \0"), None);
/// ```
pub fn to_remember(message: &str) -> Option<&str> {
    if to_quote(message).is_some() || is_taken_back(message) {
        return None;
    }
    let ends = |c: char| matches!(c, '.' | '!' | '。' | '！' | '\n');
    // The point in "3.5" does not end a sentence.
    let begins = message
        .char_indices()
        .filter(|(_, c)| ends(*c))
        .map(|(at, c)| at + c.len_utf8());
    let begins = begins.filter(|at| {
        let next = message.get(*at..).and_then(|rest| rest.chars().next());
        next.is_some_and(|next| !next.is_ascii_digit())
    });
    std::iter::once(0)
        .chain(begins)
        .filter_map(|at| message.get(at..))
        .find_map(wish)
        .map(|note| note.trim_matches(|c: char| c.is_whitespace() || c.is_control()))
        .filter(|note| !note.is_empty())
}

/// Returns true if words behind the first clause take back what was to be remembered, or forbid that it
/// is written.
///
/// ```
/// use fugato_agent::memory::is_taken_back;
///
/// assert!(is_taken_back("Remember that I like tea. Actually, don't."));
/// assert!(is_taken_back("记住我喜欢喝茶，但不要写下来"));
/// assert!(!is_taken_back("remember that I like tea, but don't like milk"));
/// ```
pub fn is_taken_back(message: &str) -> bool {
    const TURNS: [&str; 12] = [
        "but ",
        "and ",
        "actually ",
        "actually, ",
        "no, ",
        "on second thought, ",
        "但是",
        "但",
        "不过",
        "还是",
        "算了，",
        "其实",
    ];
    const WHOLE: [&str; 8] = [
        "don't",
        "do not",
        "never mind",
        "nevermind",
        "scratch that",
        "算了",
        "算了吧",
        "不用了",
    ];
    const DENIES: [&str; 9] = [
        "don't ", "do not ", "dont ", "never ", "不要", "不用", "不必", "不想", "别",
    ];
    const WRITE: [&str; 22] = [
        "write it",
        "write this",
        "write that",
        "write anything",
        "save it",
        "save this",
        "save that",
        "save anything",
        "store it",
        "store this",
        "keep it",
        "keep this",
        "note it",
        "record it",
        "remember it",
        "remember that",
        "put it in",
        "记",
        "写",
        "存",
        "保存",
        "告诉",
    ];
    let pauses = |c: char| ",.;!\n，。；！".contains(c);
    let lower = message.to_lowercase().replace('’', "'");
    let mut behind = lower.split(pauses).skip(1).map(str::trim);
    behind.any(|clause| {
        let mut said = clause;
        while let Some(rest) = TURNS.iter().find_map(|turn| said.strip_prefix(turn)) {
            said = rest.trim_start();
        }
        let denied = DENIES.iter().find_map(|word| said.strip_prefix(word));
        WHOLE.contains(&said) || denied.is_some_and(|what| after(what, &WRITE).is_some())
    })
}

/// Returns the document whose content a message asks to remember: “remember what lease.docx says”,
/// 记住 lease.docx 里写的; none if it asks for nothing of the kind. What is remembered so is the word
/// of the document.
///
/// ```
/// use fugato_agent::memory::to_quote;
///
/// assert_eq!(to_quote("Please remember what lease.docx says."), Some("lease.docx"));
/// assert_eq!(to_quote("记住合同里的内容"), Some("合同"));
/// assert_eq!(to_quote("remember that lease.docx says 930 euros"), None);
/// ```
pub fn to_quote(message: &str) -> Option<&str> {
    const WHAT: [&str; 4] = [
        "what it says in ",
        "what is in ",
        "what's in ",
        "what stands in ",
    ];
    const WHOLE: [&str; 5] = [
        "what is written in ",
        "the contents of ",
        "the content of ",
        "everything in ",
        "the text of ",
    ];
    let marks = |c: char| c.is_whitespace() || ".。!！“”\"「」".contains(c);
    let message = message.trim_matches(marks);
    if message.ends_with(['?', '？', '吗']) {
        return None;
    }
    if let Some(rest) = after(message, &QUOTES) {
        let rest = rest.trim_end_matches(" please").trim_matches(marks);
        let whole = after(rest, &WHAT).or_else(|| after(rest, &WHOLE));
        let said = || {
            let rest = after(rest, &["what "])?;
            let ends = [" says", " say", " said", " states"];
            let ends = ends.iter().filter_map(|end| rest.split_once(end));
            ends.map(|(named, _)| named).find(|named| is_thing(named))
        };
        return whole.or_else(said).filter(|named| !named.is_empty());
    }
    let rest = after(message, &OPENINGS)?;
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || ":：,，".contains(c));
    let ends = QUOTED_ZH.iter().filter_map(|end| rest.strip_suffix(end));
    let named = ends.map(str::trim_end).next()?;
    let short = !named.contains(['，', '。', '：', ':', ',']);
    (short && !named.is_empty()).then_some(named)
}

/// Returns true if words name a thing, and not who said something: “the lease”, “lease.docx”.
fn is_thing(words: &str) -> bool {
    let is_file = words.contains('.') && !words.contains(' ');
    is_file || after(words, &["the "]).is_some()
}

/// Returns the rest of a text after the first of these phrases that it begins with.
fn after<'t>(text: &'t str, phrases: &[&str]) -> Option<&'t str> {
    let opening = opening(text, phrases)?;
    text.get(opening.len()..)
}

fn opening<'p>(text: &str, phrases: &[&'p str]) -> Option<&'p str> {
    phrases.iter().copied().find(|phrase| {
        let head = text.get(..phrase.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(phrase))
    })
}

/// The phrases before a document of which the content is to be remembered.
const QUOTES: [&str; 8] = [
    "please remember ",
    "remember ",
    "remember: ",
    "please keep in mind ",
    "keep in mind ",
    "please note down ",
    "note down ",
    "make a note of ",
];
/// The words after such a document.
const QUOTED_ZH: [&str; 13] = [
    "里写的内容",
    "里说的内容",
    "里的内容",
    "中的内容",
    "里写的",
    "里说的",
    "中写的",
    "中说的",
    "上写的",
    "上说的",
    "里写了什么",
    "里说了什么",
    "里的",
];

/// The phrases before a note, with their polite forms.
const OPENINGS: [&str; 41] = [
    "please remember that ",
    "please remember this:",
    "please remember:",
    "please remember my ",
    "remember that ",
    "remember this:",
    "remember:",
    "remember my ",
    "remember, ",
    "don't forget that ",
    "do not forget that ",
    "don’t forget that ",
    "keep in mind that ",
    "please keep in mind that ",
    "make a note that ",
    "make a note: ",
    "make a note:",
    "please make a note: ",
    "remember i ",
    "please remember i ",
    "记一条笔记",
    "记一条：",
    "记一笔：",
    "记个笔记",
    "帮我记一条笔记",
    "帮我记个笔记",
    "请你记住",
    "请帮我记住",
    "请帮我记一下",
    "帮我记一下",
    "请帮我 remember:",
    "请记住",
    "帮我记住",
    "你要记住",
    "要记住",
    "记住",
    "请记一下",
    "记一下",
    "记下来",
    "请牢记",
    "别忘了",
];

/// The polite words before a wish.
const POLITE: [&str; 16] = [
    "could you please ",
    "can you please ",
    "would you please ",
    "will you please ",
    "could you ",
    "can you ",
    "would you ",
    "will you ",
    "i want you to ",
    "i would like you to ",
    "i'd like you to ",
    "pls ",
    "你能不能",
    "能不能",
    "你能",
    "能",
];

/// The words with which a message goes on to something else than the note.
const ELSE: [&str; 8] = [
    " and remind me",
    " and what is ",
    " and what's ",
    " and what time ",
    "并提醒我",
    "，提醒我",
    "，到时提醒我",
    "，前一天提醒我",
];

/// The ends of phrases that belong to the note.
const KEPT: [&str; 2] = ["my ", " i "];

/// The clauses behind a note that ask to remember it: “I am a vegetarian, please keep that in mind”.
const ENDINGS: [&str; 23] = [
    "please keep that in mind",
    "please keep this in mind",
    "keep that in mind",
    "keep this in mind",
    "keep it in mind",
    "please remember that",
    "please remember this",
    "please remember it",
    "remember that",
    "remember this",
    "remember it",
    "please don't forget",
    "don't forget",
    "don’t forget",
    "dont forget",
    "don't forget it",
    "请记住",
    "请记一下",
    "帮我记一下",
    "记一下",
    "记住了",
    "记住",
    "别忘了",
];

fn wish(sentence: &str) -> Option<&str> {
    let sentence = sentence.trim();
    let sentence = polite(sentence).unwrap_or(sentence);
    if sentence.ends_with(['?', '？', '吗', '么']) {
        return None;
    }
    let Some(opening) = opening(sentence, &OPENINGS) else {
        return told_before(sentence);
    };
    let kept = KEPT.iter().find(|kept| opening.ends_with(**kept));
    let kept = kept.map_or(0, |kept| kept.trim_start().len());
    let rest = sentence.get(opening.len() - kept..)?;
    let is_gap = |c: char| c.is_whitespace() || matches!(c, ':' | '：' | ',' | '，');
    let wish = rest.trim_start_matches(is_gap).trim_end();
    let lower = wish.to_ascii_lowercase();
    let end = ELSE.iter().filter_map(|words| lower.find(words)).min();
    // 记住我喝咖啡不加糖，晚上六点提醒我买咖啡: the clause of the reminder is no part of the note.
    let reminds = || lower.get(..lower.find("提醒我")?)?.rfind(['，', '。', ',']);
    let end = end.or_else(reminds);
    let wish = end.and_then(|end| wish.get(..end)).unwrap_or(wish);
    let wish = wish.trim_end_matches(is_gap);
    // In 记住了 it is the person who remembers.
    let told = !matches!(wish, "" | "了" | "了。" | "了！");
    told.then_some(wish)
}

/// Returns a wish without the polite words around it: “could you please remember that …?”. “Can you
/// remember my name?” asks for it, and wishes for nothing.
fn polite(sentence: &str) -> Option<&str> {
    let wish = after(sentence, &POLITE)?.trim_start();
    let marks = |c: char| c.is_whitespace() || "?？".contains(c);
    let plain = wish.trim_end_matches(marks);
    let plain = ["好吗", "可以吗", "行吗", "吗"]
        .iter()
        .find_map(|end| plain.strip_suffix(end))
        .unwrap_or(plain);
    let plain = plain.trim_end_matches([',', '，']);
    let opening = opening(plain, &OPENINGS)?;
    let says = opening.ends_with("that ") || opening.ends_with(':') || !opening.is_ascii();
    let says = says || plain.contains(" is ") || plain.contains(" are ");
    (says && plain.len() > opening.len()).then_some(plain)
}

/// Returns the note before a clause that asks to remember it. A wish to be reminded is none.
fn told_before(sentence: &str) -> Option<&str> {
    let (note, asks) = sentence.rsplit_once([',', '，'])?;
    let marks = |c: char| c.is_whitespace() || ".!。！".contains(c);
    let (note, asks) = (note.trim(), asks.trim_matches(marks).to_lowercase());
    let reminds = ["remind", "提醒"]
        .iter()
        .any(|word| note.to_lowercase().contains(word));
    (ENDINGS.contains(&asks.as_str()) && !reminds && !note.is_empty()).then_some(note)
}

/// Returns a node that stores in this memory a note that the person explicitly asks to remember;
/// `message` returns the message to search, `stored` makes updates of a note that was stored,
/// the receipt for words that claim it, and `lost` those of the reason why it could not be.
///
/// A failure of the memory does not stop the run: the result is a note of the task, and a failure is
/// also logged.
pub fn remember<S: State, R, Shape>(
    memory: Arc<dyn LongTermMemory>,
    message: impl Fn(&S) -> Option<String> + Send + Sync + 'static,
    stored: impl Fn(&str) -> R + Send + Sync + 'static,
    lost: impl Fn(&str) -> Vec<S::Update> + Send + Sync + 'static,
) -> impl Node<S>
where
    R: IntoUpdates<S::Update, Shape>,
{
    let receipt = Arc::new(move |note: &str| stored(note).into_updates());
    let lost = Arc::new(lost);
    let remember = move |cx: Context<S>| {
        let (memory, receipt, lost) = (memory.clone(), receipt.clone(), lost.clone());
        let message = message(cx.state());
        async move {
            let Some(wish) = message.as_deref().and_then(to_remember) else {
                return Outcome::done([]);
            };
            let note = wish.to_owned();
            let store = async move |_| memory.remember(&note).await;
            let stored = cx.effect("remember", EffectClass::Idempotent, &wish, store);
            let (updates, data) = match stored.await {
                Ok(()) => (receipt(wish), json!({ "note": wish })),
                Err(error) => {
                    let why = explain(&error);
                    tracing::warn!(task = cx.task(), why, "memory could not be stored");
                    (lost(&why), json!({ "note": wish, "failure": why }))
                }
            };
            Outcome::done(updates).note(custom(REMEMBERED, data))
        }
    };
    remember.into_node()
}
