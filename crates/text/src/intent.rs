//! Requests, refusals and questions, as far as words alone show them.
use std::collections::BTreeSet;

use crate::{
    RestrictionKind, is_chinese, restriction,
    word::{after_word, before_word, is_inside, word_positions},
};

/// Returns true if a text is a question, by its end or by its first word.
pub fn is_question(text: &str) -> bool {
    const FIRST: [&str; 16] = [
        "did", "do", "does", "have", "has", "had", "is", "are", "was", "were", "why", "when",
        "how", "what", "which", "should",
    ];
    const SUBJECTS: [&str; 13] = [
        "i", "you", "we", "they", "he", "she", "my", "your", "our", "their", "these", "those",
        "any",
    ];
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric());
    let mut words = words.by_ref().filter(|word| !word.is_empty());
    let first = words.next();
    // "Do the dishes", "have to go" and "had lunch" ask nothing.
    let is_open = |first| ["do", "have", "had"].contains(&first);
    let asks = |first| {
        FIRST.contains(&first)
            && (!is_open(first) || words.next().is_some_and(|word| SUBJECTS.contains(&word)))
    };
    let is_marked = lower.trim_end().ends_with(['?', '？', '吗', '么', '呢']);
    is_marked || first.is_some_and(asks)
}

/// These deny whatever follows them, and so does every word that ends in "n't".
const NOT: [&str; 29] = [
    "没必要",
    "没有必要",
    "用不着",
    "犯不着",
    "不希望",
    "不打算",
    "无需",
    "无须",
    "不要",
    "不用",
    "不必",
    "不想",
    "不需要",
    "不能",
    "不许",
    "先不",
    "别",
    "勿",
    "莫",
    "not",
    "never",
    "unnecessary",
    "no",
    "dont",
    "cannot",
    "without",
    "n't",
    "instead of",
    "rather than",
];
/// These deny only the next word.
const BARE: [&str; 7] = ["不", "没", "未", "没有", "不是", "不再", "no longer"];
/// 分别 and 特别 deny nothing.
const WORDS_WITH_BIE: [char; 9] = ['分', '特', '区', '级', '类', '性', '差', '离', '告'];

/// Returns true if a text ends in a word that denies the next one.
pub(crate) fn ends_in_denial(text: &str) -> bool {
    // These end in such a word, and deny nothing.
    let is_other = before_word(text, &["要不", "差不"]).is_some()
        || before_word(text, &["别"]).is_some_and(|text| text.ends_with(WORDS_WITH_BIE));
    let denies = before_word(text, &NOT).or_else(|| before_word(text, &BARE));
    !is_other && (denies.is_some() || text.ends_with("n't"))
}

/// Returns what a text in lower case denies, if it begins by that: "please don't list files",
/// 没必要列出文件. None for other texts, and for a question such as "don't you".
///
/// ```
/// use fugato_text::denied;
///
/// assert_eq!(denied("please don't list files"), Some("list files"));
/// assert_eq!(denied("there is no need to list files"), Some("to list files"));
/// assert_eq!(denied("没必要列出文件"), Some("列出文件"));
/// assert_eq!([denied("no, list files"), denied("别的文件"), denied("don't you see it")], [None; 3]);
/// ```
pub fn denied(text: &str) -> Option<&str> {
    const LEADS: [&str; 20] = [
        "please",
        "just",
        "so",
        "you",
        "there is",
        "there's",
        "it is",
        "it's",
        "请",
        "您",
        "你",
        "就",
        "先",
        "暂时",
        "现在",
        "今天",
        "什么都",
        "什么也",
        "也",
        "都",
    ];
    /// These deny what follows only behind other words: "no, list files", 莫斯科.
    const LATER: [&str; 5] = ["no", "without", "cannot", "n't", "莫"];
    let marks = |c: char| c.is_whitespace() || ",，".contains(c);
    let mut said = text.trim();
    loop {
        // These are other things, and other people.
        if after_word(said, &["别的", "别人", "别处"]).is_some() {
            return None;
        }
        let word = said.split(char::is_whitespace).next().unwrap_or_default();
        let behind = said.get(word.len()..).unwrap_or_default().trim_start();
        let is_asked = after_word(behind, &["you", "we", "i"]).is_some();
        let by_itself = NOT.into_iter().filter(|not| !LATER.contains(not));
        let denied = by_itself
            .chain(["do not", "no need", "no reason", "no longer", "不再"])
            .find_map(|not| after_word(said, &[not]))
            .or_else(|| (word.ends_with("n't") && !is_asked).then_some(behind));
        if let Some(denied) = denied {
            return Some(denied.trim_start());
        }
        said = after_word(said, &LEADS)?.trim_start_matches(marks);
    }
}

