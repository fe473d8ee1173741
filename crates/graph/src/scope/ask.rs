//! The questions of a scope to people.
use fugato_state::{Interrupt, InterruptId, Millis, Question, Schema, State, say};
use serde_json::{Value, json};

use super::Scope;
use crate::{
    AnswerError, RunError, RunErrorKind,
    answer::{is_bound, token},
    driver::ANSWER,
    effect::InDoubt,
    engine::Engine,
    graph::{NodeWork, PauseNode},
    machine::{EffectRecord, EffectStage, Fact, TaskPath},
    route::calm,
};

/// Makes an approval of a question whose prompt has the type `confirm`.
fn bound(question: Question) -> Question {
    let kind = question.prompt.get("type").and_then(Value::as_str);
    if question.digest.is_some() || kind != Some("confirm") {
        return question;
    }
    let digest = crate::digest::of(question.prompt.to_string().as_bytes());
    question.digest(digest)
}

/// Returns title and text of the question whether an effect happened.
fn in_doubt(key: &str, problem: Option<&str>) -> (String, String) {
    let title = say!("Did {key:?} happen?", "{key:?} 做成了吗？");
    let why = problem.map_or_else(String::new, |problem| say!(" ({problem})", "（{problem}）"));
    let summary = say!(
        "It was begun, and its end is not known{why}. Look, and say whether it happened.",
        "已经开始执行，但不知道结果{why}。请查看后告诉我它是否做成了。"
    );
    (title, summary)
}

/// Returns the key of the question whether an effect happened.
pub(crate) fn doubt_key(effect: &EffectRecord) -> String {
    format!("in doubt: {} #{}", effect.key, effect.intents)
}

impl<S: State> Scope<S> {
    /// Asks the question of a pause, or goes on with its answer.
    pub(super) fn pause(
        &mut self,
        position: usize,
        pause: &dyn PauseNode<S>,
        engine: &mut Engine,
    ) -> Result<(), RunError> {
        let state = self.fold.state.clone();
        let task = self.machine.task(position);
        let ask = task.and_then(|task| task.ask.as_deref());
        let answer = ask.and_then(|ask| ask.answer(ANSWER)).cloned();
        let expired = ask.is_some_and(|ask| ask.expired);
        let outcome = match answer {
            Some(answer) => calm(&*state, || pause.answer(&state, &answer)).map(Some),
            None if expired => calm(&*state, || Ok(pause.expired(&state))),
            None => Ok(None),
        };
        drop(state);
        let error = match outcome {
            Ok(Some(updates)) => return self.done(position, updates, vec![], engine),
            Ok(None) => {
                let now = engine.shared.now();
                match calm(&*self.fold.state, || {
                    pause.question(ANSWER, &self.fold.state, now)
                }) {
                    Ok(question) => {
                        self.asked(position, None, vec![question], engine);
                        return Ok(());
                    }
                    Err(error) => error,
                }
            }
            Err(error) => error,
        };
        let node = self.name(position);
        self.failed(position, RunErrorKind::Router { node }, error, engine);
        Ok(())
    }

    pub(super) fn asked(
        &mut self,
        position: usize,
        memo: Option<Value>,
        questions: Vec<Question>,
        engine: &mut Engine,
    ) {
        let name = self.name(position);
        let Some((task, attempt)) = self.attempt(position) else {
            return;
        };
        if let Some(problem) = crate::answer::problem(&questions) {
            let kind = RunErrorKind::Question {
                task: name,
                problem: problem.clone(),
            };
            return self.failed(position, kind, problem.into(), engine);
        }
        let questions = questions.into_iter().map(bound);
        let interrupt = |(question, ahead)| Interrupt {
            id: token(
                engine.incarnation,
                &self.machine.interrupt_name(&name, ahead),
                &question,
            ),
            task: name.clone(),
            question,
        };
        let questions = questions.zip(0..).map(interrupt).collect();
        self.record(
            Fact::Asked {
                task,
                attempt,
                memo,
                questions,
            },
            engine,
        );
    }

    /// Settles the actions in doubt that nobody in a task waits for, from a person's answers; asks
    /// about those without one. Returns true if it asks.
    pub(super) fn asks_about_doubts(
        &mut self,
        position: usize,
        problem: fn() -> String,
        engine: &mut Engine,
    ) -> Result<bool, RunError> {
        let Some(task) = self.machine.task(position) else {
            return Ok(false);
        };
        let path = task.path;
        let own: Vec<EffectRecord> = task.doubts().cloned().collect();
        let mut open = None;
        for effect in own {
            let told: Option<InDoubt> = self.machine.task(position).and_then(|task| {
                let told = task.ask.as_ref()?.answer(&doubt_key(&effect))?;
                serde_json::from_value(told.clone()).ok()
            });
            let (task, key) = (Some(path), effect.key.clone());
            match told {
                Some(InDoubt::Happened(value)) => {
                    let digest = effect.digest;
                    let value = serde_json::value::to_raw_value(&value)?;
                    let receipt = Fact::Receipt {
                        task,
                        key,
                        digest,
                        value,
                    };
                    self.record(receipt, engine);
                }
                Some(InDoubt::DidNotHappen) => {
                    let why = "a person said so".into();
                    self.record(Fact::Undone { task, key, why }, engine);
                }
                None => open = open.or(Some(effect)),
            }
        }
        let open = open.or_else(|| engine.begun_by(&self.at, path).cloned());
        if let Some(effect) = &open {
            let problem = self.fold.state.lang().scope(problem);
            self.ask_person(path, effect, Some(&problem), engine);
        }
        Ok(open.is_some())
    }

