//! The nodes: one duty each, one file each. `graph.rs` defines the order.
mod act;
mod chat;
mod confirm;
mod decide;
mod deliver;
mod execute;
mod fresh;
mod judge;
mod keep;
mod plan;
mod quick_task;
mod rough_build;
mod understood;

use fugato::{
    agent::decision::CorrectionState,
    graph::Context,
    llm::{RejectedAnswer, TaggedAnswer},
    prompt::is_correction,
    state::say,
    state::{ConversationUpdate, Message, Role},
};

pub use act::Act;
pub use chat::Chat;
pub use confirm::confirm;
pub use decide::Decide;
pub use deliver::Deliver;
pub use execute::Execute;
pub use keep::PersistNode;
pub use plan::PlanNode;
pub use quick_task::QuickTask;
pub(crate) use quick_task::{reply as errand_reply, told as errand_told};
pub use rough_build::RoughBuildNode;

use crate::{
    agent::{AgentState, Update},
    failure,
    llm_config::{receipts, status},
    prose::{self, ProseError},
};

/// Returns the last message that the person wrote.
fn request_text(agent: &AgentState) -> String {
    let history = agent.conversation.history.iter().rev();
    let asked = history
        .into_iter()
        .find(|m| m.role == Role::User && !is_correction(m));
    asked.map_or(String::new(), |message| message.content.clone())
}

fn said(text: impl Into<String>) -> Update {
    Update::Talked(ConversationUpdate::Said(Message::assistant(text)))
}

/// Shows the reader how the last answer was interpreted. Returns the updates that record it.
fn announce(cx: &Context<AgentState>) -> Vec<Update> {
    match &cx.state().run.announce {
        Some(code) => {
            let summary = match code.as_str() {
                "confirmed" => say!("confirmed", "已确认"),
                "rejected" => say!("rejected", "已拒绝"),
                _ => say!("going on with your answer", "收到回答，继续"),
            };
            status(cx, code, summary);
            found(cx);
            vec![Update::Announced]
        }
        None => vec![],
    }
}

/// Shows the reader that a question follows.
fn asking(cx: &Context<AgentState>) {
    let summary = say!("a question for you", "有一个问题");
    status(cx, "ask_user", summary);
}

/// The correction of a stage that cannot use an answer: the stage gets the reason and runs again.
impl CorrectionState for AgentState {
    fn corrections(&self) -> u32 {
        self.run.corrections
    }

    fn correction_words(&self, rejected: &RejectedAnswer) -> String {
        failure::corrected(rejected)
    }

    fn corrected(pair: [Message; 2]) -> Vec<Update> {
        let told = pair.map(|message| Update::Talked(ConversationUpdate::Said(message)));
        told.into_iter().chain([Update::Corrected]).collect()
    }
}

/// Checks the texts of a decision for the person: no content outside of the contract, and no claim
/// of an action without a receipt.
fn check_words(
    agent: &AgentState,
    spoken: &TaggedAnswer,
    words: &[(&str, &str)],
) -> Result<(), RejectedAnswer> {
    let receipts = receipts(agent);
    let refuse = |path: &str, why: ProseError| {
        RejectedAnswer::sense(&spoken.decision, path, why.to_string())
    };
    if spoken.held_back && spoken.after.trim().is_empty() {
        return Err(refuse("", ProseError::Echo));
    }
    for (path, text) in words {
        prose::check(text, &receipts).map_err(|why| refuse(path, why))?;
    }
    Ok(())
}

/// Checks the other texts of a decision: they may mention future actions, but must not repeat a
/// prompt.
fn check_notes(spoken: &TaggedAnswer, notes: &[(&str, &str)]) -> Result<(), RejectedAnswer> {
    let echo = notes.iter().find(|(_, text)| prose::is_echo(text));
    match echo {
        Some((path, _)) => Err(RejectedAnswer::sense(
            &spoken.decision,
            *path,
            ProseError::Echo.to_string(),
        )),
        None => Ok(()),
    }
}

/// Logs the state of the conversation when a request or an answer arrives.
fn found(cx: &Context<AgentState>) {
    let agent = cx.state();
    let (messages, phase) = (agent.conversation.history.len(), agent.phase);
    let (thread, run) = (cx.thread(), cx.run());
    tracing::debug!(
        %thread,
        %run,
        messages,
        ?phase,
        "load or create runtime state"
    );
}
