use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The context of a run, which its caller sets with the message: the user, the model and what the
/// requests to the model carry.
///
/// It is part of the state, so every process that goes on with the run has it. A run whose caller
/// sets none has none, whatever the run before it had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunContext {
    /// The user on whose behalf the run acts; tools see it in their context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The name of the model to ask, among those that the agent has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Data for traces, which every request to the model carries.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

impl RunContext {
    /// Creates an empty context.
    pub fn new() -> Self {
        Self::default()
    }

    crate::setters! {
        /// Sets the user; none for a run on nobody's behalf.
        pub fn user(user: impl Into<Option<String>>) { user = user.into() }

        /// Sets the name of the model; none for the default.
        pub fn model(model: impl Into<Option<String>>) { model = model.into() }

        /// Adds data for traces.
        pub fn metadata(key: impl Into<String>, value: impl Into<String>) {
            metadata.insert(key.into(), value.into())
        }
    }
}
