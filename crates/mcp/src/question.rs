use fugato_state::Schema;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};

use crate::options::Answers;

/// A server's question during a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerQuestion {
    /// The server.
    pub server: String,
    /// The question to a person, in the words of the server.
    pub message: String,
    /// The schema of the answer: an object of plain values.
    pub schema: Schema,
}

/// A person's answer to a server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ServerAnswer {
    /// The values of the answer. Missing ones get the defaults of the schema.
    Given(Value),
    /// No.
    Declined,
    /// No answer: the person closed the question.
    Cancelled,
}

/// Asks, and checks the answer: the server never gets a value against its schema.
pub(crate) async fn answered(
    server: &str,
    asked: ElicitRequestParams,
    answers: Option<&Answers>,
) -> ElicitResult {
    let ElicitRequestParams::FormElicitationParams {
        message,
        requested_schema,
        ..
    } = asked
    else {
        return ElicitResult::new(ElicitationAction::Decline);
    };
    let schema = serde_json::to_value(&requested_schema).unwrap_or_default();
    let (Some(answers), Ok(checked)) = (answers, Schema::new(schema.clone())) else {
        return ElicitResult::new(ElicitationAction::Decline);
    };
    let question = ServerQuestion {
        server: server.to_owned(),
        message,
        schema: checked.clone(),
    };
    match answers(question).await {
        ServerAnswer::Given(mut given) => {
            fill(&mut given, &schema);
            match checked.check(&given) {
                Ok(()) => ElicitResult::new(ElicitationAction::Accept).with_content(given),
                Err(error) => {
                    tracing::warn!(server, %error, "elicitation answer rejected");
                    ElicitResult::new(ElicitationAction::Cancel)
                }
            }
        }
        ServerAnswer::Declined => ElicitResult::new(ElicitationAction::Decline),
        ServerAnswer::Cancelled => ElicitResult::new(ElicitationAction::Cancel),
    }
}

fn fill(given: &mut Value, schema: &Value) {
    if given.is_null() {
        *given = Value::Object(Map::new());
    }
    let (Some(given), Some(properties)) = (
        given.as_object_mut(),
        schema.get("properties").and_then(Value::as_object),
    ) else {
        return;
    };
    for (name, property) in properties {
        if let Some(default) = property.get("default") {
            given.entry(name).or_insert_with(|| default.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;
    use serde_json::json;

    use super::*;

    async fn ask(answer: ServerAnswer) -> ElicitResult {
        let asked = serde_json::from_value(json!({
            "mode": "form",
            "message": "How many?",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "many": { "type": "integer", "minimum": 1 },
                    "unit": { "type": "string", "default": "boxes" },
                },
                "required": ["many"],
            },
        }))
        .unwrap();
        let answers: Answers = Arc::new(move |question| {
            assert_eq!(question.message, "How many?");
            futures::future::ready(answer.clone()).boxed()
        });
        answered("shop", asked, Some(&answers)).await
    }

    #[tokio::test]
    async fn an_answer_is_filled_with_the_defaults() {
        let result = ask(ServerAnswer::Given(json!({ "many": 2 }))).await;
        let expected = ElicitResult::new(ElicitationAction::Accept)
            .with_content(json!({ "many": 2, "unit": "boxes" }));
        assert_eq!(result, expected);
    }

    #[tokio::test]
    async fn an_answer_that_does_not_fit_is_not_sent() {
        for wrong in [json!({ "many": 0 }), json!({}), json!("two"), Value::Null] {
            let result = ask(ServerAnswer::Given(wrong)).await;
            assert_eq!(result, ElicitResult::new(ElicitationAction::Cancel));
        }
        let declined = ask(ServerAnswer::Declined).await;
        assert_eq!(declined, ElicitResult::new(ElicitationAction::Decline));
    }
}
