use crate::{Attempt, TagFound};

/// An answer that opens with a tag, in its parts: the decision in the tag is for the program, and
/// the text after it for the person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaggedAnswer {
    /// The decision, as text to be read; the whole answer if there was no tag.
    pub decision: String,
    /// The text after it as far as it may be shown.
    pub after: String,
    /// True if some of the text after the decision may not be shown.
    pub held_back: bool,
    /// The text before it.
    pub before: String,
    /// The tag, if it was there.
    pub tag: Option<TagFound>,
    /// The reasoning of the model, if its server sends it.
    pub reasoning: String,
    /// The duration in whole seconds.
    pub seconds: u64,
    /// The attempts to get it, oldest first.
    pub attempts: Vec<Attempt>,
}

impl TaggedAnswer {
    /// Takes the tag, with the decision in it.
    pub fn found(&mut self, tag: TagFound) {
        self.decision.clone_from(&tag.body);
        self.tag = Some(tag);
    }
}
