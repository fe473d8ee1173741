use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{InterruptId, Millis, Schema};

/// A typed question of a task to a person, with the schema of its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The asking task's own name for the question, unique among the questions it asks at once.
    pub key: String,
    /// The data that the person is shown.
    pub prompt: Value,
    /// The schema of the answer.
    pub schema: Schema,
    /// The digest of the value to approve; an answer that names another digest is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The time at which the question expires, in milliseconds of the store's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
}

impl Question {
    /// Creates a question whose answer is an `A`.
    pub fn new<A: JsonSchema>(key: impl Into<String>, prompt: impl Into<Value>) -> Self {
        Self {
            key: key.into(),
            prompt: prompt.into(),
            schema: Schema::of::<A>(),
            digest: None,
            expires_at: None,
        }
    }

    crate::setters! {
        /// Sets the digest of the value to approve.
        pub fn digest(digest: impl Into<String>) { digest = Some(digest.into()) }

        /// Sets the time at which the question expires.
        pub fn expires_at(at: Millis) { expires_at = Some(at) }
    }
}

/// A question that waits in the log for its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interrupt {
    /// The name that an answer must use; never used again.
    pub id: InterruptId,
    /// The task that asks: scope, `node#visit` and index.
    pub task: String,
    /// The question.
    #[serde(flatten)]
    pub question: Question,
}
