//! The requests to the steward.
use std::str::FromStr;

use fugato::{
    form::{Fields, day},
    state::{Lang, say},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form::FormKind;

/// A request, as it begins a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Request {
    /// The kind of request.
    pub kind: RequestKind,
    /// The client's own name for it: a repeat has the same. Where it is empty it is made.
    #[serde(default)]
    pub client_trace_id: String,
    /// The conversation.
    pub conversation_id: String,
    /// The employee who asks.
    pub employee: String,
    /// The words; empty for an action.
    #[serde(default)]
    pub message: String,
    /// The attachments and options of the words.
    #[serde(flatten)]
    pub beside: RequestExtras,
    /// The id of the card under which the words were said, as the client displays it. It is
    /// evidence for an answer, and not part of the request itself.
    #[serde(skip)]
    pub card: Option<String>,
}

/// The data beside the words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields)]
#[schemars(rename = "Beside")]
pub struct RequestExtras {
    /// The day on which "tomorrow" is counted; today, or the one before, if it is empty.
    pub base_date: String,
    /// The names of files.
    pub attachments: Vec<String>,
    /// The fields that the page has filled in.
    pub context: Fields,
    /// The language of answers, `en` or `zh`; otherwise that of the words.
    pub lang: Option<String>,
}

impl RequestExtras {
    /// Returns the value itself if its base date is empty or a valid day and its language is spoken
    /// here, or else the error text.
    pub(crate) fn checked(self) -> Result<Self, String> {
        let lang = self.lang.as_deref().map(str::parse::<Lang>);
        if !self.base_date.is_empty() && day(&self.base_date).is_none() {
            return Err(say!(
                "\"base_date\" must be a day such as 2026-03-02",
                "\"base_date\" 必须是日期，例如 2026-03-02"
            ));
        }
        match lang {
            Some(Err(unknown)) => Err(unknown.to_string()),
            _ => Ok(self),
        }
    }
}

/// A kind of request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestKind {
    /// Understand, plan, and carry out what a person agrees to: a conversation on a page.
    Chat,
    /// Understand and plan, and no more.
    Plan,
    /// Say what is missing in a form.
    Slots {
        /// The form; otherwise that of the current task.
        form: Option<FormKind>,
    },
    /// Say what the words mean for the plan that there is.
    Decide,
    /// Carry out one action of the whitelist.
    Execute {
        /// The action.
        action: String,
        /// Its arguments.
        arguments: Fields,
        /// The finding of a precheck that the client believes in: only a reference.
        precheck_ref: Option<String>,
    },
}

impl Request {
    /// Creates a request in this conversation, by this employee.
    pub fn new(kind: RequestKind, conversation: &str, employee: &str) -> Self {
        Self {
            kind,
            client_trace_id: String::new(),
            conversation_id: conversation.to_owned(),
            employee: employee.to_owned(),
            message: String::new(),
            beside: RequestExtras::default(),
            card: None,
        }
    }

    fugato::state::setters! {
        /// Says under which card the words were said.
        pub fn under(card: Option<String>) { card = card }

        /// Names it.
        pub fn trace(id: impl Into<String>) { client_trace_id = id.into() }

        /// Sets the day on which "tomorrow" is counted.
        pub fn on(day: impl Into<String>) { beside.base_date = day.into() }

        /// Sets the words.
        pub fn message(message: impl Into<String>) { message = message.into() }
    }

    /// Returns the key under which a run carries it out once, made of the client's name and the
    /// kind; none without a name.
    pub fn key(&self) -> Option<String> {
        let what = match &self.kind {
            RequestKind::Chat => "chat",
            RequestKind::Plan => "plan",
            RequestKind::Slots { .. } => "slots",
            RequestKind::Decide => "decide",
            RequestKind::Execute { action, .. } => action,
        };
        (!self.client_trace_id.is_empty()).then(|| format!("{}/{what}", self.client_trace_id))
    }
}

/// The path that understands requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Runtime {
    /// The graphs.
    #[default]
    Graph,
    /// The plain sequence that they have replaced.
    Legacy,
}

/// There is no such path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", say!(
    "STEWARD_AGENT_RUNTIME is {given:?}; allowed are graph, langgraph and legacy",
    "STEWARD_AGENT_RUNTIME 是 {given:?}；可选的有 graph、langgraph 和 legacy"
))]
pub struct UnknownRuntime {
    /// The value that was given.
    pub given: String,
}

impl FromStr for Runtime {
    type Err = UnknownRuntime;

    fn from_str(name: &str) -> Result<Self, UnknownRuntime> {
        match name {
            "" | "graph" | "langgraph" => Ok(Self::Graph),
            "legacy" => Ok(Self::Legacy),
            _ => Err(UnknownRuntime {
                given: name.to_owned(),
            }),
        }
    }
}

impl Runtime {
    /// Returns the path that the environment variable `STEWARD_AGENT_RUNTIME` names; the graphs by
    /// default.
    pub fn from_env() -> Result<Self, UnknownRuntime> {
        std::env::var("STEWARD_AGENT_RUNTIME")
            .unwrap_or_default()
            .parse()
    }
}
