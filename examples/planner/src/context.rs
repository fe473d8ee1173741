//! What planner, thinker and answerer are told of the session around the work, most trusted first.
use fugato::{agent::plan::StepKind, memory::Speaker, prompt::TokenCount, state::Message};
use serde::Deserialize;
use serde_json::json;

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

/// The context of a session.
pub fn context(session: &Session) -> String {
    let mut parts = vec![TRUST.to_owned()];
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            parts.push(format!("# {title}\n{}", lines.join("\n")));
        }
    };
    let execution = &session.work.execution;
    let facts = execution.snapshots.iter();
    section(
        "Facts",
        facts
            .map(|(kind, seen)| format!("{kind}: {}", seen.value))
            .collect(),
    );
    section("Resumed", resumed(session));
    let done = session.done.iter();
    section(
        "Done already, before this try: not to be done again",
        done.map(|done| format!("{} {}: {}", done.name, done.arguments, done.result))
            .collect(),
    );
    section("What \"it\" may stand for", references(session));
    let turn = |(by, text): (Speaker, String)| match by {
        Speaker::User => format!("person: {text}"),
        Speaker::Assistant => format!("desk: {text}"),
    };
    section(
        "Recent conversation",
        session.recent().into_iter().map(turn).collect(),
    );
    if is_task_told(session) && !session.task.is_empty() {
        section(
            "What is known of the task",
            vec![json!(session.task).to_string()],
        );
    }
    let wishes = session.preferences.iter();
    section(
        "What the person prefers",
        wishes
            .map(|(name, wish)| format!("{name}: {wish}"))
            .collect(),
    );
    parts.join("\n\n")
}

/// What is known of the task may not speak where only a look may, nor for work that is begun again.
fn is_task_told(session: &Session) -> bool {
    let topics = intent::topics(session.goal());
    let live = topics.iter().any(|topic| topic.is_existence());
    !live && session.message.course != Course::Again
}

/// What words may stand for, as far as it is among the facts: what is gone is not spoken of.
fn references(session: &Session) -> Vec<String> {
    let references = session.work.execution.references.iter();
    let there = references.filter(|(kind, to)| {
        let kind = facts::of_reference(kind);
        let all: Vec<Named> = kind.and_then(|kind| session.seen(kind)).unwrap_or_default();
        all.iter().any(|one| one.name == to.name)
    });
    there
        .map(|(kind, to)| format!("{kind}: {}", to.name))
        .collect()
}

/// Something that has a name, whatever else is known of it.
#[derive(Deserialize)]
struct Named {
    name: String,
}

/// The question that was answered last, and the answer.
fn resumed(session: &Session) -> Vec<String> {
    let steps = session.work.steps.iter().rev();
    let mut answered = steps.filter(|step| step.draft.kind == StepKind::AskUser);
    let answered = answered.find(|step| step.ended_at.is_some());
    let told = answered.map(|step| {
        json!({ "question": step.draft.instruction, "reply": step.output_summary }).to_string()
    });
    told.into_iter().collect()
}

/// Tokens as a third of the characters, and ten for each message.
#[derive(Debug, Clone, Copy, Default)]
pub struct Thirds;

impl TokenCount for Thirds {
    fn text(&self, text: &str) -> u64 {
        u64::try_from(text.chars().count() / 3 + 10).unwrap_or(u64::MAX)
    }

    fn message(&self, message: &Message) -> u64 {
        self.text(&message.content)
    }
}
