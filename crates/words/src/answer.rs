//! What short utterances mean, by rule: no model is asked whether "好的" is a yes.
mod phrase;

pub use phrase::{Phrases, ShortAnswer};

/// How the work stands that a message comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Awaiting {
    /// Something was asked, and waits for its answer.
    Answer,
    /// The last work is over, well or not, and nothing waits.
    Nothing,
}

/// What a message means for the work that it comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Meaning {
    /// It answers what was asked. A short answer is given where the whole message is one; what is
    /// none is an answer in the person's own words.
    Continue(Option<ShortAnswer>),
    /// What waits is not wanted any more.
    Cancel,
    /// It is about something else, and what waits goes on waiting.
    Interrupt,
    /// The last work is to be done once more, from its beginning; what it came to is forgotten.
    Retry,
    /// Everything begins anew; what waits or was done is forgotten.
    StartOver,
    /// It is a request like any other.
    Request,
}

impl Phrases {
    /// What a message means. Whatever waits for an answer comes first: "continue" says yes to a
    /// question, and asks for another try only where nothing is asked.
    ///
    /// `is_new` says whether a message is clearly about something else; it is asked only about
    /// what is no short answer. Without such a detector, all that comes to a question answers it.
    pub fn meaning(
        &self,
        message: &str,
        awaiting: Awaiting,
        is_new: impl FnOnce(&str) -> bool,
    ) -> Meaning {
        let short = self.read(message);
        match (awaiting, short) {
            (_, Some(ShortAnswer::StartOver)) => Meaning::StartOver,
            (Awaiting::Answer, Some(ShortAnswer::Cancel)) => Meaning::Cancel,
            (Awaiting::Answer, None) if is_new(message) => Meaning::Interrupt,
            (Awaiting::Answer, short) => Meaning::Continue(short),
            (Awaiting::Nothing, Some(ShortAnswer::Retry | ShortAnswer::Continue)) => Meaning::Retry,
            (Awaiting::Nothing, _) => Meaning::Request,
        }
    }

    /// Returns whether words under a card agree to it, or decline it; none where they do neither.
    ///
    /// Only a whole utterance agrees. "Continue" answers questions and agrees to nothing, and so
    /// does a yes that asks back. "Cancel" is about more than the card.
    ///
    /// ```
    /// use fugato_words::Phrases;
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
