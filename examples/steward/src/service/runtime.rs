//! What words mean for a plan that is under way.
use std::sync::Arc;

use fugato::{
    agent::ShortAnswer,
    llm::{ChatRequest, Rejected, ToolSchema},
    state::{Message, Schema},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Desk, Service, Situation, outline, taken};
use crate::{
    form::{Fields, FormKind},
    read::{UNSURE, named_kind},
    state::{RuntimeDecision, Task},
};

/// Decides how a plan goes on.
#[derive(Debug, Clone)]
pub struct NextStep(pub Arc<Desk>);

const FUNCTION: &str = "decide_next";
/// Longer words are no answer to the question for one field.
const SHORT: usize = 40;

#[derive(Debug, Deserialize)]
struct Called {
    decision: Word,
    #[serde(default)]
    form: Option<FormKind>,
    #[serde(default)]
    fields: Fields,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Supplement,
    Confirm,
    Cancel,
    Next,
    NewRequest,
    Unclear,
}

impl NextStep {
    /// What the words mean, where that is certain; nothing is left to a model then.
    pub fn certain(&self, situation: &Situation) -> Option<RuntimeDecision> {
        let (words, desk) = (situation.message.as_str(), &self.0);
        let Some(task) = situation.plan.current() else {
            return Some(RuntimeDecision::NewRequest);
        };
        if desk.reader.words().next.is(words) {
            return Some(RuntimeDecision::Next);
        }
        let given = situation.given(desk, task.form);
        let files = given
            .get("attachments")
            .filter(|_| !situation.attachments.is_empty());
        match ShortAnswer::of(words) {
            // Files are more than a yes.
            Some(ShortAnswer::Yes | ShortAnswer::Continue)
                if files.is_some_and(|files| task.fields.get("attachments") != Some(files)) =>
            {
                return self.supplement(task, situation);
            }
            Some(ShortAnswer::Yes | ShortAnswer::Continue) => {
                return Some(RuntimeDecision::Confirm);
            }
            Some(ShortAnswer::No | ShortAnswer::Cancel) => return Some(RuntimeDecision::Cancel),
            Some(ShortAnswer::StartOver | ShortAnswer::Retry) => {
                return Some(RuntimeDecision::NewRequest);
            }
            _ => {}
        }
        if task.confidence <= UNSURE
            && let Some(form) = named_kind(&desk.forms, desk.reader.words(), words)
        {
            return Some(RuntimeDecision::Supplement {
                fields: Fields::new(),
                form: Some(form),
            });
        }
        let asks = desk.reader.clauses(&desk.forms, words, situation.base());
        if asks.iter().any(|clause| {
            clause.confidence > UNSURE && clause.form != task.form || clause.fields.len() > 3
        }) {
            return Some(RuntimeDecision::NewRequest);
        }
        self.supplement(task, situation)
    }

    /// What the words say about the current task.
    fn supplement(&self, task: &Task, situation: &Situation) -> Option<RuntimeDecision> {
        let form = self.0.forms.get(task.form)?;
        let mut fields = situation.given(&self.0, task.form);
        fields.extend(
            self.0
                .reader
                .facts(form, &situation.message, situation.base()),
        );
        let missing = self.0.forms.missing(task.form, &task.fields);
        // One day alone is the one that is missing.
        if !missing.iter().any(|name| name == "start_date")
            && fields.contains_key("start_date")
            && !fields.contains_key("end_date")
            && let Some(day) = fields.remove("start_date")
        {
            let name = if missing.iter().any(|name| name == "end_date") {
                "end_date"
            } else {
                "start_date"
            };
            fields.insert(name.into(), day);
        }
        if fields.is_empty() && missing == ["reason"] && situation.message.chars().count() <= SHORT
        {
            let reason = self.0.reader.cleaned(&situation.message)?;
            fields.insert("reason".into(), reason.into());
        }
        let decision = RuntimeDecision::Supplement { fields, form: None };
        (decision
            != RuntimeDecision::Supplement {
                fields: Fields::new(),
                form: None,
            })
        .then_some(decision)
    }
}

impl Service for NextStep {
    type Output = RuntimeDecision;

    const STAGE: &'static str = "decide";

    fn request(&self, situation: &Situation) -> ChatRequest {
        let task = situation.plan.current();
        let system = format!(
            "A person works on a form with a program. Call {FUNCTION} to say what their words mean: \
             supplement for something about this form, with its fields; confirm to go on with it; \
             cancel to leave it; next for the next form; new_request for something else that they \
             want; unclear if you cannot tell.\nToday is {}.\nThe form now: {}\nThe forms:\n{}",
            situation.base_date,
            json!({ "form": task.map(|task| task.form), "fields": task.map(|task| &task.fields) }),
            outline(&self.0),
        );
        ChatRequest::new([
            Message::system(system),
            Message::user(situation.message.as_str()),
        ])
    }

    fn function(&self, situation: &Situation) -> ToolSchema {
        let form = situation
            .plan
            .current()
            .and_then(|task| self.0.forms.get(task.form));
        let fields = form.map_or_else(|| json!({ "type": "object" }), crate::form::Form::schema);
        let schema = json!({
            "type": "object",
            "properties": {
                "decision": { "type": "string", "enum": ["supplement", "confirm", "cancel", "next", "new_request", "unclear"] },
                "fields": fields,
            },
            "required": ["decision"],
        });
        let schema = Schema::new(schema).unwrap_or_else(|_| Schema::of::<Value>());
        ToolSchema::new(FUNCTION, "Says what the words mean.", schema)
    }

    fn read(&self, situation: &Situation, arguments: &Value) -> Result<RuntimeDecision, Rejected> {
        let unread = |error: serde_json::Error| {
            Rejected::sense(arguments.to_string(), "", error.to_string())
        };
        let called = Called::deserialize(arguments).map_err(unread)?;
        Ok(match (called.decision, situation.plan.current()) {
            (Word::NewRequest, _) | (_, None) => RuntimeDecision::NewRequest,
            (Word::Supplement, Some(task)) => {
                let fields = taken(
                    &self.0,
                    called.form.unwrap_or(task.form),
                    "/fields",
                    &called.fields,
                    arguments,
                )?;
                if fields.is_empty() && called.form.is_none() {
                    let message = "name at least one field, or choose another decision";
                    return Err(Rejected::sense(arguments.to_string(), "/fields", message));
                }
                RuntimeDecision::Supplement {
                    fields,
                    form: called.form,
                }
            }
            (Word::Confirm, _) => RuntimeDecision::Confirm,
            (Word::Cancel, _) => RuntimeDecision::Cancel,
            (Word::Next, _) => RuntimeDecision::Next,
            (Word::Unclear, _) => RuntimeDecision::Unclear,
        })
    }

    fn rules(&self, situation: &Situation) -> RuntimeDecision {
        self.certain(situation).unwrap_or(RuntimeDecision::Unclear)
    }
}
