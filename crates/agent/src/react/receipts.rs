//! The report and the last message of the present run.
use fugato_prompt::spoken;
use fugato_state::Role;
use fugato_tool::Access;

use crate::{Embeds, React, Toolbox, reply::RunReport, toolbox::ToolUse};

/// Returns the report of the writes of the present run.
pub(super) fn report<S: Embeds<React>>(toolbox: &Toolbox<S>, state: &S) -> RunReport {
    RunReport::of(writes(toolbox, state)).titled(|tool| toolbox.title(tool))
}

/// Returns the calls of the present run that write.
pub(super) fn writes<'s, S: Embeds<React>>(
    toolbox: &'s Toolbox<S>,
    state: &'s S,
) -> impl Iterator<Item = &'s ToolUse> {
    let uses = state.part().run.uses.iter();
    uses.filter(|used| toolbox.access(&used.name, state) == Some(Access::Write))
}

/// Returns the person's last message.
pub(super) fn last_said(react: &React) -> &str {
    let history = &react.conversation.history;
    let asked = spoken(history).filter(|message| message.role == Role::User);
    asked.last().map_or("", |message| &message.content)
}
