//! The three judges that understand: one for requests, one for missing fields, one for the next
//! step of a plan.
//!
//! The graphs and the legacy path use the same three.
mod planner;
mod runtime;
mod slots;

use std::{sync::Arc, time::Duration};

use fugato::{
    BoxError,
    agent::decision::{self, Inquiry, Judge},
    form::{self, Fields},
    llm::{ChatRequest, Profile, RejectedAnswer, ToolSchema},
    state::{Message, Schema},
};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    deps::Deps,
    form::{FormKind, Forms},
    read::RuleReader,
    state::{RequestExtras, RequestKind, Steward, TaskPlan},
};

pub use planner::RequestPlanner;
pub use runtime::NextStepJudge;
pub use slots::Slots;

/// A decision in the making.
pub type Deliberation<T> = decision::DecisionState<Situation, T>;

/// The number of attempts, counted over all models and corrections.
const ATTEMPTS: u32 = 3;
/// The timeout of one answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns a judge with the model, if there is one.
pub(crate) fn inquiry<J: Judge>(deps: &Deps, judge: impl FnOnce(Arc<RuleData>) -> J) -> Inquiry<J> {
    let limits = Profile {
        timeout: Some(PATIENCE),
        attempts: Some(ATTEMPTS),
        ..Profile::default()
    };
    Inquiry::new(judge(deps.desk.clone()), deps.model.clone()).profile(limits)
}

/// The data of the rules, shared by the judges.
#[derive(Debug)]
pub struct RuleData {
    /// The forms.
    pub forms: Forms,
    /// Reads what words say about a form.
    pub facts: form::FormReader,
    /// Reads what words ask for.
    pub reader: RuleReader,
}

impl RuleData {
    /// Loads the forms and words of this program.
    pub fn load() -> Result<Arc<Self>, BoxError> {
        let forms = toml::from_str(include_str!("../forms.toml"))?;
        let rules = toml::from_str(include_str!("../facts.toml"))?;
        Ok(Arc::new(Self {
            facts: form::FormReader::new(rules, &forms)?,
            reader: toml::from_str(include_str!("../words.toml"))?,
            forms,
        }))
    }

    /// Returns the request to a model, with instructions, the day and the forms, and the function
    /// that the model calls to answer.
    fn question(
        &self,
        stage: &str,
        at: &Situation,
        told: &str,
        [name, says]: [&str; 2],
        arguments: Value,
    ) -> (ChatRequest, ToolSchema) {
        let (today, forms) = (&at.beside.base_date, self.forms.outline());
        let system = format!("{told}\nToday is {today}.\nThe forms:\n{forms}");
        let words = Message::user(at.message.as_str());
        let request = ChatRequest::new([Message::system(system), words])
            .temperature(0.0)
            .metadata("stage", stage);
        let schema = Schema::new(arguments).unwrap_or_else(|_| Schema::of::<Value>());
        (request, ToolSchema::new(name, says, schema))
    }

    /// Returns the fields that a model has named, as the form takes them, or the errors in them.
    fn taken(&self, kind: FormKind, path: &str, given: &Fields) -> Result<Fields, RejectedAnswer> {
        let given = crate::action::with_currency(given);
        let given = given.map_err(|error| RejectedAnswer::at(path, error))?;
        let fields = self.forms.read(&kind, &given);
        let mut fields = fields.map_err(|error| RejectedAnswer::at(path, error.to_string()))?;
        // Models copy neighbouring facts into the reason, as people do.
        if let Some(Value::String(reason)) = fields.remove("reason")
            && let Some(clean) = self.facts.cleaned(&reason)
        {
            fields.insert("reason".into(), clean.into());
        }
        Ok(fields)
    }

    /// Returns the schema of the fields of a form, if there is one.
    fn schema(&self, kind: Option<FormKind>) -> Value {
        let form = kind.and_then(|kind| self.forms.get(&kind));
        form.map_or_else(|| json!({ "type": "object" }), form::Form::schema)
    }
}

/// The input of a judge.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Situation {
    /// The words.
    pub message: String,
    /// The attachments and options of the words.
    pub beside: RequestExtras,
    /// The form that is asked about, if not that of the current task.
    pub form: Option<FormKind>,
    /// The plan so far.
    pub plan: TaskPlan,
    /// True if the words were read before in this request.
    pub is_read: bool,
}

impl Situation {
    /// Returns the situation of a conversation.
    pub fn of(state: &Steward) -> Self {
        let request = state.request.as_ref();
        let beside = request.map(|request| request.beside.clone());
        Self {
            message: state.message.clone(),
            beside: RequestExtras {
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

    /// Returns the day on which "tomorrow" is counted.
    pub fn base(&self) -> Date {
        self.beside.base_date.parse().unwrap_or(Date::ZERO)
    }

    /// Returns the fields that the page has filled in, and the files that came with the words, as
    /// far as they belong to a form and fit into it.
    fn given(&self, desk: &RuleData, kind: FormKind) -> Fields {
        let Some(form) = desk.forms.get(&kind) else {
            return Fields::new();
        };
        let fits = |(name, value): (&String, &Value)| {
            let one = Fields::from_iter([(name.clone(), value.clone())]);
            form.read(&one).ok()
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
