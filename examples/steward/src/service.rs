//! The three judges that understand: one for requests, one for missing fields, one for the next
//! step of a plan.
//!
//! The graphs and the legacy path use the same three.
mod planner;
mod runtime;
mod slots;

use std::{borrow::Cow, sync::Arc, time::Duration};

use fugato::{
    BoxError,
    agent::decision::{self, Inquiry, Judge},
    form::{self, Fields},
    llm::{ChatRequest, Profile, RejectedAnswer, ToolSchema},
    state::{Lang, Message, Schema, say},
    words::{DateDirection, corrected, currency, dates, is_chinese, stem},
};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    deps::Deps,
    files,
    form::{FormKind, Forms},
    ledger::{Document, Documents},
    read::{Clause, DocumentQuestion, LastRead, RuleReader, UNSURE, document_ids},
    state::{PlanTask, RequestExtras, RequestKind, Steward, TaskPlan},
};

pub use planner::RequestPlanner;
pub use runtime::NextStepJudge;
use runtime::means_task;
pub use slots::Slots;

/// A decision in the making.
pub type Deliberation<T> = decision::DecisionState<Situation, T>;

/// The number of attempts, counted over all models and corrections.
const ATTEMPTS: u32 = 3;
/// The fields of a form that words give which fill it in.
const FILLED: usize = 3;
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
    /// The words that these know, in lower case, the longer ones first.
    vocabulary: Vec<String>,
    /// The clauses of the texts that were read last.
    pub(crate) last_read: LastRead,
}

