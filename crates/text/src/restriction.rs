//! The parts of a wish that limit it: what is excepted, and what has to be true first.
use crate::{
    is_chinese, is_question,
    word::{after_word, before_word, has_any_word, word_positions},
};

/// The kind of a [`Restriction`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestrictionKind {
    /// Something is left out: "all except one".
    Exception,
    /// Something has to be true first: "only if it is there".
    Condition,
}

/// A part of a wish that limits it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restriction<'t> {
    /// The kind.
    pub kind: RestrictionKind,
    /// The words, up to the end of their clause.
    pub words: &'t str,
}

/// The force of a word that limits a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Force {
    Exception,
    Condition,
    /// A condition if a sentence follows: "once more" is none.
    Once,
    /// A condition on an order, and on anything else if somebody has to decide.
    Wait,
    /// A condition if somebody has to decide: "after my boss agrees".
    Decision,
}

/// The words that limit by themselves.
const WORDS: &[(Force, &[&str])] = &[
    (
        Force::Exception,
        &[
            "except",
            "excepting",
            "excluding",
            "exclude",
            "apart from",
            "aside from",
            "other than",
            "with the exception of",
            "save for",
            "leaving out",
            "leave out",
            "all but",
            "everything but",
            "anything but",
            "除了",
            "除开",
            "除去",
            "不包括",
            "不包含",
            "不算",
        ],
    ),
    (
        Force::Condition,
        &[
            "if",
            "unless",
            "provided",
            "providing",
            "as long as",
            "as soon as",
            "in case",
            "assuming",
            "如果",
            "万一",
            "假如",
            "假若",
            "假使",
            "要是",
            "倘若",
            "除非",
            "一旦",
            "等到",
        ],
    ),
    (Force::Once, &["once"]),
    (
        Force::Wait,
        &["when", "whenever", "until", "till", "只要", "只有在"],
    ),
    (Force::Decision, &["after", "before", "等"]),
];
/// Something that somebody else decides.
const DECISIONS: &[&str] = &[
    "agrees",
    "agreed",
    "approves",
    "approved",
    "approval",
    "confirms",
    "confirmed",
    "signs",
    "signed",
    "says yes",
    "同意",
    "批准",
    "批了",
    "答应",
    "点头",
    "通过后",
    "审批",
    "签字",
];
/// These follow where a wish is only kind: "if possible".
const KIND: &[&str] = &[
    "possible",
    "you can",
    "you could",
    "you like",
    "you want",
    "you please",
    "needed",
    "necessary",
    "that is ok",
    "that's ok",
    "that is okay",
    "that's okay",
    "it's ok",
    "it's okay",
    "it isn't too much trouble",
    "it's not too much trouble",
    "it is not too much trouble",
    "it is no trouble",
    "it's no trouble",
    "you don't mind",
    "you do not mind",
    "不麻烦",
    "不介意",
    "您方便",
    "你方便",
    "可以",
    "可能",
    "方便",
    "需要",
];
/// Behind these there is no condition: "ask if", "at once", 主要是.
const BEFORE: &[&str] = &[
    "see", "check", "know", "ask", "tell me", "wonder", "sure", "at", "as", "even", "find out",
    "主", "需", "重",
];
/// The beginnings of a sentence.
const SUBJECTS: &[&str] = &["my", "the", "he", "she", "they", "it", "we", "our"];
/// These mean everything, so that what is kept out of it afterwards is excepted.
const ALL: &[&str] = &[
    "all",
    "every",
    "everything",
    "both",
    "any",
    "anything",
    "全部",
    "所有",
    "全都",
    "全",
    "都",
    "一切",
];
/// These keep something out of everything.
const KEEPS: &[&str] = &[
    "but not",
    "but keep",
    "but leave",
    "but",
    "keep",
    "keeping",
    "leave",
    "leaving",
    "not",
    "don't touch",
    "without",
    "保留",
    "留下",
    "留着",
    "只留",
    "留",
    "剩下",
    "剩",
    "但不要",
    "但是",
    "但",
    "不要",
    "不动",
    "别",
];
/// Behind a word that keeps out, these begin something else: a limit, a reason, or another wish.
const OTHER: &[&str] = &[
    "at",
    "for",
    "below",
    "above",
    "under",
    "over",
    "less",
    "more",
    "lower",
    "higher",
    "please",
    "only",
    "now",
    "first",
    "asking",
    "confirmation",
    "in",
    "低于",
    "高于",
    "超过",
    "少于",
    "多于",
    "价",
    "以",
    "按",
    "限",
];
const PAUSES: [char; 12] = [
    ',', ';', '!', '?', '\n', '，', '；', '。', '！', '？', '：', ':',
];

