/// What one stage of an agent adds to the prompt, this time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stage {
    /// What the stage is about. Stable, so that a server can cache the prompt's beginning.
    pub prompt: String,
    /// The tools that can be called.
    pub catalogue: String,
    /// What was done in the stage so far: see [`work_view`](crate::work_view).
    pub work: String,
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

    /// Sets what was done so far.
    #[must_use]
    pub fn work(mut self, work: impl Into<String>) -> Self {
        self.work = work.into();
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
