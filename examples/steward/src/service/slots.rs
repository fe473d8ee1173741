//! What of a form is filled in, and what is missing.
use std::sync::Arc;

use fugato::{
    llm::{ChatRequest, Rejected, ToolSchema},
    state::{Message, Schema},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Desk, Service, Situation, outline, taken};
use crate::{
    form::{Fields, FormKind},
    state::SlotDecision,
};

/// Fills in forms from words, and says what is missing.
#[derive(Debug, Clone)]
pub struct Slots(pub Arc<Desk>);

const FUNCTION: &str = "fill_expense_fields";

#[derive(Debug, Deserialize)]
struct Called {
    fields: Fields,
}

impl Slots {
    /// Whether there are words that nobody has read yet.
    pub fn has_news(situation: &Situation) -> bool {
        !situation.is_read && !situation.message.is_empty()
    }

    /// What is filled in and missing, whoever has read the words: the judgement is in one place.
    fn decide(&self, situation: &Situation, said: Fields) -> SlotDecision {
        let Some(kind) = form_of(situation) else {
            return SlotDecision::default();
        };
        let task = situation.plan.current().filter(|task| task.form == kind);
        let mut fields = task.map_or_else(Fields::new, |task| task.fields.clone());
        fields.extend(situation.given(&self.0, kind));
        fields.extend(said);
        SlotDecision {
            task_id: task.map_or_else(String::new, |task| task.task_id.clone()),
            missing_fields: self.0.forms.missing(kind, &fields),
            fields,
        }
    }
}

impl Service for Slots {
    type Output = SlotDecision;

    const STAGE: &'static str = "slots";

    fn request(&self, situation: &Situation) -> ChatRequest {
        let system = format!(
            "A person fills in a form. Call {FUNCTION} with the fields that their words name, and \
             with no others.\nToday is {}.\nThe form is {}.\nThe forms:\n{}",
            situation.base_date,
            json!(form_of(situation)),
            outline(&self.0),
        );
        ChatRequest::new([
            Message::system(system),
            Message::user(situation.message.as_str()),
        ])
    }

    fn function(&self, situation: &Situation) -> ToolSchema {
        let form = form_of(situation).and_then(|kind| self.0.forms.get(kind));
        let fields = form.map_or_else(|| json!({ "type": "object" }), crate::form::Form::schema);
        let schema =
            json!({ "type": "object", "properties": { "fields": fields }, "required": ["fields"] });
        let schema = Schema::new(schema).unwrap_or_else(|_| Schema::of::<Value>());
        ToolSchema::new(FUNCTION, "Fills in fields.", schema)
    }

    fn read(&self, situation: &Situation, arguments: &Value) -> Result<SlotDecision, Rejected> {
        let unread = |error: serde_json::Error| {
            Rejected::sense(arguments.to_string(), "", error.to_string())
        };
        let called = Called::deserialize(arguments).map_err(unread)?;
        let said = match form_of(situation) {
            Some(kind) => taken(&self.0, kind, "/fields", &called.fields, arguments)?,
            None => Fields::new(),
        };
        Ok(self.decide(situation, said))
    }

    fn rules(&self, situation: &Situation) -> SlotDecision {
        let form = form_of(situation).and_then(|kind| self.0.forms.get(kind));
        let said = match form {
            Some(form) if Self::has_news(situation) => {
                self.0
                    .reader
                    .facts(form, &situation.message, situation.base())
            }
            _ => Fields::new(),
        };
        self.decide(situation, said)
    }
}

fn form_of(situation: &Situation) -> Option<FormKind> {
    situation
        .form
        .or_else(|| situation.plan.current().map(|task| task.form))
}