    /// Asks a person whether an action in doubt happened.
    pub(super) fn ask_person(
        &mut self,
        path: TaskPath,
        known: &EffectRecord,
        problem: Option<&str>,
        engine: &mut Engine,
    ) {
        let Some(position) = self.machine.position(&path) else {
            return;
        };
        let EffectStage::Intended { input, not_after } = &known.stage else {
            return;
        };
        let input: Option<Value> = serde_json::from_str(input.get()).ok();
        let asked = doubt_key(known);
        let (title, summary) = self
            .fold
            .state
            .lang()
            .scope(|| in_doubt(&known.key, problem));
        let prompt = json!({
            "title": title,
            "summary": summary,
            "in_doubt": known.key,
            "task": self.name(position),
            "input": input,
            "not_after": not_after,
            "problem": problem,
        });
        let memo = self
            .machine
            .task(position)
            .and_then(|task| task.ask.as_ref());
        let memo = memo.and_then(|ask| ask.memo.clone());
        let question = Question::new::<InDoubt>(asked, prompt);
        self.asked(position, memo, vec![question], engine);
    }

    fn pause_at(&self, position: usize) -> Option<&dyn PauseNode<S>> {
        let task = self.machine.task(position)?;
        match &self.graph.0.nodes.get(task.path.node.at())?.work {
            NodeWork::Pause(pause) => Some(&**pause),
            _ => None,
        }
    }

    /// Returns the void approvals: the value they ask about has changed, or they are not bound to
    /// what they show. With `amended`, the state has just been changed by an operator, and the
    /// values that nodes ask about may have changed with it.
    pub(super) fn void_approvals(
        &self,
        amended: bool,
        incarnation: u64,
        now: Millis,
    ) -> Vec<InterruptId> {
        let mut void = vec![];
        for (position, task) in self.machine.frontier().iter().enumerate() {
            let open = task.ask.iter().flat_map(|ask| &ask.open);
            for asked in open.filter(|asked| asked.question.digest.is_some()) {
                let changed = match self.pause_at(position) {
                    None => amended,
                    Some(pause) => {
                        let today = calm(&*self.fold.state, || {
                            pause.question(ANSWER, &self.fold.state, now)
                        });
                        // If the question fails, the open one is kept.
                        today.is_ok_and(|today| bound(today).digest != asked.question.digest)
                    }
                };
                if changed || !is_bound(incarnation, asked) {
                    void.push(asked.id.clone());
                }
            }
        }
        void
    }

    /// Returns the pause of an open question, unless that is about an action in doubt, which a node
    /// of an older program began.
    fn asking_pause(&self, id: &InterruptId) -> Option<(&dyn PauseNode<S>, &Question)> {
        let position = self.machine.asker(id)?;
        let asked = self.machine.interrupts().find(|open| open.id == *id)?;
        let mut doubts = self.machine.task(position)?.doubts();
        let is_doubt = doubts.any(|effect| doubt_key(effect) == asked.question.key);
        let pause = (!is_doubt).then(|| self.pause_at(position))??;
        Some((pause, &asked.question))
    }

    /// Returns the pause of a question whose schema means something else today, with the schema with
    /// which it was asked.
    fn changed(&self, id: &InterruptId) -> Option<(&dyn PauseNode<S>, &Schema)> {
        let (pause, asked) = self.asking_pause(id)?;
        let before = &asked.schema;
        (!before.is_equivalent(&pause.schema())).then_some((pause, before))
    }

    /// Returns the questions that pauses ask with another schema today.
    pub(super) fn changed_questions(&self) -> Vec<InterruptId> {
        let open = self.machine.interrupts().map(|asked| &asked.id);
        open.filter(|id| self.changed(id).is_some())
            .cloned()
            .collect()
    }

    /// Returns true if a pause asked this with a schema that means something else today, and the
    /// answer does not fit both: the question must be asked again.
    pub(super) fn is_outgrown(&self, id: &InterruptId, answer: &Value) -> bool {
        let Some((pause, before)) = self.changed(id) else {
            return false;
        };
        let fits = before.check(answer).is_ok() && pause.schema().check(answer).is_ok();
        let is_read = || calm(&*self.fold.state, || pause.answer(&self.fold.state, answer)).is_ok();
        !(fits && is_read())
    }

    /// Tries out an answer on its pause before it is accepted: an unusable answer is refused, and
    /// does not fail the run.
    pub(super) fn try_out(&self, id: &InterruptId, answer: &Value) -> Result<(), RunError> {
        let Some((pause, _)) = self.asking_pause(id) else {
            return Ok(());
        };
        let state = &*self.fold.state;
        let refused = |error: crate::BoxError| AnswerError::Refused {
            id: id.clone(),
            why: error.to_string(),
        };
        calm(state, || pause.answer(state, answer)).map_err(refused)?;
        Ok(())
    }
}
