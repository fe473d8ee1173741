//! The judge of the filled and the missing fields of a form.
use std::sync::Arc;

use fugato::{
    agent::decision::Judge,
    form::Fields,
    llm::{ChatRequest, RejectedAnswer, ToolSchema},
    state::say,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{RuleData, Situation};
use crate::{form::FormKind, state::SlotDecision};

/// Fills in forms from words, and says what is missing.
#[derive(Debug)]
pub struct Slots(pub(crate) Arc<RuleData>);

/// The arguments of the function that the model calls.
#[derive(Deserialize)]
struct FilledArguments {
    fields: Fields,
}

impl Slots {
    /// Returns true if there are words that have not been read yet.
    pub fn has_news(situation: &Situation) -> bool {
        !situation.is_read && !situation.message.is_empty()
    }
}

impl Judge for Slots {
    type Situation = Situation;
    type Verdict = SlotDecision;

    fn question(&self, at: &Situation) -> (ChatRequest, ToolSchema) {
        let form = form_of(at);
        let told = say!(
            "A person fills in a form. Call fill_expense_fields with the fields that their words \
             name, and with no others.\nThe form is {}.",
            "有人在填写表单。调用 fill_expense_fields，只填他们的话里提到的字段。\n表单是 {}。",
            json!(form)
        );
        let fields = self.0.schema(form);
        let arguments =
            json!({ "type": "object", "properties": { "fields": fields }, "required": ["fields"] });
        let function = (
            "fill_expense_fields",
            say!("Fills in fields.", "填写字段。"),
        );
        self.0.question("slots", at, &told, function, arguments)
    }

    fn read(&self, at: &Situation, arguments: &Value) -> Result<SlotDecision, RejectedAnswer> {
        let FilledArguments { fields } = FilledArguments::deserialize(arguments)?;
        let said = form_of(at).map(|kind| self.0.taken(kind, "/fields", &fields));
        Ok(decided(&self.0, at, said.transpose()?.unwrap_or_default()))
    }

    fn rules(&self, at: &Situation) -> SlotDecision {
        let form = form_of(at).and_then(|kind| self.0.forms.get(&kind));
        let said = form.filter(|_| Self::has_news(at));
        let said = said.map(|form| self.0.facts.read(form, &at.message, at.base()));
        decided(&self.0, at, said.unwrap_or_default())
    }
}

/// Returns the filled and the missing fields. The fields read by models and those read by rules are
/// judged here alike.
fn decided(desk: &RuleData, at: &Situation, said: Fields) -> SlotDecision {
    let Some(kind) = form_of(at) else {
        return SlotDecision::default();
    };
    let task = at.plan.current().filter(|task| task.form == kind);
    let mut fields = task.map_or_else(Fields::new, |task| task.fields.clone());
    // Files beside words that were read belong to the task that those words are about.
    if !at.is_read {
        fields.extend(at.given(desk, kind));
    }
    fields.extend(at.real(said));
    SlotDecision {
        task_id: task.map_or_else(String::new, |task| task.task_id.clone()),
        missing_fields: desk.forms.missing(&kind, &fields),
        fields,
    }
}

fn form_of(at: &Situation) -> Option<FormKind> {
    at.form.or_else(|| Some(at.plan.current()?.form))
}
