//! Actions on the outside world, each done as often as its class allows.
mod acting;
mod call;
mod queue;
mod ticket;

use std::{future::Future, time::Duration};

use fugato_state::{EffectClass, say};
use futures::{FutureExt, future::BoxFuture};
use serde::Serialize;
use serde_json::Value;

use crate::BoxError;

pub(crate) use call::{
    AnswerCall, AskCall, AttemptRef, BeginCall, Call, EffectEnd, EndCall, NamedEffect,
    StartDecision,
};
pub(crate) use queue::CallQueue;
pub(crate) use ticket::StartGuard;

/// The class, time limit and reconciliation of an action on the outside world.
///
/// A node may run again after a crash; [`Context::effect`](crate::Context::effect) keeps its
/// actions from running again with it. The result of an action is stored as a receipt under the
/// task and a key, and a later attempt gets the receipt.
///
/// ```
/// use std::time::Duration;
///
/// use fugato_graph::{BoxError, Context, Effect, InDoubt};
/// # use fugato_state::State;
/// # #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
/// # struct Outbox;
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # enum Change { Sent(String) }
/// # impl State for Outbox { type Update = Change; fn apply(&mut self, _: Change) {} }
/// # mod mail {
/// #     use std::io::Error;
/// #     pub async fn send(_: String, _: String) -> Result<String, Error> { Ok("1".into()) }
/// #     pub async fn find(_: String) -> Result<Option<String>, Error> { Ok(None) }
/// # }
///
/// async fn send(cx: Context<Outbox>) -> Result<Change, BoxError> {
///     let letter = String::from("lunch at noon");
///     let known = letter.clone();
///     let once = Effect::once().timeout(Duration::from_secs(20)).reconcile(move || async move {
///         Ok::<_, BoxError>(Some(match mail::find(known).await? {
///             Some(id) => InDoubt::Happened(id),
///             None => InDoubt::DidNotHappen,
///         }))
///     });
///     let input = letter.clone();
///     let id = cx.effect("mail", once, &input, move |key| mail::send(letter, key)).await?;
///     Ok(Change::Sent(id))
/// }
/// # let _ = send;
/// ```
///
/// Wrong: acting without an effect, or under a key that each attempt makes new. If the process dies
/// after the mail is sent and before the step is stored, the next attempt sends it again.
///
/// ```text
/// let id = mail::send(letter, random()).await?;
/// let id = cx.effect(random(), Effect::once(), &input, |key| mail::send(letter, key)).await?;
/// ```
///
/// *Contract*, by [`EffectClass`]
/// - **pure**: the action runs in every attempt, and nothing is stored.
/// - **idempotent, keyed**: the action runs again if its receipt was lost in a crash, with the same
///   idempotency key. The receipt is stored with the next append.
/// - **once**: an intent is stored before the action begins, and the receipt before the call
///   returns. An intent without a receipt is in doubt: it is reconciled, or a person is asked.
/// - **one input**: a key stands for one input. With another it is `InputChanged`, unless the
///   action is recorded as not done.
///
/// # Errors
/// [`EffectError`]: `Failed` has the error of the action, `InputChanged` and `Format` are mistakes
/// of the node. An error of a once-only action leaves it in doubt unless it is
/// [`NotExecuted`](EffectError::NotExecuted), which lets the next attempt act again.
///
/// # Cancellation safety
/// A once-only action runs in a task of its own: it goes on when its node is dropped, and its
/// receipt is stored. All other actions are dropped with their node.
///
/// # Cost
/// A once-only action costs two appends, before and after it, and extends the lease if that ends
/// before the time limit. Other classes store pending facts before they begin; a pure one stores
/// nothing.
#[derive(derive_more::Debug)]
pub struct Effect<T> {
    class: EffectClass,
    timeout: Duration,
    whole_thread: bool,
    #[debug(skip)]
    reconcile: Option<Reconcile<T>>,
}

