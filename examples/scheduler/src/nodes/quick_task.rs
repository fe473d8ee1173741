use async_trait::async_trait;
use fugato::{
    graph::{BoxError, Context, Node, Outcome},
    state::say,
};

use super::{keep::commit, request_text, said};
use crate::{
    agent::{AgentState, Update},
    deps::Deps,
    llm_config::show,
    store::{MemoryNote, NoteKind, StoreReceipt, StoreWrite},
    understand::note,
};

/// The node that keeps a note, a task to do or a reminder, without a plan and a schedule.
#[derive(Debug)]
pub struct QuickTask(pub Deps);

#[async_trait]
impl Node<AgentState> for QuickTask {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let agent = cx.state();
        // A model that chose this route leaves the reading to the rules.
        let errand = match &agent.run.errand {
            Some(errand) => errand.clone(),
            None => StoreWrite::Note(note(&request_text(agent))),
        };
        let mut receipt = StoreReceipt::Stored;
        if let Some(calendars) = &self.0.calendars {
            receipt = commit(calendars, &cx, errand.clone()).await?;
        }
        let reply = told(&errand, &receipt);
        show(&cx, &reply);
        let mut updates = vec![said(reply)];
        if let StoreWrite::Note(MemoryNote { text, .. }) = errand {
            updates.push(Update::Noted(text));
        }
        Ok(Outcome::done(updates))
    }
}

/// Returns what became of an errand.
pub(crate) fn told(errand: &StoreWrite, receipt: &StoreReceipt) -> String {
    match receipt {
        StoreReceipt::Conflict(conflict) => say!(
            "Nothing was changed: {conflict}. Say it again.",
            "没有改动任何内容：{conflict}。请再说一次。"
        ),
        _ => reply(errand),
    }
}

/// Returns what was kept, and for a reminder what reminds.
pub(crate) fn reply(errand: &StoreWrite) -> String {
    match errand {
        StoreWrite::Note(MemoryNote {
            kind: NoteKind::Note,
            text,
        }) => say!("Noted: {text}", "已记下：{text}"),
        StoreWrite::Note(MemoryNote { text, .. }) => say!(
            "To do: {text}. No time was named, so nothing reminds you of it.",
            "已记为待办：{text}。没有说时间，所以不会提醒。"
        ),
        StoreWrite::Remind(reminder) | StoreWrite::Correct { to: reminder, .. } => {
            let text = &reminder.text;
            let due = reminder
                .due
                .map(|due| due.strftime("%Y-%m-%d %H:%M").to_string());
            let due = due.unwrap_or_default();
            say!(
                "Reminder: {text}, {due}. Nothing rings: I show it with my first answer from then on, and when you ask for your reminders.",
                "提醒：{text}，{due}。我不会响铃：从那时起，你下次和我说话时会先显示，也可以随时问“有哪些提醒”。"
            )
        }
        StoreWrite::Forget { notes, reminders } if notes.len() + reminders.len() > 1 => {
            let count = notes.len() + reminders.len();
            say!("All {count} are removed.", "已全部删除，共 {count} 条。")
        }
        StoreWrite::Seen { wanted, .. } => reply(wanted),
        _ => say!("It is removed.", "已删除。"),
    }
}
