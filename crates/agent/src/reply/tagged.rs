//! Answers that open with a decision in a tag, and go on with text for the person.
use std::time::Instant;

use fugato_graph::{BudgetUnit, Context};
use fugato_llm::{
    ChatDelta, ChatModel, ChatRequest, FinishReason, ModelError, Tag, TagEnd, TagPiece,
    TaggedAnswer, TaggedDelta, split_tag,
};
use fugato_state::State;
use futures::StreamExt as _;

use super::{Speech, cut_mark, is_chinese};

type Check<'a> = &'a (dyn Fn(&str) -> bool + Send + Sync);

/// Asks a model for an answer that opens with a decision in a [`Tag`]. The reasoning is streamed as
/// it comes. The text after the decision is streamed sentence by sentence, once `accepts` takes the
/// decision, and up to the first sentence that `allows` refuses, so that a person never reads what
/// is taken back. Its cost counts towards the run's budgets.
///
/// The decision is read by an [`Ask`](fugato_llm::Ask) over the answer, which
/// [`settle`](crate::decision::settle) corrects in rounds of the graph. Each request needs a
/// [fresh](Tag::fresh) tag: text that was smuggled into the conversation cannot have it.
///
/// *Contract*
/// - **decision first**: no text is streamed before a decision was accepted.
/// - **whole sentences**: a sentence is streamed when it is complete and was allowed.
/// - **no way back**: after a refused sentence nothing is streamed, and the answer says so.
/// - **cut is marked**: streamed text whose end is missing gets a mark.
///
/// # Errors
/// The error of the model. What was streamed before it stays.
pub async fn ask_tagged<S: State>(
    cx: &Context<S>,
    model: &dyn ChatModel,
    request: ChatRequest,
    tag: Tag,
    accepts: Check<'_>,
    allows: Check<'_>,
) -> Result<TaggedAnswer, ModelError> {
    let began = Instant::now();
    let (task, messages) = (cx.task(), request.messages.len());
    cx.spend(BudgetUnit::ModelCalls, 1);
    let mut listener = Listener {
        speech: Speech::new(cx),
        gate: SentenceGate::new(allows),
        accepts,
        answer: TaggedAnswer::default(),
        is_cut: false,
        tokens: 0,
    };
    let mut deltas = split_tag(model.stream(request).await?, tag);
    while let Some(delta) = deltas.next().await {
        listener.take(delta?);
    }
    cx.spend(BudgetUnit::Tokens, listener.tokens);
    let mut answer = listener.finish();
    if !allows(&answer.before) {
        answer.before.clear();
    }
    if answer.held_back {
        tracing::warn!(task, "words held back");
    }
    answer.seconds = began.elapsed().as_secs();
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::debug!(
        task,
        messages,
        took_ms,
        raw = answer.decision,
        "model answered"
    );
    Ok(answer)
}

/// An answer while it comes.
struct Listener<'a, S: State> {
    speech: Speech<S>,
    gate: SentenceGate<'a>,
    accepts: Check<'a>,
    answer: TaggedAnswer,
    is_cut: bool,
    tokens: u64,
}

impl<S: State> Listener<'_, S> {
    fn take(&mut self, delta: TaggedDelta) {
        let answer = &mut self.answer;
        match delta {
            TaggedDelta::Piece(TagPiece::Found(found)) => {
                self.gate.open((self.accepts)(&found.body));
                answer.found(found);
            }
            TaggedDelta::Piece(TagPiece::Text(text)) => {
                if let Some(text) = self.gate.push(&text) {
                    self.speech.text(&text);
                }
            }
            TaggedDelta::Other(ChatDelta::Reasoning(text)) => {
                self.speech.reasoning(&text);
                answer.reasoning.push_str(&text);
            }
            TaggedDelta::Other(ChatDelta::Attempt(attempt)) => answer.attempts.push(attempt),
            TaggedDelta::Other(ChatDelta::Finish(reason)) => {
                self.is_cut = reason == FinishReason::Length;
            }
            TaggedDelta::Other(ChatDelta::Usage(usage)) => self.tokens = usage.total(),
            TaggedDelta::End(TagEnd::Tagged { before }) => answer.before = before,
            TaggedDelta::End(TagEnd::Unclosed { found, before }) => {
                answer.found(found);
                answer.before = before;
            }
            TaggedDelta::End(TagEnd::Plain { text }) => answer.decision = text,
            _ => {}
        }
    }

    fn finish(mut self) -> TaggedAnswer {
        if let Some(text) = self.gate.finish(self.is_cut) {
            self.speech.text(&text);
        }
        self.answer.held_back = self.gate.held_back;
        self.answer.after = self.gate.shown;
        self.answer
    }
}

