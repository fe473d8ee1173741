//! The calls of running tasks to their driver: effects, budgets.
use fugato_state::{EffectClass, Millis, State};
use fugato_store::Status;
use tokio::sync::oneshot;

use super::Driver;
use crate::{
    RunError,
    effect::{
        AskCall, AttemptRef, BeginCall, Call, EffectEnd, EndCall, InDoubt, StartDecision,
        StartGuard,
    },
    engine::{ActiveEffect, EffectAddress, ThreadEffect},
    machine::{EffectRecord, EffectStage, Fact, Machine, TaskPath, TaskStatus},
    scope::{DynScope, ScopeAddress, doubt_key, trail},
};

impl<S: State> Driver<S> {
    /// Handles the calls of tasks, and replies when the pending facts are stored.
    pub(super) async fn receive_calls(&mut self) -> Result<(), RunError> {
        while let Ok(call) = self.engine.calls.try_recv() {
            self.take_call(call).await?;
        }
        if !self.engine.replies.is_empty() {
            self.flush(Status::Runnable).await?;
            for (task, permit) in self.engine.replies.drain(..) {
                // A task that no longer waits was dropped.
                let _ = task.send(permit);
            }
        }
        Ok(())
    }

    pub(super) async fn take_call(&mut self, call: Call) -> Result<(), RunError> {
        match call {
            Call::Begin(begin) => self.begin(*begin).await,
            Call::End(ending) => {
                let address = EffectAddress::of(&ending.who, &ending.key);
                let waiting = self.no_longer_acting(&address);
                self.ended(*ending);
                for begin in waiting {
                    Box::pin(self.begin(begin)).await?;
                }
                Ok(())
            }
            Call::AskPerson(asking) => {
                self.ask_person(*asking);
                Ok(())
            }
            Call::Spend { meter, amount } => {
                let amounts = [(meter, amount)].into();
                self.root.record(Fact::Spent { amounts }, &mut self.engine);
                Ok(())
            }
            Call::Deeds { who, reply } => {
                // A task that no longer waits was dropped.
                let _ = reply.send(self.performed_effects(&who));
                Ok(())
            }
            Call::Answer(call) => {
                self.take_answers(*call);
                Ok(())
            }
        }
    }

    fn ask_person(&mut self, asking: AskCall) {
        let AskCall { who, key, problem } = asking;
        if !self.is_wanted(&who) {
            return;
        }
        // The root records the effects of the whole thread.
        let whole = if who.whole_thread {
            self.root.machine.effect(None, &key).cloned()
        } else {
            None
        };
        let root: &mut dyn DynScope = &mut self.root;
        if let Some(scope) = root.scope_mut(trail(&who.at)) {
            scope.ask_person(who.path, &key, whole, problem, &mut self.engine);
            self.engine.tasks.abandon();
        }
    }

    /// Decides whether an action may begin.
    async fn begin(&mut self, begin: BeginCall) -> Result<(), RunError> {
        if !self.is_wanted(&begin.who) {
            return Ok(());
        }
        let address = EffectAddress::of(&begin.who, &begin.key);
        let mut acting = self.engine.acting.iter_mut();
        if let Some(same) = acting.find(|acting| acting.address == address) {
            same.waiting.push(begin);
            return Ok(());
        }
        match self.known(&begin.who, &begin.key) {
            Some(EffectRecord { digest, stage, .. })
                if digest != begin.digest && !matches!(stage, EffectStage::Undone) =>
            {
                answer(begin.reply, StartDecision::Changed { recorded: digest });
            }
            Some(EffectRecord {
                stage: EffectStage::Receipted { value },
                ..
            }) => answer(begin.reply, StartDecision::Replay(value)),
            Some(effect) if effect.is_in_doubt() => match self.told(&begin.who, &effect) {
                Some(InDoubt::Happened(value)) => {
                    let value = serde_json::value::to_raw_value(&value)?;
                    answer(begin.reply, StartDecision::Told(value));
                }
                Some(InDoubt::DidNotHappen) => {
                    let why = "a person said so".to_owned();
                    self.undone(&begin.who, begin.key.clone(), why);
                    return self.grant(begin).await;
                }
                None => answer(
                    begin.reply,
                    StartDecision::Doubt {
                        wait: self.wait_for(&effect),
                    },
                ),
            },
            _ => return self.grant(begin).await,
        }
        Ok(())
    }

