//! The calls of running tasks to their driver: effects, budgets.
use std::sync::Arc;

use fugato_state::{EffectClass, Millis, State};
use fugato_store::Status;
use tokio::sync::oneshot;

use super::Driver;
use crate::{
    RunError,
    effect::{
        AskCall, AttemptRef, BeginCall, Call, EffectEnd, EndCall, InDoubt, NamedEffect,
        StartDecision, StartGuard,
    },
    engine::{ActiveEffect, Engine, ThreadEffect},
    machine::{EffectRecord, EffectStage, Fact, Machine, TaskPath, TaskStatus},
    policy::millis,
    scope::{DynScope, ScopeAddress, doubt_key, trail},
};

impl<S: State> Driver<S> {
    /// Handles the calls of tasks, and replies when the pending facts are stored.
    pub(super) async fn receive_calls(&mut self) -> Result<(), RunError> {
        while let Some(call) = self.engine.shared.control.calls.take() {
            self.take_call(call).await?;
        }
        if !self.engine.replies.is_empty() {
            self.flush(Status::Runnable).await?;
            self.own().await?;
            for (task, permit) in self.engine.replies.drain(..) {
                // A task that no longer waits was dropped.
                let _ = task.send(permit);
            }
        }
        Ok(())
    }

    pub(super) async fn take_call(&mut self, call: Call) -> Result<(), RunError> {
        match call {
            Call::Begin(begin) => self.begin(begin).await,
            Call::End(ending) => {
                let waiting = self.no_longer_acting(&ending.effect);
                self.ended(ending);
                for begin in waiting {
                    Box::pin(self.begin(begin)).await?;
                }
                Ok(())
            }
            Call::AskPerson(asking) => {
                self.ask_person(asking);
                Ok(())
            }
            Call::Spend { meter, amount } => {
                let amounts = [(meter, amount)].into();
                self.root.record(Fact::Spent { amounts }, &mut self.engine);
                Ok(())
            }
            Call::PerformedEffects { who, reply } => {
                // A task that no longer waits was dropped.
                let _ = reply.send(self.performed_effects(&who));
                Ok(())
            }
            Call::Answer(call) => {
                self.take_answers(call);
                Ok(())
            }
        }
    }

    fn ask_person(&mut self, asking: AskCall) {
        let AskCall { effect, problem } = asking;
        let NamedEffect { who, key, .. } = &*effect;
        if !self.is_wanted(who) {
            return;
        }
        // The root records the effects of the whole thread.
        let whole = if who.whole_thread {
            self.root.machine.effect(None, key).cloned()
        } else {
            None
        };
        let root: &mut dyn DynScope = &mut self.root;
        if let Some(scope) = root.scope_mut(trail(&who.at)) {
            scope.ask_person(who.path, key, whole, problem, &mut self.engine);
            self.engine.tasks.abandon();
        }
    }

    /// Decides whether an action may begin.
    async fn begin(&mut self, begin: BeginCall) -> Result<(), RunError> {
        let BeginCall { effect, reply } = begin;
        if !self.is_wanted(&effect.who) {
            return Ok(());
        }
        let mut acting = self.engine.acting.iter_mut();
        if let Some(same) = acting.find(|acting| acting.effect.is_same(&effect)) {
            same.waiting.push(BeginCall { effect, reply });
            return Ok(());
        }
        match self.known(&effect) {
            Some(EffectRecord { digest, stage, .. })
                if digest != effect.digest && !matches!(stage, EffectStage::Undone) =>
            {
                let recorded = digest.to_string();
                answer(reply, StartDecision::Changed { recorded });
            }
            Some(EffectRecord {
                stage: EffectStage::Receipted { value },
                ..
            }) => answer(reply, StartDecision::Replay(value)),
            Some(known) if known.is_in_doubt() => match self.told(&effect.who, &known) {
                Some(InDoubt::Happened(value)) => {
                    let value = serde_json::value::to_raw_value(&value)?;
                    answer(reply, StartDecision::Settled(value));
                }
                Some(InDoubt::DidNotHappen) => {
                    self.undone(&effect, "a person said so".to_owned());
                    return self.grant(effect, reply).await;
                }
                None => {
                    let wait = self.wait_for(&known);
                    answer(reply, StartDecision::InDoubt { wait });
                }
            },
            _ => return self.grant(effect, reply).await,
        }
        Ok(())
    }

