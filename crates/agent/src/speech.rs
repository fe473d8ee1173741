//! What a model says, shown as it comes.
use std::{
    collections::{HashMap, HashSet},
    sync::atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use fugato_graph::{Context, Meter};
use fugato_llm::{
    ChatDelta, ChatModel, ChatModelExt as _, ChatRequest, ChatResponse, DeltaStream, ModelError,
    ToolCallDelta,
};
use fugato_state::State;
use fugato_stream::{EventKind, Text};
use futures::StreamExt as _;

/// What of an answer is shown while it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Shown {
    /// Text and reasoning.
    #[default]
    All,
    /// Reasoning alone: the text is not for people.
    Reasoning,
}

/// Asks a model, and shows the answer as it comes. What it costs counts against the run's budgets.
/// Calls of tools are for their caller to show.
pub async fn ask<S: State>(
    cx: &Context<S>,
    model: &dyn ChatModel,
    request: ChatRequest,
    shown: Shown,
) -> Result<ChatResponse, ModelError> {
    overhear(cx, model, request, shown, None).await
}

/// The same, and shows the arguments of calls as they come, if there are ids for them.
pub(crate) async fn overhear<S: State>(
    cx: &Context<S>,
    model: &dyn ChatModel,
    request: ChatRequest,
    shown: Shown,
    ids: Option<CallIds>,
) -> Result<ChatResponse, ModelError> {
    cx.spend(Meter::ModelCalls, 1);
    let heard = Heard {
        cx,
        model,
        shown,
        ids,
    };
    let response = heard.complete(request).await?;
    if let Some(usage) = response.usage {
        cx.spend(Meter::Tokens, usage.total());
    }
    Ok(response)
}

/// Shows a text that did not stream.
pub fn show<S: State>(cx: &Context<S>, text: &str) {
    if !text.trim().is_empty() {
        Speech::new(cx).text(text);
    }
}

/// A model that is overheard.
struct Heard<'a, S> {
    cx: &'a Context<S>,
    model: &'a dyn ChatModel,
    shown: Shown,
    ids: Option<CallIds>,
}

#[async_trait]
impl<S: State> ChatModel for Heard<'_, S> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let shown = self.shown;
        let mut speech = Speech::new(self.cx);
        let mut calls = self.ids.clone().map(Dictation::new);
        let deltas = self.model.stream(request).await?;
        let heard = deltas.inspect(move |delta| match delta {
            Ok(ChatDelta::Text(text)) if shown == Shown::All => speech.text(text),
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

/// The ids of calls in a conversation: servers and models use ids again, and a result must have
/// one call.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallIds(HashSet<String>);

impl CallIds {
    /// The id itself if it is free, or else with the first number that makes it another.
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

/// The calls of one answer, while the model writes them.
struct Dictation {
    ids: CallIds,
    calls: HashMap<usize, Written>,
}

/// A call so far.
#[derive(Default)]
struct Written {
    id: String,
    name: String,
    /// The id and the name as they are shown.
    shown: Option<[Text; 2]>,
}

impl Dictation {
    fn new(ids: CallIds) -> Self {
        Self {
            ids,
            calls: HashMap::new(),
        }
    }

    /// Shows more of a call. A name may come in pieces, and is whole once arguments come.
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

/// The blocks of one answer as they are shown: reasoning, then text. They are closed when it is
/// dropped, also where the answer breaks off.
#[derive(Debug)]
pub struct Speech<S: State> {
    cx: Context<S>,
    block: Text,
    thought: Text,
    speaking: bool,
    thinking: bool,
}

impl<S: State> Speech<S> {
    /// An answer of which nothing is shown yet.
    pub fn new(cx: &Context<S>) -> Self {
        // A task may show several answers, and may be begun again: no two share a block.
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

    /// Shows more text.
    pub fn text(&mut self, text: &str) {
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

    /// Shows more reasoning.
    pub fn reasoning(&mut self, text: &str) {
        let block = self.thought.clone();
        if !self.thinking {
            self.thinking = true;
            let block = block.clone();
            self.cx.emit(EventKind::ReasoningStarted { block });
        }
        let text = text.into();
        self.cx.emit(EventKind::ReasoningDelta { block, text });
    }

    /// Shows more of the arguments of a call.
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
