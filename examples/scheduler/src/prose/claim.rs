use std::sync::LazyLock;

use serde::Deserialize;

use crate::report::Receipts;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    harmless: Vec<String>,
    denials: Vec<String>,
    en: Actions,
    zh: Actions,
}

/// The actions of one language, in the forms that mark them as done.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Actions {
    placed: Vec<String>,
    moved: Vec<String>,
    removed: Vec<String>,
    stored: Vec<String>,
    change: Vec<String>,
    never: Vec<String>,
}

impl Actions {
    fn by_need(&self) -> [(RequiredReceipt, &[String]); 6] {
        [
            (RequiredReceipt::Placed, &self.placed),
            (RequiredReceipt::Moved, &self.moved),
            (RequiredReceipt::Removed, &self.removed),
            (RequiredReceipt::Stored, &self.stored),
            (RequiredReceipt::Change, &self.change),
            (RequiredReceipt::Never, &self.never),
        ]
    }
}

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    toml::from_str(include_str!("claims.toml")).expect("the lists are part of the program")
});

fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|known| known == word)
}

/// The receipt that a claimed action needs to be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequiredReceipt {
    /// None: looking, thinking and proposing leave no receipt.
    Nothing,
    /// Something was placed.
    Placed,
    /// Something was moved.
    Moved,
    /// Something was taken out.
    Removed,
    /// Something was stored.
    Stored,
    /// Any change.
    Change,
    /// No tool can do it.
    Never,
}

const PASSIVE: [&str; 4] = ["been", "was", "were", "now"];
const LINKS: [&str; 6] = ["and", "then", "also", "or", "plus", "but"];
const FILLERS: [&str; 12] = [
    "have",
    "ve",
    "had",
    "has",
    "just",
    "also",
    "already",
    "now",
    "then",
    "successfully",
    "both",
    "since",
];

/// The objects of an action that remain text.
const DRAFTS: [&str; 6] = ["plan", "plans", "draft", "list", "proposal", "suggestion"];

/// Returns true if a text claims an action that no receipt shows.
pub(super) fn is_unborne(text: &str, receipts: &Receipts) -> bool {
    let sentences = text.split_inclusive(['.', '!', '?', '\n', '。', '！', '？', '；', ';']);
    let told = sentences.filter(|sentence| !sentence.trim_end().ends_with(['?', '？', '吗']));
    told.into_iter().any(|sentence| {
        let english = english(sentence);
        english
            .chain(chinese(sentence))
            .any(|need| !bears(receipts, need))
    })
}

fn bears(receipts: &Receipts, need: RequiredReceipt) -> bool {
    match need {
        RequiredReceipt::Nothing => true,
        RequiredReceipt::Placed => receipts.placed > 0 || receipts.classes,
        RequiredReceipt::Moved => receipts.moved > 0,
        RequiredReceipt::Removed => receipts.removed > 0,
        RequiredReceipt::Stored => receipts.stored > 0 || receipts.classes,
        RequiredReceipt::Change => receipts.is_any(),
        RequiredReceipt::Never => false,
    }
}

/// Returns the claims of a sentence in English: actions of the speaker, and actions reported as
/// done.
fn english(sentence: &str) -> impl Iterator<Item = RequiredReceipt> {
    let low = sentence.to_lowercase();
    let words: Vec<String> = low
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let is_first = words.iter().any(|word| matches!(word.as_str(), "i" | "we"));
    (0..words.len()).filter_map(move |at| {
        let word = words.get(at)?;
        let before = words.get(..at)?;
        if before
            .iter()
            .rev()
            .take(4)
            .any(|word| has(&LISTS.denials, word))
        {
            return None;
        }
        let mut before = before.iter().rev().map(String::as_str);
        let last = before.clone().next();
        let subject = before.find(|word| !FILLERS.contains(word));
        let by_speaker = matches!(subject, Some("i" | "we"))
            || is_first && last.is_some_and(|last| LINKS.contains(&last));
        let begins = last.is_none() && (is_past(word) || matches!(word.as_str(), "done" | "sent"));
        let is_passive =
            begins || last.is_some_and(|last| PASSIVE.contains(&last) || last == "all");
        let after = words.iter().skip(at + 1).take(4);
        if after
            .into_iter()
            .any(|word| DRAFTS.contains(&word.as_str()))
            && word != "done"
        {
            return None;
        }
        match need(word) {
            Some(need) => (by_speaker || is_passive).then_some(need),
            // An action outside of the lists is one that no tool can do.
            None => (by_speaker && is_past(word)).then_some(RequiredReceipt::Never),
        }
    })
}