    /// Grants an action. All earlier facts are stored before it begins, whatever the durability.
    async fn grant(
        &mut self,
        effect: Arc<NamedEffect>,
        reply: oneshot::Sender<StartDecision>,
    ) -> Result<(), RunError> {
        let now = self.engine.shared.now();
        let not_after = now
            .saturating_add(millis(effect.timeout))
            .saturating_add(GRACE);
        let idempotency_key = self.idempotency_key(&effect);
        let mut ticket = None;
        if effect.class == EffectClass::Once {
            self.outlive(not_after).await?;
            let control = self.engine.shared.control.clone();
            ticket = Some(StartGuard::new(effect.clone(), control));
            let intended = Fact::Intended {
                task: effect.who.task(),
                key: effect.key.clone(),
                digest: effect.digest.clone(),
                input: effect.input.clone(),
                not_after,
            };
            self.record_for(&effect.who, intended);
            if let Some(known) = self.root.machine.effect(None, &effect.key)
                && effect.who.whole_thread
            {
                self.engine.begun.push(ThreadEffect {
                    trail: trail(&effect.who.at).to_vec(),
                    path: effect.who.path,
                    effect: known.clone(),
                });
            }
            self.engine.acting.push(ActiveEffect {
                effect,
                not_after,
                waiting: vec![],
            });
        }
        let go = StartDecision::Execute {
            idempotency_key,
            not_after,
            ticket,
        };
        self.engine.replies.push((reply, go));
        Ok(())
    }

    fn ended(&mut self, ending: EndCall) {
        let EndCall { effect, end, reply } = ending;
        match end {
            EffectEnd::Happened(value) => {
                let receipt = Fact::Receipt {
                    task: effect.who.task(),
                    key: effect.key.clone(),
                    digest: effect.digest.clone(),
                    value,
                };
                self.record_for(&effect.who, receipt);
                let stored = reply.map(|reply| (reply, StartDecision::EndStored));
                self.engine.replies.extend(stored);
            }
            EffectEnd::DidNotHappen(why) => self.undone(&effect, why),
            EffectEnd::Unknown => {}
        }
    }

    fn undone(&mut self, effect: &NamedEffect, why: String) {
        let (task, key) = (effect.who.task(), effect.key.clone());
        self.record_for(&effect.who, Fact::Undone { task, key, why });
    }

    fn no_longer_acting(&mut self, ended: &NamedEffect) -> Vec<BeginCall> {
        let mut acting = self.engine.acting.iter();
        match acting.position(|acting| acting.effect.is_same(ended)) {
            Some(at) => self.engine.acting.swap_remove(at).waiting,
            None => vec![],
        }
    }

    /// Extends the lease until the action is certainly over.
    async fn outlive(&mut self, not_after: Millis) -> Result<(), RunError> {
        let control = self.engine.shared.control.clone();
        control.hold_until(not_after);
        match &self.engine.journal {
            Some(journal) if control.lease_until() < not_after => {
                let ttl = not_after.saturating_sub(self.engine.shared.now());
                journal.renew(ttl.saturating_add(GRACE), &control).await
            }
            _ => Ok(()),
        }
    }

    /// Makes sure that the thread is still this run's: a store that took longer than the lease, or a
    /// machine that slept, may have given it to another process, which does the same actions.
    async fn own(&mut self) -> Result<(), RunError> {
        let Engine {
            journal,
            shared,
            options,
            ..
        } = &self.engine;
        match journal {
            Some(journal) if shared.control.lease_until() <= shared.now() => {
                let ttl = options.ttl().max(shared.control.time_left());
                journal.renew(ttl, &shared.control).await
            }
            _ => Ok(()),
        }
    }

