use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_tool::Called;

use crate::{Carried, Embeds, React, ReactUpdate, ToolUse, Toolbox, toolbox::finished};

/// Carries out the calls of the last answer, and nothing else.
pub(super) struct Act<S: Embeds<React>>(pub(super) Toolbox<S>);

#[async_trait]
impl<S: Embeds<React>> Node<S> for Act<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let last = cx.state().part().conversation.history.last();
        let calls = last.map_or(vec![], |message| message.tool_calls.clone());
        match self.0.carry_out(&cx, &calls).await? {
            Carried::Asks(questions) => Ok(Outcome::Ask {
                memo: None,
                questions,
            }),
            Carried::Done(called) => Ok(outcome::<S>(called)),
        }
    }
}

fn outcome<S: Embeds<React>>(called: Vec<Called<S::Update>>) -> Outcome<S::Update> {
    let notes: Vec<_> = called.iter().map(finished).collect();
    let mut updates = vec![];
    for Called { call, result, .. } in called {
        let (id, status) = (call.id, result.status);
        let tool = ToolUse::new(call.name, call.arguments, result.text).status(status);
        updates.push(S::embed(ReactUpdate::Used { call: id, tool }));
        updates.extend(result.updates);
    }
    updates.push(S::embed(ReactUpdate::RoundEnded));
    let done = Outcome::done(updates);
    notes.into_iter().fold(done, Outcome::note)
}
