//! The action graph: a sequence of actions, as far as it goes without a person.
use std::future::ready;

use fugato::{
    Context, END, Graph, NodePolicy,
    agent::Toolbox,
    graph::{BoxError, Outcome},
    state::State as _,
};

use crate::{
    action::{self, TRIES, waits},
    deps::Deps,
    phase::Phase,
    settle::result_of,
    state::{GraphOutput, Steward, Update},
};

/// Builds the graph `action_checkpoint_load → action_execute_node → action_checkpoint_persist`. It
/// ends before a step that a person has to agree to, and is entered again after their consent in this
/// very thread.
pub fn action(deps: &Deps) -> Result<Graph<Steward>, BoxError> {
    let toolbox = action::toolbox(deps)?;
    let (_, step) = action::sequences(toolbox.clone()).into_nodes();
    let goes_on = {
        let toolbox = toolbox.clone();
        move |state: &Steward| {
            if state.actions.end.is_some() || waits(&toolbox, state) {
                "action_checkpoint_persist"
            } else {
                "action_execute_node"
            }
        }
    };
    let persist = move |cx: Context<Steward>| ready(persisted(&toolbox, cx.state()));
    let graph = Graph::<Steward>::starting_at("action_checkpoint_load")
        .node("action_checkpoint_load", load)
        .node("action_execute_node", step)
        .node("action_checkpoint_persist", persist)
        .branch("action_checkpoint_load", GOES_ON, goes_on.clone())
        .branch("action_execute_node", GOES_ON, goes_on)
        .edge("action_checkpoint_persist", END)
        .policy("action_execute_node", NodePolicy::default().attempts(TRIES));
    Ok(graph.build()?)
}

const GOES_ON: [&str; 2] = ["action_execute_node", "action_checkpoint_persist"];

/// Checks that the stored progress of the action is consistent. The next step is the first one that
/// is not done.
async fn load(cx: Context<Steward>) -> Result<Option<Update>, BoxError> {
    let actions = &cx.state().actions;
    if actions.steps.len() < actions.done.len() {
        return Err("more steps are done than there are".into());
    }
    cx.emit(Phase::Executing.event(cx.state().lang()));
    Ok(cx.state().copied_consent(cx.thread()))
}

/// Returns the result of the action, in the same record as the state that it belongs to.
fn persisted(toolbox: &Toolbox<Steward>, state: &Steward) -> Outcome<Update> {
    let outcome = Outcome::done([GraphOutput::of(state, result_of(&state.actions))]);
    if waits(toolbox, state) {
        return outcome.note(Phase::WaitingForConfirmation.event(state.lang()));
    }
    outcome
}
