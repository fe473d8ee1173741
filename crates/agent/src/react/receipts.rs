//! What a run of the loop has written, for the reply.
use fugato_state::Role;
use fugato_tool::Access;

use crate::{Embeds, React, Report, Toolbox, spoken};

/// The writes of the present run.
pub(super) fn report<S: Embeds<React>>(toolbox: &Toolbox<S>, state: &S) -> Report {
    let uses = state.part().run.uses.iter();
    Report::of(uses.filter(|used| toolbox.access(&used.name, state) == Some(Access::Write)))
}

/// What the person said last.
pub(super) fn last_said(react: &React) -> &str {
    let history = &react.conversation.history;
    let asked = spoken(history).filter(|message| message.role == Role::User);
    asked.last().map_or("", |message| &message.content)
}
