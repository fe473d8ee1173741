use std::fmt::Write as _;

use async_trait::async_trait;
use fugato_llm::{Attempt, ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError};
use fugato_state::Role;
use futures::{StreamExt as _, stream};
use tokio::time::Instant;

use super::{CALLS, Calls, ModelCall};

/// A model whose calls are recorded by the [`recorded`](super::recorded) node that makes them.
///
/// It must be outermost, around retries and backups, to record all their attempts. A model that
/// reports no attempts has one.
///
/// # Notes
/// - Of a recorded model around another one the inner one records: each call is recorded once.
/// - Outside of such a node nothing is recorded, and neither is it in a task that the node spawns.
#[derive(Debug, Clone)]
pub struct RecordedModel<M> {
    model: M,
    kept: usize,
}

impl<M: ChatModel> RecordedModel<M> {
    /// Wraps a model.
    pub fn new(model: M) -> Self {
        Self { model, kept: 0 }
    }

    fugato_state::setters! {
        /// Stores words too: of each prompt the last `bytes`, which are the newest part, and of
        /// each answer the first. They are stored in the log, so everyone with access to the thread
        /// can read them.
        pub fn keeping(bytes: usize) { kept = bytes }
    }
}

/// Returns the last bytes of a prompt, from the beginning of a character.
fn end_of(request: &ChatRequest, bytes: usize) -> String {
    let mut prompt = String::new();
    if bytes == 0 {
        return prompt;
    }
    for message in &request.messages {
        // Writing into a string cannot fail.
        let _ = writeln!(prompt, "{}: {}", role(message.role), message.content);
    }
    let mut from = prompt.len().saturating_sub(bytes);
    while !prompt.is_char_boundary(from) {
        from += 1;
    }
    prompt.split_off(from)
}

#[async_trait]
impl<M: ChatModel> ChatModel for RecordedModel<M> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let Ok(calls) = CALLS.try_with(Clone::clone) else {
            return self.model.stream(request).await;
        };
        let stage = request.metadata.get("stage").cloned();
        let mut call = ModelCall::new(stage.unwrap_or_default());
        call.prompt = end_of(&request, self.kept);
        let inner = Calls::default();
        let mut watch = CallRecording {
            calls,
            inner: inner.clone(),
            call,
            kept: self.kept,
            model: request
                .model
                .as_deref()
                .unwrap_or(self.model.name())
                .to_owned(),
            start: Instant::now(),
        };
        let deltas = match CALLS.scope(inner, self.model.stream(request)).await {
            Ok(deltas) => deltas,
            Err(error) => {
                watch.failed(&error);
                return Err(error);
            }
        };
        let watched = stream::unfold(RecordedAnswer { deltas, watch }, |mut it| async move {
            let Some(next) = it.deltas.next().await else {
                it.watch.ended();
                return None;
            };
            let watch = &mut it.watch;
            match &next {
                Ok(ChatDelta::Attempt(attempt)) => watch.call.attempts.push(attempt.clone()),
                Ok(ChatDelta::Usage(usage)) => watch.call.usage = Some(*usage),
                Ok(ChatDelta::Text(text)) => watch.said(text),
                Ok(ChatDelta::ToolCall(call)) => {
                    if let Some(name) = &call.name {
                        watch.said(&format!("\n→ {name} "));
                    }
                    watch.said(&call.arguments);
                }
                Ok(_) => {}
                Err(error) => watch.failed(error),
            }
            Some((next, it))
        });
        Ok(watched.boxed())
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

/// An answer and its recording, which ends after the answer: an inner recording is there by then.
struct RecordedAnswer {
    deltas: DeltaStream,
    watch: CallRecording,
}

/// The recording of one call. It is stored on drop, even if the answer was not read to its end.
struct CallRecording {
    calls: Calls,
    /// The same call, if a model within this one records it, too.
    inner: Calls,
    call: ModelCall,
    kept: usize,
    model: String,
    start: Instant,
}

impl CallRecording {
    fn said(&mut self, text: &str) {
        let room = self.kept.saturating_sub(self.call.answer.len());
        let fits = text.char_indices().map(|(at, c)| at + c.len_utf8());
        let end = fits.take_while(|end| *end <= room).last().unwrap_or(0);
        self.call
            .answer
            .push_str(text.get(..end).unwrap_or_default());
    }

    fn ended(&mut self) {
        if self.call.attempts.is_empty() {
            let attempt = Attempt::succeeded(&self.model, self.start.elapsed());
            self.call.attempts.push(attempt);
        }
    }

    fn failed(&mut self, error: &ModelError) {
        if error.attempts.is_empty() {
            let attempt = Attempt::failed(&self.model, self.start.elapsed(), error);
            self.call.attempts.push(attempt);
        } else {
            self.call.attempts.extend(error.attempts.iter().cloned());
        }
    }
}

impl Drop for CallRecording {
    fn drop(&mut self) {
        let mut made = self.inner.take();
        if made.is_empty() {
            let call = ModelCall::new(String::new());
            made.push(std::mem::replace(&mut self.call, call));
        }
        for call in made {
            self.calls.push(call);
        }
    }
}
