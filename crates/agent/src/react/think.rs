use std::sync::Arc;

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, Node, Outcome};
use fugato_llm::{
    Ask, ChatModel, ChatRequest, DecisionStyle, ModelError, ModelErrorKind, RejectedAnswer,
    Settlement,
};
use fugato_prompt::spoken;
use fugato_state::{Message, ToolCall, say};
use fugato_stream::EventKind;
use fugato_tool::CatalogueDetail;

use super::{
    LoopOptions, Rules, StopReason,
    receipts::{last_said, report, writes},
    view::{flat, manual},
};
use crate::{
    Embeds, React, ReactUpdate, Toolbox,
    decision::{ModelFailure, settle_part},
    reply::{
        CallIds, SpeechOptions, StreamedAnswer, cut_mark, for_people, is_chinese, is_cut, overhear,
        show,
    },
};

/// The node that asks the model once for the next step. If there is no model or it does not answer,
/// rules decide.
pub(super) struct Think<S: Embeds<React>> {
    /// The stage of the requests: the name of the node.
    pub(super) stage: String,
    pub(super) model: Option<Arc<dyn ChatModel>>,
    pub(super) rules: Option<Arc<Rules>>,
    pub(super) toolbox: Toolbox<S>,
    pub(super) manner: Arc<LoopOptions<S>>,
}

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
        let Some(model) = self.asked(react) else {
            return self.ruled(cx, None, true);
        };
        let request = self.request(cx.state(), true);
        let answer = self.ask(cx, model, request.clone(), true).await;
        let is_shown = answer.as_ref().is_ok_and(|answer| answer.is_shown);
        let rejections = match &answer {
            // A silent loop corrects no words: the node after it writes the reply, and the facts
            // that were read get old.
            Ok(answer) if !self.manner.speaks && is_unfit(answer, &request) => 1,
            _ => self.manner.rejections,
        };
        let read = |answer: &StreamedAnswer| self.read(cx, answer, &request);
        let ask = Ask::reading(self.stage.as_str(), read).rejections(rejections);
        match settle_part(cx, &ask, &answer) {
            Settlement::Decided(message) => Ok(self.answered(cx, message, is_shown)),
            Settlement::Again(outcome) => Ok(outcome),
            Settlement::Failed(why) if self.rules.is_some() => {
                let failure = ModelFailure::of_no_answer(model.name(), &why);
                self.ruled(cx, Some(failure), true)
            }
            Settlement::Failed(why) => match why.rejected.last() {
                None => {
                    let kind = why.unanswered.as_ref().map(|error| error.kind);
                    self.unanswered(cx, kind, why.into())
                }
                Some(last) => {
                    tracing::warn!(task = cx.task(), %why, "loop stopped");
                    let [said, _] = last.messages();
                    let stopped = ReactUpdate::Stopped(StopReason::Unusable);
                    let updates = [ReactUpdate::Answered(said), stopped];
                    Ok(Outcome::done(updates.map(S::embed)))
                }
            },
        }
    }

    /// Returns the model, if there is one and it has not failed in this run.
    fn asked(&self, react: &React) -> Option<&dyn ChatModel> {
        let model = self.model.as_deref();
        model.filter(|_| react.run.failure.is_none())
    }

    /// Returns the outcome of an answer of the model. Words without calls become a reply.
    fn answered(
        &self,
        cx: &Context<S>,
        mut message: Message,
        is_shown: bool,
    ) -> Outcome<S::Update> {
        if message.tool_calls.is_empty() {
            message.content = self.replied(cx, &message.content, is_shown);
        } else if !is_shown && self.manner.speaks {
            show(cx, &message.content);
        }
        let proposed: Vec<_> = message.tool_calls.iter().map(proposed).collect();
        let done = Outcome::done([S::embed(ReactUpdate::Answered(message))]);
        proposed.into_iter().fold(done, Outcome::note)
    }

    /// Returns the reply for the last words of the model: with the report of the run, or with the
    /// line that nothing was written if they claim otherwise.
    fn replied(&self, cx: &Context<S>, words: &str, is_shown: bool) -> String {
        let state = cx.state();
        if !self.manner.speaks {
            return words.to_owned();
        }
        let (report, said) = (report(&self.toolbox, state), last_said(state.part()));
        let report = report.remembered(state.part().run.remembered);
        if !report.is_empty() && !is_shown {
            let reply = report.reply(words, said);
            show(cx, &reply);
            return reply;
        }
        if !is_shown {
            show(cx, words);
        }
        match report.remark(words, said) {
            Some(line) if self.toolbox.can_write(state) => {
                show(cx, line);
                format!("{words}\n\n{line}")
            }
            _ => words.to_owned(),
        }
    }

    /// Lets rules decide for the rest of the run. Their words repeat the results of tools, so in a
    /// run that wrote its report takes the place of those that are in it.
    fn ruled(
        &self,
        cx: &Context<S>,
        failure: Option<ModelFailure>,
        with_tools: bool,
    ) -> Result<Outcome<S::Update>, BoxError> {
        let (state, react) = (cx.state(), cx.state().part());
        let rules = self
            .rules
            .as_ref()
            .ok_or("there is neither a model nor a rule")?;
        let said = last_said(react);
        if let Some(failure) = &failure {
            failure.announce(cx, said);
        }
        // Corrections of the model are not for rules.
        let history = react.paired();
        let mut request = ChatRequest::new(spoken(&history).cloned());
        if with_tools {
            request = request.tools(self.toolbox.schemas(state));
        }
        let why = failure.as_ref().or(react.run.failure.as_ref());
        let mut message = self.named(cx, rules(&request, why));
        let report = report(&self.toolbox, state);
        if message.tool_calls.is_empty() && !report.is_empty() && self.manner.speaks {
            let writes = writes(&self.toolbox, state);
            let said_besides = writes.fold(message.content, |words, used| {
                words.replacen(used.for_people(), "", 1)
            });
            let lines = said_besides.lines().filter(|line| !line.trim().is_empty());
            let besides: Vec<&str> = lines.collect();
            message.content = report.lines(said);
            if !besides.is_empty() {
                message.content = format!("{}\n\n{}", message.content, besides.join("\n"));
            }
        }
        if self.manner.speaks {
            show(cx, &message.content);
        }
        let proposed: Vec<_> = message.tool_calls.iter().map(proposed).collect();
        let answered = ReactUpdate::Ruled { message, failure };
        let done = Outcome::done([S::embed(answered)]);
        Ok(proposed.into_iter().fold(done, Outcome::note))
    }

    /// Stops the run with an explanation, or returns the error.
    fn unanswered(
        &self,
        cx: &Context<S>,
        kind: Option<ModelErrorKind>,
        why: BoxError,
    ) -> Result<Outcome<S::Update>, BoxError> {
        if !self.manner.explains_silence {
            return Err(why);
        }
        tracing::warn!(task = cx.task(), %why, "loop stopped");
        let reason = match kind {
            Some(ModelErrorKind::TimedOut) => StopReason::TimedOut,
            _ => StopReason::Unanswered,
        };
        Ok(Outcome::done([S::embed(ReactUpdate::Stopped(reason))]))
    }

    /// Asks the model for an answer without tools. Calls in the answer are ignored.
    async fn answer(
        &self,
        cx: &Context<S>,
        reason: StopReason,
    ) -> Result<Outcome<S::Update>, BoxError> {
        let react = cx.state().part();
        let Some(model) = self.asked(react) else {
            return self.stopped(cx, None, reason);
        };
        let request = self.request(cx.state(), false);
        let answer = match self.ask(cx, model, request.clone(), false).await {
            Ok(answer) => answer,
            Err(error) if self.rules.is_some() => {
                let failure = ModelFailure::of(model.name(), &error);
                return self.stopped(cx, Some(failure), reason);
            }
            Err(error) => return self.unanswered(cx, Some(error.kind), error.into()),
        };
        let message = self.read(cx, &answer, &request);
        let mut message = message.unwrap_or_else(|_| {
            let text = &answer.response.message.content;
            let fit = for_people(text, &request).is_ok();
            Message::assistant(if fit { text.as_str() } else { "" })
        });
        message.tool_calls.clear();
        if !message.content.trim().is_empty() {
            message.content = self.replied(cx, &message.content, answer.is_shown);
        }
        let updates = [ReactUpdate::Answered(message), ReactUpdate::Stopped(reason)];
        Ok(Outcome::done(updates.map(S::embed)))
    }

    /// Lets rules answer without tools, and stops the run.
    fn stopped(
        &self,
        cx: &Context<S>,
        failure: Option<ModelFailure>,
        reason: StopReason,
    ) -> Result<Outcome<S::Update>, BoxError> {
        let mut ruled = self.ruled(cx, failure, false)?;
        if let Outcome::Done { updates, .. } = &mut ruled {
            updates.push(S::embed(ReactUpdate::Stopped(reason)));
        }
        Ok(ruled)
    }

    async fn ask(
        &self,
        cx: &Context<S>,
        model: &dyn ChatModel,
        request: ChatRequest,
        calls: bool,
    ) -> Result<StreamedAnswer, ModelError> {
        let native = self.manner.style == DecisionStyle::Native;
        // Once something was written, or was to be written, the words wait for the report.
        let speaks = self.manner.speaks && report(&self.toolbox, cx.state()).is_empty();
        let guarded = SpeechOptions {
            unseen: !(native && speaks),
            ids: (native && calls).then(|| call_ids(cx.state())),
            contracts: true,
        };
        overhear(cx, model, request, guarded).await
    }

    fn request(&self, state: &S, with_tools: bool) -> ChatRequest {
        let style = self.manner.style;
        let native = style == DecisionStyle::Native;
        let mut system = vec![(self.manner.system)(state)];
        if with_tools && !native {
            let catalogue = self.toolbox.catalogue(state, CatalogueDetail::Full);
            system.push(manual(style, &catalogue));
        }
        system.retain(|text| !text.is_empty());
        let history = state.part().paired();
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
            request = request.message(Message::user(say!(
                "No more tools can be called. Answer now, with what you know.",
                "不能再调用工具了。请用已知的信息现在就回答。"
            )));
        } else if native {
            request = request.tools(self.toolbox.schemas(state));
        }
        let context = &state.part().run.context;
        request.model.clone_from(&context.model);
        request.metadata.extend(context.metadata.clone());
        let request = request.metadata("stage", &self.stage);
        (self.manner.prepare)(state, self.manner.profile.apply(request))
    }

    /// Reads the answer as a message, with the calls of any style as tool calls.
    fn read(
        &self,
        cx: &Context<S>,
        answer: &StreamedAnswer,
        request: &ChatRequest,
    ) -> Result<Message, RejectedAnswer> {
        let (style, response) = (self.manner.style, &answer.response);
        let decision = style.read(response, "call-")?;
        let said = response.message.content.as_str();
        if decision.calls.is_empty() && decision.text.trim().is_empty() {
            let why = say!(
                "it says nothing: call a tool, or answer",
                "什么都没说：请调用工具，或者回答"
            );
            return Err(RejectedAnswer::sense(said, "", why));
        }
        if decision.calls.is_empty() {
            for_people(&decision.text, request)?;
        }
        let mut message = if style == DecisionStyle::Native {
            response.message.clone()
        } else {
            Message::assistant(decision.text)
        };
        if decision.calls.is_empty() && is_cut(response) && !answer.is_shown {
            let mark = cut_mark(is_chinese(&message.content));
            message.content.push_str(mark);
        }
        message.tool_calls = decision.calls;
        message.reasoning.clone_from(&response.message.reasoning);
        Ok(self.named(cx, message))
    }

    /// Returns a message whose calls have canonical names, and ids that are unique in the
    /// conversation.
    fn named(&self, cx: &Context<S>, mut message: Message) -> Message {
        let state = cx.state();
        let mut ids = call_ids(state);
        let calls = message.tool_calls.into_iter().map(|call| {
            let mut call = self.toolbox.canonical(call, state);
            call.id = ids.fresh(&call.id);
            call
        });
        message.tool_calls = calls.collect();
        message
    }
}

/// Returns true if an answer has no calls, and its text is not meant for people.
fn is_unfit(answer: &StreamedAnswer, request: &ChatRequest) -> bool {
    let message = &answer.response.message;
    message.tool_calls.is_empty() && for_people(&message.content, request).is_err()
}

/// Returns the ids of the calls in the conversation.
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
