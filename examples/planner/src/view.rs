//! How far a session is, for programs and for people.
use fugato::memory::{ExecutionStatus, Waiting};
use serde_json::{Map, Value, json};

use crate::session::Session;

/// How far the work of a session is, under the names by which other programs know it.
pub fn execution_state(session: &Session, thread: &str) -> Value {
    let work = &session.work;
    let execution = &work.execution;
    let steps: Vec<Value> = work.steps.iter().map(|step| json!(step)).collect();
    let observed = execution.observed.iter().map(|one| {
        json!({
            "step_id": one.step, "kind": one.kind, "summary": one.summary,
            "raw_json": one.raw, "created_at": one.at,
        })
    });
    let references: Map<String, Value> = ["strategy", "trader", "model", "exchange"]
        .into_iter()
        .map(|kind| (kind.to_owned(), json!(execution.references.get(kind))))
        .collect();
    json!({
        "session_id": session.id(thread),
        "user_id": session.user,
        "goal": execution.goal,
        "status": execution.status,
        "plan_id": format!("{}/{}", session.id(thread), session.message.number),
        "steps": steps,
        "current_step_id": work.running().map(|step| &step.id),
        "execution_log": observed.collect::<Vec<_>>(),
        "summary_notes": execution.notes,
        "dynamic_snapshots": execution.snapshots,
        "current_references": references,
        "waiting": execution.waiting.as_ref().map(|waiting| waited(session, waiting)),
        "final_answer": work.answer,
        "last_error": execution.error,
        "updated_at": session.message.at,
    })
}

fn waited(session: &Session, waiting: &Waiting) -> Value {
    let confirms = session.work.status() == ExecutionStatus::WaitingUserConfirmation;
    let target = session.work.running().filter(|_| confirms);
    json!({
        "question": waiting.question,
        "intent": waiting.intent,
        "pending_fields": waiting.missing,
        "confirmation_target": target.map(|step| &step.draft.tool_name),
        "created_at": waiting.since,
    })
}

/// The same for people, in a few lines.
pub fn status(session: &Session, thread: &str) -> String {
    let execution = &session.work.execution;
    let status = json!(execution.status);
    let goal = if execution.goal.is_empty() {
        "nothing"
    } else {
        &execution.goal
    };
    let mut lines = vec![
        format!("session {} of {}", session.id(thread), session.user),
        format!("work: {goal} ({})", status.as_str().unwrap_or_default()),
    ];
    let steps = session.work.steps.iter().map(|step| {
        let (kind, status) = (json!(step.draft.kind), json!(step.status));
        let words = [kind.as_str(), Some(&*step.draft.tool_name), status.as_str()];
        let words = words.into_iter().flatten().filter(|word| !word.is_empty());
        format!("  {} {}", step.id, words.collect::<Vec<_>>().join(" "))
    });
    lines.extend(steps);
    if let Some(waiting) = &execution.waiting {
        lines.push(format!("waits for an answer: {}", waiting.question));
    }
    lines.push(format!("turns kept: {}", session.history.turns().len()));
    lines.push(format!("facts known of you: {}", session.task.facts.len()));
    lines.join("\n")
}
