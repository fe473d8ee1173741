//! What a request means: tasks, each with a form and what is known of it.
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Desk, Service, Situation, Wrong};
use crate::{
    form::FormKind,
    read::{Clause, Goal},
    state::{Intent, Task, TaskStatus},
};

/// Understands requests.
#[derive(Debug)]
pub struct Planner;

/// What the model calls the function with.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct Planned {
    #[serde(default)]
    off_topic: bool,
    #[serde(default)]
    tasks: Vec<Clause>,
}

impl Service for Planner {
    type Output = Intent;
    type Called = Planned;

    const STAGE: &'static str = "plan";
    const FUNCTION: [&'static str; 2] = ["plan_expense_tasks", "Says what is to be done."];

    fn told(_: &Situation) -> String {
        "You read requests about business trips and expenses. Split the request into tasks and \
         call plan_expense_tasks. Copy only what the request says: leave out every field that it \
         does not name, and never make one up. A trip that shall be kept for later has the goal \
         draft. Ways of travelling belong into transport and not into reason. If it is about \
         something else, set off_topic and give no tasks. confidence is how sure you are of the \
         form, from 0 to 1."
            .to_owned()
    }

    fn arguments(desk: &Desk, _: &Situation) -> Value {
        json!({
            "type": "object",
            "properties": {
                "off_topic": { "type": "boolean" },
                "tasks": { "type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "form": { "type": "string", "enum": desk.forms.names() },
                        "goal": { "type": "string", "enum": ["submit", "draft"] },
                        "fields": { "type": "object", "properties": desk.forms.properties() },
                        "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
                    },
                    "required": ["form", "fields"],
                } },
            },
            "required": ["off_topic", "tasks"],
        })
    }

    fn read(desk: &Desk, at: &Situation, called: Planned) -> Result<Intent, Wrong> {
        if !called.off_topic && called.tasks.is_empty() {
            return Err(Wrong {
                path: "/tasks".to_owned(),
                why: "give at least one task, or set off_topic".to_owned(),
            });
        }
        let task = |(nth, said): (usize, Clause)| {
            let path = format!("/tasks/{nth}/fields");
            let fields = desk.taken(said.form, &path, &said.fields)?;
            Ok(task(desk, at, nth, Clause { fields, ..said }))
        };
        let tasks = called.tasks.into_iter().enumerate().map(task);
        Ok(Intent {
            off_topic: called.off_topic,
            tasks: tasks.collect::<Result<_, Wrong>>()?,
        })
    }

    fn rules(desk: &Desk, at: &Situation) -> Intent {
        let clauses = desk.reader.clauses(&desk.forms, &at.message, at.base());
        let clauses = clauses.into_iter().enumerate();
        let tasks: Vec<_> = clauses
            .map(|(nth, said)| task(desk, at, nth, said))
            .collect();
        Intent {
            off_topic: tasks.is_empty(),
            tasks,
        }
    }
}

fn task(desk: &Desk, situation: &Situation, nth: usize, said: Clause) -> Task {
    let mut fields = situation.given(desk, said.form);
    fields.extend(said.fields);
    Task {
        task_id: situation.plan.next_id(nth),
        form: said.form,
        // A claim is never handed in here.
        goal: match said.form {
            FormKind::Application => said.goal,
            _ => Goal::Draft,
        },
        fields,
        confidence: said.confidence.clamp(0.0, 1.0),
        status: TaskStatus::Open,
        missing_fields: vec![],
        document: None,
        action_steps: vec![],
    }
}
