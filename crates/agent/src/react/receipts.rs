//! The report and the last message of the present run.
use fugato_prompt::spoken;
use fugato_state::Role;
use fugato_tool::Access;

use crate::{Embeds, React, Toolbox, reply::RunReport};

/// Returns the report of the writes of the present run.
pub(super) fn report<S: Embeds<React>>(toolbox: &Toolbox<S>, state: &S) -> RunReport {
    let uses = state.part().run.uses.iter();
    RunReport::of(uses.filter(|used| toolbox.access(&used.name, state) == Some(Access::Write)))
        .titled(|tool| toolbox.title(tool))
}

/// Returns the person's last message.
pub(super) fn last_said(react: &React) -> &str {
    let history = &react.conversation.history;
    let asked = spoken(history).filter(|message| message.role == Role::User);
    asked.last().map_or("", |message| &message.content)
}
