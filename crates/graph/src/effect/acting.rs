//! The execution of an action, on the side of its task.
use std::{future::Future, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use fugato_state::{EffectClass, Lang, Millis, State, say};
use futures::{FutureExt, future::BoxFuture};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{sync::oneshot, time::Instant};
use tracing::Instrument as _;

use super::{
    AskCall, AttemptRef, BeginCall, Call, Effect, EffectEnd, EffectError, EndCall, InDoubt,
    NamedEffect, Reconcile, StartDecision, StartGuard,
};
use crate::{
    BoxError, Context,
    context::RunInner,
    digest,
    machine::{BudgetUnit, Json},
    route::panic_text,
};

impl<S: State> Context<S> {
    /// Performs an action on the outside world, as often as its class allows.
    ///
    /// `key` names the action within the task; all attempts of the task share it. The result is
    /// stored, and returned without acting whenever the task asks again. `act` gets an idempotency
    /// key that is the same for every attempt of this action.
    ///
    /// An action of class [`EffectClass::Once`] is durable as an intent before it begins, and goes
    /// on when the node is dropped; if the node is dropped before it began, it never begins, and is
    /// recorded as undone. If it fails other than with [`EffectError::NotExecuted`], or its process dies, it is in
    /// doubt: it is never repeated blindly. [`Effect::reconcile`] is called, or else a person is
    /// asked; a question drops this attempt, and the task runs again with the answer.
    pub fn effect<'a, T, E, F, Fut>(
        &'a self,
        key: impl Into<String>,
        effect: impl Into<Effect<T>>,
        input: &impl Serialize,
        act: F,
    ) -> BoxFuture<'a, Result<T, EffectError>>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Into<BoxError> + Send + 'static,
        F: FnOnce(String) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        let (key, effect) = (key.into(), effect.into());
        match serde_json::value::to_raw_value(input) {
            Ok(input) => EffectAttempt {
                named: Arc::new(NamedEffect {
                    who: self.who(effect.whole_thread),
                    digest: digest::text(input.get().as_bytes()),
                    key: key.into(),
                    input,
                    class: effect.class,
                    timeout: effect.timeout,
                }),
                shared: &self.shared,
            }
            .run(act, effect.reconcile)
            .boxed(),
            Err(source) => async move { Err(EffectError::Format { key, source }) }.boxed(),
        }
    }

    /// Counts an amount against the run's budgets. A run that has used up a budget fails before its
    /// next step.
    pub fn spend(&self, meter: BudgetUnit, amount: u64) {
        // Without a driver there is nothing to count.
        self.shared
            .control
            .calls
            .send(Call::Spend { meter, amount });
    }

    /// Returns the keys of the effects that this task has performed, or may have, in this attempt
    /// or an earlier one. Pure effects are not recorded; those of the whole thread belong to no
    /// task.
    pub async fn performed_effects(&self) -> Vec<String> {
        let (reply, decision) = oneshot::channel();
        let who = self.who(false);
        // Without a driver there is no answer, and the wait for it never ends.
        let call = Call::PerformedEffects { who, reply };
        self.shared.control.calls.send(call);
        match decision.await {
            Ok(decision) => decision,
            Err(_) => std::future::pending().await,
        }
    }

    fn who(&self, whole_thread: bool) -> AttemptRef {
        AttemptRef {
            at: self.at.clone(),
            path: self.path,
            attempt: self.attempt,
            whole_thread,
        }
    }
}

/// An effect under way.
struct EffectAttempt<'a> {
    named: Arc<NamedEffect>,
    shared: &'a RunInner,
}

