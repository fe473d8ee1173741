use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use fugato_llm::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, FinishReason, ModelError, ModelErrorKind,
};
use futures::{StreamExt as _, stream};

use super::{ChatFactory, ModelUnderTest, WatchedModel};
use crate::{ScriptedReply, log::OpenError};

macro_rules! flaws {
    ($($(#[$doc:meta])* $flaw:ident: $scenario:literal,)*) => {
        /// The flaw of a model.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum ChatFlaw {
            $($(#[$doc])* $flaw,)*
        }

        impl ChatFlaw {
            /// All flaws.
            pub const ALL: &[Self] = &[$(Self::$flaw),*];

            /// Returns the scenario that must find it.
            pub fn scenario(self) -> &'static str {
                match self {
                    $(Self::$flaw => $scenario,)*
                }
            }
        }
    };
}

flaws! {
    /// It loses the last piece of its text.
    LosesText: "deltas_in_order",
    /// It returns its reasoning as text.
    ThinksAloud: "reasoning_is_apart",
    /// All pieces of calls belong to the first.
    MixesCalls: "tool_calls_are_whole",
    /// It does not report its usage.
    HidesUsage: "usage_and_the_reason_to_stop_are_told",
    /// It delivers nothing before the whole answer is ready.
    Waits: "deltas_come_as_they_are_said",
    /// It starts with a piece of the answer before.
    Remembers: "calls_are_independent",
    /// It goes on after an error.
    GoesOn: "an_end_is_an_end",
    /// An answer that breaks off looks finished.
    EndsSilently: "broken_is_not_finished",
    /// Every refusal is the same.
    ForgetsKinds: "refusals_keep_their_kind",
    /// It goes on working for a dropped answer.
    WorksOn: "dropping_cancels",
    /// It reveals its secret.
    TellsSecret: "no_secrets",
}

const SECRET: &str = "sk-broken";

/// A factory of models with a flaw.
#[derive(Debug, Clone, Copy)]
pub struct BrokenChats(pub ChatFlaw);

#[async_trait]
impl ChatFactory for BrokenChats {
    async fn says(&self, replies: Vec<ScriptedReply>) -> Result<ModelUnderTest, OpenError> {
        let model = WatchedModel::scripted(replies);
        let idle = model.idle();
        let broken = BrokenChat {
            model,
            flaw: self.0,
            before: Mutex::default(),
        };
        Ok(ModelUnderTest::new(broken, idle))
    }

    fn secret(&self) -> Option<&str> {
        Some(SECRET)
    }
}

struct BrokenChat {
    model: WatchedModel,
    flaw: ChatFlaw,
    before: Mutex<Option<ChatDelta>>,
}

type Came = Result<ChatDelta, ModelError>;

fn is_text(delta: &Came) -> bool {
    matches!(delta, Ok(ChatDelta::Text(_)))
}

impl BrokenChat {
    fn refused(&self, error: ModelError) -> ModelError {
        match self.flaw {
            ChatFlaw::ForgetsKinds => ModelError::new(ModelErrorKind::Other, error.context),
            ChatFlaw::TellsSecret => ModelError::new(error.kind, format!("no to {SECRET}")),
            _ => error,
        }
    }

    fn spoil(&self, mut came: Vec<Came>) -> Vec<Came> {
        match self.flaw {
            ChatFlaw::LosesText => {
                if let Some(last) = came.iter().rposition(is_text) {
                    let _lost = came.remove(last);
                }
            }
            ChatFlaw::EndsSilently => {
                came.retain(Result::is_ok);
                came.push(Ok(ChatDelta::Finish(FinishReason::Stop)));
            }
            ChatFlaw::GoesOn if came.iter().any(Result::is_err) => {
                came.push(Ok(ChatDelta::text("morning")));
            }
            ChatFlaw::Remembers => {
                let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
                let last = came.iter().rev().find(|delta| is_text(delta));
                let last = last.and_then(|delta| delta.as_ref().ok()).cloned();
                if let Some(before) = std::mem::replace(&mut *before, last) {
                    came.insert(0, Ok(before));
                }
            }
            _ => {}
        }
        came
    }
}

/// Applies the flaws of single pieces.
fn spoil_one(flaw: ChatFlaw, delta: ChatDelta) -> Option<ChatDelta> {
    match (flaw, delta) {
        (ChatFlaw::ThinksAloud, ChatDelta::Reasoning(text)) => Some(ChatDelta::Text(text)),
        (ChatFlaw::HidesUsage, ChatDelta::Usage(_)) => None,
        (ChatFlaw::MixesCalls, ChatDelta::ToolCall(mut piece)) => {
            piece.index = 0;
            Some(ChatDelta::ToolCall(piece))
        }
        (_, delta) => Some(delta),
    }
}

#[async_trait]
impl ChatModel for BrokenChat {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let deltas = self.model.stream(request).await;
        let mut deltas = deltas.map_err(|error| self.refused(error))?;
        let flaw = self.flaw;
        if flaw == ChatFlaw::WorksOn {
            let (sender, receiver) = futures::channel::mpsc::unbounded();
            tokio::spawn(async move {
                while let Some(delta) = deltas.next().await {
                    // It goes on without a receiver.
                    let _ = sender.unbounded_send(delta);
                }
            });
            return Ok(receiver.boxed());
        }
        let whole = matches!(
            flaw,
            ChatFlaw::LosesText
                | ChatFlaw::Waits
                | ChatFlaw::Remembers
                | ChatFlaw::GoesOn
                | ChatFlaw::EndsSilently
        );
        if whole {
            let came = self.spoil(deltas.collect().await);
            return Ok(stream::iter(came).boxed());
        }
        let spoilt = deltas.filter_map(move |delta| async move {
            match delta {
                Ok(delta) => spoil_one(flaw, delta).map(Ok),
                Err(error) => Some(Err(error)),
            }
        });
        Ok(spoilt.boxed())
    }

    fn name(&self) -> &'static str {
        "broken"
    }
}