/// Returns the first part of a wish that limits it: an exception, or a condition.
///
/// ```
/// use fugato_text::restriction;
///
/// let limits = |text| restriction(text).map(|it| it.words);
/// assert_eq!(limits("sell all my ETH except 1"), Some("except 1"));
/// assert_eq!(limits("全部卖掉，留1个"), Some("留1个"));
/// assert_eq!(limits("write it, but only if it is new"), Some("but only if it is new"));
/// assert_eq!([limits("sell all of it, but not below 3"), limits("sell it if possible")], [None; 2]);
/// ```
pub fn restriction(text: &str) -> Option<Restriction<'_>> {
    // Positions are the same in both.
    let lower = text.to_ascii_lowercase();
    let own = limits(&lower).filter_map(|(at, _, force)| match force {
        Force::Exception => Some((at, RestrictionKind::Exception)),
        Force::Condition | Force::Once | Force::Wait => Some((at, RestrictionKind::Condition)),
        Force::Decision => None,
    });
    let spoken = own.chain(supposed(&lower)).chain(without(&lower));
    let first = spoken.chain(kept_out(&lower)).min_by_key(|(at, _)| *at);
    let (at, kind) = first?;
    let words = clause(text.get(at..)?);
    Some(Restriction { kind, words })
}

/// Returns the condition on which a text makes what it wants; `None` if it makes none, or asks.
///
/// ```
/// use fugato_text::condition;
///
/// assert_eq!(condition("If my boss agrees, apply for it"), Some("If my boss agrees"));
/// assert_eq!(condition("如果老板同意，就申请"), Some("如果老板同意"));
/// assert_eq!(condition("等老板批准后申请"), Some("等老板批准后申请"));
/// assert_eq!(condition("book it if it's ok with my boss"), Some("if it's ok with my boss"));
/// assert_eq!([condition("book it, if it isn't too much trouble"), condition("if it's ok, go")], [None; 2]);
/// assert_eq!([condition("apply for it if possible"), condition("ask if it is open")], [None; 2]);
/// ```
pub fn condition(text: &str) -> Option<&str> {
    if is_question(text) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let first = limits(&lower).filter(|(_, said, force)| match force {
        Force::Exception => false,
        Force::Condition => true,
        Force::Once => after_word(said, SUBJECTS).is_some(),
        Force::Wait | Force::Decision => has_any_word(clause(said), DECISIONS),
    });
    let (at, ..) = first.min_by_key(|(at, ..)| *at)?;
    text.get(at..).map(clause)
}

/// Returns the places of the words that limit by themselves, with what follows each and its force.
fn limits(text: &str) -> impl Iterator<Item = (usize, &str, Force)> {
    let words = WORDS.iter();
    let words = words.flat_map(|(force, words)| words.iter().map(|word| (*word, *force)));
    words.flat_map(move |(word, force)| {
        places(text, word).filter_map(move |at| {
            let (before, here) = text.split_at_checked(at)?;
            let (before, said) = (before.trim_end(), here.get(word.len()..)?.trim_start());
            if force == Force::Exception {
                return Some((at, said, force));
            }
            let is_kind = said.is_empty() || after_word(said, KIND).is_some_and(is_of_you);
            let is_none = is_kind || before_word(before, BEFORE).is_some();
            // "But only if" begins with its first word.
            let lead = before_word(before, &["but only", "only"]);
            (!is_none).then(|| (lead.map_or(at, str::len), said, force))
        })
    })
}

/// Returns true if what is kindly asked for is up to whoever is asked: "if it's ok", and not "if it's ok
/// with my boss".
fn is_of_you(behind: &str) -> bool {
    let with = after_word(behind.trim_start(), &["with", "for my"]);
    with.is_none_or(|who| after_word(who.trim_start(), &["you"]).is_some())
}

/// Returns the places where a word stands alone.
fn places<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    word_positions(text, word).filter(move |at| {
        let here = text.get(*at..).unwrap_or_default();
        after_word(here, &[word]).is_some()
    })
}

/// Returns the place of a condition that only its end shows: 跌到三千的话.
fn supposed(text: &str) -> Option<(usize, RestrictionKind)> {
    let at = text.find("的话")?;
    let before = text.get(..at)?;
    let from = before.rfind(PAUSES).map_or(0, |at| {
        let pause = before.get(at..).and_then(|rest| rest.chars().next());
        at + pause.map_or(0, char::len_utf8)
    });
    Some((from, RestrictionKind::Condition))
}

/// Returns the place of an exception that ends in 之外, 以外 or 除外; its clause where no 除 begins it:
/// 茶除外.
fn without(text: &str) -> Option<(usize, RestrictionKind)> {
    let mut ends = ["之外", "以外", "除外"].iter();
    let (end, word) = ends.find_map(|word| Some((text.find(word)?, *word)))?;
    let (before, here) = text.split_at_checked(end)?;
    let named = before
        .trim_end_matches(|c: char| !PAUSES.contains(&c))
        .len();
    let is_named = word == "除外" || here.get(word.len()..)?.starts_with('的');
    let at = before.rfind('除').or(is_named.then_some(named))?;
    Some((at, RestrictionKind::Exception))
}

