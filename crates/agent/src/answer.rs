//! What short utterances mean, by rule: no model is asked whether "好的" is a yes.
mod phrase;

use fugato_state::Question;
use serde_json::Value;

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
    /// What words say to a question: yes or no to one for consent, and to any other the words
    /// themselves. None where they lead away from it: to another request, or back.
    ///
    /// ```
    /// use fugato_agent::Phrases;
    /// use fugato_state::Question;
    /// use serde_json::json;
    ///
    /// let phrases = Phrases::default();
    /// let is_new = |words: &str| words.starts_with('/');
    /// let agree = Question::new::<bool>("agree", "Shall I?");
    /// assert_eq!(phrases.answer(&agree, "好的", is_new), Some(json!(true)));
    /// assert_eq!(phrases.answer(&agree, "the blue one", is_new), None);
    /// let which = Question::new::<String>("which", "Which one?");
    /// assert_eq!(phrases.answer(&which, "the blue one", is_new), Some(json!("the blue one")));
    /// assert_eq!(phrases.answer(&which, "yes", is_new), Some(json!("yes")));
    /// assert_eq!(phrases.answer(&which, "/help", is_new), None);
    /// assert_eq!(phrases.answer(&which, "cancel", is_new), None);
    /// ```
    pub fn answer(
        &self,
        asked: &Question,
        words: &str,
        is_new: impl FnOnce(&str) -> bool,
    ) -> Option<Value> {
        let words = words.trim();
        let Meaning::Continue(short) = self.meaning(words, Awaiting::Answer, is_new) else {
            return None;
        };
        if asked.schema.check(&Value::Bool(true)).is_err() {
            return Some(words.into());
        }
        match short? {
            ShortAnswer::Yes | ShortAnswer::Continue => Some(true.into()),
            ShortAnswer::No => Some(false.into()),
            _ => None,
        }
    }
}
