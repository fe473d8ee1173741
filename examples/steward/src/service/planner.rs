//! What a request means: tasks, each with a form and what is known of it.
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
    read::Goal,
    state::{Intent, Task, TaskStatus},
};

/// Understands requests.
#[derive(Debug, Clone)]
pub struct Planner(pub Arc<Desk>);

const FUNCTION: &str = "plan_expense_tasks";

/// What the model calls the function with.
#[derive(Debug, Deserialize)]
struct Called {
    #[serde(default)]
    off_topic: bool,
    #[serde(default)]
    tasks: Vec<Proposed>,
}

#[derive(Debug, Deserialize)]
struct Proposed {
    form: FormKind,
    #[serde(default)]
    goal: Goal,
    #[serde(default)]
    fields: Fields,
    #[serde(default = "sure")]
    confidence: f64,
}

fn sure() -> f64 {
    crate::read::SURE
}

impl Service for Planner {
    type Output = Intent;

    const STAGE: &'static str = "plan";

    fn request(&self, situation: &Situation) -> ChatRequest {
        let system = format!(
            "You read requests about business trips and expenses. Split the request into tasks and \
             call {FUNCTION}. Copy only what the request says: leave out every field that it does \
             not name, and never make one up. A trip that shall be kept for later has the goal \
             draft. Ways of travelling belong into transport and not into reason. If it is about \
             something else, set off_topic and give no tasks. confidence is how sure you are of the \
             form, from 0 to 1.\nToday is {}.\nThe forms:\n{}",
            situation.base_date,
            outline(&self.0),
        );
        ChatRequest::new([
            Message::system(system),
            Message::user(situation.message.as_str()),
        ])
    }

    fn function(&self, _: &Situation) -> ToolSchema {
        let fields = self.0.forms.properties();
        let names: Vec<_> = self.0.forms.iter().map(|form| json!(form.name)).collect();
        let schema = json!({
            "type": "object",
            "properties": {
                "off_topic": { "type": "boolean" },
                "tasks": { "type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "form": { "type": "string", "enum": names },
                        "goal": { "type": "string", "enum": ["submit", "draft"] },
                        "fields": { "type": "object", "properties": fields },
                        "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
                    },
                    "required": ["form", "fields"],
                } },
            },
            "required": ["off_topic", "tasks"],
        });
        let schema = Schema::new(schema).unwrap_or_else(|_| Schema::of::<Value>());
        ToolSchema::new(FUNCTION, "Says what is to be done.", schema)
    }

    fn read(&self, situation: &Situation, arguments: &Value) -> Result<Intent, Rejected> {
        let unread = |error: serde_json::Error| {
            Rejected::sense(arguments.to_string(), "", error.to_string())
        };
        let called = Called::deserialize(arguments).map_err(unread)?;
        if !called.off_topic && called.tasks.is_empty() {
            let message = "give at least one task, or set off_topic";
            return Err(Rejected::sense(arguments.to_string(), "/tasks", message));
        }
        let task = |(nth, proposed): (usize, Proposed)| {
            let path = format!("/tasks/{nth}/fields");
            let fields = taken(&self.0, proposed.form, &path, &proposed.fields, arguments)?;
            Ok(self.task(
                situation,
                nth,
                proposed.form,
                proposed.goal,
                fields,
                proposed.confidence,
            ))
        };
        let tasks = called
            .tasks
            .into_iter()
            .enumerate()
            .map(task)
            .collect::<Result<_, Rejected>>()?;
        Ok(Intent {
            off_topic: called.off_topic,
            tasks,
        })
    }

    fn rules(&self, situation: &Situation) -> Intent {
        let clauses = self
            .0
            .reader
            .clauses(&self.0.forms, &situation.message, situation.base());
        let tasks: Vec<_> = clauses
            .into_iter()
            .enumerate()
            .map(|(nth, clause)| {
                self.task(
                    situation,
                    nth,
                    clause.form,
                    clause.goal,
                    clause.fields,
                    clause.confidence,
                )
            })
            .collect();
        Intent {
            off_topic: tasks.is_empty(),
            tasks,
        }
    }
}

impl Planner {
    fn task(
        &self,
        situation: &Situation,
        nth: usize,
        form: FormKind,
        goal: Goal,
        said: Fields,
        confidence: f64,
    ) -> Task {
        let mut fields = situation.given(&self.0, form);
        fields.extend(said);
        // A claim is never handed in here.
        let goal = if form == FormKind::Application {
            goal
        } else {
            Goal::Draft
        };
        Task {
            task_id: situation.plan.next_id(nth),
            form,
            goal,
            fields,
            confidence: confidence.clamp(0.0, 1.0),
            status: TaskStatus::Open,
            missing_fields: vec![],
            document: None,
            action_steps: vec![],
        }
    }
}