/// Returns true if a text leaves out what it names so, regardless of case: "all but a.txt",
/// "b.txt, not a.txt", 除了a.txt以外.
///
/// ```
/// use fugato_text::is_left_out;
///
/// let out = |text| is_left_out(text, "a.txt");
/// assert!(out("read all files except a.txt") && out("read b.txt, but not A.txt"));
/// assert!(out("读取b.txt，别读a.txt") && out("除了a.txt以外都读"));
/// assert!(!out("don't read b.txt, read a.txt") && !out("能不能读a.txt") && !out("not ba.txt"));
/// ```
pub fn is_left_out(text: &str, name: &str) -> bool {
    let (lower, name) = (text.to_lowercase().replace('’', "'"), name.to_lowercase());
    let limit = restriction(&lower).filter(|it| it.kind == RestrictionKind::Exception);
    let is_excepted = limit.is_some_and(|it| name_positions(it.words, &name).next().is_some());
    is_excepted
        || thoughts(&lower).into_iter().any(|thought| {
            let denial = Denial::of(thought);
            let mut places = name_positions(thought, &name);
            places.any(|at| denial.is_about(at) || denial.is_about_object(at))
        })
}

/// Returns true if one of these verbs is negated. Each clause is checked separately.
pub fn is_negated<W: AsRef<str>>(text: &str, verbs: &[W]) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    thoughts(&lower).into_iter().any(|thought| {
        let denial = Denial::of(thought);
        let verbs = verbs.iter().map(AsRef::as_ref);
        let mut places = verbs.flat_map(|verb| thought.match_indices(verb));
        places.any(|(at, _)| denial.is_about(at))
    })
}

/// Returns true if a text has one of these phrases as whole words where nothing denies it: "don't
/// plan my week" does not want "plan my week", and a phrase that itself says "not" is wanted.
///
/// ```
/// use fugato_text::is_wanted;
///
/// let wants_plan = |text| is_wanted(text, &["plan my week", "都排"]);
/// assert!(wants_plan("Not today. Plan my week") && wants_plan("把任务都排一下"));
/// assert!(!wants_plan("please do not plan my week") && !wants_plan("先不要把任务都排一下"));
/// ```
pub fn is_wanted<W: AsRef<str>>(text: &str, phrases: &[W]) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    thoughts(&lower).into_iter().any(|thought| {
        let denial = Denial::of(thought);
        let phrases = phrases.iter().map(AsRef::as_ref);
        let mut places = phrases.flat_map(|phrase| word_positions(thought, phrase));
        places.any(|at| !denial.is_about(at))
    })
}

/// Cuts a text where another thought begins.
fn thoughts(text: &str) -> Vec<&str> {
    const BREAKS: [&str; 16] = [
        ",", ";", ":", "!", "?", "，", "；", "：", "。", "！", "？", "\n", ". ", " but ", "但",
        "而是",
    ];
    let mut parts = vec![text];
    for at in BREAKS {
        parts = parts.into_iter().flat_map(|part| part.split(at)).collect();
    }
    parts
}

/// The words of a thought that deny what comes after them.
struct Denial<'t> {
    thought: &'t str,
    /// The position from which everything is denied.
    from: usize,
}

impl<'t> Denial<'t> {
    fn of(thought: &'t str) -> Self {
        /// "Not below 3" denies nothing.
        const BOUND: [&str; 12] = [
            "低于", "高于", "超过", "少于", "多于", "below", "above", "under", "over", "less",
            "more", "only",
        ];
        let ends = NOT.into_iter().filter_map(|not| {
            let mut places = thought.match_indices(not);
            places.find_map(|(at, _)| {
                let (before, after) = (thought.get(..at)?, thought.get(at + not.len()..)?);
                let inside = not.is_ascii() && not != "n't" && is_inside(before);
                let goes_on = not.is_ascii() && after.starts_with(|c: char| c.is_alphanumeric());
                let is_bound = after_word(after.trim_start(), &BOUND).is_some();
                let inside = inside || not == "别" && before.ends_with(WORDS_WITH_BIE);
                let inside = inside || asks_both(before, not);
                (!inside && !goes_on && !is_bound).then_some(at + not.len())
            })
        });
        let from = ends.min().unwrap_or(usize::MAX);
        Self { thought, from }
    }

    /// Returns true if what begins at a position is denied.
    fn is_about(&self, at: usize) -> bool {
        let before = self.thought.get(..at).unwrap_or_default().trim_end();
        let before = before.trim_end_matches("帮我").trim_end_matches("给我");
        at >= self.from || BARE.iter().any(|not| before.ends_with(not))
    }

    /// Returns true if what begins at a position is the object of a denied Chinese verb: 不读a.txt.
    fn is_about_object(&self, at: usize) -> bool {
        let before = self.thought.get(..at).unwrap_or_default().trim_end();
        let verbs = before.char_indices().rev().take(2);
        let mut verbs = verbs.filter_map(|(at, _)| before.split_at_checked(at));
        verbs.any(|(before, verb)| {
            let asks = before
                .strip_suffix('不')
                .and_then(|it| it.chars().next_back());
            is_chinese(verb)
                && asks.is_none_or(|sign| !verb.starts_with(sign))
                && BARE.iter().any(|not| before.ends_with(not))
        })
    }
}

/// Returns true for a question such as 能不能, of which these are the text before the denial and the
/// denial.
fn asks_both(before: &str, not: &str) -> bool {
    let verb = not.strip_prefix(['不', '没']);
    verb.is_some_and(|verb| !verb.is_empty() && before.ends_with(verb))
}

