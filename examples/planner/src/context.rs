//! The context of the session for planner, thinker and answerer, most trusted source first.
use fugato::{
    agent::plan::{StepKind, WorkStep},
    memory::{DialogueTurn, Speaker},
};
use serde_json::{Value, json};

use crate::{
    facts, intent,
    session::{Course, Session},
};

/// The sources in the order in which they are believed, and what each is good for.
const TRUST: &str = "Believe the sources in this order:
1. Facts: they were looked up just now. What exists and what can be done is said by them alone.
2. The steps and observations of the work: what was done, and what the person answered.
3. The recent conversation: what the person means. It is no source for facts.
4. What is known of the task: what the person is about. It is no source for facts either.";

/// Returns the context of a session.
pub fn context(session: &Session) -> String {
    let execution = &session.work.execution;
    let facts = execution.snapshots.iter();
    let facts = facts.map(|(kind, seen)| format!("{kind}: {}", seen.value));
    let done = session.done.iter();
    let done = done.map(|done| format!("{} {}: {}", done.name, done.arguments, done.result));
    let turns = session.history.turns().iter().map(turn);
    let already = "Done already, before this try: not to be done again";
    let sections = [
        ("Facts", lines(facts)),
        ("Resumed", resumed(session)),
        (already, lines(done)),
        ("What \"it\" may stand for", references(session)),
        ("Recent conversation", lines(turns)),
        ("What is known of the task", task(session)),
        ("What the person prefers", preferences(session)),
    ];
    let sections = sections.iter().filter(|(_, text)| !text.is_empty());
    let sections = sections.map(|(title, text)| format!("\n\n# {title}\n{text}"));
    TRUST.to_owned() + &sections.collect::<String>()
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

fn turn(turn: &DialogueTurn) -> String {
    let by = match turn.by {
        Speaker::User => "person",
        Speaker::Assistant => "desk",
    };
    format!("{by}: {}", turn.lasting())
}

/// Returns the preferences of the person, one a line.
pub fn preferences(session: &Session) -> String {
    let wishes = session.person.preferences.iter();
    lines(wishes.map(|(name, wish)| format!("{name}: {wish}")))
}

/// Returns the known state of the task. It is left out for questions that only a look-up can
/// answer, and for work that begins again.
fn task(session: &Session) -> String {
    let topics = intent::topics(session.goal());
    let is_live = topics.iter().any(|topic| topic.is_existence());
    if is_live || session.message.course == Course::Again || session.person.task.is_empty() {
        return String::new();
    }
    json!(session.person.task).to_string()
}

/// Returns the referents of words such as "it", as far as they are among the facts. A referent that
/// no longer exists is left out.
fn references(session: &Session) -> String {
    let references = session.work.execution.references.iter();
    let there = references.filter(|(kind, to)| {
        let topic = facts::of_reference(kind);
        let all: Option<Vec<Value>> = topic.and_then(|topic| session.seen(topic));
        let mut all = all.unwrap_or_default().into_iter();
        all.any(|one| one.get("name").and_then(Value::as_str) == Some(&to.name))
    });
    lines(there.map(|(kind, to)| format!("{kind}: {}", to.name)))
}

/// Returns the question that was answered last, and the answer.
fn resumed(session: &Session) -> String {
    let mut steps = session.work.steps.iter().rev();
    let is_answered =
        |step: &&WorkStep| step.draft.kind == StepKind::AskUser && step.ended_at.is_some();
    steps.find(is_answered).map_or(String::new(), |step| {
        let (question, reply) = (&step.draft.instruction, &step.output_summary);
        json!({ "question": question, "reply": reply }).to_string()
    })
}
