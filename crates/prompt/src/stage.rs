use fugato_state::{Compaction, Message};

use crate::StageWork;

/// The part of a prompt that one run of a stage adds.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Stage {
    /// The description of the stage. It should not change, so that a server can cache the prompt's
    /// beginning.
    pub prompt: String,
    /// The catalogue of the tools that can be called.
    pub catalogue: String,
    /// The summary of older messages of the conversation; empty for none.
    pub summary: String,
    /// The number of messages that the summary covers, which are not shown.
    pub watermark: usize,
    /// The summary of earlier work of the stage; empty for none.
    pub work_summary: String,
    /// The work of the stage so far.
    pub work: StageWork,
    /// The texts of other sources, each with the name of its source.
    pub sources: Vec<(String, String)>,
    /// The description of the present state.
    pub state: String,
    /// The question with whose answer the stage continues.
    pub resume: Option<AnsweredQuestion>,
    /// The instruction for the next answer.
    pub instruction: String,
}

/// A question to the user, and its answer. It is shown so that a short answer such as "yes" is not
/// read as a new request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredQuestion {
    /// The question.
    pub question: String,
    /// The answer.
    pub reply: String,
}

impl Stage {
    /// Creates a stage with its description.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            prompt: prompt.into(),
            ..Self::default()
        }
    }

    fugato_state::setters! {
        /// Sets the catalogue of the tools that can be called.
        pub fn catalogue(catalogue: impl Into<String>) { catalogue = catalogue.into() }

        /// Sets the work so far: its messages, or a text.
        pub fn work(work: impl Into<StageWork>) { work = work.into() }

        /// Adds the text of another source, such as a layer of memory. Sources are shown in the
        /// order of [`Trust`](crate::Trust), those that it does not mention last.
        pub fn source(name: impl Into<String>, text: impl Into<String>) {
            sources.push((name.into(), text.into()))
        }

        /// Sets the description of the present state.
        pub fn state(state: impl Into<String>) { state = state.into() }

        /// Sets the question with whose answer the stage continues.
        pub fn resume(question: impl Into<String>, reply: impl Into<String>) {
            resume = Some(AnsweredQuestion {
                question: question.into(),
                reply: reply.into(),
            })
        }

        /// Sets the instruction for the next answer.
        pub fn instruction(instruction: impl Into<String>) { instruction = instruction.into() }
    }

    /// Shows the summary instead of the messages that it covers.
    #[must_use]
    pub fn compacted(mut self, compaction: &Compaction) -> Self {
        self.summary.clone_from(&compaction.summary);
        self.watermark = compaction.upto;
        self
    }

    /// Sets the work so far, with the summary instead of the messages that it covers.
    #[must_use]
    pub fn compacted_work(mut self, work: &[Message], compaction: &Compaction) -> Self {
        let (summary, recent) = compaction.view(work);
        summary.clone_into(&mut self.work_summary);
        self.work(recent)
    }
}
