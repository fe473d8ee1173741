//! The progress of a session, for programs and for people.
use serde_json::{Value, json};

use crate::{facts, session::Session};

/// Returns the progress of a session's work as a document, under the names that other programs use.
pub fn execution_state(session: &Session, thread: &str) -> Value {
    let mut document = session.work.document();
    let references = &session.work.execution.references;
    let kinds = facts::all()
        .values()
        .filter_map(|fact| fact.is_named.as_ref());
    let referred = kinds.map(|kind| (kind.clone(), json!(references.get(kind))));
    let id = session.id(thread);
    let plan = format!("{id}/{}", session.message.number);
    let own = [
        ("session_id", json!(id)),
        ("user_id", json!(session.user)),
        ("plan_id", json!(plan)),
        ("current_references", referred.collect()),
        ("updated_at", json!(session.message.at)),
    ];
    document.extend(own.map(|(name, value)| (name.to_owned(), value)));
    Value::Object(document)
}

/// Returns the same for people, in a few lines.
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
    lines.push(format!(
        "facts known of you: {}",
        session.person.task.facts.len()
    ));
    lines.join("\n")
}
