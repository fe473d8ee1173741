use std::{
    collections::{BTreeSet, HashMap},
    sync::LazyLock,
};

use serde::{Deserialize, Serialize};

/// The meaning of a short utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ShortAnswer {
    /// 好的, "yes".
    Yes,
    /// 不要, "no".
    No,
    /// 继续, "continue": yes to an open question, and another attempt at finished work.
    Continue,
    /// 取消, "cancel": the question or the work is not wanted any more.
    Cancel,
    /// 再试一次, "try again".
    Retry,
    /// 重新开始, "start over".
    StartOver,
}

/// A set of known phrases, each a whole utterance: "yes, but not on Friday" is none.
///
/// Case, punctuation, spaces and the width of letters do not matter, and neither does an emphatic
/// repetition such as "no no".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrases {
    known: HashMap<String, ShortAnswer>,
}

const KNOWN: &[(ShortAnswer, &[&str])] = &[
    (
        ShortAnswer::Yes,
        &[
            "y",
            "yes",
            "yes please",
            "yeah",
            "yep",
            "yup",
            "ok",
            "okay",
            "sure",
            "fine",
            "agreed",
            "agree",
            "accept",
            "approve",
            "approved",
            "confirm",
            "confirmed",
            "submit",
            "submit it",
            "yes confirm",
            "right",
            "correct",
            "do it",
            "of course",
            "why not",
            "sounds good",
            "looks good",
            "go for it",
            "是",
            "是的",
            "是啊",
            "对",
            "对的",
            "对啊",
            "好",
            "好的",
            "好啊",
            "好吧",
            "好呀",
            "行",
            "行的",
            "可以",
            "可以的",
            "同意",
            "确认",
            "确定",
            "提交",
            "批准",
            "通过",
            "確認",
            "没问题",
            "就这样",
            "就这样吧",
            "就这么办",
            "就这么办吧",
            "沒問題",
            "没错",
            "当然",
            "當然",
        ],
    ),
    (
        ShortAnswer::No,
        &[
            "n",
            "no",
            "no thanks",
            "no thank you",
            "nope",
            "nah",
            "not now",
            "do not",
            "don't",
            "reject",
            "rejected",
            "decline",
            "disagree",
            "wrong",
            "否",
            "不",
            "不是",
            "不是的",
            "不对",
            "不對",
            "不要",
            "不要了",
            "不用",
            "不用了",
            "不行",
            "不可以",
            "不好",
            "不同意",
            "别",
            "别了",
            "拒绝",
            "拒絕",
            "不了",
        ],
    ),
    (
        ShortAnswer::Continue,
        &[
            "continue",
            "go on",
            "go ahead",
            "keep going",
            "proceed",
            "carry on",
            "继续",
            "繼續",
            "继续吧",
            "请继续",
            "接着来",
            "往下走",
        ],
    ),
    (
        ShortAnswer::Cancel,
        &[
            "cancel",
            "cancel it",
            "cancel that",
            "abort",
            "stop",
            "quit",
            "never mind",
            "nevermind",
            "forget it",
            "drop it",
            "取消",
            "取消吧",
            "取消掉",
            "算了",
            "停",
            "停止",
            "停下",
            "终止",
            "中止",
            "放弃",
            "不做了",
        ],
    ),
    (
        ShortAnswer::Retry,
        &[
            "retry",
            "again",
            "try again",
            "once more",
            "one more time",
            "try it again",
            "please try again",
            "再试",
            "再试试",
            "再试一次",
            "再试一下",
            "再來一次",
            "再来一次",
            "再来",
            "重试",
            "重試",
        ],
    ),
    (
        ShortAnswer::StartOver,
        &[
            "start over",
            "start again",
            "start from scratch",
            "begin again",
            "restart",
            "reset",
            "重新开始",
            "重新開始",
            "重新来",
            "重新来过",
            "从头开始",
            "从头再来",
            "重来",
            "重置",
        ],
    ),
];

/// The thanks that may stand beside a yes or a no. Alone they are a row of either, and so of none.
const THANKS: [&str; 9] = [
    "thanks",
    "thank you",
    "thank you so much",
    "thanks a lot",
    "谢谢",
    "谢谢你",
    "谢谢您",
    "多谢",
    "谢了",
];

static DEFAULT: LazyLock<Phrases> = LazyLock::new(|| {
    let none = Phrases {
        known: HashMap::new(),
    };
    KNOWN.iter().fold(none, |phrases, (answer, words)| {
        phrases.with(*answer, words.iter().copied())
    })
});

impl Default for Phrases {
    /// Returns the built-in phrases in Chinese and English.
    fn default() -> Self {
        DEFAULT.clone()
    }
}

impl ShortAnswer {
    /// Returns the meaning of a message, if the whole of it is a built-in phrase.
    pub fn of(message: &str) -> Option<Self> {
        DEFAULT.read(message)
    }