/// Returns the whole number directly after one of these words, which are in lower case; `None` if
/// there are several numbers.
pub fn number_after<W: AsRef<str>>(text: &str, words: &[W]) -> Option<i64> {
    let is_digit = |c: char| c.is_ascii_digit();
    let lower = text.to_lowercase();
    let (mut found, mut at) = (BTreeSet::new(), 0);
    while let Some(from) = lower.get(at..).and_then(|rest| rest.find(is_digit)) {
        let (before, rest) = lower.split_at(at + from);
        let after = rest.trim_start_matches(is_digit);
        at = lower.len() - after.len();
        let goes_on = after.trim_start_matches(['.', ',']);
        let is_whole = !goes_on.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '%');
        let before = before.trim_end_matches(|c: char| c.is_whitespace() || ":：".contains(c));
        if is_whole && before_word(before, words).is_some() {
            found.insert(rest.get(..rest.len() - after.len())?.parse().ok()?);
        }
    }
    found.pop_first().filter(|_| found.is_empty())
}

/// Returns the name that a text mentions as a whole word, regardless of case; the longest, if
/// several.
pub fn mentioned<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = text.to_lowercase();
    let is_mentioned = |name: &&str| {
        name_positions(&lower, &name.to_lowercase())
            .next()
            .is_some()
    };
    let mentioned = names.into_iter().filter(is_mentioned);
    mentioned.max_by_key(|name| name.len())
}

/// Returns the positions at which a text has a name as a whole word.
fn name_positions<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let inner = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let places = text.match_indices(name).filter(move |(at, found)| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let rest = text.get(at + found.len()..);
        let after = rest.and_then(|text| text.chars().next());
        !name.is_empty() && !inner(before) && !inner(after)
    });
    places.map(|(at, _)| at)
}

/// Returns the name that a text gives to something: `named alpha`, `名叫小明`.
pub fn named(text: &str) -> Option<String> {
    const BEFORE: [&str; 8] = [
        "named",
        "called",
        "名字是",
        "名字叫",
        "名为",
        "名叫",
        "叫做",
        "叫",
    ];
    let lower = text.to_ascii_lowercase();
    let after = BEFORE.iter().find_map(|word| {
        let at = lower.find(word)?;
        text.get(at + word.len()..)
    })?;
    let after = after.trim_start_matches(|c: char| c.is_whitespace() || "\"'“「:：".contains(c));
    // 叫小明的交易员 is a trader named 小明.
    let is_name = |c: &char| (c.is_alphanumeric() && *c != '的') || matches!(c, '-' | '_');
    let name: String = after.chars().take_while(is_name).collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_ends_or_begins_as_one() {
        for text in ["Buy now?", "did you buy it", "  Which one", "可以买吗"] {
            assert!(is_question(text), "{text}");
        }
        for text in [
            "buy what is there",
            "don't do it",
            "do the trip",
            "have to go",
            "买",
            "",
        ] {
            assert!(!is_question(text), "{text}");
        }
    }

    #[test]
    fn what_is_not_wanted_is_denied_in_its_own_clause() {
        let verbs = ["sell", "卖"];
        for text in [
            "don’t sell it",
            "Please do not yet sell",
            "先别卖",
            "不要帮我卖",
            "没必要卖",
            "用不着现在卖",
            "it is unnecessary to sell it",
            "I never sell",
        ] {
            assert!(is_negated(text, &verbs), "{text}");
        }
        for text in [
            "don't worry, sell it",
            "not below 3 sell",
            "不低于 3 就卖",
            "今天和明天分别卖",
            "能不能卖",
            "要不要卖掉",
            "buy",
        ] {
            assert!(!is_negated(text, &verbs), "{text}");
        }
    }

    #[test]
    fn a_number_belongs_to_the_word_before_it() {
        let words = ["order", "#", "订单", "号"];
        for (text, expected) in [
            ("cancel my 2 BTC order #7.", Some(7)),
            ("订单：12 不要了", Some(12)),
            ("order 7, and order 7 again", Some(7)),
            ("order 7 and order 8", None),
            ("orders 7", None),
            ("order 0.5", None),
            ("order 7%", None),
            ("border 7", None),
            ("order 99999999999999999999", None),
        ] {
            assert_eq!(number_after(text, &words), expected, "{text}");
        }
    }

    #[test]
    fn a_name_is_mentioned_as_a_whole_word() {
        let names = ["grid", "grid-2", "trend"];
        assert_eq!(mentioned("use Grid-2", names), Some("grid-2"));
        assert_eq!(mentioned("用grid吧", names), Some("grid"));
        assert_eq!(mentioned("gridlock", names), None);
        assert_eq!(mentioned("nothing", [""]), None);
        assert_eq!(
            named("one called “alpha-1”, please").as_deref(),
            Some("alpha-1")
        );
        assert_eq!(named("名叫小明，用它").as_deref(), Some("小明"));
        assert_eq!(named("一个叫小明的交易员").as_deref(), Some("小明"));
        assert_eq!(named("named "), None);
    }
}
