use async_trait::async_trait;
use fugato::{
    BoxError, Context, Effect, EffectClass, Node, Outcome,
    agent::REMEMBERED,
    graph::{NotDone, Reconciled},
    memory::Notebook,
    tool::clip,
};
use serde_json::json;

use super::note;
use crate::{
    agent::{Agent, Update},
    deps::Deps,
    rules,
};

/// Writes down what the turn leaves: a line of the day's log, and what matters of what was said.
#[derive(Debug)]
pub struct Keep(pub Deps);

/// The section of `MEMORY.md` for what nobody asked to be remembered.
const NOTICED: &str = "Noticed";

#[async_trait]
impl Node<Agent> for Keep {
    async fn run(&self, cx: Context<Agent>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        let turn = &agent.turn;
        let when = self.0.jobs.clock().shown(turn.began_at);
        let (day, time) = when.split_once(' ').unwrap_or((&when, ""));
        // The thread and how much was said in it make the line one of a kind, so that it can be
        // looked for.
        let line = format!(
            "{time} [{} {}] {} → {}",
            cx.thread(),
            agent.conversation.history.len(),
            clip(&turn.request.text, 120),
            clip(&turn.answer, 200)
        );
        self.log(&cx, day.to_owned(), line).await?;
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

impl Keep {
    /// Adds a line to the log of a day: once, also where the process dies in between.
    async fn log(&self, cx: &Context<Agent>, day: String, line: String) -> Result<(), BoxError> {
        let notebook = self.0.desk.notebook.clone();
        let (there, sought) = (notebook.clone(), line.clone());
        let once = Effect::once().reconcile(move || async move {
            let files = there.files()?;
            let found = files.iter().any(|file| file.text.contains(&sought));
            Ok::<_, BoxError>(if found {
                Reconciled::Happened(())
            } else {
                Reconciled::DidNotHappen
            })
        });
        let input = (day.clone(), line.clone());
        let write = async move |_| write(&notebook, &day, &line);
        Ok(cx.effect("day", once, &input, write).await?)
    }
}

fn write(notebook: &Notebook, day: &str, line: &str) -> Result<(), BoxError> {
    notebook
        .log(day, line)
        .map_err(|error| BoxError::from(NotDone::because(error)))
}
