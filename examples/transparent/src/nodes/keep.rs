use async_trait::async_trait;
use fugato::{
    BoxError, Context, EffectClass, Node, Outcome,
    agent::memory::{REMEMBERED, log_once},
    tool::clip,
};
use serde_json::json;

use super::note;
use crate::{
    agent::{AgentState, Update},
    deps::Deps,
    rules,
};

/// The node that stores a line in the day's log, and the important words of the person.
#[derive(Debug)]
pub struct KeepNode(pub Deps);

/// The mark between a request and its answer in the log of a day.
const ANSWER: &str = " → ";

/// Returns true for a line that this agent has logged: a time, a conversation and an answer.
pub(super) fn is_own(line: &str) -> bool {
    let timed = line.strip_prefix("- ").filter(|line| {
        let mut begin = line.chars();
        begin.next().is_some_and(|c| c.is_ascii_digit()) && begin.nth(1) == Some(':')
    });
    timed.is_some_and(|line| line.contains(" [") && line.contains(ANSWER))
}

/// The section of `MEMORY.md` for notes that the person did not ask for.
const NOTICED: &str = "Noticed";

#[async_trait]
impl Node<AgentState> for KeepNode {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let turn = &agent.turn;
        let when = self.0.jobs.clock().shown(turn.began_at);
        let (day, time) = when.split_once(' ').unwrap_or((&when, ""));
        // The thread and the number of its messages make the line unique, so that it can be
        // searched for.
        let said = if rules::wants_no_record(&turn.request.text) {
            "…".to_owned()
        } else {
            clip(&turn.request.text, 120)
        };
        let mut line = format!(
            "{time} [{} {}] {said}{ANSWER}{}",
            cx.thread(),
            agent.conversation.history.len(),
            clip(&turn.answer, 200)
        );
        let read = turn.done().filter(|made| made.call.name == "read_file");
        let sources = read.filter_map(|made| made.call.arguments.get("path")?.as_str());
        let sources: Vec<&str> = sources.collect();
        if !sources.is_empty() {
            line = format!("{line} (from {})", sources.join(", "));
        }
        log_once(&cx, &self.0.desk.notebook, day, &line).await?;
        let done = Outcome::done([]);
        let Some(noticed) = rules::worth_keeping(turn) else {
            return Ok(done);
        };
        let notebook = self.0.desk.notebook.clone();
        let text = noticed.to_owned();
        let kept = async move |_| notebook.remember(NOTICED, &text);
        cx.effect("notice", EffectClass::Idempotent, &noticed, kept)
            .await?;
        Ok(done.note(note(
            REMEMBERED,
            json!({ "note": noticed, "section": NOTICED }),
        )))
    }
}