/// Returns the places where something is kept out of everything, which was named before.
fn kept_out(text: &str) -> impl Iterator<Item = (usize, RestrictionKind)> + '_ {
    let every = ALL.iter().flat_map(|word| places(text, word)).min();
    let keeps = KEEPS.iter().flat_map(move |word| {
        let places = places(text, word);
        places.map(move |at| (at, text.get(at + word.len()..).unwrap_or_default()))
    });
    keeps.filter_map(move |(at, rest)| {
        let is_later = every.is_some_and(|every| every < at);
        let rest = rest.trim_start();
        let rest = after_word(rest, &["not", "keep", "leave", "不要", "别", "不"]).unwrap_or(rest);
        let rest = rest.trim_start();
        let other = rest.is_empty() || after_word(rest, OTHER).is_some();
        // 分别 and 特别 keep nothing out.
        let word = before_word(text.get(..at)?, &["分", "特", "级", "差"]).is_some();
        (is_later && !other && !word).then_some((at, RestrictionKind::Exception))
    })
}

/// Returns the beginning of a text, up to the end of its clause. A comma within a number ends none.
fn clause(text: &str) -> &str {
    let ends = text.char_indices().find(|(at, c)| {
        let next = text.get(at + c.len_utf8()..).unwrap_or_default();
        let is_number = *c == ',' && next.starts_with(|c: char| c.is_ascii_digit());
        let is_stop = *c == '.' && next.trim_start().len() < next.len();
        *at > 0 && (is_stop || PAUSES.contains(c) && !is_number)
    });
    let text = ends.map_or(text, |(at, _)| text.get(..at).unwrap_or(text));
    // 如果老板同意就申请: what is wanted follows without a sign.
    let text = text.split_once('就').map_or(text, |(text, _)| text);
    let end = text.trim_end_matches(|c: char| c.is_whitespace() || ".。".contains(c));
    // 除了1个以太都卖掉: what is wanted follows.
    let wanted = ["以外", "之外", "外都", "都", "全部", "全"];
    let cut = wanted.iter().filter_map(|word| {
        let at = end.find(word).filter(|at| *at > 0)?;
        let keep = if word.ends_with('外') { word.len() } else { 0 };
        Some(at + keep)
    });
    let cut = cut
        .min()
        .filter(|_| is_chinese(end) && end.starts_with('除'));
    end.get(..cut.unwrap_or(end.len())).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_limits_a_wish_is_found_in_both_languages() {
        use RestrictionKind::{Condition, Exception};
        for (text, kind, words) in [
            ("sell all my ETH except 1", Exception, "except 1"),
            ("sell all BTC but 0.1", Exception, "but 0.1"),
            ("sell all my ETH, but keep 1", Exception, "but keep 1"),
            (
                "sell everything apart from the ETH, please",
                Exception,
                "apart from the ETH",
            ),
            (
                "cancel all orders, but not the ETH one",
                Exception,
                "but not the ETH one",
            ),
            (
                "cancel every order, leave the second",
                Exception,
                "leave the second",
            ),
            ("除了1个以太都卖掉", Exception, "除了1个以太"),
            (
                "除了以太的那单以外，全撤了",
                Exception,
                "除了以太的那单以外",
            ),
            ("卖掉除一个之外的所有以太", Exception, "除一个之外"),
            ("全部卖掉，以太除外。", Exception, "以太除外"),
            ("全部撤掉，以太的别动", Exception, "别动"),
            ("把以太都卖了，保留1个", Exception, "保留1个"),
            ("buy 1 ETH if it is cheap", Condition, "if it is cheap"),
            ("Unless it rains, buy 1", Condition, "Unless it rains"),
            ("跌到三千的话买1个", Condition, "跌到三千的话买1个"),
            ("如果跌了，就买", Condition, "如果跌了"),
        ] {
            let found = restriction(text);
            assert_eq!(found, Some(Restriction { kind, words }), "{text}");
        }
    }

    #[test]
    fn a_price_limit_or_a_plain_wish_has_no_exception() {
        for text in [
            "sell all my ETH",
            "sell all my ETH, but not below 3000",
            "sell all my ETH but at 3,300",
            "buy 1 ETH, not BTC",
            "把以太都卖了，不要低于3000",
            "全部卖掉",
            "sell all of it without asking me",
            "两个都分别卖掉",
            "a gift for butler",
            "",
        ] {
            assert_eq!(restriction(text), None, "{text}");
        }
    }
}
