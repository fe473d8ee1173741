//! The context of the session for planner, thinker and answerer, most trusted source first.
use fugato::{
    agent::plan::{StepKind, WorkStep},
    memory::{DialogueTurn, Speaker},
    state::say,
};
use serde_json::{Value, json};

use crate::{
    facts, intent,
    session::{Course, PlannerSession},
};

/// Returns the sources in the order in which they are believed, and what each is good for.
fn trust() -> String {
    say!(
        "Believe the sources in this order:
1. Facts: they were looked up just now. What exists and what can be done is said by them alone.
2. The steps and observations of the work: what was done, and what the person answered.
3. The recent conversation: what the person means. It is no source for facts.
4. What is known of the task: what the person is about. It is no source for facts either.",
        "按以下顺序相信各个来源：
1. 事实：刚刚查到的。有什么、能做什么，只以它们为准。
2. 工作的步骤和观察：做了什么，用户回答了什么。
3. 最近的对话：用户的意思。不能作为事实的来源。
4. 关于任务已知的内容：用户想要什么。同样不能作为事实的来源。"
    )
}

/// Returns the context of a session.
pub fn context(session: &PlannerSession) -> String {
    let execution = &session.work.execution;
    let facts = execution.snapshots.iter();
    let facts = facts.map(|(kind, seen)| format!("{kind}: {}", seen.value));
    let done = session.done.iter();
    let done = done.map(|done| format!("{} {}: {}", done.name, done.arguments, done.result));
    let turns = session.history.turns().iter().map(turn);
    let already = say!(
        "Done already, before this try: not to be done again",
        "这次尝试之前已经做过、不要再做的"
    );
    let referents = say!("What \"it\" may stand for", "“它”可能指什么");
    let sections = [
        (say!("Facts", "事实"), lines(facts)),
        (say!("Resumed", "接着回答"), resumed(session)),
        (already, lines(done)),
        (referents, references(session)),
        (say!("Recent conversation", "最近的对话"), lines(turns)),
        (
            say!("What is known of the task", "关于任务已知的内容"),
            task(session),
        ),
        (
            say!("What the person prefers", "用户的偏好"),
            preferences(session),
        ),
    ];
    let sections = sections.iter().filter(|(_, text)| !text.is_empty());
    let sections = sections.map(|(title, text)| format!("\n\n# {title}\n{text}"));
    trust() + &sections.collect::<String>()
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

fn turn(turn: &DialogueTurn) -> String {
    let by = match turn.by {
        Speaker::User => say!("person", "用户"),
        Speaker::Assistant => say!("desk", "交易台"),
    };
    say!("{by}: {}", "{by}：{}", turn.lasting())
}

/// Returns the preferences of the person, one a line.
pub fn preferences(session: &PlannerSession) -> String {
    let wishes = session.person.preferences.iter();
    lines(wishes.map(|(name, wish)| format!("{name}: {wish}")))
}

/// Returns the known state of the task. It is left out for questions that only a look-up can
/// answer, and for work that begins again.
fn task(session: &PlannerSession) -> String {
    let topics = intent::topics(session.goal());
    let is_live = topics.iter().any(|topic| topic.is_existence());
    if is_live || session.message.course == Course::Again || session.person.task.is_empty() {
        return String::new();
    }
    json!(session.person.task).to_string()
}

/// Returns the referents of words such as "it", as far as they are among the facts. A referent that
/// no longer exists is left out.
fn references(session: &PlannerSession) -> String {
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
fn resumed(session: &PlannerSession) -> String {
    let mut steps = session.work.steps.iter().rev();
    let is_answered =
        |step: &&WorkStep| step.draft.kind == StepKind::AskUser && step.ended_at.is_some();
    steps.find(is_answered).map_or(String::new(), |step| {
        let (question, reply) = (&step.draft.instruction, &step.output_summary);
        json!({ "question": question, "reply": reply }).to_string()
    })
}
