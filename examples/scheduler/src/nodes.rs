//! The nodes: one duty each, one file each. Where the thread goes next is said in `graph.rs`.
mod act;
mod chat;
mod confirm;
mod decide;
mod deliver;
mod execute;
mod judge;
mod keep;
mod plan;
mod quick_task;
mod rough_build;

use fugato::{
    graph::{BoxError, Context, Outcome},
    llm::{Contract, ModelError, Rejected},
    prompt::{correction, is_correction},
    state::{ConversationUpdate, Message, Role},
    stream::EventKind,
};
use serde::de::DeserializeOwned;

pub use act::Act;
pub use chat::Chat;
pub use confirm::confirm;
pub use decide::Decide;
pub use deliver::Deliver;
pub use execute::Execute;
pub use keep::Keep;
pub use plan::Plan;
pub use quick_task::QuickTask;
pub use rough_build::RoughBuild;

use crate::{
    agent::{Agent, Update},
    mind::{OnFailure, Spoken, status},
};

/// What the person wrote last.
fn request_text(agent: &Agent) -> String {
    let history = agent.conversation.history.iter().rev();
    let asked = history
        .into_iter()
        .find(|m| m.role == Role::User && !is_correction(m));
    asked.map_or(String::new(), |message| message.content.clone())
}

fn said(text: impl Into<String>) -> Update {
    Update::Talked(ConversationUpdate::Said(Message::assistant(text)))
}

/// Tells the reader how the last answer was taken. Returns what records that it was told.
fn announce(cx: &Context<Agent>) -> Vec<Update> {
    match &cx.state().run.announce {
        Some(code) => {
            let lang = cx.state().lang;
            let summary = match code.as_str() {
                "confirmed" => lang.pick("confirmed", "已确认"),
                "rejected" => lang.pick("rejected", "已拒绝"),
                _ => lang.pick("going on with your answer", "收到回答，继续"),
            };
            status(cx, code, summary);
            vec![Update::Announced]
        }
        None => vec![],
    }
}

/// What a stage made of a model's answer.
enum Heard<T> {
    /// A decision, and what was said with it.
    Decided(T, Spoken),
    /// An answer that breaks the contract.
    Rejected(Rejected),
    /// No answer.
    Failed(ModelError),
}

/// Reads what was said under a contract.
fn hear<T: DeserializeOwned>(
    answer: Result<Spoken, ModelError>,
    contract: &Contract<T>,
) -> Heard<T> {
    match answer {
        Ok(spoken) => match contract.read(&spoken.decision) {
            Ok(decision) => Heard::Decided(decision, spoken),
            Err(rejected) => Heard::Rejected(rejected),
        },
        Err(error) => Heard::Failed(error),
    }
}

/// The model is told what was wrong, unless it was told too often: then it is as if it had failed.
fn correct(
    cx: &Context<Agent>,
    rejected: &Rejected,
    max_corrections: u32,
) -> Result<Outcome<Update>, BoxError> {
    if cx.state().run.corrections + 1 >= max_corrections {
        return Err(format!(
            "{max_corrections} unusable answers in a row, the last one: {rejected}"
        )
        .into());
    }
    tracing::warn!(task = cx.task(), raw = rejected.raw, %rejected, "{}", illegal(rejected));
    cx.emit(EventKind::Correction {
        message: rejected.to_string(),
    });
    let [raw, _] = rejected.messages();
    let told = correction(&rejected.correction());
    let talked = [raw, told].map(|m| Update::Talked(ConversationUpdate::Said(m)));
    Ok(Outcome::done(talked.into_iter().chain([Update::Corrected])))
}

fn illegal(rejected: &Rejected) -> &'static str {
    match rejected.class {
        fugato::llm::RejectedClass::Sense => "execute decision illegal",
        _ => "execute decision unparsable",
    }
}

/// A stage goes on by rule, or not at all. Either way the trace says why.
fn fall_back(cx: &Context<Agent>, on_failure: OnFailure, why: BoxError) -> Result<(), BoxError> {
    if on_failure == OnFailure::Error {
        return Err(why);
    }
    tracing::warn!(task = cx.task(), why, "decided by rule");
    let data = serde_json::json!({ "task": cx.task(), "why": why.to_string() });
    cx.emit(EventKind::Custom {
        name: "decided_by_rule".into(),
        data,
    });
    Ok(())
}
