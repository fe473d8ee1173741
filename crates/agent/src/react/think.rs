use std::sync::Arc;

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_llm::{
    ChatModel, ChatRequest, ChatResponse, DecisionStyle, ModelError, ModelErrorKind, Rejected,
};
use fugato_state::{Message, ToolCall};
use fugato_stream::EventKind;
use fugato_tool::Detail;

use super::{
    Manner,
    state::CANCELLED,
    view::{flat, manual},
};
use crate::{
    Embeds, React, ReactUpdate, Shown, StopReason, Toolbox,
    correction::Taken,
    show,
    speech::{CallIds, overhear},
};

/// Asks the model what to do next: exactly once.
pub(super) struct Think<S: Embeds<React>> {
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) toolbox: Toolbox<S>,
    pub(super) manner: Arc<Manner<S>>,
}

/// What the model is told when it is asked without tools.
const ANSWER_NOW: &str = "No more tools can be called. Answer now, with what you know.";

#[async_trait]
impl<S: Embeds<React>> Node<S> for Think<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let run = &cx.state().part().run;
        let stop = if run.current_step >= run.max_steps {
            Some(StopReason::MaxSteps)
        } else {
            let cycle = self.manner.detector.find(&run.uses);
            cycle.map(|_| StopReason::LoopDetected)
        };
        match stop {
            None => self.decide(&cx).await,
            Some(StopReason::LoopDetected) if !self.manner.answers_after_loop => {
                let stopped = ReactUpdate::Stopped(StopReason::LoopDetected);
                Ok(Outcome::done([S::embed(stopped)]))
            }
            Some(reason) => self.answer(&cx, reason).await,
        }
    }
}

impl<S: Embeds<React>> Think<S> {
    async fn decide(&self, cx: &Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let react = cx.state().part();
        let request = self.request(cx.state(), true);
        let answer = self.ask(cx, request, true).await;
        let (so_far, history) = (react.run.corrections, &react.conversation.history);
        let read = |response: ChatResponse| self.read(cx, &response);
        let corrections = self.manner.corrections;
        match corrections.take(cx, so_far, history, answer, read) {
            Taken::Decided(message) => {
                let proposed: Vec<_> = message.tool_calls.iter().map(proposed).collect();
                let done = Outcome::done([S::embed(ReactUpdate::Answered(message))]);
                Ok(proposed.into_iter().fold(done, Outcome::note))
            }
            Taken::Again(pair) => Ok(Outcome::done([S::embed(ReactUpdate::Corrected(pair))])),
            Taken::Undecided(why) => match &why.last {
                None => {
                    let kind = why.unanswered.as_ref().map(|error| error.kind);
                    self.unanswered(cx, kind, why.into())
                }
                Some(last) => {
                    tracing::warn!(task = cx.task(), %why, "{}", crate::log_key::THE_RUN_STOPS);
                    let [said, _] = last.messages();
                    let stopped = ReactUpdate::Stopped(StopReason::Unusable);
                    let updates = [ReactUpdate::Answered(said), stopped];
                    Ok(Outcome::done(updates.map(S::embed)))
                }
            },
        }
    }

    /// The model has not answered: that is told, or the run fails.
    fn unanswered(
        &self,
        cx: &Context<S>,
        kind: Option<ModelErrorKind>,
        why: BoxError,
    ) -> Result<Outcome<S::Update>, BoxError> {
        if !self.manner.explains_silence {
            return Err(why);
        }
        tracing::warn!(task = cx.task(), %why, "{}", crate::log_key::THE_RUN_STOPS);
        let reason = match kind {
            Some(ModelErrorKind::TimedOut) => StopReason::TimedOut,
            _ => StopReason::Unanswered,
        };
        Ok(Outcome::done([S::embed(ReactUpdate::Stopped(reason))]))
    }

    /// Without tools the model has to answer. What it calls all the same is left out.
    async fn answer(
        &self,
        cx: &Context<S>,
        reason: StopReason,
    ) -> Result<Outcome<S::Update>, BoxError> {
        let request = self.request(cx.state(), false);
        let response = match self.ask(cx, request, false).await {
            Ok(response) => response,
            Err(error) => return self.unanswered(cx, Some(error.kind), error.into()),
        };
        let read = self.read(cx, &response);
        let mut message = read.unwrap_or_else(|_| response.message.clone());
        message.tool_calls.clear();
        let updates = [ReactUpdate::Answered(message), ReactUpdate::Stopped(reason)];
        Ok(Outcome::done(updates.map(S::embed)))
    }

    async fn ask(
        &self,
        cx: &Context<S>,
        request: ChatRequest,
        calls: bool,
    ) -> Result<ChatResponse, ModelError> {
        let native = self.manner.style == DecisionStyle::Native;
        let shown = if native { Shown::All } else { Shown::Reasoning };
        let ids = (native && calls).then(|| call_ids(cx.state()));
        overhear(cx, &*self.model, request, shown, ids).await
    }

    fn request(&self, state: &S, with_tools: bool) -> ChatRequest {
        let style = self.manner.style;
        let native = style == DecisionStyle::Native;
        let mut system = vec![(self.manner.system)(state)];
        if with_tools && !native {
            let catalogue = self.toolbox.catalogue(state, Detail::Full);
            system.push(manual(style, &catalogue));
        }
        system.retain(|text| !text.is_empty());
        let history = state.part().conversation.paired(CANCELLED);
        let history = if native {
            history
        } else {
            flat(style, history)
        };
        let system = (!system.is_empty()).then(|| Message::system(system.join("\n\n")));
        let pinned = state.part().conversation.pinned.iter();
        let pinned = pinned.map(|block| Message::system(block.text.clone()));
        let mut request = ChatRequest::new(system.into_iter().chain(pinned).chain(history));
        if !with_tools {
            request = request.message(Message::user(ANSWER_NOW));
        } else if native {
            request = request.tools(self.toolbox.schemas(state));
        }
        self.manner
            .profile
            .apply(request.metadata("stage", super::AGENT))
    }

    /// The answer as a message: whatever the style, calls are calls, under ids that no other call
    /// of the conversation has.
    fn read(&self, cx: &Context<S>, response: &ChatResponse) -> Result<Message, Rejected> {
        let style = self.manner.style;
        let decision = style.read(response, "call-")?;
        if decision.calls.is_empty() && decision.text.trim().is_empty() {
            let said = response.message.content.as_str();
            return Err(Rejected::sense(
                said,
                "",
                "it says nothing: call a tool, or answer",
            ));
        }
        let state = cx.state();
        let mut ids = call_ids(state);
        let calls = decision.calls.into_iter().map(|call| {
            let mut call = self.toolbox.canonical(call, state);
            call.id = ids.fresh(&call.id);
            call
        });
        let mut message = if style == DecisionStyle::Native {
            response.message.clone()
        } else {
            show(cx, &decision.text);
            Message::assistant(decision.text)
        };
        message.tool_calls = calls.collect();
        message.reasoning.clone_from(&response.message.reasoning);
        Ok(message)
    }
}

/// The ids that calls of the conversation have.
fn call_ids<S: Embeds<React>>(state: &S) -> CallIds {
    let history = &state.part().conversation.history;
    let calls = history.iter().flat_map(|message| &message.tool_calls);
    calls.map(|call| call.id.clone()).collect()
}

fn proposed(call: &ToolCall) -> EventKind {
    EventKind::ToolCallProposed {
        call: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
    }
}
