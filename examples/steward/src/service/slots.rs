//! What of a form is filled in, and what is missing.
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Desk, Service, Situation, Wrong};
use crate::{
    form::{Fields, FormKind},
    state::SlotDecision,
};

/// Fills in forms from words, and says what is missing.
#[derive(Debug)]
pub struct Slots;

/// What the model calls the function with.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct Filled {
    fields: Fields,
}

impl Slots {
    /// Whether there are words that nobody has read yet.
    pub fn has_news(situation: &Situation) -> bool {
        !situation.is_read && !situation.message.is_empty()
    }
}

impl Service for Slots {
    type Output = SlotDecision;
    type Called = Filled;

    const STAGE: &'static str = "slots";
    const FUNCTION: [&'static str; 2] = ["fill_expense_fields", "Fills in fields."];

    fn told(situation: &Situation) -> String {
        format!(
            "A person fills in a form. Call fill_expense_fields with the fields that their words \
             name, and with no others.\nThe form is {}.",
            json!(form_of(situation))
        )
    }

    fn arguments(desk: &Desk, situation: &Situation) -> Value {
        let fields = desk.schema(form_of(situation));
        json!({ "type": "object", "properties": { "fields": fields }, "required": ["fields"] })
    }

    fn read(desk: &Desk, at: &Situation, called: Filled) -> Result<SlotDecision, Wrong> {
        let said = form_of(at).map(|kind| desk.taken(kind, "/fields", &called.fields));
        Ok(decide(desk, at, said.transpose()?.unwrap_or_default()))
    }

    fn rules(desk: &Desk, at: &Situation) -> SlotDecision {
        let form = form_of(at).and_then(|kind| desk.forms.get(kind));
        let said = form.filter(|_| Self::has_news(at));
        let said = said.map(|form| desk.reader.facts(form, &at.message, at.base()));
        decide(desk, at, said.unwrap_or_default())
    }
}

/// What is filled in and missing, whoever has read the words: the judgement is in one place.
fn decide(desk: &Desk, at: &Situation, said: Fields) -> SlotDecision {
    let Some(kind) = form_of(at) else {
        return SlotDecision::default();
    };
    let task = at.plan.current().filter(|task| task.form == kind);
    let mut fields = task.map_or_else(Fields::new, |task| task.fields.clone());
    fields.extend(at.given(desk, kind));
    fields.extend(said);
    SlotDecision {
        task_id: task.map_or_else(String::new, |task| task.task_id.clone()),
        missing_fields: desk.forms.missing(kind, &fields),
        fields,
    }
}

fn form_of(at: &Situation) -> Option<FormKind> {
    at.form.or_else(|| Some(at.plan.current()?.form))
}
