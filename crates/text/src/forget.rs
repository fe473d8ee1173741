//! The words by which people want something forgotten, and the notes that they mean.
use crate::{ShortAnswer, is_question, keywords, normalize, restriction, strip_phrase};

const FORGET: &[&str] = &[
    "please forget that ",
    "please forget ",
    "forget that ",
    "forget about ",
    "forget what i said about ",
    "forget ",
    "no longer remember that ",
    "no longer remember ",
    "请你忘掉",
    "请忘掉",
    "忘掉",
    "请你忘记",
    "请忘记",
    "忘记",
    "忘了",
    "不用再记住",
    "别再记住",
];
/// The ends of what is to be forgotten that are no part of a note.
const ENDS: &[&str] = &[
    " please",
    "please",
    " any more",
    " anymore",
    " now",
    "这件事情",
    "这件事",
    "的事情",
    "的事",
    "这一条",
    "这条",
    "吧",
    "了",
];

/// Returns what a message asks to forget; empty for everything, and none if it asks for nothing of
/// the kind, or only to forget a part: see [`forget_limit`].
///
/// ```
/// use fugato_text::to_forget;
///
/// assert_eq!(to_forget("Forget about the peanuts, please").as_deref(), Some("the peanuts"));
/// assert_eq!(to_forget("忘了我喜欢绿茶这件事").as_deref(), Some("我喜欢绿茶"));
/// assert_eq!(to_forget("forget everything").as_deref(), Some(""));
/// assert_eq!([to_forget("forget it"), to_forget("forget everything except the tea")], [None, None]);
/// ```
pub fn to_forget(message: &str) -> Option<String> {
    const ALL: [&str; 6] = ["everything", "all", "me", "一切", "所有", "全部"];
    let text = message.trim();
    let first = text.split([',', '，', '.', '。']).next();
    let drops = first.and_then(ShortAnswer::of) == Some(ShortAnswer::Cancel);
    if is_question(text) || drops || forget_limit(text).is_some() {
        return None;
    }
    let rest = strip_phrase(text, FORGET)?;
    let marks = |c: char| c.is_whitespace() || ".。!！,，:：“”\"".contains(c);
    let mut rest = rest.trim_matches(marks);
    while let Some(shorter) = ENDS.iter().find_map(|end| rest.strip_suffix(end)) {
        rest = shorter.trim_matches(marks);
    }
    let everything = ALL.iter().any(|all| {
        let after = strip_phrase(rest, &[all]);
        after.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphanumeric()))
    });
    Some(if everything { "" } else { rest }.to_owned())
}

/// Returns the words that limit what a message asks to forget; none if it asks for nothing of the
/// kind, or for all that it names.
///
/// ```
/// use fugato_text::forget_limit;
///
/// assert_eq!(forget_limit("Forget everything except the tea."), Some("except the tea"));
/// assert_eq!(forget_limit("忘掉一切，除了茶"), Some("除了茶"));
/// assert!(forget_limit("忘掉一切，茶除外").is_some());
/// assert_eq!([forget_limit("forget the tea"), forget_limit("all except one")], [None, None]);
/// ```
pub fn forget_limit(message: &str) -> Option<&str> {
    let text = message.trim();
    strip_phrase(text, FORGET)?;
    restriction(text).map(|limit| limit.words)
}

/// Returns the notes that words of a person mean, of these lines: the one that says just this, or
/// else those that hold the words, in this order or another. A name is what something is called: "my
/// son's name" means "my son is called Leo".
///
/// ```
/// use fugato_text::notes_meant;
///
/// let notes = "my son is called Leo\n我喜欢喝绿茶";
/// assert_eq!(notes_meant("my son's name", notes), ["my son is called Leo"]);
/// assert_eq!(notes_meant("绿茶", notes), ["我喜欢喝绿茶"]);
/// assert_eq!(notes_meant("the Leo note", notes), ["my son is called Leo"]);
/// ```
pub fn notes_meant<'n>(words: &str, notes: &'n str) -> Vec<&'n str> {
    /// The words for a name or for a note itself, which a note need not hold.
    const NAMES: [&str; 12] = [
        "name", "names", "called", "note", "notes", "one", "thing", "reminder", "名字", "姓名",
        "笔记", "那条",
    ];
    let wanted = normalize(words);
    let says = |fits: &dyn Fn(&str) -> bool| -> Vec<&'n str> {
        let lines = notes.lines().filter(|note| !note.trim().is_empty());
        lines.filter(|note| fits(&normalize(note))).collect()
    };
    let same = says(&|note| note == wanted);
    if !same.is_empty() {
        return same;
    }
    let hold = says(&|note| note.contains(&wanted));
    if !hold.is_empty() {
        return hold;
    }
    let possessive = words.replace("'s ", " ").replace("’s ", " ");
    let mut words = keywords(&possessive);
    let all = |words: &[String]| {
        says(&|note| !words.is_empty() && words.iter().all(|word| note.contains(&normalize(word))))
    };
    let found = all(&words);
    if !found.is_empty() {
        return found;
    }
    words.retain(|word| !NAMES.contains(&word.as_str()));
    all(&words)
}
