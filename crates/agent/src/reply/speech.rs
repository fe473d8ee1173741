//! Streaming of a model's answer.
use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use fugato_graph::{BudgetUnit, Context};
use fugato_llm::{
    ChatDelta, ChatModel, ChatModelExt as _, ChatRequest, ChatResponse, DeltaStream, FinishReason,
    ModelError, ToolCallDelta,
};
use fugato_state::{Role, State};
use fugato_stream::{EventKind, Text};
use futures::StreamExt as _;

use super::wording::{cut_mark, is_chinese, marked, may_be_contract};
use crate::decision::announce_backup;

/// Asks a model, and streams the answer as it comes. Its cost counts towards the run's budgets.
/// Calls of tools are not streamed.
pub async fn ask<S: State>(
    cx: &Context<S>,
    model: &dyn ChatModel,
    request: ChatRequest,
) -> Result<ChatResponse, ModelError> {
    let heard = overhear(cx, model, request, SpeechOptions::default()).await?;
    Ok(heard.response)
}

/// Does the same as [`ask`], but streams only the reasoning, as the text is not for people.
pub async fn ask_unseen<S: State>(
    cx: &Context<S>,
    model: &dyn ChatModel,
    request: ChatRequest,
) -> Result<ChatResponse, ModelError> {
    let unseen = SpeechOptions {
        unseen: true,
        ..SpeechOptions::default()
    };
    let heard = overhear(cx, model, request, unseen).await?;
    Ok(heard.response)
}

/// The options for streaming an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct SpeechOptions {
    /// True if only the reasoning is streamed.
    pub(crate) unseen: bool,
    /// The ids that are taken; if given, the arguments of calls are streamed under fresh ids.
    pub(crate) ids: Option<CallIds>,
    /// True if text that may be for programs is held back until it is complete.
    pub(crate) contracts: bool,
}

/// An answer with a flag that is true if its text was streamed.
#[derive(Debug)]
pub(crate) struct StreamedAnswer {
    pub(crate) response: ChatResponse,
    pub(crate) is_shown: bool,
}

/// Does the same as [`ask`], with options.
pub(crate) async fn overhear<S: State>(
    cx: &Context<S>,
    model: &dyn ChatModel,
    request: ChatRequest,
    guarded: SpeechOptions,
) -> Result<StreamedAnswer, ModelError> {
    cx.spend(BudgetUnit::ModelCalls, 1);
    let said = last_said(&request).to_owned();
    let heard = StreamingModel {
        cx,
        model,
        guarded,
        held: Arc::default(),
    };
    let mut response = heard.complete(request).await?;
    announce_backup(cx, &response.attempts, &said);
    if let Some(usage) = response.usage {
        cx.spend(BudgetUnit::Tokens, usage.total());
    }
    let is_shown = !heard.guarded.unseen && !heard.held.load(Ordering::Relaxed);
    if is_shown {
        response.message.content = marked(&response);
    }
    Ok(StreamedAnswer { response, is_shown })
}

/// Returns the last message of a user in a request.
pub(crate) fn last_said(request: &ChatRequest) -> &str {
    let mut asked = request.messages.iter().rev();
    let asked = asked.find(|message| message.role == Role::User);
    asked.map_or("", |message| &message.content)
}

/// Streams a complete text as one block.
pub fn show<S: State>(cx: &Context<S>, text: &str) {
    if !text.trim().is_empty() {
        Speech::new(cx).text(text);
    }
}

/// A model whose answer is streamed while it comes.
struct StreamingModel<'a, S> {
    cx: &'a Context<S>,
    model: &'a dyn ChatModel,
    guarded: SpeechOptions,
    held: Arc<AtomicBool>,
}

#[async_trait]
impl<S: State> ChatModel for StreamingModel<'_, S> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let shown = !self.guarded.unseen;
        let mut speech = Speech::new(self.cx);
        let mut calls = self.guarded.ids.clone().map(CallStream::new);
        let mut text = Passage::new(self.guarded.contracts, Arc::clone(&self.held));
        let deltas = self.model.stream(request).await?;
        let heard = deltas.inspect(move |delta| match delta {
            Ok(ChatDelta::Text(more)) if shown => {
                text.more(more, &mut speech);
            }
            Ok(ChatDelta::Finish(FinishReason::Length)) if shown => {
                text.cut(&mut speech);
            }
            Ok(ChatDelta::Reasoning(text)) => speech.reasoning(text),
            Ok(ChatDelta::ToolCall(piece)) => {
                if let Some(calls) = &mut calls {
                    calls.piece(piece, &mut speech);
                }
            }
            _ => {}
        });
        Ok(heard.boxed())
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}

/// The text of one answer: it is streamed as it comes, but text that may be for programs is held
/// back.
struct Passage {
    text: String,
    passes: bool,
    held: Arc<AtomicBool>,
}

impl Passage {
    fn new(guarded: bool, held: Arc<AtomicBool>) -> Self {
        Self {
            text: String::new(),
            passes: !guarded,
            held,
        }
    }

