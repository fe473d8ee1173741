//! The words by which people want something forgotten, and the notes that they mean.
use crate::{
    Lang, ShortAnswer, after_word, before_word, is_question, keywords, normalize, restriction,
    strip_phrase, word::word_positions,
};

const FORGET: &[&str] = &[
    "only forget ",
    "just forget ",
    "please forget that ",
    "please forget ",
    "forget that ",
    "forget about ",
    "forget what i said about ",
    "forget the note about ",
    "forget the notes about ",
    "forget my note about ",
    "forget the note that ",
    "forget the fact that ",
    "forget ",
    "no longer remember that ",
    "no longer remember ",
    "只忘掉",
    "只忘记",
    "只忘了",
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
    "那一条",
    "那条",
    "吧",
    "了",
];

/// These keep a note beside one that is forgotten.
const KEEP: &[&str] = &[
    "keep",
    "leave",
    "retain",
    "not",
    "don't forget",
    "don’t forget",
    "do not forget",
    "don't touch",
    "don’t touch",
    "留着",
    "留下",
    "保留",
    "别忘掉",
    "别忘记",
    "别忘了",
    "别忘",
    "别动",
    "不要忘掉",
    "不要忘记",
    "不要忘",
    "不要动",
    "不是",
];
/// Behind them, these say when or how, and name nothing: "not now".
const NO_NOTE: &[&str] = &["now", "yet", "today", "just", "only", "in mind", "going"];
/// These lead to the words of another clause.
const LEADS: &[&str] = &[
    "but", "and", "please", "only", "但是", "不过", "但", "请", "只",
];
const MARKS: [char; 12] = [
    ',', ';', '.', '!', '?', '\n', '，', '；', '。', '！', '？', '、',
];

/// Returns the clauses of a text in lower case that follow a mark, or a word such as "but": the end of
/// what stands before each, and the beginning of its own words.
fn clauses_behind(lower: &str) -> Vec<(usize, usize)> {
    let marks = lower.char_indices().filter(|(_, c)| MARKS.contains(c));
    let marks = marks.map(|(at, c)| (at, at + c.len_utf8()));
    let words = ["but", "and", "但"].into_iter();
    let words = words.flat_map(|word| word_positions(lower, word).map(|at| (at, at)));
    let mut places: Vec<(usize, usize)> = marks.chain(words).collect();
    places.sort_unstable();
    let begin = |from: usize| {
        let mut said = lower.get(from..)?.trim_start();
        while let Some(rest) = after_word(said, LEADS) {
            said = rest.trim_start();
        }
        Some(lower.len() - said.len())
    };
    let clauses = places.into_iter();
    let clauses = clauses.filter_map(|(end, from)| Some((end, begin(from)?)));
    clauses.collect()
}

/// The parts of a message: to forget, and to keep, in its words.
#[derive(Debug, Clone, Copy)]
struct Forgetting<'t> {
    /// All the words behind those that ask to forget.
    said: &'t str,
    forgotten: &'t str,
    kept: Option<&'t str>,
}

impl<'t> Forgetting<'t> {
    fn of(message: &'t str) -> Option<Self> {
        let text = message.trim();
        let Some(said) = strip_phrase(text, FORGET) else {
            return Self::kept_first(text);
        };
        let (forgotten, kept) =
            kept_behind(said).map_or((said, None), |(it, kept)| (it, Some(kept)));
        Some(Self {
            said,
            forgotten,
            kept,
        })
    }

    /// Reads a message that names first what is kept: "keep Priya, but forget the desk".
    fn kept_first(text: &'t str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let from = lower.len() - after_word(&lower, KEEP)?.len();
        let mut clauses = clauses_behind(&lower).into_iter();
        let (kept, said) = clauses.find_map(|(end, at)| {
            let said = strip_phrase(text.get(at..)?, FORGET)?;
            Some((note(text.get(from..end)?)?, said))
        })?;
        Some(Self {
            said,
            forgotten: said,
            kept: Some(kept),
        })
    }
}

