//! A run as one answer, for clients that do not read streams.
use axum::http::StatusCode;
use fugato_state::{Interrupt, ThreadId, say};
use fugato_stream::{CardText, Event, EventKind, Origin, card_text};
use futures::{Stream, StreamExt as _};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::error::{ApiError, ApiResult, closing};

/// The text, usage and open questions of a run that came to rest.
#[derive(Debug, Default)]
pub(crate) struct Completion {
    text: Vec<Piece>,
    reasoning: Vec<Piece>,
    usage: Option<Value>,
    asked: Vec<Interrupt>,
    rested: bool,
}

#[derive(Debug)]
struct Piece {
    by: Option<Arc<Origin>>,
    text: String,
}

impl Completion {
    /// Reads a run to its end.
    pub(crate) async fn collect(events: impl Stream<Item = Event>) -> ApiResult<Self> {
        let mut whole = Self::default();
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            whole.take(event)?;
        }
        // Without an end of the run, another process continues it.
        if whole.rested {
            Ok(whole)
        } else {
            Err(closing())
        }
    }

    fn take(&mut self, event: Event) -> ApiResult<()> {
        let by = event.origin;
        match event.kind {
            EventKind::TextDelta { text, .. } => self.text.push(Piece {
                by,
                text: text.as_str().to_owned(),
            }),
            EventKind::ReasoningDelta { text, .. } => self.reasoning.push(Piece {
                by,
                text: text.as_str().to_owned(),
            }),
            // The text of a failed attempt is void.
            EventKind::NodeFailed { .. } => {
                for pieces in [&mut self.text, &mut self.reasoning] {
                    pieces.retain(|piece| piece.by != by);
                }
            }
            EventKind::Custom { name, data } if name == "usage" => self.usage = Some(data),
            EventKind::InterruptRaised(interrupt) => {
                self.asked.retain(|asked| asked.id != interrupt.id);
                self.asked.push(interrupt);
            }
            EventKind::InterruptAnswered { id, .. } | EventKind::InterruptExpired { id } => {
                self.asked.retain(|asked| asked.id != id);
            }
            EventKind::RunParked { interrupts } => {
                self.asked = interrupts;
                self.rested = true;
            }
            EventKind::RunFinished { .. } => self.rested = true,
            EventKind::RunFailed { error } => {
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                return Err(ApiError::new(status, "run_failed", error));
            }
            EventKind::RunCancelled { by, why } => {
                let message = say!(
                    "the run was cancelled by {by}: {why}",
                    "运行被 {by} 取消：{why}"
                );
                return Err(ApiError::new(StatusCode::CONFLICT, "cancelled", message));
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the text of the run, followed by the cards of open questions: a plain client shows
    ///  nothing else.
    fn content(&self) -> String {
        let asked = self.asked.iter();
        let asked = asked.filter(|asked| !CardText::of(asked).is_said());
        let parts = std::iter::once(joined(&self.text)).chain(asked.map(card_text));
        let parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
        parts.join("\n\n")
    }

    /// The answer in OpenAI's form.
    pub(crate) fn body(self, id: &str, model: &str, created: i64, thread: &ThreadId) -> Value {
        let mut message = json!({ "role": "assistant", "content": self.content() });
        let reasoning = joined(&self.reasoning);
        if let Some(message) = message.as_object_mut()
            && !reasoning.is_empty()
        {
            message.insert("reasoning_content".into(), reasoning.into());
        }
        let mut body = json!({
            "id": id,
            "object": "chat.completion",
            "created": created,
            "model": model,
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
            "ext": { "conversation_id": thread, "interrupts": self.asked },
        });
        if let (Some(body), Some(usage)) = (body.as_object_mut(), self.usage) {
            body.insert("usage".into(), usage);
        }
        body
    }
}

fn joined(pieces: &[Piece]) -> String {
    pieces.iter().map(|piece| piece.text.as_str()).collect()
}