    /// Grants an action. All earlier facts are stored before it begins, whatever the durability.
    async fn grant(&mut self, begin: BeginCall) -> Result<(), RunError> {
        let now = self.engine.shared.now();
        let not_after = now.saturating_add(begin.timeout).saturating_add(GRACE);
        let idempotency_key = self.idempotency_key(&begin.who, &begin.key);
        let mut ticket = None;
        if begin.class == EffectClass::Once {
            self.outlive(not_after).await?;
            let address = EffectAddress::of(&begin.who, &begin.key);
            let (key, digest) = (begin.key.clone(), begin.digest.clone());
            let calls = self.engine.shared.calls.clone();
            ticket = Some(StartGuard::new(begin.who.clone(), key, digest, calls));
            let intended = Fact::Intended {
                task: begin.who.task(),
                key: begin.key,
                digest: begin.digest,
                input: begin.input,
                not_after,
            };
            self.record_for(&begin.who, intended);
            if let Some(effect) = self.root.machine.effect(None, &address.key)
                && begin.who.whole_thread
            {
                self.engine.begun.push(ThreadEffect {
                    trail: trail(&begin.who.at).to_vec(),
                    path: begin.who.path,
                    effect: effect.clone(),
                });
            }
            self.engine.acting.push(ActiveEffect {
                address,
                not_after,
                waiting: vec![],
            });
        }
        let go = StartDecision::Go {
            idempotency_key,
            not_after,
            ticket,
        };
        self.engine.replies.push((begin.reply, go));
        Ok(())
    }

    fn ended(&mut self, ending: EndCall) {
        let EndCall {
            who,
            key,
            digest,
            class,
            end,
            reply,
        } = ending;
        match end {
            EffectEnd::Happened(value) => {
                let task = who.task();
                let receipt = Fact::Receipt {
                    task,
                    key,
                    digest,
                    value: value.clone(),
                };
                self.record_for(&who, receipt);
                match class {
                    // The receipt of a once-only action is stored at once.
                    EffectClass::Once => self
                        .engine
                        .replies
                        .push((reply, StartDecision::Replay(value))),
                    _ => answer(reply, StartDecision::Replay(value)),
                }
            }
            EffectEnd::DidNotHappen(why) => {
                self.undone(&who, key, why);
                answer(reply, StartDecision::Noted);
            }
            EffectEnd::Unknown => {
                let wait = std::time::Duration::ZERO;
                answer(reply, StartDecision::Doubt { wait });
            }
        }
    }

    fn undone(&mut self, who: &AttemptRef, key: String, why: String) {
        let task = who.task();
        self.record_for(who, Fact::Undone { task, key, why });
    }

    fn no_longer_acting(&mut self, address: &EffectAddress) -> Vec<BeginCall> {
        let mut acting = self.engine.acting.iter();
        match acting.position(|acting| acting.address == *address) {
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
        done.map(|effect| effect.key.clone()).collect()
    }

    /// Returns the answer of a person about an action in doubt.
    fn told(&mut self, who: &AttemptRef, effect: &EffectRecord) -> Option<InDoubt> {
        let scope = self.scope(&who.at)?;
        let task = scope.machine().position(&who.path)?;
        let ask = scope.machine().task(task)?.ask.as_ref()?;
        let told = ask.answer(&doubt_key(effect))?;
        serde_json::from_value(told.clone()).ok()
    }

    fn known(&mut self, who: &AttemptRef, key: &str) -> Option<EffectRecord> {
        let machine = self.machine_of(who)?;
        machine.effect(who.task().as_ref(), key).cloned()
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
    fn idempotency_key(&mut self, who: &AttemptRef, key: &str) -> String {
        let birth = self.root.machine.incarnation();
        let thread = self.engine.shared.thread.clone();
        let scope = self.scope(&who.at).filter(|_| !who.whole_thread);
        let task = scope.map_or_else(String::new, |scope| scope.name_of(who.path));
        format!("{thread}@{birth}/{task}/{key}")
    }
}

/// The time for which an action counts as under way after its timeout, in milliseconds: an append
/// comes between the intent and its beginning.
const GRACE: Millis = 2_000;

fn answer(task: oneshot::Sender<StartDecision>, permit: StartDecision) {
    // A task that no longer waits was dropped.
    let _ = task.send(permit);
}

impl AttemptRef {
    /// Returns the task of the effect; none if it belongs to the whole thread.
    fn task(&self) -> Option<TaskPath> {
        (!self.whole_thread).then_some(self.path)
    }
}

impl EffectAddress {
    fn of(who: &AttemptRef, key: &str) -> Self {
        let task = who.task().map(|path| (trail(&who.at).to_vec(), path));
        Self {
            task,
            key: key.into(),
        }
    }
}
