use fugato::graph::{BoxError, Context};

use super::{request_text, said};
use crate::{
    agent::{Agent, Update},
    mind::show,
};

/// Keeps a note. A short errand that needs no plan and no schedule.
pub async fn quick_task(cx: Context<Agent>) -> Result<Vec<Update>, BoxError> {
    let text = request_text(cx.state());
    // "Make a note: milk" keeps "milk"; without a colon, the whole request is the note.
    let note = text
        .split_once([':', '：'])
        .map_or(text.as_str(), |(_, note)| note)
        .trim();
    let reply = cx
        .state()
        .lang
        .pick(format!("Noted: {note}"), format!("已记下：{note}"));
    show(&cx, &reply);
    Ok(vec![Update::Noted(note.to_owned()), said(reply)])
}