impl RuleData {
    /// Loads the forms and words of this program.
    pub fn load() -> Result<Arc<Self>, BoxError> {
        let [forms, facts, words] = [
            include_str!("../forms.toml"),
            include_str!("../facts.toml"),
            include_str!("../words.toml"),
        ]
        .map(toml::from_str::<Value>);
        let (forms, facts, words) = (forms?, facts?, words?);
        let mut vocabulary = vec![];
        for data in [&forms, &facts, &words] {
            collect(data, &mut vocabulary);
        }
        vocabulary.sort_by_key(|word| std::cmp::Reverse(word.len()));
        vocabulary.dedup();
        let forms = serde_json::from_value(forms)?;
        let rules = serde_json::from_value(facts)?;
        Ok(Arc::new(Self {
            vocabulary,
            last_read: LastRead::default(),
            facts: form::FormReader::new(rules, &forms)?,
            reader: serde_json::from_value(words)?,
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
        (name, says): (&str, String),
        arguments: Value,
    ) -> (ChatRequest, ToolSchema) {
        let (today, forms) = (&at.beside.base_date, self.forms.outline());
        let system = say!(
            "{told}\nToday is {today}.\nThe forms:\n{forms}",
            "{told}\n今天是 {today}。\n表单有：\n{forms}"
        );
        let system = if at.earlier.is_empty() {
            system
        } else {
            say!(
                "{system}\nThe messages before the last one are only what it refers to: what was done or dropped there is over.",
                "{system}\n最后一条之前的消息只用来理解它指的是什么：那里已经办完或取消的都不再办。"
            )
        };
        let words = Message::user(at.message.as_str());
        let messages = std::iter::once(Message::system(system));
        let messages = messages.chain(at.earlier.iter().cloned()).chain([words]);
        let request = ChatRequest::new(messages)
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

    /// Returns the names of files in a text.
    pub(crate) fn named_files(&self, text: &str) -> Vec<String> {
        let form = self.forms.get(&FormKind::Attachment);
        let fields = form.map(|form| self.facts.read(form, text, Date::ZERO));
        let fields = fields.unwrap_or_default();
        form::strings(fields.get("attachments"))
            .map(str::to_owned)
            .collect()
    }

    /// Returns the question about documents that a text is. Words that fill in a form are none,
    /// whatever else they say.
    pub(crate) fn document_question(&self, text: &str) -> Option<DocumentQuestion> {
        let asked = self.reader.question(text)?;
        if self.not_a_wish(text, Date::ZERO, Lang::En).is_some() {
            return None;
        }
        // What a draft shall say fills in no other form.
        let is_named = !document_ids(text).is_empty();
        if asked == DocumentQuestion::Revise || asked.begins_task() && is_named {
            return Some(asked);
        }
        // Which of them are such fills in nothing: 我哪些报销超过五十块.
        if asked == DocumentQuestion::List && self.reader.asks_which(text) {
            return Some(asked);
        }
        let clauses = self.reader.clauses(self, text, Date::ZERO);
        // Who tells an amount asks for none: 午饭一共40.
        let most = if asked == DocumentQuestion::Total && clauses.iter().any(tells_amount) {
            0
        } else {
            FILLED
        };
        let fills = |clause: &Clause| clause.confidence > UNSURE && clause.fields.len() >= most;
        (!clauses.iter().any(fills)).then_some(asked)
    }

    /// Returns the question about documents that words are while a task is open: words that may
    /// change or hand in that task itself are none.
    pub(crate) fn asked_beside(
        &self,
        words: &str,
        task: Option<&PlanTask>,
    ) -> Option<DocumentQuestion> {
        use DocumentQuestion::{Copy, Revise, Submit};
        let asked = self.document_question(words)?;
        let selected = match asked {
            Revise => self.selecting(&Documents::default(), words),
            Submit | Copy => words.to_owned(),
            _ => return Some(asked),
        };
        let is_own = task.is_some_and(|task| means_task(self, &selected, task));
        (!is_own).then_some(asked)
    }

    /// Returns a text without its questions, which fill in nothing. Words that fill in much of a form
    /// may ask something, too.
    pub(crate) fn told(&self, text: &str, base: Date) -> String {
        let text = corrected(text).unwrap_or(Cow::Borrowed(text));
        let reads = |said: &str| {
            let kinds = [FormKind::Application, FormKind::Reimbursement];
            let forms = kinds.iter().filter_map(|kind| self.forms.get(kind));
            let read = forms.map(|form| self.facts.read(form, said, base).len());
            read.max().unwrap_or(0)
        };
        let is_told = |said: &&str| {
            let asks = self.reader.means_question(said);
            !asks || !self.reader.begins_question(said) && reads(said) >= FILLED
        };
        let marks = ['?', '？', '!', '！', '。', '\n'];
        let sentences = text.split_inclusive(marks);
        let sentences = sentences.flat_map(|said| said.split_inclusive(". "));
        sentences.filter(is_told).collect()
    }

    /// Returns the number of words in a text that are in none of the fields that were read, and that no
    /// rule knows. Two Chinese characters count as a word.
    pub(crate) fn unknown_words(&self, text: &str, read: &Fields, base: Date) -> usize {
        let rest = dates(text, base, DateDirection::Ahead).rest;
        let values = read.values().filter_map(Value::as_str);
        let rest = values.fold(rest, |rest, value| rest.replace(value, " "));
        let rest = rest.to_lowercase();
        let is_han = |c: char| is_chinese(c.encode_utf8(&mut [0; 4]));
        let is_known = |word: &str| {
            let forms = [word, stem(word)];
            let mut words = self.vocabulary.iter();
            words.any(|known| forms.contains(&known.as_str()) || forms.contains(&stem(known)))
        };
        let latin = rest.split(|c: char| !c.is_ascii_alphabetic());
        let latin = latin.filter(|word| word.len() > 2 && currency(word).is_none());
        let latin = latin.filter(|word| !is_known(word)).count();
        let han = self
            .vocabulary
            .iter()
            .filter(|word| word.starts_with(is_han));
        let left = han.fold(rest.clone(), |left, word| left.replace(word.as_str(), " "));
        latin + left.chars().filter(|c| is_han(*c)).count().div_ceil(2)
    }

    /// Returns the schema of the fields of a form, if there is one.
    fn schema(&self, kind: Option<FormKind>) -> Value {
        let form = kind.and_then(|kind| self.forms.get(&kind));
        form.map_or_else(|| json!({ "type": "object" }), form::Form::schema)
    }
}

/// The names of data whose words tell what no form has: they are not known.
const STRANGE: [&str; 2] = ["asides", "others"];

/// Adds the words of all texts in some data.
fn collect(data: &Value, into: &mut Vec<String>) {
    match data {
        Value::String(text) => {
            let text = text.to_lowercase();
            let latin = text.split(|c: char| !c.is_ascii_alphabetic());
            let han = text.split(|c: char| c.is_ascii() || !is_chinese(c.encode_utf8(&mut [0; 4])));
            let words = latin.chain(han).filter(|word| !word.is_empty());
            into.extend(words.map(str::to_owned));
        }
        Value::Array(all) => all.iter().for_each(|it| collect(it, into)),
        Value::Object(all) => {
            let known = all
                .iter()
                .filter(|(name, _)| !STRANGE.contains(&name.as_str()));
            known.for_each(|(_, it)| collect(it, into));
        }
        _ => {}
    }
}

fn tells_amount(clause: &Clause) -> bool {
    let mut amounts = ["amount", "estimated_amount"].iter();
    amounts.any(|name| clause.fields.contains_key(*name))
}

/// The input of a judge.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Situation {
    /// The words.
    pub message: String,
    /// The earlier messages, where only the client keeps them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Message>,
    /// The attachments and options of the words.
    pub beside: RequestExtras,
    /// The form that is asked about, if not that of the current task.
    pub form: Option<FormKind>,
    /// The plan so far.
    pub plan: TaskPlan,
    /// The names of the uploaded files: other names are no attachments.
    pub files: Vec<String>,
    /// The documents that the words are about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Document>,
    /// True if the words were read before in this request.
    pub is_read: bool,
    /// True if the words came with a no to the card.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rejects: bool,
}

impl Situation {
    /// Returns the situation of a conversation.
    pub fn of(state: &Steward) -> Self {
        let request = state.request.as_ref();
        let beside = request.map(|request| request.beside.clone());
        let mut beside = beside.unwrap_or_default();
        for file in state.new_files() {
            if !beside.attachments.contains(&file.name) {
                beside.attachments.push(file.name.clone());
            }
        }
        Self {
            targets: state.targets.clone(),
            files: state.files.iter().map(|file| file.name.clone()).collect(),
            message: state.message.clone(),
            earlier: state.earlier(),
            beside: RequestExtras {
                base_date: state.base_date.clone(),
                ..beside
            },
            form: match state.kind() {
                Some(RequestKind::Slots { form }) => *form,
                _ => None,
            },
            plan: state.steward_state.clone(),
            is_read: state.intent_result.is_some() || state.runtime_decision.is_some(),
            rejects: state.rejects,
        }
    }

    /// Returns true if the words leave no choice of documents: each that they name is one of the
    /// targets, or one document fits what they say.
    fn names_targets(&self) -> bool {
        self.targets.len() == document_ids(&self.message).len().max(1)
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
        self.real(fields)
    }

    /// Returns what the page has filled in for fields of a form and does not fit into them.
    fn unfit(&self, desk: &RuleData, kind: FormKind) -> Vec<String> {
        let Some(form) = desk.forms.get(&kind) else {
            return vec![];
        };
        let context = self.beside.context.iter();
        let unfit = context.filter_map(|(name, value)| {
            let field = form.field(name)?;
            let one = Fields::from_iter([(name.clone(), value.clone())]);
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            let told = || format!("{} {value}", field.label(Lang::current()));
            form.read(&one).is_err().then(told)
        });
        unfit.collect()
    }

    /// Returns fields whose attachments are files that were uploaded: a name alone is none.
    pub(crate) fn real(&self, mut fields: Fields) -> Fields {
        if fields.contains_key("attachments") {
            let there = || self.files.iter().map(String::as_str);
            let names = form::strings(fields.get("attachments"));
            let names: Vec<_> = names
                .filter_map(|name| files::meant(there(), name))
                .collect();
            if names.is_empty() {
                fields.remove("attachments");
            } else {
                fields.insert("attachments".into(), names.into());
            }
        }
        fields
    }
}
