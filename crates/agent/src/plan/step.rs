use fugato_state::{Millis, ToolCall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A step of a plan, with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorkStep {
    /// The identifier, unique in the work.
    pub id: String,
    /// The draft of the planner.
    #[serde(flatten)]
    pub draft: StepDraft,
    /// The status.
    #[serde(default)]
    pub status: StepStatus,
    /// The result, shortened.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_summary: String,
    /// The error; empty if the step ended well.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// The time of its end, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Millis>,
}

/// A step as a planner proposes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepDraft {
    /// What kind of step it is.
    #[serde(rename = "type")]
    pub kind: StepKind,
    /// What it is called.
    #[serde(default)]
    pub title: String,
    /// For a tool: its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool_name: String,
    /// For a tool: its arguments.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub tool_args: Map<String, Value>,
    /// For the others: what to think about, what to ask, what to answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub instruction: String,
    /// For a question: what is missing, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Whether a person has to agree before it is done.
    #[serde(default)]
    pub requires_confirmation: bool,
}

/// The kinds of steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A tool is called.
    Tool,
    /// The model thinks about what is known.
    #[default]
    Reason,
    /// The person is asked.
    AskUser,
    /// The person is answered, and the work is done.
    Respond,
}

/// The status of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It has not begun.
    #[default]
    Pending,
    /// It is running.
    Running,
    /// It ended well.
    Completed,
    /// It ended in failure, or was blocked.
    Failed,
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepOutcome {
    /// It ended well.
    Completed {
        /// The result.
        output: String,
        /// True if it may have changed the basis of the plan.
        changed: bool,
    },
    /// It was refused by a rule or a person.
    Blocked {
        /// The reason.
        why: String,
    },
    /// It was tried and failed.
    Failed {
        /// The error.
        why: String,
    },
}

impl WorkStep {
    /// Returns a step that has not begun.
    pub fn new(id: impl Into<String>, draft: StepDraft) -> Self {
        Self {
            id: id.into(),
            draft,
            status: StepStatus::Pending,
            output_summary: String::new(),
            error: String::new(),
            ended_at: None,
        }
    }

    /// Returns the call of a tool step.
    pub fn call(&self) -> ToolCall {
        let arguments = Value::Object(self.draft.tool_args.clone());
        ToolCall::new(&self.id, &self.draft.tool_name, arguments)
    }
}

impl StepDraft {
    /// Returns a draft of a step that calls a tool.
    pub fn tool(name: impl Into<String>, arguments: Map<String, Value>) -> Self {
        let name = name.into();
        Self {
            kind: StepKind::Tool,
            title: name.clone(),
            tool_name: name,
            tool_args: arguments,
            ..Self::default()
        }
    }

    /// Returns a draft of a step of another kind.
    pub fn of(kind: StepKind, instruction: impl Into<String>) -> Self {
        Self {
            kind,
            instruction: instruction.into(),
            ..Self::default()
        }
    }

    /// Returns true if the drafts are equal in kind, tool, title and instruction, apart from case.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let told = |draft: &Self| {
            let parts = [&draft.tool_name, &draft.title, &draft.instruction];
            parts.map(|part| part.trim().to_lowercase())
        };
        self.kind == other.kind && told(self) == told(other)
    }
}