    fn wait_for(&self, effect: &EffectRecord) -> std::time::Duration {
        let EffectStage::Intended { not_after, .. } = effect.stage else {
            return std::time::Duration::ZERO;
        };
        let wait = not_after.saturating_sub(self.engine.shared.now()).max(0);
        std::time::Duration::from_millis(wait.unsigned_abs())
    }

    /// Returns the keys of the effects that a task has performed, or may have.
    fn performed_effects(&mut self, who: &AttemptRef) -> Vec<String> {
        let machine = self.scope(&who.at).map(|scope| scope.machine());
        let task = machine.and_then(|machine| machine.task(machine.position(&who.path)?));
        let effects = task.map_or(&[][..], |task| &task.effects);
        let done = effects
            .iter()
            .filter(|effect| !matches!(effect.stage, EffectStage::Undone));
        done.map(|effect| effect.key.to_string()).collect()
    }

    /// Returns the answer of a person about an action in doubt.
    fn told(&mut self, who: &AttemptRef, effect: &EffectRecord) -> Option<InDoubt> {
        let scope = self.scope(&who.at)?;
        let task = scope.machine().position(&who.path)?;
        let ask = scope.machine().task(task)?.ask.as_ref()?;
        let told = ask.answer(&doubt_key(effect))?;
        serde_json::from_value(told.clone()).ok()
    }

    fn known(&mut self, effect: &NamedEffect) -> Option<EffectRecord> {
        let machine = self.machine_of(&effect.who)?;
        let task = effect.who.task();
        machine.effect(task.as_ref(), &effect.key).cloned()
    }

    fn machine_of(&mut self, who: &AttemptRef) -> Option<&Machine> {
        if who.whole_thread {
            return Some(&self.root.machine);
        }
        self.scope(&who.at).map(|scope| scope.machine())
    }

    fn record_for(&mut self, who: &AttemptRef, fact: Fact<TaskPath>) {
        if who.whole_thread {
            if let Fact::Receipt { key, .. } | Fact::Undone { key, .. } = &fact {
                self.engine.begun.retain(|begun| begun.effect.key != *key);
            }
            return self.root.record(fact, &mut self.engine);
        }
        let root: &mut dyn DynScope = &mut self.root;
        if let Some(scope) = root.scope_mut(trail(&who.at)) {
            scope.record(fact, &mut self.engine);
        }
    }

    fn scope(&mut self, at: &ScopeAddress) -> Option<&mut dyn DynScope> {
        let root: &mut dyn DynScope = &mut self.root;
        root.scope_mut(trail(at))
    }

    /// Returns true if the calling attempt is the one that is running.
    fn is_wanted(&mut self, who: &AttemptRef) -> bool {
        let Some(scope) = self.scope(&who.at) else {
            return false;
        };
        let machine = scope.machine();
        let task = machine.position(&who.path).and_then(|at| machine.task(at));
        task.is_some_and(|task| task.state == TaskStatus::Running && task.attempt == who.attempt)
    }

    /// Returns the idempotency key, the same for every attempt of this action of this task and
    /// thread.
    fn idempotency_key(&mut self, effect: &NamedEffect) -> String {
        let NamedEffect { who, key, .. } = effect;
        let incarnation = self.root.machine.incarnation();
        let thread = self.engine.shared.thread.clone();
        let scope = self.scope(&who.at).filter(|_| !who.whole_thread);
        let task = scope.map_or_else(String::new, |scope| scope.name_of(who.path));
        let mut number = itoa::Buffer::new();
        let incarnation = number.format(incarnation);
        [thread.as_str(), "@", incarnation, "/", &task, "/", key].concat()
    }
}

/// The time for which an action counts as under way after its timeout, in milliseconds: an append
/// comes between the intent and its beginning.
const GRACE: Millis = 2_000;

fn answer(task: oneshot::Sender<StartDecision>, permit: StartDecision) {
    // A task that no longer waits was dropped.
    let _ = task.send(permit);
}
