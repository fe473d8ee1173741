//! The progress of a round of calls within one task.
use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use fugato_graph::{BoxError, Context, Outcome};
use fugato_state::{Question, State, say};
use fugato_tool::{NextStep, ToolOutput, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The reason why a round ends before all of its calls have a result.
pub(super) enum RoundEnd {
    /// A tool asks a person.
    Asks,
    /// A call cannot be carried out.
    Failed(BoxError),
}

impl From<BoxError> for RoundEnd {
    fn from(error: BoxError) -> Self {
        Self::Failed(error)
    }
}

impl From<serde_json::Error> for RoundEnd {
    fn from(error: serde_json::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// The results of the calls before a question, which the task gets back with the answer.
#[derive(Debug, Default, Serialize, Deserialize)]
struct RoundMemo {
    #[serde(default)]
    tool_results: BTreeMap<String, Value>,
}

/// The progress of a round.
pub(super) struct RoundState<S>(Mutex<Progress<S>>);

struct Progress<S> {
    /// The state that the next call gets.
    state: Arc<S>,
    /// The ids of the calls that have begun.
    began: HashSet<String>,
    /// The results so far, by the id of the call.
    memo: RoundMemo,
    questions: Vec<Question>,
}

impl<S: State> RoundState<S> {
    pub(super) fn of(cx: &Context<S>) -> Self {
        // A memo of another shape is the node's own.
        let memo = cx.memo().ok().flatten().unwrap_or_default();
        Self(Mutex::new(Progress {
            state: cx.snapshot(),
            began: HashSet::new(),
            memo,
            questions: vec![],
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Progress<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, call: &str) {
        self.lock().began.insert(call.to_owned());
    }

    pub(super) fn began(&self, call: &str) -> bool {
        self.lock().began.contains(call)
    }

    pub(super) fn now(&self) -> Arc<S> {
        Arc::clone(&self.lock().state)
    }

    /// Returns the result that a call had before the task asked a person.
    pub(super) fn known(
        &self,
        call: &str,
    ) -> Result<Option<ToolResult<S::Update>>, serde_json::Error> {
        let known = self.lock().memo.tool_results.get(call).cloned();
        known.map(serde_json::from_value).transpose()
    }

    /// Records the result of a call, and returns it with the answer of the person if the tool
    /// asked one. Without an answer yet, the round ends with the question.
    pub(super) fn settle(
        &self,
        cx: &Context<S>,
        call: &str,
        mut result: ToolResult<S::Update>,
    ) -> Result<ToolResult<S::Update>, RoundEnd> {
        let written = serde_json::to_value(&result)?;
        self.record(call, written);
        if let NextStep::Interrupt(question) = &result.next {
            let key = format!("ask/{call}");
            let Some(answer) = cx.answer::<Value>(&key)? else {
                let question = question.clone();
                self.lock().questions.push(Question { key, ..question });
                return Err(RoundEnd::Asks);
            };
            let asked = ToolOutput::new(in_words(&answer)).data(answer);
            result = asked.updates(result.updates).into();
        }
        self.after(&result.updates)?;
        Ok(result)
    }

    fn record(&self, call: &str, result: Value) {
        self.lock()
            .memo
            .tool_results
            .insert(call.to_owned(), result);
    }

    fn after(&self, updates: &[S::Update]) -> Result<(), serde_json::Error> {
        if updates.is_empty() {
            return Ok(());
        }
        let mut next = S::clone(&self.now());
        for update in updates {
            // Updates need not be cloneable; each can be written and read.
            next.apply(serde_json::from_value(serde_json::to_value(update)?)?);
        }
        self.lock().state = Arc::new(next);
        Ok(())
    }

    /// Returns the outcome of a task that asks: with the results so far, which it gets back.
    pub(super) fn asks(
        self,
        mut questions: Vec<Question>,
    ) -> Result<Outcome<S::Update>, serde_json::Error> {
        let progress = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        questions.extend(progress.questions);
        let none = progress.memo.tool_results.is_empty();
        let memo = (!none).then(|| serde_json::to_value(progress.memo));
        let memo = memo.transpose()?;
        Ok(Outcome::Ask { memo, questions })
    }
}

/// Returns the answer of a person as the model reads it.
fn in_words(answer: &Value) -> String {
    match answer {
        Value::String(text) => text.clone(),
        Value::Null => say!("the person gave no answer", "用户没有回答"),
        other => other.to_string(),
    }
}
