use async_trait::async_trait;
use fugato::graph::{BoxError, Context, Node, Outcome};

use super::{keep::commit, request_text, said};
use crate::{
    agent::{AgentState, Update},
    deps::Deps,
    keywords,
    llm_config::show,
    store::{MemoryNote, NoteKind, StoreWrite},
};

/// The node that keeps a note or a task to do, without a plan and a schedule.
#[derive(Debug)]
pub struct QuickTask(pub Deps);

#[async_trait]
impl Node<AgentState> for QuickTask {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let text = request_text(cx.state());
        let kind = if keywords::said(&text).quick_task {
            NoteKind::Task
        } else {
            NoteKind::Note
        };
        // "Make a note: milk" keeps "milk"; without a colon, the whole request is the note.
        let note = text
            .split_once([':', '：'])
            .map_or(text.as_str(), |(_, note)| note)
            .trim();
        if let Some(calendars) = &self.0.calendars {
            let text = note.to_owned();
            commit(calendars, &cx, StoreWrite::Note(MemoryNote { kind, text })).await?;
        }
        let lang = cx.state().lang;
        let reply = match kind {
            NoteKind::Note => lang.pick(format!("Noted: {note}"), format!("已记下：{note}")),
            NoteKind::Task => lang.pick(format!("To do: {note}"), format!("已记为待办：{note}")),
        };
        show(&cx, &reply);
        let noted = Update::Noted(note.to_owned());
        Ok(Outcome::done([noted, said(reply)]))
    }
}