/// Returns the words for what is forgotten, and those for what is kept, of a text that names both:
/// "the desk, but keep Priya".
fn kept_behind(text: &str) -> Option<(&str, &str)> {
    // Positions are the same in both.
    let lower = text.to_ascii_lowercase();
    clauses_behind(&lower).into_iter().find_map(|(end, at)| {
        let said = lower.get(at..)?;
        let kept = if let Some(kept) = after_word(said, KEEP) {
            text.get(lower.len() - kept.len()..)?
        } else {
            // 工位，张敏的留着: what is kept comes first.
            let said = said.trim_end_matches(|c| MARKS.contains(&c));
            let ends = ["留着", "留下", "保留", "别动", "别忘", "不要动"];
            text.get(at..at + before_word(said, &ends)?.len())?
        };
        let forgotten = text.get(..end)?.trim_end();
        Some((forgotten, note(kept)?)).filter(|_| !forgotten.is_empty())
    })
}

/// Returns the words for a note that is kept; none if they name none.
fn note(words: &str) -> Option<&str> {
    let marks = |c: char| c.is_whitespace() || MARKS.contains(&c);
    let mut words = words.trim_matches(marks);
    while let Some(shorter) = [" alone", " in", " as it is", "那条", "的"]
        .iter()
        .find_map(|end| words.strip_suffix(end))
    {
        words = shorter;
    }
    let names = !words.is_empty() && after_word(words, NO_NOTE).is_none();
    names.then_some(words)
}

/// Returns what a message asks to forget; empty for everything, and none if it asks for nothing of
/// the kind, or to leave out a part of everything: see [`forget_limit`]. [`notes_meant`] knows what it
/// keeps beside it.
///
/// ```
/// use fugato_text::to_forget;
///
/// assert_eq!(to_forget("Forget about the peanuts, please").as_deref(), Some("the peanuts"));
/// assert_eq!(to_forget("forget the note about the dog").as_deref(), Some("the dog"));
/// assert_eq!(to_forget("忘了我喜欢绿茶这件事").as_deref(), Some("我喜欢绿茶"));
/// assert_eq!(to_forget("Keep Priya, but forget the desk").as_deref(), Some("the desk"));
/// assert_eq!(to_forget("forget everything").as_deref(), Some(""));
/// assert_eq!([to_forget("forget it"), to_forget("forget everything except the tea")], [None, None]);
/// ```
pub fn to_forget(message: &str) -> Option<String> {
    let text = message.trim();
    let drops = ShortAnswer::leading(text) == Some(ShortAnswer::Cancel);
    if is_question(text) || drops || forget_limit(text).is_some() {
        return None;
    }
    let wanted = Forgetting::of(text)?.forgotten;
    let marks = |c: char| c.is_whitespace() || ".。!！,，:：“”\"".contains(c);
    let mut rest = wanted.trim_matches(marks);
    while let Some(shorter) = ENDS.iter().find_map(|end| rest.strip_suffix(end)) {
        rest = shorter.trim_matches(marks);
    }
    Some(if is_everything(rest) { "" } else { rest }.to_owned())
}

fn is_everything(words: &str) -> bool {
    const ALL: [&str; 6] = ["everything", "all", "me", "一切", "所有", "全部"];
    ALL.iter().any(|all| {
        let after = strip_phrase(words, &[all]);
        after.is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphanumeric()))
    })
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
/// assert_eq!(forget_limit("keep the tea and forget everything else"), Some("the tea"));
/// assert_eq!([forget_limit("forget the tea"), forget_limit("all except one")], [None, None]);
/// ```
pub fn forget_limit(message: &str) -> Option<&str> {
    let text = message.trim();
    let wish = Forgetting::of(text)?;
    let own = restriction(wish.said).map(|limit| limit.words);
    own.or(wish.kept.filter(|_| is_everything(wish.forgotten)))
}

