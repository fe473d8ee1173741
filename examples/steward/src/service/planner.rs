//! The judge of a request: it splits the request into tasks, each with a form and its known fields.
use std::sync::Arc;

use fugato::{
    agent::decision::Judge,
    form::Fields,
    llm::{ChatRequest, RejectedAnswer, ToolSchema},
    state::{Lang, say},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{RuleData, Situation};
use crate::{
    form::FormKind,
    ledger::Document,
    read::{Clause, DocumentQuestion, Goal},
    state::{Intent, PlanTask, WorkStatus},
};

/// Understands requests.
#[derive(Debug)]
pub struct RequestPlanner(pub(crate) Arc<RuleData>);

/// The arguments of the function that the model calls.
#[derive(Deserialize)]
struct PlannedArguments {
    #[serde(default)]
    off_topic: bool,
    #[serde(default)]
    tasks: Vec<Clause>,
}

impl RequestPlanner {
    /// The name of the stage in traces.
    pub(crate) const STAGE: &str = "plan";
}

fn instructions() -> String {
    say!(
        "You read requests about business trips and expenses. Split the request into tasks and call \
         plan_expense_tasks. Copy only what the request says: leave out every field that it does not \
         name, and never make one up. A trip that shall be kept for later has the goal draft. Ways of \
         travelling belong into transport and not into reason. If it is about something else, set \
         off_topic and give no tasks. confidence is how sure you are of the form, from 0 to 1.",
        "你负责理解有关出差和费用的请求。把请求拆成任务，并调用 plan_expense_tasks。只照抄请求里说到的内容：\
         没有提到的字段一律不填，也不要编造。先留着以后再办的出差，goal 是 draft。出行方式写在 transport 里，\
         不写在 reason 里。如果请求与此无关，就设置 off_topic，不给任务。confidence 表示你对表单有多大把握，\
         从 0 到 1。"
    )
}

impl Judge for RequestPlanner {
    type Situation = Situation;
    type Verdict = Intent;

    fn question(&self, at: &Situation) -> (ChatRequest, ToolSchema) {
        let forms = &self.0.forms;
        let arguments = json!({
            "type": "object",
            "properties": {
                "off_topic": { "type": "boolean" },
                "tasks": { "type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "form": { "type": "string", "enum": forms.names() },
                        "goal": { "type": "string", "enum": ["submit", "draft"] },
                        "fields": { "type": "object", "properties": forms.properties() },
                        "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
                    },
                    "required": ["form", "fields"],
                } },
            },
            "required": ["off_topic", "tasks"],
        });
        let says = say!("Says what is to be done.", "说明要办什么。");
        let function = ("plan_expense_tasks", says);
        let told = instructions();
        self.0.question(Self::STAGE, at, &told, function, arguments)
    }

    fn read(&self, at: &Situation, arguments: &Value) -> Result<Intent, RejectedAnswer> {
        let called = PlannedArguments::deserialize(arguments)?;
        if self
            .0
            .not_a_wish(&at.message, at.base(), Lang::En)
            .is_some()
        {
            return Ok(Intent::off_topic());
        }
        if let Some(asked) = self.0.document_question(&at.message) {
            return Ok(about_documents(&self.0, at, asked));
        }
        if !called.off_topic && called.tasks.is_empty() {
            let why = say!(
                "give at least one task, or set off_topic",
                "至少给出一个任务，或者设置 off_topic"
            );
            return Err(RejectedAnswer::at("/tasks", why));
        }
        let task = |(nth, said): (usize, Clause)| {
            let path = format!("/tasks/{nth}/fields");
            let fields = self.0.taken(said.form, &path, &said.fields)?;
            Ok(task(&self.0, at, nth, Clause { fields, ..said }))
        };
        let tasks = called.tasks.into_iter().enumerate().map(task);
        Ok(Intent {
            off_topic: called.off_topic,
            tasks: tasks.collect::<Result<_, RejectedAnswer>>()?,
        })
    }

    fn rules(&self, at: &Situation) -> Intent {
        let desk = &self.0;
        if self
            .0
            .not_a_wish(&at.message, at.base(), Lang::En)
            .is_some()
        {
            return Intent::off_topic();
        }
        if let Some(asked) = desk.document_question(&at.message) {
            return about_documents(desk, at, asked);
        }
        let clauses = desk.reader.clauses(desk, &at.message, at.base());
        let clauses = clauses.iter().cloned().enumerate();
        let tasks: Vec<_> = clauses
            .map(|(nth, said)| task(desk, at, nth, said))
            .collect();
        Intent {
            off_topic: tasks.is_empty(),
            tasks,
        }
    }
}

