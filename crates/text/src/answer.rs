//! The meaning of short utterances by rule, without a model: "好的" is a yes.
mod phrase;

pub use phrase::{Phrases, ShortAnswer};

/// Returns the words without the code of a card, such as `K7F2`, and the code in upper case, as cards
/// show it.
///
/// ```
/// use fugato_text::without_code;
///
/// assert_eq!(without_code("好的 k7f2").1.as_deref(), Some("K7F2"));
/// assert_eq!(without_code("yes"), ("yes".to_owned(), None));
/// ```
pub fn without_code(words: &str) -> (String, Option<String>) {
    let is_sign = |c: char| !c.is_ascii_alphanumeric();
    let found = words.split(is_sign).find(|word| is_code(word));
    match found {
        Some(code) => (words.replacen(code, " ", 1), Some(code.to_uppercase())),
        None => (words.to_owned(), None),
    }
}

/// Returns what words under a card decide, true for a yes, and what they say besides: "no K7F2, write
/// it down". `None` if they decide nothing, or nothing else is in them.
///
/// ```
/// use fugato_text::decided;
///
/// assert_eq!(decided("no K7F2, three"), Some((false, "three".into())));
/// assert_eq!(decided("好的，再卖1个"), Some((true, "再卖1个".into())));
/// assert_eq!(decided("yes b2c3, and then list files?"), Some((true, "list files?".into())));
/// assert_eq!([decided("no K7F2"), decided("nothing, really")], [None, None]);
/// ```
pub fn decided(words: &str) -> Option<(bool, String)> {
    let phrases = Phrases::default();
    if phrases.contradicts(&without_code(words).0) {
        return None;
    }
    let read = |words: &str| {
        let (said, rest) = words.split_once(REASON_FOLLOWS)?;
        let rest = rest.trim_matches(|c: char| c.is_whitespace() || REASON_FOLLOWS.contains(&c));
        let rest = without_lead(rest);
        let agrees = phrases.consent(said)?;
        (!rest.is_empty()).then(|| (agrees, rest.to_owned()))
    };
    read(words).or_else(|| {
        let (rest, code) = without_code(words);
        code.and_then(|_| read(&rest))
    })
}

/// Returns what follows a word that only leads on: "but yes".
fn without_lead(words: &str) -> &str {
    const LEADS: [&str; 9] = [
        "and then ",
        "then ",
        "and ",
        "but ",
        "但是",
        "不过",
        "然后",
        "可是",
        "但",
    ];
    let rest = LEADS.iter().find_map(|lead| words.strip_prefix(lead));
    rest.unwrap_or(words).trim_start()
}

/// Returns true for a code: letter, digit, letter, digit.
fn is_code(word: &str) -> bool {
    let kinds = word.bytes().map(|byte| byte.is_ascii_digit());
    word.is_ascii() && kinds.eq([false, true, false, true])
}

/// The state of the work that a message reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PendingWork {
    /// A question waits for its answer.
    Answer,
    /// The last work is over, successful or not, and nothing waits.
    Nothing,
}

/// The meaning of a message for the work that it reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageMeaning {
    /// It answers the question. Contains the short answer if the whole message is one; otherwise
    /// the answer is in the person's own words.
    Continue(Option<ShortAnswer>),
    /// The waiting work is cancelled.
    Cancel,
    /// It is about something else, and the question stays open.
    Interrupt,
    /// The last work is to be done again, from its beginning; its result is discarded.
    Retry,
    /// Everything is to start again; all work is discarded.
    StartOver,
    /// It is an ordinary request.
    Request,
}

/// The signs between a no and its reason.
const REASON_FOLLOWS: [char; 15] = [
    ',', '，', ':', '：', ';', '；', '.', '。', '!', '！', '—', '–', '、', '\n', '(',
];