/// Returns the text for a person whose message keeps something beside what it forgets, where the two
/// cannot be told apart and nothing was forgotten; none for other messages.
///
/// ```
/// use fugato_text::{Lang, forget_refusal};
///
/// let text = forget_refusal("forget the desk but keep Priya", Lang::En).unwrap();
/// assert!(text.contains("“the desk”") && text.contains("“Priya”"));
/// assert_eq!(forget_refusal("forget the desk", Lang::En), None);
/// ```
pub fn forget_refusal(message: &str, lang: Lang) -> Option<String> {
    if let Some(limit) = forget_limit(message) {
        return Some(lang.pick(
            format!(
                "I cannot leave anything out (“{limit}”), so nothing was forgotten: name the note."
            ),
            format!("我没法按“{limit}”来忘，所以什么都没有忘掉：请说出是哪一条。"),
        ));
    }
    let (wanted, kept) = (to_forget(message)?, Forgetting::of(message)?.kept?);
    Some(lang.pick(
        format!(
            "No note is about “{wanted}” and not about “{kept}” as well, so nothing was forgotten."
        ),
        format!("没有哪一条笔记是关于“{wanted}”又不涉及“{kept}”的，所以什么都没有忘掉。"),
    ))
}

/// Returns the notes that a message wants forgotten, or that its words mean, of these lines: the one
/// that says just this, or else those that hold the words, in this order or another, and nothing that
/// the message keeps. A name is what something is called: "my son's name" means "my son is called Leo".
///
/// ```
/// use fugato_text::notes_meant;
///
/// let notes = "my son is called Leo\n我喜欢喝绿茶\nmy desk is next to Leo";
/// assert_eq!(notes_meant("my son's name", notes), ["my son is called Leo"]);
/// assert_eq!(notes_meant("绿茶", notes), ["我喜欢喝绿茶"]);
/// assert_eq!(notes_meant("forget Leo, but keep the desk", notes), ["my son is called Leo"]);
/// ```
pub fn notes_meant<'n>(words: &str, notes: &'n str) -> Vec<&'n str> {
    let wish = Forgetting::of(words);
    let Some(kept) = wish.and_then(|wish| wish.kept) else {
        let wanted = to_forget(words);
        return notes_of(wanted.as_deref().unwrap_or(words), notes);
    };
    // "I like tea, not coffee" may be a note.
    let whole = normalize(wish.map_or(words, |wish| wish.said));
    let same: Vec<&str> = notes
        .lines()
        .filter(|note| normalize(note) == whole)
        .collect();
    if !same.is_empty() {
        return same;
    }
    let mut meant = notes_of(&to_forget(words).unwrap_or_default(), notes);
    meant.retain(|note| notes_of(kept, note).is_empty());
    meant
}

/// Returns the lines that words mean.
fn notes_of<'n>(words: &str, notes: &'n str) -> Vec<&'n str> {
    /// The words for a name or for a note itself, which a note need not hold.
    const NAMES: [&str; 12] = [
        "name", "names", "called", "note", "notes", "one", "thing", "reminder", "名字", "姓名",
        "笔记", "那条",
    ];
    let wanted = normalize(words);
    if wanted.is_empty() {
        return vec![];
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_told_from_what_is_forgotten() {
        for (message, forgotten, kept) in [
            ("Forget my desk but keep Priya", "my desk", "Priya"),
            ("forget Priya, not the desk.", "Priya", "the desk"),
            ("forget Priya and leave the desk alone", "Priya", "the desk"),
            ("forget the desk and keep the rest", "the desk", "the rest"),
            ("Don’t forget Priya, forget the desk", "the desk", "Priya"),
            ("忘掉我的工位，但是留着张敏", "我的工位", "张敏"),
            ("忘掉张敏那条，别动工位", "张敏", "工位"),
            ("忘掉工位，张敏的留着", "工位", "张敏"),
            ("别忘掉张敏，忘掉工位", "工位", "张敏"),
            ("只忘掉工位，其他的留着", "工位", "其他"),
        ] {
            let found = Forgetting::of(message).and_then(|wish| wish.kept);
            assert_eq!(found, Some(kept), "{message}");
            assert_eq!(to_forget(message).as_deref(), Some(forgotten), "{message}");
        }
        for message in [
            "forget that I like tea and coffee",
            "forget that I do not like tea",
            "forget the tea, not now",
            "don't forget Priya",
            "留着张敏",
        ] {
            let found = Forgetting::of(message).and_then(|wish| wish.kept);
            assert_eq!(found, None, "{message}");
        }
        let note = "I like tea, not coffee";
        assert_eq!(notes_meant(&format!("forget that {note}"), note), [note]);
        assert!(notes_meant("forget the tea, but keep the coffee", "tea and coffee").is_empty());
    }
}
