//! The execution of an action, on the side of its task.
use std::{future::Future, panic::AssertUnwindSafe, time::Duration};

use fugato_state::{EffectClass, Lang, Millis, State, say};
use futures::{FutureExt, future::BoxFuture};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{sync::oneshot, time::Instant};
use tracing::Instrument as _;

use super::{
    AskCall, AttemptRef, BeginCall, Call, Effect, EffectEnd, EffectError, EndCall, NotExecuted,
    Reconcile, Reconciliation, StartDecision, StartGuard,
};
use crate::{
    BoxError, Context,
    context::RunInner,
    digest,
    machine::{BudgetUnit, Json},
    policy::millis,
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
    /// recorded as undone. If it fails other than with [`NotExecuted`], or its process dies, it is in
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
                who: self.who(effect.whole_thread),
                digest: digest::of(input.get().as_bytes()),
                key,
                input,
                class: effect.class,
                timeout: effect.timeout,
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
        let _ = self.shared.calls.send(Call::Spend { meter, amount });
    }

    /// Returns the keys of the effects that this task has performed, or may have, in this attempt
    /// or an earlier one. Pure effects are not recorded; those of the whole thread belong to no
    /// task.
    pub async fn performed_effects(&self) -> Vec<String> {
        let (reply, deeds) = oneshot::channel();
        let who = Box::new(self.who(false));
        // Without a driver there is no answer, and the wait for it never ends.
        let _ = self.shared.calls.send(Call::Deeds { who, reply });
        match deeds.await {
            Ok(deeds) => deeds,
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
    who: AttemptRef,
    key: String,
    digest: String,
    input: Json,
    class: EffectClass,
    timeout: Duration,
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
        if self.class == EffectClass::Pure {
            return act(String::new()).await.map_err(|error| self.failed(error));
        }
        if self.class == EffectClass::Once && self.timeout.is_zero() {
            let why = "its timeout is 0 s, in which nothing can be done";
            return Err(self.failed(NotExecuted::because(why).into()));
        }
        let mut act = Some(act);
        // The reason of a doubt, for the person who is asked.
        let mut problem = None;
        let mut permit = self.begin().await;
        loop {
            permit = match permit {
                StartDecision::Noted => return Err(self.failed("it did not happen".into())),
                StartDecision::Go {
                    not_after, ticket, ..
                } if self.class == EffectClass::Once && self.within(not_after).is_zero() => {
                    // Storing the intent took so long that another process may have reconciled it
                    // by now: beginning would do it twice.
                    drop(ticket);
                    self.begin().await
                }
                StartDecision::Go {
                    idempotency_key,
                    not_after,
                    ticket,
                } => {
                    let Some(act) = act.take() else {
                        return Err(self.failed("its only try is over".into()));
                    };
                    match self.class {
                        EffectClass::Once => {
                            let within = self.within(not_after);
                            let act = move || act(idempotency_key);
                            let (permit, failure) = self.act_once(within, ticket, act).await?;
                            problem = failure;
                            permit
                        }
                        _ => return self.act_again(act(idempotency_key)).await,
                    }
                }
                StartDecision::Replay(value) => return self.read(&value),
                StartDecision::Told(value) => match self.read(&value) {
                    Ok(told) => {
                        self.end(EffectEnd::Happened(value)).await;
                        return Ok(told);
                    }
                    Err(error) => self.ask_person(Some(crate::driver::explain(&error))).await,
                },
                StartDecision::Changed { recorded } => return Err(self.changed(recorded)),
                StartDecision::Doubt { wait } => {
                    match self.look(wait, reconcile.take(), &mut problem).await {
                        Reconciliation::Happened(value) => {
                            let written = self.write(&value)?;
                            self.end(EffectEnd::Happened(written)).await;
                            return Ok(value);
                        }
                        Reconciliation::DidNotHappen => {
                            let why = "looking after it showed so".to_owned();
                            self.end(EffectEnd::DidNotHappen(why)).await;
                            if act.is_none() {
                                let why = "looking after it showed that it did not happen";
                                return Err(self.failed(NotExecuted::because(why).into()));
                            }
                            self.begin().await
                        }
                        Reconciliation::Unknown => self.ask_person(problem.take()).await,
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
    /// Returns its error, too, if that leaves it in doubt.
    async fn act_once<T, Fut>(
        &self,
        within: Duration,
        ticket: Option<StartGuard>,
        act: impl FnOnce() -> Fut + Send + 'static,
    ) -> Result<(StartDecision, Option<String>), EffectError>
    where
        T: Serialize + Send + 'static,
        Fut: Future<Output = Result<T, BoxError>> + Send,
    {
        let (reply, permit) = oneshot::channel();
        let calls = self.shared.calls.clone();
        let (who, digest) = (self.who.clone(), self.digest.clone());
        let (key, class) = (self.key.clone(), self.class);
        let until = Instant::now() + within;
        let acting = async move {
            // Its code before the first await may panic too.
            let act = AssertUnwindSafe(async move {
                // The process may have been suspended since the action was granted.
                if Instant::now() >= until {
                    return Err(NotExecuted::because("its time was over before it began").into());
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
            let (end, failure) = judge(done);
            let ending = EndCall {
                who,
                key,
                digest,
                class,
                end,
                reply,
            };
            // Without a driver the intent stays in doubt: the next owner reconciles it.
            let _ = calls.send(Call::End(Box::new(ending)));
            failure
        };
        // A task of its own has no language.
        let acting = Lang::current().scope_future(acting);
        let acting = tokio::spawn(acting.in_current_span());
        ticket.into_iter().for_each(StartGuard::begins);
        let failure = acting.await.unwrap_or_default();
        let permit = answer(permit).await;
        match (failure, permit) {
            (Some(error), StartDecision::Noted) => Err(self.failed(error)),
            (Some(error), permit) => {
                tracing::warn!(effect = self.key, %error, "effect in doubt");
                Ok((permit, Some(crate::driver::explain(&*error))))
            }
            (None, permit) => Ok((permit, None)),
        }
    }

    /// Reconciles an action in doubt, when it is certainly over.
    async fn look<T>(
        &self,
        wait: Duration,
        reconcile: Option<Reconcile<T>>,
        problem: &mut Option<String>,
    ) -> Reconciliation<T> {
        tokio::time::sleep(wait).await;
        let Some(reconcile) = reconcile else {
            return Reconciliation::Unknown;
        };
        let error = match AssertUnwindSafe(reconcile()).catch_unwind().await {
            Ok(Ok(found)) => return found,
            Ok(Err(error)) => crate::driver::explain(&*error),
            Err(panic) => panic_text(&*panic),
        };
        tracing::warn!(effect = self.key, error, "effect could not be reconciled");
        let looked = say!("looking after it failed: {error}", "查看结果失败：{error}");
        *problem = Some(match problem.take() {
            Some(before) => say!("{before}; {looked}", "{before}；{looked}"),
            None => looked,
        });
        Reconciliation::Unknown
    }

    /// Returns the time limit of the action: shorter than set if storing its intent took long.
    fn within(&self, not_after: Millis) -> Duration {
        let left = not_after.saturating_sub(self.shared.now()).max(0);
        self.timeout.min(Duration::from_millis(left.unsigned_abs()))
    }

    async fn begin(&self) -> StartDecision {
        let (reply, permit) = oneshot::channel();
        let begin = BeginCall {
            who: self.who.clone(),
            key: self.key.clone(),
            digest: self.digest.clone(),
            class: self.class,
            input: self.input.clone(),
            timeout: millis(self.timeout),
            reply,
        };
        // Without a driver there is no answer, and the wait for it never ends.
        let _ = self.shared.calls.send(Call::Begin(Box::new(begin)));
        answer(permit).await
    }

    async fn end(&self, end: EffectEnd) -> StartDecision {
        let (reply, permit) = oneshot::channel();
        let ending = EndCall {
            who: self.who.clone(),
            key: self.key.clone(),
            digest: self.digest.clone(),
            class: self.class,
            end,
            reply,
        };
        let _ = self.shared.calls.send(Call::End(Box::new(ending)));
        answer(permit).await
    }

    /// Makes the task ask a person, and never returns: the driver drops this attempt. No catch-all
    /// of the node can mistake that for an error.
    async fn ask_person(&self, problem: Option<String>) -> StartDecision {
        let (who, key) = (self.who.clone(), self.key.clone());
        let asking = AskCall { who, key, problem };
        let _ = self.shared.calls.send(Call::AskPerson(Box::new(asking)));
        std::future::pending().await
    }

    fn read<T: DeserializeOwned>(&self, value: &Json) -> Result<T, EffectError> {
        serde_json::from_str(value.get()).map_err(|source| self.format(source))
    }

    fn write<T: Serialize>(&self, value: &T) -> Result<Json, EffectError> {
        serde_json::value::to_raw_value(value).map_err(|source| self.format(source))
    }

    fn format(&self, source: serde_json::Error) -> EffectError {
        let key = self.key.clone();
        EffectError::Format { key, source }
    }

    fn failed(&self, source: BoxError) -> EffectError {
        let key = self.key.clone();
        EffectError::Failed { key, source }
    }

    fn changed(&self, recorded: String) -> EffectError {
        EffectError::InputChanged {
            key: self.key.clone(),
            recorded,
            asked: self.digest.clone(),
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
fn judge<T: Serialize>(done: Result<T, BoxError>) -> (EffectEnd, Option<BoxError>) {
    match done.map(|value| serde_json::value::to_raw_value(&value)) {
        Ok(Ok(value)) => (EffectEnd::Happened(value), None),
        Ok(Err(error)) => (EffectEnd::Unknown, Some(error.into())),
        Err(error) if error.is::<NotExecuted>() => {
            (EffectEnd::DidNotHappen(error.to_string()), Some(error))
        }
        Err(error) => (EffectEnd::Unknown, Some(error)),
    }
}