type Reconcile<T> =
    Box<dyn FnOnce() -> BoxFuture<'static, Result<Option<InDoubt<T>>, BoxError>> + Send>;

impl<T> From<EffectClass> for Effect<T> {
    fn from(class: EffectClass) -> Self {
        Self {
            class,
            timeout: Duration::from_secs(30),
            whole_thread: false,
            reconcile: None,
        }
    }
}

impl<T> Effect<T> {
    /// Creates an effect that must not be done twice.
    pub fn once() -> Self {
        EffectClass::Once.into()
    }

    /// Creates an effect whose idempotency key the other side recognises.
    pub fn keyed() -> Self {
        EffectClass::Keyed.into()
    }

    /// Creates an effect that has the same result done twice as done once.
    pub fn idempotent() -> Self {
        EffectClass::Idempotent.into()
    }

    fugato_state::setters! {
        /// Sets the time limit of an action of class [`EffectClass::Once`]: 30 s by default. A
        /// longer action is dropped, and in doubt; with a limit of zero nothing begins.
        pub fn timeout(timeout: Duration) { timeout = timeout }
    }

    /// Shares the key in the whole thread, rather than among the attempts of one task: the action
    /// is done once however many tasks ask for it.
    #[must_use]
    pub fn whole_thread(mut self) -> Self {
        self.whole_thread = true;
        self
    }

    /// Sets the function that finds out whether an action in doubt has happened; with none, a
    /// person is asked. It is called only when the action can no longer be under way.
    #[must_use]
    pub fn reconcile<F, Fut, E>(mut self, reconcile: F) -> Self
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future<Output = Result<Option<InDoubt<T>>, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.reconcile = Some(Box::new(move || {
            let asked = reconcile();
            async move { asked.await.map_err(Into::into) }.boxed()
        }));
        self
    }
}

/// The reason why an effect has no result, and the word of an action that it did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EffectError {
    /// The action failed; it may be tried again.
    #[error("{}", say!("the effect {key:?} failed", "动作 {key:?} 失败了"))]
    Failed {
        /// The effect's key.
        key: String,
        /// The error of the action.
        source: BoxError,
    },
    /// The key was used before with another input: the stored result would be wrong.
    #[error("{}", say!(
        "the effect {key:?} was done with another input: its digest was {recorded}, now it is {asked}",
        "动作 {key:?} 曾用别的输入执行过：当时的摘要是 {recorded}，现在是 {asked}"
    ))]
    InputChanged {
        /// The effect's key.
        key: String,
        /// The digest of the input that it was done with.
        recorded: String,
        /// The digest of the input of this call.
        asked: String,
    },
    /// The input or the result cannot be written or read as JSON.
    #[error("{}", say!(
        "the input or result of the effect {key:?} cannot be written or read as JSON",
        "动作 {key:?} 的输入或结果无法按 JSON 读写"
    ))]
    Format {
        /// The effect's key.
        key: String,
        /// The error of the serialiser.
        source: serde_json::Error,
    },
    /// The error of an action that certainly did not happen, such as a refused connection. An
    /// action returns it; any other error of an action of class [`EffectClass::Once`] leaves it in
    /// doubt.
    #[error("it did not happen: {why}")]
    NotExecuted {
        /// The reason.
        why: String,
    },
}

impl EffectError {
    /// Creates the error of an action that did not happen, for this reason.
    pub fn not_executed(error: impl Into<BoxError>) -> Self {
        let why = crate::driver::explain(&*error.into());
        Self::NotExecuted { why }
    }

    /// Returns true if an action says by its error that it did not happen.
    fn denies(error: &BoxError) -> bool {
        matches!(error.downcast_ref(), Some(Self::NotExecuted { .. }))
    }
}

/// The end of an action in doubt, as its program found it out or a person tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(
    rename = "Doubt",
    description = "The answer of a person about an action in doubt."
)]
pub enum InDoubt<T = Value> {
    /// It happened, and this came out.
    Happened(T),
    /// It did not happen: it is done now.
    DidNotHappen,
}
