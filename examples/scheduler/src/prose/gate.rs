use super::check;
use crate::report::Receipts;

/// A filter of streamed text, sentence by sentence, up to the first one that may not be shown.
#[derive(Debug)]
pub(crate) struct Gate<'a> {
    receipts: &'a Receipts,
    held: String,
    shown: String,
    is_open: bool,
    held_back: bool,
}

impl<'a> Gate<'a> {
    pub(crate) fn new(receipts: &'a Receipts) -> Self {
        Self {
            receipts,
            held: String::new(),
            shown: String::new(),
            is_open: false,
            held_back: false,
        }
    }

    /// Lets text through from here on, or none.
    pub(crate) fn open(&mut self, is_open: bool) {
        self.is_open = is_open;
    }

    /// Takes more text. Returns the sentences that are complete and may be shown.
    pub(crate) fn push(&mut self, text: &str) -> Option<String> {
        self.held.push_str(text);
        let end = end_of_sentence(&self.held)?;
        let rest = self.held.split_off(end);
        let whole = std::mem::replace(&mut self.held, rest);
        self.pass(whole)
    }

    /// Returns the rest, if it may be shown. A text whose end is missing gets the mark.
    pub(crate) fn finish(&mut self, mark: Option<&str>) -> Option<String> {
        let rest = std::mem::take(&mut self.held);
        let rest = self.pass(rest).unwrap_or_default();
        let mark = mark.filter(|_| !self.shown.trim().is_empty());
        self.shown.push_str(mark.unwrap_or_default());
        let rest = rest + mark.unwrap_or_default();
        (!rest.is_empty()).then_some(rest)
    }

    fn pass(&mut self, text: String) -> Option<String> {
        let may = self.is_open && !self.held_back;
        if !may || check(&text, self.receipts).is_err() {
            self.held_back |= !text.trim().is_empty();
            return None;
        }
        self.shown.push_str(&text);
        (!text.is_empty()).then_some(text)
    }

    /// Returns true if some text was held back.
    pub(crate) const fn has_held_back(&self) -> bool {
        self.held_back
    }

    /// Returns all text that may be shown so far.
    pub(crate) fn into_shown(self) -> String {
        self.shown
    }
}

/// Returns the end of the last complete sentence.
fn end_of_sentence(text: &str) -> Option<usize> {
    let next = text.char_indices().skip(1).map(|(at, c)| (at, Some(c)));
    let pairs = text.char_indices().zip(next.chain([(text.len(), None)]));
    let ends = pairs.filter_map(|((_, c), (end, next))| match c {
        '\n' | '。' | '！' | '？' => Some(end),
        '.' | '!' | '?' if next.is_some_and(char::is_whitespace) => Some(end),
        _ => None,
    });
    ends.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn through(pieces: &[&str]) -> (Vec<String>, bool) {
        let receipts = Receipts::default();
        let mut gate = Gate::new(&receipts);
        gate.open(true);
        let mut shown: Vec<_> = pieces.iter().filter_map(|piece| gate.push(piece)).collect();
        shown.extend(gate.finish(Some(" [cut off]")));
        (shown, gate.has_held_back())
    }

    #[test]
    fn words_stream_by_sentence_until_one_may_not_be_shown() {
        let (shown, closed) = through(&["It is ", "full. And", " Friday is free"]);
        assert_eq!(shown, ["It is full.", " And Friday is free [cut off]"]);
        assert!(!closed);
        let (shown, closed) = through(&["好。", "我已经把考试移动了。", "再见。"]);
        assert_eq!(
            (shown, closed),
            (vec!["好。".to_owned(), " [cut off]".to_owned()], true)
        );
        let (shown, closed) = through(&["Well. {\"act", "ion\": 1}. More."]);
        assert_eq!(
            (shown, closed),
            (vec!["Well.".to_owned(), " [cut off]".to_owned()], true)
        );
    }
}
