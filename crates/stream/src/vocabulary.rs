/// The table of event names of a named event stream.
///
/// An event without a name is left out, unless fidelity is full. A custom table starts from one of
/// the two here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vocabulary {
    /// A run began or went on.
    pub run_started: Option<&'static str>,
    /// A run reached its end.
    pub run_finished: Option<&'static str>,
    /// A run waits for answers.
    pub run_parked: Option<&'static str>,
    /// A run failed.
    pub run_failed: Option<&'static str>,
    /// A run was cancelled.
    pub run_cancelled: Option<&'static str>,
    /// A task began.
    pub node_started: Option<&'static str>,
    /// A task ended well.
    pub node_finished: Option<&'static str>,
    /// An attempt of a task failed.
    pub node_failed: Option<&'static str>,
    /// More text, or more reasoning if there is a key for it.
    pub delta: Option<&'static str>,
    /// The field that holds more text.
    pub text_key: &'static str,
    /// The field that holds more reasoning; none to leave reasoning out.
    pub reasoning_key: Option<&'static str>,
    /// A tool began to execute.
    pub tool_started: Option<&'static str>,
    /// A tool ended.
    pub tool_finished: Option<&'static str>,
    /// A question was asked.
    pub interrupt: Option<&'static str>,
    /// A line of progress.
    pub status: Option<&'static str>,
    /// Something to show as a unit.
    pub card: Option<&'static str>,
    /// A model got a correction.
    pub correction: Option<&'static str>,
    /// Custom events with names of their own: pairs of the event's name and its name here.
    pub custom: &'static [(&'static str, &'static str)],
}

impl Vocabulary {
    /// The names of a loop of model and tools.
    pub const REACT: Self = Self {
        run_started: Some("run_started"),
        run_finished: Some("run_finished"),
        run_parked: Some("run_parked"),
        run_failed: Some("run_failed"),
        run_cancelled: Some("run_cancelled"),
        node_started: Some("node_start"),
        node_finished: Some("node_end"),
        node_failed: Some("node_error"),
        delta: Some("llm_token"),
        text_key: "token",
        reasoning_key: Some("reasoning_token"),
        tool_started: Some("tool_start"),
        tool_finished: Some("tool_end"),
        interrupt: Some("interrupt"),
        status: Some("status"),
        card: Some("card"),
        correction: Some("correction"),
        custom: &[
            ("planning", "planning"),
            ("plan", "planning"),
            ("step_start", "planning"),
            ("step_complete", "planning"),
            ("replan", "planning"),
            ("rag_query", "rag_query"),
            ("rag_result", "rag_result"),
        ],
    };

    /// The names of plan, execution and replanning.
    pub const PLANNER: Self = Self {
        run_started: None,
        run_finished: Some("done"),
        run_parked: Some("done"),
        run_failed: Some("error"),
        run_cancelled: Some("error"),
        node_started: None,
        node_finished: None,
        node_failed: None,
        delta: Some("delta"),
        text_key: "text",
        reasoning_key: None,
        tool_started: Some("tool"),
        tool_finished: None,
        interrupt: Some("interrupt"),
        status: None,
        card: Some("card"),
        correction: Some("correction"),
        custom: &[
            ("planning", "planning"),
            ("plan", "plan"),
            ("step_start", "step_start"),
            ("step_complete", "step_complete"),
            ("replan", "replan"),
            ("rag_query", "rag_query"),
            ("rag_result", "rag_result"),
        ],
    };

    /// The name of a custom event.
    pub(crate) fn custom(&self, name: &str) -> Option<&'static str> {
        self.custom
            .iter()
            .find(|(what, _)| *what == name)
            .map(|(_, here)| *here)
    }
}
