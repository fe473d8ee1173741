//! The three services that understand: what a request means, what is missing, what comes next.
//!
//! Each can be asked of a model, and each has rules that say the same kind of thing without one.
//! The graphs and the legacy path use the same three.
mod planner;
mod runtime;
mod slots;

use std::sync::Arc;

use fugato::llm::{ChatModel, ChatRequest, Rejected, ToolSchema};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ask::{Asked, by_call},
    form::{Fields, FormKind, Forms},
    read::{Reader, RulesError},
    state::{Plan, RequestKind, Source, Steward, Update},
};

pub use planner::Planner;
pub use runtime::NextStep;
pub use slots::Slots;

/// A question that a model or a rule can answer.
pub trait Service: Send + Sync + 'static {
    /// What is decided.
    type Output: Clone + Send + Sync + 'static;

    /// What traces call it.
    const STAGE: &'static str;

    /// What a model is told.
    fn request(&self, situation: &Situation) -> ChatRequest;

    /// The function that a model calls to answer.
    fn function(&self, situation: &Situation) -> ToolSchema;

    /// What a model has called it with, or why that cannot be.
    fn read(&self, situation: &Situation, arguments: &Value) -> Result<Self::Output, Rejected>;

    /// What the rules say.
    fn rules(&self, situation: &Situation) -> Self::Output;
}

/// What the rules know, shared by the services.
#[derive(Debug)]
pub struct Desk {
    /// The forms.
    pub forms: Forms,
    /// The rules' eyes.
    pub reader: Reader,
}

impl Desk {
    /// The forms and words of this program.
    pub fn load() -> Result<Arc<Self>, RulesError> {
        let forms = Forms::load()?;
        let reader = Reader::new(&forms)?;
        Ok(Arc::new(Self { forms, reader }))
    }
}

/// What is to be judged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Situation {
    /// The words.
    pub message: String,
    /// The day on which "tomorrow" is counted.
    pub base_date: String,
    /// Files that came with the words.
    pub attachments: Vec<String>,
    /// What the page has filled in.
    pub context: Fields,
    /// The form that is asked about, if not that of the current task.
    pub form: Option<FormKind>,
    /// The plan so far.
    pub plan: Plan,
    /// Whether the words were read before, in this request.
    pub is_read: bool,
}

impl Situation {
    /// The situation of a conversation.
    pub fn of(state: &Steward) -> Self {
        let request = state.request.as_ref();
        Self {
            message: state.message.clone(),
            base_date: state.base_date.clone(),
            attachments: request.map_or(vec![], |request| request.attachments.clone()),
            context: request.map_or_else(Fields::new, |request| request.context.clone()),
            form: match state.kind() {
                Some(RequestKind::Slots { form }) => *form,
                _ => None,
            },
            plan: state.steward_state.clone(),
            is_read: state.intent_result.is_some() || state.runtime_decision.is_some(),
        }
    }

    /// The day on which "tomorrow" is counted.
    pub fn base(&self) -> Date {
        self.base_date.parse().unwrap_or(Date::ZERO)
    }

    /// What the page has filled in, and the files that came with the words, as far as they belong
    /// to a form and fit into it.
    fn given(&self, desk: &Desk, kind: FormKind) -> Fields {
        let Some(form) = desk.forms.get(kind) else {
            return Fields::new();
        };
        let own = |(name, value): (&String, &Value)| {
            let one = Fields::from_iter([(name.clone(), value.clone())]);
            let known = form.field(name).is_some();
            known.then(|| desk.forms.read(kind, &one).ok()).flatten()
        };
        let mut fields: Fields = self.context.iter().filter_map(own).flatten().collect();
        if form.field("attachments").is_some() && !self.attachments.is_empty() {
            fields.insert("attachments".into(), self.attachments.clone().into());
        }
        fields
    }
}

/// Asks a model, if there is one.
pub async fn asked<S: Service>(
    service: &S,
    model: Option<&dyn ChatModel>,
    situation: &Situation,
) -> Asked<S::Output> {
    let Some(model) = model else {
        return Asked::nobody();
    };
    let (request, function) = (service.request(situation), service.function(situation));
    by_call(model, S::STAGE, request, function, |arguments| {
        service.read(situation, arguments)
    })
    .await
}

/// The decision of a model, or else of the rules, and how it came about: one after the other, as the
/// legacy path does it.
pub async fn judged<S: Service>(
    service: &S,
    model: Option<&dyn ChatModel>,
    situation: &Situation,
) -> (S::Output, Update) {
    let Asked { answer, traces } = asked(service, model, situation).await;
    let (value, source, fallback_reason) = match answer {
        Ok((value, source)) => (value, source, None),
        Err(reason) => (service.rules(situation), Source::Rule, Some(reason)),
    };
    let how = Update::Judged {
        source,
        traces,
        fallback_reason,
    };
    (value, how)
}

/// Fields that a model has named, as the form takes them; or what is wrong with them.
fn taken(
    desk: &Desk,
    kind: FormKind,
    path: &str,
    given: &Fields,
    raw: &Value,
) -> Result<Fields, Rejected> {
    let refused =
        |error: crate::form::FieldError| Rejected::sense(raw.to_string(), path, error.to_string());
    let mut fields = desk.forms.read(kind, given).map_err(refused)?;
    // Models copy neighbouring facts into the reason as people do.
    if let Some(reason) = fields.get("reason").and_then(Value::as_str) {
        match desk.reader.cleaned(reason) {
            Some(clean) => fields.insert("reason".into(), clean.into()),
            None => fields.remove("reason"),
        };
    }
    Ok(fields)
}

/// What a model has to know of the forms.
fn outline(desk: &Desk) -> String {
    let forms = desk.forms.iter().map(|form| {
        let fields = form.fields.iter().map(|field| {
            let must = if field.required { ", required" } else { "" };
            format!("  - {} ({}{must})", field.name, field.en)
        });
        let name = serde_json::to_value(form.name).unwrap_or_default();
        format!(
            "- {}: {}\n{}",
            name.as_str().unwrap_or_default(),
            form.en,
            fields.collect::<Vec<_>>().join("\n")
        )
    });
    forms.collect::<Vec<_>>().join("\n")
}