    /// Returns the meaning of the built-in phrase with which a message begins: "never mind, not now".
    pub fn leading(message: &str) -> Option<Self> {
        let first = message.split([',', '，', '.', '。']).next()?;
        Self::of(first)
    }
}

impl Phrases {
    /// Adds phrases. A known one gets the new meaning; one without a letter or a digit cannot be
    /// matched, and is left out.
    #[must_use]
    pub fn with<P: AsRef<str>>(
        mut self,
        answer: ShortAnswer,
        phrases: impl IntoIterator<Item = P>,
    ) -> Self {
        let keys = phrases.into_iter().map(|phrase| key(phrase.as_ref()));
        let keys = keys.filter(|key| !key.is_empty());
        self.known.extend(keys.map(|key| (key, answer)));
        self
    }

    /// Returns the meaning of a message, if the whole of it is a known phrase. A message with a
    /// question mark has none.
    pub fn read(&self, message: &str) -> Option<ShortAnswer> {
        if message.contains(['?', '？']) {
            return None;
        }
        // 不是不行 denies a no, and agrees to nothing; 不是不是 is a no that is said twice.
        let denied = message.split("不是不").nth(1);
        if denied.is_some_and(|rest| !rest.starts_with('是')) {
            return None;
        }
        let key = key(message);
        let known = |key: &str| self.known.get(key).copied();
        // Nothing longer is known, so that a long text is not tried out.
        let longest = self.known.keys().map(String::len).max()?;
        known(&key)
            .or_else(|| known(once(&key, longest)?))
            .or_else(|| self.sequence(&key, longest))
    }

    /// Returns the meaning of several known phrases in a row that all mean the same, and are a yes
    /// or a no: "sure, why not", 好的没问题. Thanks beside them mean nothing: "yes, thanks", 好的谢谢.
    fn sequence(&self, key: &str, longest: usize) -> Option<ShortAnswer> {
        let all = |meaning| self.is_row_of(key, meaning, longest).then_some(meaning);
        all(ShortAnswer::Yes).xor(all(ShortAnswer::No))
    }

    /// Returns true if a text is a row of phrases of this meaning. Every place is looked at once,
    /// however many rows lead to it.
    fn is_row_of(&self, key: &str, meaning: ShortAnswer, longest: usize) -> bool {
        let is_letter = |c: char| c.is_ascii_alphanumeric();
        let mut begins = BTreeSet::from([0]);
        while let Some(at) = begins.pop_first() {
            let Some(rest) = key.get(at..).filter(|rest| !rest.is_empty()) else {
                return true;
            };
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
            for end in ends.take_while(|end| *end <= longest) {
                let Some((head, tail)) = rest.split_at_checked(end) else {
                    continue;
                };
                let cuts_a_word = head.ends_with(is_letter) && tail.starts_with(is_letter);
                let fits = self.known.get(head) == Some(&meaning) || THANKS.contains(&head);
                if !cuts_a_word && fits {
                    begins.insert(key.len() - tail.trim_start().len());
                }
            }
        }
        false
    }

    /// Returns all phrases in normalised form, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, ShortAnswer)> {
        let known = self.known.iter();
        known.map(|(phrase, answer)| (phrase.as_str(), *answer))
    }
}

/// Normalises an utterance to its letters and digits in one width and case, with one space between
/// Latin words.
fn key(text: &str) -> String {
    let mut key = String::new();
    let mut gap = false;
    for c in text.chars().map(narrow) {
        if matches!(c, '\'' | '’' | '‘') {
            // "don't" is one word.
            continue;
        }
        if !c.is_alphanumeric() {
            gap = true;
            continue;
        }
        // Chinese is written without spaces, so a space within it means nothing.
        let between_words = key
            .chars()
            .next_back()
            .is_some_and(|last| last.is_ascii_alphanumeric() && c.is_ascii_alphanumeric());
        if gap && between_words {
            key.push(' ');
        }
        gap = false;
        key.extend(c.to_lowercase());
    }
    key
}

/// Returns the half-width form of a full-width character.
fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(c) - 0xfee0).expect("these are the ASCII letters, shifted")
        }
        '\u{3000}' => ' ',
        c => c,
    }
}

/// Returns the part of at most this length that the whole text repeats: "no no", 好的好的.
fn once(key: &str, longest: usize) -> Option<&str> {
    let ends = key.char_indices().map(|(at, _)| at).skip(1);
    let ends = ends.take_while(|end| *end <= longest);
    ends.filter_map(|end| key.get(..end))
        .find(|part| is_repeated(key, part))
}

fn is_repeated(key: &str, part: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric();
    let gap = if part.ends_with(is_letter) { " " } else { "" };
    let mut rest = key.strip_prefix(part);
    while let Some(more) = rest.filter(|rest| !rest.is_empty()) {
        rest = more
            .strip_prefix(gap)
            .and_then(|more| more.strip_prefix(part));
    }
    rest.is_some()
}