    fn more<S: State>(&mut self, more: &str, speech: &mut Speech<S>) {
        self.text.push_str(more);
        if self.passes {
            speech.text(more);
            return;
        }
        self.passes = !may_be_contract(&self.text);
        self.held.store(!self.passes, Ordering::Relaxed);
        if self.passes {
            speech.text(&self.text);
        }
    }

    /// Marks streamed text after the model has reached its limit.
    fn cut<S: State>(&self, speech: &mut Speech<S>) {
        if self.passes && !self.text.trim().is_empty() {
            speech.text(cut_mark(is_chinese(&self.text)));
        }
    }
}

/// The ids of the calls in a conversation. Servers and models repeat ids, but a result must belong
/// to one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallIds(HashSet<String>);

impl CallIds {
    /// Returns the id if it is free, or else the id with the first number that makes it unique.
    pub(crate) fn fresh(&mut self, id: &str) -> String {
        let mut fresh = id.to_owned();
        let mut n = 2_u32;
        while self.0.contains(&fresh) {
            fresh = format!("{id}.{n}");
            n += 1;
        }
        self.0.insert(fresh.clone());
        fresh
    }
}

impl FromIterator<String> for CallIds {
    fn from_iter<I: IntoIterator<Item = String>>(taken: I) -> Self {
        Self(taken.into_iter().collect())
    }
}

/// The calls of one answer, while they come.
struct CallStream {
    ids: CallIds,
    calls: HashMap<usize, PartialCall>,
}

/// The part of a call that has come so far.
#[derive(Default)]
struct PartialCall {
    id: String,
    name: String,
    /// The id and the name that are streamed.
    shown: Option<[Text; 2]>,
}

impl CallStream {
    fn new(ids: CallIds) -> Self {
        Self {
            ids,
            calls: HashMap::new(),
        }
    }

    /// Streams more of a call. A name may come in pieces, and is complete once arguments come.
    fn piece<S: State>(&mut self, piece: &ToolCallDelta, speech: &mut Speech<S>) {
        let call = self.calls.entry(piece.index).or_default();
        if let Some(id) = piece.id.as_ref().filter(|id| !id.is_empty()) {
            call.id.clone_from(id);
        }
        call.name
            .push_str(piece.name.as_deref().unwrap_or_default());
        if piece.arguments.is_empty() || call.id.is_empty() {
            return;
        }
        let ids = &mut self.ids;
        let (id, name) = (&call.id, &call.name);
        let [id, name] = call
            .shown
            .get_or_insert_with(|| [ids.fresh(id).into(), name.as_str().into()]);
        speech.call(id, name, &piece.arguments);
    }
}

/// The stream blocks of one answer: reasoning, then text. They are closed on drop, also after an
/// answer that broke off.
#[derive(Debug)]
pub(crate) struct Speech<S: State> {
    cx: Context<S>,
    block: Text,
    thought: Text,
    speaking: bool,
    thinking: bool,
}

impl<S: State> Speech<S> {
    /// Returns the blocks of an answer of which nothing was streamed yet.
    pub(crate) fn new(cx: &Context<S>) -> Self {
        // A task may stream several answers and may be repeated, so each answer has its own blocks.
        static SHOWN: AtomicU64 = AtomicU64::new(0);
        let n = SHOWN.fetch_add(1, Ordering::Relaxed);
        let answer = format!("{}/{}.{n}", cx.task(), std::process::id());
        Self {
            cx: cx.clone(),
            block: format!("{answer}/text").into(),
            thought: format!("{answer}/reasoning").into(),
            speaking: false,
            thinking: false,
        }
    }

    /// Streams more text.
    pub(crate) fn text(&mut self, text: &str) {
        self.stop_thinking();
        let block = self.block.clone();
        if !self.speaking {
            self.speaking = true;
            let block = block.clone();
            self.cx.emit(EventKind::TextStarted { block });
        }
        let text = text.into();
        self.cx.emit(EventKind::TextDelta { block, text });
    }

    /// Streams more reasoning.
    pub(crate) fn reasoning(&mut self, text: &str) {
        let block = self.thought.clone();
        if !self.thinking {
            self.thinking = true;
            let block = block.clone();
            self.cx.emit(EventKind::ReasoningStarted { block });
        }
        let text = text.into();
        self.cx.emit(EventKind::ReasoningDelta { block, text });
    }

    /// Streams more of the arguments of a call.
    fn call(&mut self, call: &Text, name: &Text, arguments: &str) {
        self.stop_thinking();
        self.cx.emit(EventKind::ToolCallDelta {
            call: call.clone(),
            name: name.clone(),
            arguments: arguments.into(),
        });
    }

    fn stop_thinking(&mut self) {
        if std::mem::take(&mut self.thinking) {
            let block = self.thought.clone();
            self.cx.emit(EventKind::ReasoningFinished { block });
        }
    }
}

impl<S: State> Drop for Speech<S> {
    fn drop(&mut self) {
        self.stop_thinking();
        if std::mem::take(&mut self.speaking) {
            let block = self.block.clone();
            self.cx.emit(EventKind::TextFinished { block });
        }
    }
}
