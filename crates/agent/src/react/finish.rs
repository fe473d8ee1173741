use std::sync::Arc;

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_state::{ConversationUpdate, Message, Role};
use fugato_stream::EventKind;

use super::Manner;
use crate::{Embeds, React, ReactMetadata, ReactUpdate, StopReason, show};

/// Says what the run came to. There is always something to say.
pub(super) struct Finish<S>(pub(super) Arc<Manner<S>>);

#[async_trait]
impl<S: Embeds<React>> Node<S> for Finish<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let react = cx.state().part();
        let mut reply = react.reply();
        reply.final_reply = said(react);
        let mut updates = vec![];
        if let Some(reason) = react.run.stop_reason
            && reply.final_reply.trim().is_empty()
        {
            reply.final_reply = (self.0.explain)(reason, &reply.metadata);
            show(&cx, &reply.final_reply);
            let told = Message::assistant(reply.final_reply.clone());
            updates.push(S::embed(ReactUpdate::Talked(ConversationUpdate::Said(
                told,
            ))));
        }
        let final_reply = reply.final_reply.clone();
        updates.push(S::embed(ReactUpdate::Finished { final_reply }));
        let told = EventKind::Custom {
            name: "final".into(),
            data: serde_json::to_value(&reply)?,
        };
        Ok(Outcome::done(updates).note(told))
    }
}

/// The model's last words; none if they could not be used, or came with calls.
fn said(react: &React) -> String {
    let unusable = react.run.stop_reason == Some(StopReason::Unusable);
    let last = react.conversation.history.last();
    let last = last.filter(|message| message.role == Role::Assistant && !unusable);
    last.map_or(String::new(), |message| message.content.clone())
}

/// What the person is told when the model has said nothing.
pub(super) fn explain(reason: StopReason, metadata: &ReactMetadata) -> String {
    let why = match reason {
        StopReason::LoopDetected => "the same steps came again and again without anything new",
        StopReason::MaxSteps => "it took more steps than I may take",
        StopReason::Unusable => "I could not put the next step into a usable form",
    };
    let tools = match &metadata.tools_used[..] {
        [] => String::new(),
        tools => format!(" I used {}.", tools.join(", ")),
    };
    format!("I stopped before I was done: {why}.{tools}")
}
