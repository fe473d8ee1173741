//! The conformance suite of [`ChatModel`], and models that must not pass it.
//!
//! Each bullet of the contract is one or several scenarios, public functions on a
//! [`ChatFactory`]. [`chat_model_suite!`](crate::chat_model_suite) makes a test of each:
//!
//! ```
//! use fugato_llm::{Retry, Timeout};
//! use fugato_testkit::{
//!     ScriptedReply,
//!     chat::{ChatFactory, ModelUnderTest, WatchedModel},
//!     log::OpenError,
//! };
//!
//! /// A decorator of one's own is tried around a scripted model.
//! struct Patient;
//!
//! #[async_trait::async_trait]
//! impl ChatFactory for Patient {
//!     async fn says(&self, replies: Vec<ScriptedReply>) -> Result<ModelUnderTest, OpenError> {
//!         let model = WatchedModel::scripted(replies);
//!         let idle = model.idle();
//!         Ok(ModelUnderTest::new(Timeout::new(Retry::new(model).attempts(1)), idle))
//!     }
//! }
//!
//! fugato_testkit::chat_model_suite!(Patient);
//! ```
mod broken;
mod order;
mod stop;
mod watched;

use std::sync::Arc;

use async_trait::async_trait;
use fugato_llm::{ChatModel, ChatModelExt as _, ChatRequest, ModelError};
use fugato_state::Message;
use futures::{FutureExt as _, future::BoxFuture};

use crate::{
    ScriptedReply,
    log::{Failure, OpenError},
};

pub use broken::{BrokenChats, ChatFlaw};
pub use order::{
    calls_are_independent, deltas_come_as_they_are_said, deltas_in_order, reasoning_is_apart,
    tool_calls_are_whole, usage_and_the_reason_to_stop_are_told,
};
pub use stop::{
    an_end_is_an_end, broken_is_not_finished, dropping_cancels, no_secrets,
    refusals_keep_their_kind,
};
pub use watched::WatchedModel;

/// Makes the models that are tried.
#[async_trait]
pub trait ChatFactory: Send + Sync {
    /// Creates a model that gives these replies, one a call. A reply that is an error has one of
    /// the kinds `Denied`, `NotFound`, `BadRequest`, `RateLimited` and `Unavailable`, and breaks
    /// off with `CutOff`.
    async fn says(&self, replies: Vec<ScriptedReply>) -> Result<ModelUnderTest, OpenError>;

    /// Returns the credentials of the model, which it must not reveal; none if it needs none.
    fn secret(&self) -> Option<&str> {
        None
    }
}

/// A model under test.
#[derive(derive_more::Debug)]
#[debug("Speaker {{ model: {:?}, .. }}", self.model.name())]
pub struct ModelUnderTest {
    model: Arc<dyn ChatModel>,
    idle: BoxFuture<'static, ()>,
}

impl ModelUnderTest {
    /// Creates one from a model, and a future that completes when no work is done for an answer of
    /// it.
    pub fn new(
        model: impl ChatModel + 'static,
        idle: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self {
            model: Arc::new(model),
            idle: idle.boxed(),
        }
    }
}

fn hello() -> ChatRequest {
    ChatRequest::new([Message::user("Hello")])
}

/// Returns the whole answer of a model with this reply.
async fn answer(
    factory: &dyn ChatFactory,
    reply: ScriptedReply,
) -> Result<fugato_llm::ChatResponse, Failure> {
    let speaker = factory.says(vec![reply]).await?;
    Ok(speaker.model.complete(hello()).await?)
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self::new(format!("no answer: {error} ({error:?})"))
    }
}

macro_rules! scenarios {
    (($d:tt) $($scenario:ident)*) => {
        /// The names of the scenarios.
        pub const SCENARIOS: &[&str] = &[$(stringify!($scenario)),*];

        /// Runs the scenario of this name, for some seconds at most: on a broken model it might
        /// wait for ever.
        pub async fn run(scenario: &str, factory: &dyn ChatFactory) -> Result<(), Failure> {
            let ran: BoxFuture<'_, Result<(), Failure>> = match scenario {
                $(stringify!($scenario) => Box::pin($scenario(factory)),)*
                _ => return Err(Failure::new(format!("there is no scenario {scenario:?}"))),
            };
            let long = std::time::Duration::from_secs(20);
            let late = |_| Failure::new("the scenario came to no end");
            tokio::time::timeout(long, ran).await.map_err(late)?
        }

        /// Makes one `#[tokio::test]` of each scenario of [`chat`](mod@crate::chat), which runs it
        /// on the models of the given [`ChatFactory`](crate::chat::ChatFactory). The expression is
        /// evaluated for each test. The crate needs tokio with its features `macros` and `rt`.
        #[macro_export]
        macro_rules! chat_model_suite {
            ($d factory:expr) => {
                $(
                    #[tokio::test]
                    async fn $scenario() -> Result<(), $crate::log::Failure> {
                        $crate::chat::run(stringify!($scenario), &$d factory).await
                    }
                )*
            };
        }
    };
}

scenarios! {
    ($)
    deltas_in_order
    reasoning_is_apart
    tool_calls_are_whole
    usage_and_the_reason_to_stop_are_told
    deltas_come_as_they_are_said
    calls_are_independent
    an_end_is_an_end
    broken_is_not_finished
    refusals_keep_their_kind
    dropping_cancels
    no_secrets
}