impl Phrases {
    /// Returns the meaning of a message. An open question comes first: "continue" says yes to a
    /// question, and asks for another attempt only if nothing is open.
    ///
    /// `is_new` returns true if a message is clearly about something else; it is only called if the
    /// message is no short answer. Without such a detector, every message answers an open question.
    pub fn meaning(
        &self,
        message: &str,
        awaiting: PendingWork,
        is_new: impl FnOnce(&str) -> bool,
    ) -> MessageMeaning {
        let short = self.read(message);
        match (awaiting, short) {
            (_, Some(ShortAnswer::StartOver)) => MessageMeaning::StartOver,
            (PendingWork::Answer, Some(ShortAnswer::Cancel)) => MessageMeaning::Cancel,
            (PendingWork::Answer, None) if is_new(message) => MessageMeaning::Interrupt,
            (PendingWork::Answer, short) => MessageMeaning::Continue(short),
            (PendingWork::Nothing, Some(ShortAnswer::Retry | ShortAnswer::Continue)) => {
                MessageMeaning::Retry
            }
            (PendingWork::Nothing, _) => MessageMeaning::Request,
        }
    }

    /// Returns the reason of a no that comes with one, as in "no, not on Friday"; `None` if the
    /// words are no such no, or say yes as well.
    ///
    /// A sentence that only begins like a no is none, and neither is a question.
    ///
    /// ```
    /// use fugato_text::Phrases;
    ///
    /// let phrases = Phrases::default();
    /// assert_eq!(phrases.decline_reason("No, not on Friday."), Some("not on Friday."));
    /// assert_eq!(phrases.decline_reason("no but on Monday"), Some("on Monday"));
    /// assert_eq!(phrases.decline_reason("不要，周五没空"), Some("周五没空"));
    /// for other in ["no", "not on Friday", "no idea", "no, why?", "yes, but later", "no, ", "no, but yes"] {
    ///     assert_eq!(phrases.decline_reason(other), None, "{other}");
    /// }
    /// ```
    pub fn decline_reason<'a>(&self, words: &'a str) -> Option<&'a str> {
        if words.contains(['?', '？']) || self.contradicts(words) {
            return None;
        }
        let at_sign = || words.split_once(REASON_FOLLOWS);
        let (said, reason) = words
            .split_once(" but ")
            .filter(|(said, _)| !said.contains(REASON_FOLLOWS))
            .or_else(at_sign)?;
        let reason = reason.trim_start_matches(|c: char| !c.is_alphanumeric());
        let declines = self.consent(said) == Some(false) && !reason.is_empty();
        declines.then(|| reason.trim_end())
    }

    /// Returns true if words both agree and decline, each in a part of their own: they decide nothing.
    ///
    /// ```
    /// use fugato_text::Phrases;
    ///
    /// let phrases = Phrases::default();
    /// for both in ["no, but yes", "no but yes", "yes, and then no", "好的，但不要"] {
    ///     assert!(phrases.contradicts(both), "{both}");
    /// }
    /// for one in ["no, no", "yes, please", "no, not on Friday", "no, why yes?", "yes"] {
    ///     assert!(!phrases.contradicts(one), "{one}");
    /// }
    /// ```
    pub fn contradicts(&self, words: &str) -> bool {
        let clauses = words.split(REASON_FOLLOWS);
        let parts = clauses.flat_map(|clause| clause.split(" but "));
        let mut said = parts.filter_map(|part| self.consent(without_lead(part.trim())));
        let first = said.next();
        first.is_some_and(|first| said.any(|other| other != first))
    }

    /// Returns whether words under an approval card agree to it or decline it; `None` if they do
    /// neither.
    ///
    /// Only a whole utterance agrees. "Continue" answers questions but agrees to nothing, and
    /// neither does a yes with a question mark. "Cancel" is about more than the card.
    ///
    /// ```
    /// use fugato_text::Phrases;
    ///
    /// let phrases = Phrases::default();
    /// for yes in ["yes", "OK!", "确定", "提交", "批准"] {
    ///     assert_eq!(phrases.consent(yes), Some(true), "{yes}");
    /// }
    /// for no in ["no", "don't", "不要"] {
    ///     assert_eq!(phrases.consent(no), Some(false), "{no}");
    /// }
    /// for neither in ["yes?", "嗯", "继续", "continue", "cancel", "ok but not on Friday", ""] {
    ///     assert_eq!(phrases.consent(neither), None, "{neither}");
    /// }
    /// ```
    pub fn consent(&self, words: &str) -> Option<bool> {
        match self.read(words)? {
            ShortAnswer::Yes => Some(true),
            ShortAnswer::No => Some(false),
            _ => None,
        }
    }
}
