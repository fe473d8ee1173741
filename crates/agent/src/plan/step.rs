use fugato_state::{Millis, ToolCall};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One step of a plan, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Step {
    /// Its name, unique in the work.
    pub id: String,
    /// What is to be done, as the planner said it.
    #[serde(flatten)]
    pub draft: StepDraft,
    /// How it stands.
    #[serde(default)]
    pub status: StepStatus,
    /// What came out, in short.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_summary: String,
    /// Why it did not end well; empty if it did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub error: String,
    /// When it ended, in milliseconds since the Unix epoch.
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

/// How a step stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It has not begun.
    #[default]
    Pending,
    /// It is being done.
    Running,
    /// It ended well.
    Completed,
    /// It did not.
    Failed,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepOutcome {
    /// Well.
    Completed {
        /// What came out.
        output: String,
        /// Whether it may have changed what the plan rests on.
        changed: bool,
    },
    /// A rule or a person did not let it.
    Blocked {
        /// Why.
        why: String,
    },
    /// It was tried, and could not be done.
    Failed {
        /// Why.
        why: String,
    },
}

impl Step {
    /// A step that has not begun.
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

    /// The call that a tool step makes.
    pub fn call(&self) -> ToolCall {
        let arguments = Value::Object(self.draft.tool_args.clone());
        ToolCall::new(&self.id, &self.draft.tool_name, arguments)
    }
}

impl StepDraft {
    /// A step that calls a tool.
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

    /// A step of another kind.
    pub fn of(kind: StepKind, instruction: impl Into<String>) -> Self {
        Self {
            kind,
            instruction: instruction.into(),
            ..Self::default()
        }
    }

    /// Whether this is the same thought as another.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let told = |draft: &Self| {
            let parts = [&draft.tool_name, &draft.title, &draft.instruction];
            parts.map(|part| part.trim().to_lowercase())
        };
        self.kind == other.kind && told(self) == told(other)
    }
}
