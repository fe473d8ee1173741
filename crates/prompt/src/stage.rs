use fugato_state::{Compaction, Message};

use crate::Work;

/// What one stage of an agent adds to the prompt, this time.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Stage {
    /// What the stage is about. Stable, so that a server can cache the prompt's beginning.
    pub prompt: String,
    /// The tools that can be called.
    pub catalogue: String,
    /// What older messages of the conversation came to; empty for none.
    pub summary: String,
    /// How many of the messages the summary speaks for: they are not shown.
    pub watermark: usize,
    /// What earlier work of the stage came to; empty for none.
    pub work_summary: String,
    /// What was done in the stage so far.
    pub work: Work,
    /// What is known from elsewhere, each with the name of its source.
    pub sources: Vec<(String, String)>,
    /// How things stand.
    pub state: String,
    /// The question whose answer the stage goes on with.
    pub resume: Option<Resume>,
    /// What to do now.
    pub instruction: String,
}

/// A question that was asked, and its answer. It is shown so that a short answer such as "yes" is
/// not taken for something new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// What was asked.
    pub question: String,
    /// What was answered.
    pub reply: String,
}

impl Stage {
    /// A stage that is about this.
    pub fn new(prompt: impl Into<String>) -> Self {
        Self {
            prompt: prompt.into(),
            ..Self::default()
        }
    }

    /// Sets the tools that can be called.
    #[must_use]
    pub fn catalogue(mut self, catalogue: impl Into<String>) -> Self {
        self.catalogue = catalogue.into();
        self
    }

    /// Shows the summary in place of the messages that it speaks for.
    #[must_use]
    pub fn compacted(mut self, compaction: &Compaction) -> Self {
        self.summary.clone_from(&compaction.summary);
        self.watermark = compaction.upto;
        self
    }

    /// Sets what was done so far: the messages of the work, or a text.
    #[must_use]
    pub fn work(mut self, work: impl Into<Work>) -> Self {
        self.work = work.into();
        self
    }

    /// Sets what was done so far, with the summary in place of the messages that it speaks for.
    #[must_use]
    pub fn compacted_work(mut self, work: &[Message], compaction: &Compaction) -> Self {
        let (summary, recent) = compaction.view(work);
        summary.clone_into(&mut self.work_summary);
        self.work(recent)
    }

    /// Adds what is known from elsewhere, such as a layer of memory. Sources are shown in the order
    /// of [`Trust`](crate::Trust), those that it does not mention last.
    #[must_use]
    pub fn source(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.sources.push((name.into(), text.into()));
        self
    }

    /// Sets how things stand.
    #[must_use]
    pub fn state(mut self, state: impl Into<String>) -> Self {
        self.state = state.into();
        self
    }

    /// Sets the question whose answer the stage goes on with.
    #[must_use]
    pub fn resume(mut self, question: impl Into<String>, reply: impl Into<String>) -> Self {
        self.resume = Some(Resume {
            question: question.into(),
            reply: reply.into(),
        });
        self
    }

    /// Sets what to do now.
    #[must_use]
    pub fn instruction(mut self, instruction: impl Into<String>) -> Self {
        self.instruction = instruction.into();
        self
    }
}
