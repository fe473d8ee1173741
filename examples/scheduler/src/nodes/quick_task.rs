use fugato::{
    graph::{BoxError, Context},
    prompt::is_correction,
    state::Role,
};

use super::said;
use crate::{
    agent::{Agent, Update},
    mind::show,
};

/// Keeps a note. A short errand that needs no plan and no schedule.
pub async fn quick_task(cx: Context<Agent>) -> Result<Vec<Update>, BoxError> {
    let history = &cx.state().conversation.history;
    let asked = history
        .iter()
        .rev()
        .find(|m| m.role == Role::User && !is_correction(m));
    let text = asked.map_or("", |message| message.content.as_str());
    // "Make a note: milk" keeps "milk"; without a colon, the whole request is the note.
    let note = text
        .split_once([':', '：'])
        .map_or(text, |(_, note)| note)
        .trim();
    let reply = cx
        .state()
        .lang
        .pick(format!("Noted: {note}"), format!("已记下：{note}"));
    show(&cx, &reply);
    Ok(vec![Update::Noted(note.to_owned()), said(reply)])
}