/// Returns the tasks of a question about documents, one for each document that it is about. What it
/// leaves open, by a number that there is not or by words that fit several, is a question for the
/// person, and no task.
fn about_documents(desk: &RuleData, at: &Situation, asked: DocumentQuestion) -> Intent {
    if !asked.begins_task() || !at.names_targets() {
        return Intent::off_topic();
    }
    let words = (at.message.as_str(), at.base());
    let task = |(nth, document): (usize, &Document)| {
        let form = document.form();
        let id = || Value::from(document.id.clone());
        let named = Fields::from_iter([("document".into(), id())]);
        let with_content = |told: Fields| {
            let mut fields = document.fields.clone();
            fields.extend(told);
            fields.insert("document".into(), id());
            fields
        };
        let (form, goal, fields) = match asked {
            DocumentQuestion::Restore => (FormKind::Restoration, Goal::Draft, named),
            DocumentQuestion::Submit => (form, Goal::Submit, with_content(Fields::new())),
            DocumentQuestion::Revise => {
                let changed = desk.changed(document, words).ok()?;
                (form, Goal::Draft, with_content(changed))
            }
            DocumentQuestion::Copy => (form, Goal::Submit, desk.copied(document, words)),
            _ => (FormKind::Withdrawal, Goal::Draft, named),
        };
        let about = Some(document.clone()).filter(|_| asked != DocumentQuestion::Copy);
        let mut task = task_of(at, nth, form, fields);
        if asked == DocumentQuestion::Submit && desk.differs_in_words(document, words) {
            task.unread.push(words.0.trim().to_owned());
        }
        Some(PlanTask {
            goal,
            about,
            ..task
        })
    };
    let tasks = at.targets.iter().enumerate().map(task);
    let tasks: Option<Vec<_>> = tasks.collect();
    tasks.map_or_else(Intent::off_topic, |tasks| Intent {
        off_topic: false,
        tasks,
    })
}

fn task(desk: &RuleData, situation: &Situation, nth: usize, said: Clause) -> PlanTask {
    let mut fields = situation.given(desk, said.form);
    fields.extend(situation.real(said.fields));
    // Documents that the words leave no choice of need no number.
    if said.form == FormKind::Link {
        for document in &situation.targets {
            let name = match document.form() {
                FormKind::Reimbursement => "reimbursement",
                _ => "application",
            };
            let id = || document.id.clone().into();
            fields.entry(name).or_insert_with(id);
        }
    }
    PlanTask {
        // A claim is never handed in here.
        goal: match said.form {
            FormKind::Application => said.goal,
            _ => Goal::Draft,
        },
        confidence: said.confidence.clamp(0.0, 1.0),
        unread: said.unread,
        ..task_of(situation, nth, said.form, fields)
    }
}

/// Returns a certain task that keeps a draft.
fn task_of(situation: &Situation, nth: usize, form: FormKind, fields: Fields) -> PlanTask {
    PlanTask {
        task_id: situation.plan.next_id(nth),
        form,
        goal: Goal::Draft,
        fields,
        confidence: 1.0,
        status: WorkStatus::Open,
        missing_fields: vec![],
        document: None,
        about: None,
        unread: vec![],
        action_steps: vec![],
    }
}