impl EffectAttempt<'_> {
    async fn run<T, E, F, Fut>(
        self,
        act: F,
        mut reconcile: Option<Reconcile<T>>,
    ) -> Result<T, EffectError>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Into<BoxError> + Send + 'static,
        F: FnOnce(String) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        let act = |key| act(key).map(|done| done.map_err(Into::into));
        let class = self.named.class;
        if class == EffectClass::Pure {
            return act(String::new()).await.map_err(|error| self.failed(error));
        }
        if class == EffectClass::Once && self.named.timeout.is_zero() {
            let why = "its timeout is 0 s, in which nothing can be done";
            return Err(self.failed(EffectError::not_executed(why).into()));
        }
        let mut act = Some(act);
        // The reason of a doubt, for the person who is asked.
        let mut problem = None;
        let mut permit = self.begin().await;
        loop {
            permit = match permit {
                // It answers the end of an action only.
                StartDecision::EndStored => return Err(self.failed("it has ended".into())),
                StartDecision::Execute {
                    not_after, ticket, ..
                } if class == EffectClass::Once && self.within(not_after).is_zero() => {
                    // Storing the intent took so long that another process may have reconciled it
                    // by now: beginning would do it twice.
                    drop(ticket);
                    self.begin().await
                }
                StartDecision::Execute {
                    idempotency_key,
                    not_after,
                    ticket,
                } => {
                    let Some(act) = act.take() else {
                        return Err(self.failed("its only try is over".into()));
                    };
                    if class != EffectClass::Once {
                        return self.act_again(act(idempotency_key)).await;
                    }
                    let within = self.within(not_after);
                    let act = move || act(idempotency_key);
                    match self.act_once(within, ticket, act).await {
                        Ok(value) => return Ok(value),
                        Err(error) if EffectError::denies(&error) => return Err(self.failed(error)),
                        Err(error) => {
                            tracing::warn!(effect = &*self.named.key, %error, "effect in doubt");
                            problem = Some(crate::driver::explain(&*error));
                            let wait = Duration::ZERO;
                            StartDecision::InDoubt { wait }
                        }
                    }
                }
                StartDecision::Replay(value) => return self.read(&value),
                StartDecision::Settled(value) => match self.read(&value) {
                    Ok(told) => {
                        self.end(EffectEnd::Happened(value)).await;
                        return Ok(told);
                    }
                    Err(error) => self.ask_person(Some(crate::driver::explain(&error))).await,
                },
                StartDecision::Changed { recorded } => return Err(self.changed(recorded)),
                StartDecision::InDoubt { wait } => {
                    match self.look(wait, reconcile.take(), &mut problem).await {
                        Some(InDoubt::Happened(value)) => {
                            let written = self.write(&value)?;
                            self.end(EffectEnd::Happened(written)).await;
                            return Ok(value);
                        }
                        Some(InDoubt::DidNotHappen) => {
                            let why = "looking after it showed so".to_owned();
                            self.end(EffectEnd::DidNotHappen(why)).await;
                            if act.is_none() {
                                let why = "looking after it showed that it did not happen";
                                return Err(self.failed(EffectError::not_executed(why).into()));
                            }
                            self.begin().await
                        }
                        None => self.ask_person(problem.take()).await,
                    }
                }
            }
        }
    }

    /// Performs an action that may be repeated: its receipt is stored with the next append.
    async fn act_again<T: Serialize>(
        &self,
        act: impl Future<Output = Result<T, BoxError>>,
    ) -> Result<T, EffectError> {
        let value = act.await.map_err(|error| self.failed(error))?;
        self.end(EffectEnd::Happened(self.write(&value)?)).await;
        Ok(value)
    }

    /// Performs a once-only action in a task of its own: dropping the node does not break it off.
    /// An error other than [`EffectError::NotExecuted`] leaves it in doubt.
    async fn act_once<T, Fut>(
        &self,
        within: Duration,
        ticket: Option<StartGuard>,
        act: impl FnOnce() -> Fut + Send + 'static,
    ) -> Result<T, BoxError>
    where
        T: Serialize + Send + 'static,
        Fut: Future<Output = Result<T, BoxError>> + Send,
    {
        let (reply, stored) = oneshot::channel();
        let control = self.shared.control.clone();
        let effect = self.named.clone();
        let until = Instant::now() + within;
        let acting = async move {
            // Its code before the first await may panic too.
            let act = AssertUnwindSafe(async move {
                // The process may have been suspended since the action was granted.
                if Instant::now() >= until {
                    let why = "its time was over before it began";
                    return Err(EffectError::not_executed(why).into());
                }
                act().await
            });
            let done = match tokio::time::timeout_at(until, act.catch_unwind()).await {
                Ok(Ok(done)) => done,
                Ok(Err(panic)) => Err(panic_text(&*panic).into()),
                Err(_) => {
                    Err(say!("it did not end within its time limit", "没有在时限内结束").into())
                }
            };
            let (end, done) = judge(done);
            let reply = Some(reply);
            let ending = EndCall { effect, end, reply };
            // Without a driver the intent stays in doubt: the next owner reconciles it.
            control.calls.send(Call::End(ending));
            done
        };
        // A task of its own has no language.
        let acting = Lang::current().scope_future(acting);
        let acting = tokio::spawn(acting.in_current_span());
        ticket.into_iter().for_each(StartGuard::begins);
        match acting.await {
            // A once-only action is told when its receipt is stored.
            Ok(Ok(value)) => {
                answer(stored).await;
                Ok(value)
            }
            Ok(Err(error)) => Err(error),
            // The runtime shuts down, and the node with it.
            Err(_) => std::future::pending().await,
        }
    }

    /// Reconciles an action in doubt, when it is certainly over.
    async fn look<T>(
        &self,
        wait: Duration,
        reconcile: Option<Reconcile<T>>,
        problem: &mut Option<String>,
    ) -> Option<InDoubt<T>> {
        tokio::time::sleep(wait).await;
        let reconcile = reconcile?;
        let error = match AssertUnwindSafe(reconcile()).catch_unwind().await {
            Ok(Ok(found)) => return found,
            Ok(Err(error)) => crate::driver::explain(&*error),
            Err(panic) => panic_text(&*panic),
        };
        tracing::warn!(
            effect = &*self.named.key,
            error,
            "effect could not be reconciled"
        );
        let looked = say!("looking after it failed: {error}", "查看结果失败：{error}");
        *problem = Some(match problem.take() {
            Some(before) => say!("{before}; {looked}", "{before}；{looked}"),
            None => looked,
        });
        None
    }

    /// Returns the time limit of the action: shorter than set if storing its intent took long.
    fn within(&self, not_after: Millis) -> Duration {
        let left = not_after.saturating_sub(self.shared.now()).max(0);
        self.named
            .timeout
            .min(Duration::from_millis(left.unsigned_abs()))
    }

    async fn begin(&self) -> StartDecision {
        let (reply, permit) = oneshot::channel();
        let effect = self.named.clone();
        // Without a driver there is no answer, and the wait for it never ends.
        let call = Call::Begin(BeginCall { effect, reply });
        self.shared.control.calls.send(call);
        answer(permit).await
    }

    /// Reports the end of the action. The next call of the task finds it recorded; only the receipt
    /// of a once-only action is waited for until it is stored.
    async fn end(&self, end: EffectEnd) {
        let once = self.named.class == EffectClass::Once;
        let awaited = once && matches!(end, EffectEnd::Happened(_));
        let (reply, stored) = awaited.then(oneshot::channel).unzip();
        let effect = self.named.clone();
        let ending = EndCall { effect, end, reply };
        self.shared.control.calls.send(Call::End(ending));
        if let Some(stored) = stored {
            answer(stored).await;
        }
    }

    /// Makes the task ask a person, and never returns: the driver drops this attempt. No catch-all
    /// of the node can mistake that for an error.
    async fn ask_person(&self, problem: Option<String>) -> StartDecision {
        let effect = self.named.clone();
        let asking = AskCall { effect, problem };
        self.shared.control.calls.send(Call::AskPerson(asking));
        std::future::pending().await
    }

    fn read<T: DeserializeOwned>(&self, value: &Json) -> Result<T, EffectError> {
        serde_json::from_str(value.get()).map_err(|source| self.format(source))
    }

    fn write<T: Serialize>(&self, value: &T) -> Result<Json, EffectError> {
        serde_json::value::to_raw_value(value).map_err(|source| self.format(source))
    }

    fn format(&self, source: serde_json::Error) -> EffectError {
        let key = self.named.key.to_string();
        EffectError::Format { key, source }
    }

    fn failed(&self, source: BoxError) -> EffectError {
        let key = self.named.key.to_string();
        EffectError::Failed { key, source }
    }

    fn changed(&self, recorded: String) -> EffectError {
        EffectError::InputChanged {
            key: self.named.key.to_string(),
            recorded,
            asked: self.named.digest.to_string(),
        }
    }
}

/// Waits for the reply of the driver. Without a driver it never returns, and the task is dropped.
async fn answer(permit: oneshot::Receiver<StartDecision>) -> StartDecision {
    match permit.await {
        Ok(permit) => permit,
        Err(_) => std::future::pending().await,
    }
}

/// Judges the end of an action. A result that cannot be written leaves it in doubt too: it
/// happened, and has no receipt.
fn judge<T: Serialize>(done: Result<T, BoxError>) -> (EffectEnd, Result<T, BoxError>) {
    let written = done.as_ref().map(serde_json::value::to_raw_value);
    match written {
        Ok(Ok(value)) => (EffectEnd::Happened(value), done),
        Ok(Err(error)) => (EffectEnd::Unknown, Err(error.into())),
        Err(error) if EffectError::denies(error) => {
            (EffectEnd::DidNotHappen(error.to_string()), done)
        }
        Err(_) => (EffectEnd::Unknown, done),
    }
}
