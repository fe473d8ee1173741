use std::sync::Arc;

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_state::{ConversationUpdate, Message, Role};

use super::{
    LoopOptions, StopReason,
    receipts::{last_said, report},
};
use crate::{
    Embeds, React, ReactUpdate, Toolbox,
    reply::{amid_a_line, show},
    text::custom,
};

/// The node that ends a run with a reply, which is never empty.
pub(super) struct Finish<S: Embeds<React>>(pub(super) Arc<LoopOptions<S>>, pub(super) Toolbox<S>);

#[async_trait]
impl<S: Embeds<React>> Node<S> for Finish<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let react = cx.state().part();
        let mut reply = react.reply();
        let handoff = react.run.handoff.as_ref();
        reply.final_reply = handoff.map_or_else(|| said(react), |handoff| handoff.text.clone());
        let mut updates = vec![];
        if let Some(reason) = react.run.stop_reason
            && handoff.is_none()
            && reply.final_reply.trim().is_empty()
        {
            let asked = last_said(react);
            let mut called = reply.metadata.clone();
            for tool in &mut called.tools_used {
                if let Some(title) = self.1.title(tool) {
                    *tool = amid_a_line(title);
                }
            }
            called.tools_used.dedup();
            reply.final_reply = (self.0.words)(asked, reason, &called);
            if self.0.speaks {
                let lines = report(&self.1, cx.state()).lines(asked);
                let gap = if lines.is_empty() { "" } else { "\n\n" };
                reply.final_reply = format!("{lines}{gap}{}", reply.final_reply);
                show(&cx, &reply.final_reply);
            }
            let told = Message::assistant(reply.final_reply.clone());
            updates.push(S::embed(ReactUpdate::Talked(ConversationUpdate::Said(
                told,
            ))));
        }
        let final_reply = reply.final_reply.clone();
        updates.push(S::embed(ReactUpdate::Finished { final_reply }));
        let told = custom("final", serde_json::to_value(&reply)?);
        Ok(Outcome::done(updates).note(told))
    }
}

/// Returns the model's last words; empty if they were unusable, or if tools were called after them.
fn said(react: &React) -> String {
    use StopReason::{TimedOut, Unanswered, Unusable};
    let silent = matches!(
        react.run.stop_reason,
        Some(Unusable | TimedOut | Unanswered)
    );
    let last = react.conversation.history.last();
    let last = last.filter(|message| message.role == Role::Assistant && !silent);
    last.map_or(String::new(), |message| message.content.clone())
}