/// A filter of text as it comes, sentence by sentence, up to the first one that may not be shown.
struct SentenceGate<'a> {
    allows: Check<'a>,
    held: String,
    shown: String,
    is_open: bool,
    held_back: bool,
}

impl<'a> SentenceGate<'a> {
    fn new(allows: Check<'a>) -> Self {
        Self {
            allows,
            held: String::new(),
            shown: String::new(),
            is_open: false,
            held_back: false,
        }
    }

    /// Lets text through from here on, or none.
    fn open(&mut self, is_open: bool) {
        self.is_open = is_open;
    }

    /// Takes more text. Returns the sentences that are complete and may be shown.
    fn push(&mut self, text: &str) -> Option<String> {
        self.held.push_str(text);
        let mut shown = String::new();
        while let Some(end) = end_of_sentence(&self.held) {
            let rest = self.held.split_off(end);
            let sentence = std::mem::replace(&mut self.held, rest);
            shown.extend(self.pass(sentence));
        }
        (!shown.is_empty()).then_some(shown)
    }

    /// Returns the rest, if it may be shown, with a mark if the end of the text is missing.
    fn finish(&mut self, is_cut: bool) -> Option<String> {
        let rest = std::mem::take(&mut self.held);
        let mut rest = self.pass(rest).unwrap_or_default();
        if is_cut && !self.shown.trim().is_empty() {
            let mark = cut_mark(is_chinese(&self.shown));
            self.shown.push_str(mark);
            rest.push_str(mark);
        }
        (!rest.is_empty()).then_some(rest)
    }

    fn pass(&mut self, text: String) -> Option<String> {
        let may = self.is_open && !self.held_back;
        if !may || !(self.allows)(&text) {
            self.held_back |= !text.trim().is_empty();
            return None;
        }
        self.shown.push_str(&text);
        (!text.is_empty()).then_some(text)
    }
}

/// Returns the end of the first complete sentence.
fn end_of_sentence(text: &str) -> Option<usize> {
    let next = text.char_indices().skip(1).map(|(at, c)| (at, Some(c)));
    let pairs = text.char_indices().zip(next.chain([(text.len(), None)]));
    let mut ends = pairs.filter_map(|((_, c), (end, next))| match c {
        '\n' | '。' | '！' | '？' => Some(end),
        '.' | '!' | '?' if next.is_some_and(char::is_whitespace) => Some(end),
        _ => None,
    });
    ends.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(pieces: &[&str]) -> (Vec<String>, bool) {
        let allows = |text: &str| !text.contains(['{', '已']);
        let mut gate = SentenceGate::new(&allows);
        gate.open(true);
        let mut shown: Vec<_> = pieces.iter().filter_map(|piece| gate.push(piece)).collect();
        shown.extend(gate.finish(true));
        (shown, gate.held_back)
    }

    #[test]
    fn words_stream_by_sentence_until_one_may_not_be_shown() {
        let mark = |text: &str, chinese| format!("{text}{}", cut_mark(chinese));
        let (shown, closed) = through(&["It is ", "full. And", " Friday is free"]);
        let rest = mark(" And Friday is free", false);
        assert_eq!(
            (shown, closed),
            (vec!["It is full.".to_owned(), rest], false)
        );
        let (shown, closed) = through(&["好。", "我已经把考试移动了。", "再见。"]);
        assert_eq!(
            (shown, closed),
            (vec!["好。".to_owned(), mark("", true)], true)
        );
        let (shown, closed) = through(&["Well. {\"act", "ion\": 1}. More."]);
        assert_eq!(
            (shown, closed),
            (vec!["Well.".to_owned(), mark("", false)], true)
        );
    }
}
