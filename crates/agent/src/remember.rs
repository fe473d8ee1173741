//! Notes that a person explicitly asks to remember, and the log of a day.
mod day;
mod recall;

use std::sync::Arc;

use async_trait::async_trait;
use fugato_graph::{BoxError, Context, EffectClass, Node, Outcome};
use fugato_memory::LongTermMemory;
use fugato_state::State;
use fugato_stream::EventKind;
use serde_json::json;

pub use day::log_once;
pub use recall::{Recall, RecallArgs};

/// The name of the event that a note was stored, or could not be stored.
pub const REMEMBERED: &str = "remembered";

/// Returns the note that a message asks to remember: 请记住……, "remember that …"; none if there is
/// none. The instruction must begin the message or one of its sentences, and a question does not
/// count.
pub fn to_remember(message: &str) -> Option<&str> {
    let ends = |c: char| matches!(c, '.' | '!' | '。' | '！' | '\n');
    // The point in "3.5" does not end a sentence.
    let begins = message
        .char_indices()
        .filter(|(_, c)| ends(*c))
        .map(|(at, c)| at + c.len_utf8());
    let begins = begins.filter(|at| {
        let next = message.get(*at..).and_then(|rest| rest.chars().next());
        next.is_some_and(|next| !next.is_ascii_digit())
    });
    std::iter::once(0)
        .chain(begins)
        .filter_map(|at| message.get(at..))
        .find_map(wish)
}

/// The phrases before a note, with their polite forms.
const OPENINGS: [&str; 24] = [
    "please remember that ",
    "please remember this:",
    "please remember:",
    "please remember my ",
    "remember that ",
    "remember this:",
    "remember:",
    "remember my ",
    "remember, ",
    "don't forget that ",
    "do not forget that ",
    "don’t forget that ",
    "keep in mind that ",
    "please keep in mind that ",
    "make a note that ",
    "请你记住",
    "请帮我记住",
    "请记住",
    "帮我记住",
    "你要记住",
    "要记住",
    "记住",
    "请牢记",
    "别忘了",
];

/// The end of a phrase that belongs to the note.
const KEPT: &str = "my ";

fn wish(sentence: &str) -> Option<&str> {
    let sentence = sentence.trim_start();
    if sentence.trim_end().ends_with(['?', '？', '吗', '么']) {
        return None;
    }
    let opening = OPENINGS.iter().find(|opening| {
        let head = sentence.get(..opening.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(opening))
    })?;
    let kept = if opening.ends_with(KEPT) {
        KEPT.len()
    } else {
        0
    };
    let rest = sentence.get(opening.len() - kept..)?;
    let is_gap = |c: char| c.is_whitespace() || matches!(c, ':' | '：' | ',' | '，');
    let wish = rest.trim_start_matches(is_gap).trim_end();
    // In 记住了 it is the person who remembers.
    let told = !matches!(wish, "" | "了" | "了。" | "了！");
    told.then_some(wish)
}

/// A node that stores a note that the person explicitly asks to remember.
///
/// It makes no update, and a failure of the memory does not stop the run: the result is a note of
/// the task, and a failure is also logged.
#[derive(derive_more::Debug)]
#[debug("MemoryTrigger")]
pub struct MemoryTrigger<F> {
    memory: Arc<dyn LongTermMemory>,
    message: F,
}

impl<F> MemoryTrigger<F> {
    /// Creates a node that stores notes in this memory; `message` returns the message to search.
    pub fn new(memory: Arc<dyn LongTermMemory>, message: F) -> Self {
        Self { memory, message }
    }
}

#[async_trait]
impl<S, F> Node<S> for MemoryTrigger<F>
where
    S: State,
    F: Fn(&S) -> Option<String> + Send + Sync,
{
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let message = (self.message)(cx.state());
        let Some(wish) = message.as_deref().and_then(to_remember) else {
            return Ok(Outcome::done([]));
        };
        let (memory, note) = (self.memory.clone(), wish.to_owned());
        let store = async move |_| memory.remember(&note).await;
        let stored = cx.effect("remember", EffectClass::Idempotent, &wish, store);
        let data = match stored.await {
            Ok(()) => json!({ "note": wish }),
            Err(error) => {
                let why = chain(&error);
                tracing::warn!(task = cx.task(), why, "memory could not be stored");
                json!({ "note": wish, "failure": why })
            }
        };
        let name = REMEMBERED.to_owned();
        Ok(Outcome::done([]).note(EventKind::Custom { name, data }))
    }
}

/// Adds an update to the outcome of a [`MemoryTrigger`] that stored a note, so that the state has a
/// receipt for words that claim it.
#[must_use]
pub fn with_note_receipt<U>(mut outcome: Outcome<U>, receipt: U) -> Outcome<U> {
    if let Outcome::Done { updates, notes } = &mut outcome {
        let is_stored = notes.iter().any(|note| match &note.0 {
            EventKind::Custom { name, data } => name == REMEMBERED && data.get("failure").is_none(),
            _ => false,
        });
        updates.extend(is_stored.then_some(receipt));
    }
    outcome
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}