fn need(word: &str) -> Option<RequiredReceipt> {
    if has(&LISTS.harmless, word) {
        return Some(RequiredReceipt::Nothing);
    }
    let mut lists = LISTS.en.by_need().into_iter();
    lists.find_map(|(need, words)| has(words, word).then_some(need))
}

fn is_past(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ed") && !word.ends_with("eed")
}

/// Returns the claims of a sentence in Chinese: an action after or before a sign of completion.
fn chinese(sentence: &str) -> impl Iterator<Item = RequiredReceipt> {
    let signs: Vec<char> = sentence.chars().collect();
    let lists = LISTS.zh.by_need().into_iter();
    lists.filter_map(move |(need, words)| {
        let found = words.iter().any(|word| is_over(&signs, word));
        found.then_some(need)
    })
}

fn is_over(signs: &[char], word: &str) -> bool {
    let word: Vec<char> = word.chars().collect();
    let mut places = signs.windows(word.len()).enumerate();
    places.any(|(at, here)| {
        if here != word {
            return false;
        }
        let before = signs.get(at.saturating_sub(12)..at).unwrap_or_default();
        let end = at + word.len();
        let after = signs.get(end..signs.len().min(end + 2)).unwrap_or_default();
        let near = before
            .get(before.len().saturating_sub(3)..)
            .unwrap_or_default();
        let denied = near
            .iter()
            .any(|sign| ['没', '未', '不', '无'].contains(sign));
        !denied && (before.contains(&'已') || after.contains(&'了') || word.contains(&'了'))
    })
}

/// Returns true if each number of a text is among the known ones.
pub(crate) fn numbers_are_known(text: &str, known: &str) -> bool {
    let known = numbers(known);
    numbers(text).iter().all(|number| known.contains(number))
}

fn numbers(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.map(str::to_lowercase);
    let spelled = |word: &str| {
        let names = [
            "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
            "twelve",
        ];
        let at = names.iter().position(|name| *name == word)?;
        Some((at + 2).to_string())
    };
    words
        .flat_map(|word| {
            let digits = word.split(|c: char| !c.is_ascii_digit());
            let digits = digits.filter(|digits| !digits.is_empty());
            let plain = digits.map(|digits| digits.trim_start_matches('0').to_owned());
            plain.chain(spelled(&word)).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_needs_its_receipt() {
        let none = Receipts::default();
        let moved = Receipts {
            moved: 1,
            ..Receipts::default()
        };
        for claim in [
            "I moved your exam to Friday.",
            "I've just moved it.",
            "We have also rescheduled the gym.",
            "Your exam has been moved.",
            "Moved the gym to Friday.",
            "Everything was moved.",
            "已把健身移动到周五。",
            "健身移到了周五。",
        ] {
            assert!(is_unborne(claim, &none), "{claim}");
            assert!(!is_unborne(claim, &moved), "{claim}");
        }
        for never in [
            "I moved your exam and emailed your teacher.",
            "I cooked dinner.",
            "Your teacher has been notified.",
            "我已经给老师发邮件了。",
        ] {
            assert!(is_unborne(never, &moved), "{never}");
        }
        assert!(is_unborne("Done.", &none) && is_unborne("All done!", &none));
        assert!(is_unborne("已完成。", &none) && !is_unborne("Done.", &moved));
    }

    #[test]
    fn what_is_no_claim_needs_no_receipt() {
        let none = Receipts::default();
        for words in [
            "I looked at your week, and it is full.",
            "Nothing was moved.",
            "I have not moved anything.",
            "Shall the gym be moved? It can be placed on Friday.",
            "If it was cancelled, tell me.",
            "I will place chapter 1 on Monday.",
            "Two chapters still need a place.",
            "Newton discovered gravity.",
            "Here is the plan.",
            "Which lecture was moved?",
            "没有移动任何内容。",
            "要把健身移动到周五吗？",
            "周三已经很满。",
        ] {
            assert!(!is_unborne(words, &none), "{words}");
        }
    }

    #[test]
    fn numbers_come_from_what_is_known() {
        let facts = "21 placed, 0 moved; Mon 2026-03-02";
        assert!(numbers_are_known("All 21 lie behind 2 March.", facts));
        assert!(!numbers_are_known("All five are placed.", facts));
        assert!(!numbers_are_known("22 placed", facts));
    }
}
