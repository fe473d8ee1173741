//! The three services that understand: what a request means, what is missing, what comes next.
//!
//! Each can be asked of a model, and each has rules that say the same kind of thing without one.
//! The graphs and the legacy path use the same three.
mod planner;
mod runtime;
mod slots;

use std::{sync::Arc, time::Duration};

use fugato::{
    llm::{CallOptions, Called, ChatRequest, DecisionStyle, Rejected, ToolSchema, call},
    state::{Message, Schema},
};
use jiff::civil::Date;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    deps::Deps,
    form::{Fields, FormKind, Forms},
    read::{Reader, RulesError},
    state::{Beside, Judgement, Plan, RequestKind, Source, Steward},
};

pub use planner::Planner;
pub use runtime::NextStep;
pub use slots::Slots;

/// A question that a model or a rule can answer.
pub trait Service: Send + Sync + 'static {
    /// What is decided.
    type Output: Decision;
    /// What the function of the model is called with.
    type Called: DeserializeOwned;

    /// What traces call it.
    const STAGE: &'static str;
    /// The function that a model calls to answer, and what that says.
    const FUNCTION: [&'static str; 2];

    /// What a model is told, beside the day and the forms.
    fn told(situation: &Situation) -> String;

    /// The schema of the function's arguments.
    fn arguments(desk: &Desk, situation: &Situation) -> Value;

    /// What a model has called it with, or why that cannot be.
    fn read(desk: &Desk, at: &Situation, called: Self::Called) -> Result<Self::Output, Wrong>;

    /// What the rules say.
    fn rules(desk: &Desk, situation: &Situation) -> Self::Output;
}

/// What can be decided.
pub trait Decision: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Clone + Serialize + DeserializeOwned + Send + Sync + 'static> Decision for T {}

/// What a model has said wrongly.
#[derive(Debug)]
#[non_exhaustive]
pub struct Wrong {
    /// Where, as a JSON pointer into the arguments.
    pub path: String,
    /// What is wrong, and what is allowed.
    pub why: String,
}

/// How often the models are asked, counted over all of them and all corrections.
const ATTEMPTS: u32 = 3;
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks a model, if there is one. Without its decision the rules decide, and it is known why.
pub async fn asked<S: Service>(
    deps: &Deps,
    situation: &Situation,
) -> (Option<S::Output>, Judgement) {
    let Some(model) = &deps.model else {
        return (None, left_to_rules::<S>(vec![], "there is no model"));
    };
    let system = format!(
        "{}\nToday is {}.\nThe forms:\n{}",
        S::told(situation),
        situation.beside.base_date,
        deps.desk.forms.outline()
    );
    let words = Message::user(situation.message.as_str());
    let request = ChatRequest::new([Message::system(system), words])
        .temperature(0.0)
        .metadata("stage", S::STAGE);
    let [name, says] = S::FUNCTION;
    let schema = Schema::new(S::arguments(&deps.desk, situation));
    let function = ToolSchema::new(name, says, schema.unwrap_or_else(|_| Schema::of::<Value>()));
    let read = |arguments: &Value| {
        let unread = |error: serde_json::Error| Wrong {
            path: String::new(),
            why: error.to_string(),
        };
        let called = S::Called::deserialize(arguments).map_err(unread);
        let read = called.and_then(|called| S::read(&deps.desk, situation, called));
        read.map_err(|wrong| Rejected::sense(arguments.to_string(), wrong.path, wrong.why))
    };
    let options = CallOptions::default().attempts(ATTEMPTS).patience(PATIENCE);
    match call(&**model, request, function, options, read).await {
        Ok(Called {
            value,
            style,
            traces,
            ..
        }) => {
            let source = match style {
                DecisionStyle::Native => Source::LlmFunctionCall,
                _ => Source::LlmTextCall,
            };
            (Some(value), Judgement::by(source, traces, None))
        }
        Err(none) => {
            let why = none.why().to_owned();
            (None, left_to_rules::<S>(none.traces, &why))
        }
    }
}

fn left_to_rules<S: Service>(traces: Vec<fugato::llm::CallTrace>, reason: &str) -> Judgement {
    tracing::info!(stage = S::STAGE, reason, "{}", crate::log_key::RULE_DECIDES);
    Judgement::by(Source::Rule, traces, Some(reason.to_owned()))
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

    /// Fields that a model has named, as the form takes them; or what is wrong with them.
    fn taken(&self, kind: FormKind, path: &str, given: &Fields) -> Result<Fields, Wrong> {
        let mut fields = self.forms.read(kind, given).map_err(|error| Wrong {
            path: path.to_owned(),
            why: error.to_string(),
        })?;
        // Models copy neighbouring facts into the reason as people do.
        if let Some(Value::String(reason)) = fields.remove("reason")
            && let Some(clean) = self.reader.cleaned(&reason)
        {
            fields.insert("reason".into(), clean.into());
        }
        Ok(fields)
    }

    /// The schema of the fields of a form, if there is one.
    fn schema(&self, kind: Option<FormKind>) -> Value {
        let form = kind.and_then(|kind| self.forms.get(kind));
        form.map_or_else(|| json!({ "type": "object" }), crate::form::Form::schema)
    }
}

/// What is to be judged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Situation {
    /// The words.
    pub message: String,
    /// What came with them.
    pub beside: Beside,
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
        let beside = request.map(|request| request.beside.clone());
        Self {
            message: state.message.clone(),
            beside: Beside {
                base_date: state.base_date.clone(),
                ..beside.unwrap_or_default()
            },
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
        self.beside.base_date.parse().unwrap_or(Date::ZERO)
    }

    /// What the page has filled in, and the files that came with the words, as far as they belong
    /// to a form and fit into it.
    fn given(&self, desk: &Desk, kind: FormKind) -> Fields {
        let Some(form) = desk.forms.get(kind) else {
            return Fields::new();
        };
        let fits = |(name, value): (&String, &Value)| {
            let one = Fields::from_iter([(name.clone(), value.clone())]);
            desk.forms.read(kind, &one).ok()
        };
        let mut fields: Fields = self
            .beside
            .context
            .iter()
            .filter_map(fits)
            .flatten()
            .collect();
        let files = &self.beside.attachments;
        if form.field("attachments").is_some() && !files.is_empty() {
            fields.insert("attachments".into(), files.clone().into());
        }
        fields
    }
}
