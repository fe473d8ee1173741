use std::{future::Future, ops::RangeInclusive, time::Duration};

use futures::{Stream, stream};

/// A splitter of a finished text into pieces that can be shown one after another, as if it were
/// being written: after punctuation and line ends, Chinese or English, and between words where
/// there is none.
///
/// All pieces together are the text. Every piece but the last has at least as many characters as
/// the smallest allowed, and none has more than the largest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splitter {
    least: usize,
    most: usize,
}

impl Default for Splitter {
    /// Pieces of 8 to 24 characters.
    fn default() -> Self {
        Self::new(8..=24)
    }
}

impl Splitter {
    /// The time between two pieces that reads like writing.
    pub const DELAY: Duration = Duration::from_millis(40);

    /// Creates a splitter for pieces of so many characters; at least one.
    pub fn new(characters: RangeInclusive<usize>) -> Self {
        let least = (*characters.start()).max(1);
        Self {
            least,
            most: (*characters.end()).max(least),
        }
    }

    /// Returns the pieces of a text.
    pub fn split<'a>(&self, text: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        let splitter = self.clone();
        let mut rest = text;
        std::iter::from_fn(move || {
            let (piece, left) = rest.split_at_checked(splitter.cut(rest))?;
            rest = left;
            (!piece.is_empty()).then_some(piece)
        })
    }

    /// Returns the pieces as a stream with a pause between two of them. `sleep` is the timer of the
    /// caller's runtime, and is not called for a pause of no length. Dropping the stream stops it.
    pub fn paced<F, W>(
        &self,
        text: &str,
        delay: Duration,
        mut sleep: F,
    ) -> impl Stream<Item = String> + use<F, W>
    where
        F: FnMut(Duration) -> W,
        W: Future<Output = ()>,
    {
        let pieces: Vec<_> = self.split(text).map(str::to_owned).collect();
        let mut first = true;
        stream::unfold(pieces.into_iter(), move |mut pieces| {
            let next = pieces.next();
            let wait = next.is_some() && !first && !delay.is_zero();
            first = false;
            let pause = wait.then(|| sleep(delay));
            async move {
                if let Some(pause) = pause {
                    pause.await;
                }
                next.map(|piece| (piece, pieces))
            }
        })
    }

    /// Returns the end of the first piece, in bytes.
    fn cut(&self, text: &str) -> usize {
        let mut space = None;
        let mut length = 0;
        let mut chars = text.char_indices().enumerate().peekable();
        while let Some((count, (at, c))) = chars.next() {
            if count == self.most {
                return if c == ' ' { at } else { space.unwrap_or(at) };
            }
            length = at + c.len_utf8();
            if count + 1 >= self.least {
                if is_end(c, chars.peek().map(|(_, (_, next))| *next)) {
                    return length;
                }
                if c == ' ' {
                    space = Some(length);
                }
            }
        }
        length
    }
}

/// Returns true if a piece may end after this character. Between digits and in names such as `a.rs`
/// it may not.
fn is_end(c: char, next: Option<char>) -> bool {
    match c {
        '，' | '。' | '！' | '？' | '；' | '：' | '、' | '…' | '\n' => true,
        ',' | '.' | '!' | '?' | ';' | ':' => next.is_none_or(char::is_whitespace),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use futures::{StreamExt, executor::block_on, future::ready};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sch_121_pieces_end_after_punctuation_and_between_words() {
        let pieces = |text| Splitter::default().split(text).collect::<Vec<_>>();
        assert_eq!(
            pieces("好的，我先看一下这一周的安排。\n然后把复习任务放到空闲的时间段里。"),
            [
                "好的，我先看一下这一周的安排。",
                "\n然后把复习任务放到空闲的时间段里。"
            ]
        );
        assert_eq!(
            pieces("Certainly, here is everything that I have found so far"),
            [
                "Certainly,",
                " here is everything that",
                " I have found so far"
            ]
        );
        assert_eq!(
            pieces("It ends at 10:30, see a.rs."),
            ["It ends at 10:30,", " see a.rs."]
        );
        assert_eq!(pieces(""), [""; 0]);
    }

    #[test]
    fn sch_121_there_is_a_pause_between_two_pieces_and_none_of_no_length() {
        let splitter = Splitter::default();
        let text = "one two three four. five six seven eight.";
        for (delay, expected) in [(Splitter::DELAY, 1), (Duration::ZERO, 0)] {
            let pauses = RefCell::new(vec![]);
            let paced = splitter.paced(text, delay, |pause| {
                pauses.borrow_mut().push(pause);
                ready(())
            });
            let pieces: Vec<_> = block_on(paced.collect());
            assert_eq!(pieces, ["one two three four.", " five six seven eight."]);
            assert_eq!(*pauses.borrow(), vec![delay; expected]);
        }
    }

    proptest! {
        #[test]
        fn sch_121_the_pieces_are_the_text(
            text in "[a-c ,.\n复习。，é😀]{0,120}",
            least in 0usize..10,
            more in 0usize..20,
        ) {
            let splitter = Splitter::new(least..=least + more);
            let pieces: Vec<_> = splitter.split(&text).collect();
            prop_assert_eq!(&pieces.concat(), &text);
            for (n, piece) in pieces.iter().enumerate() {
                let count = piece.chars().count();
                prop_assert!(count <= splitter.most);
                prop_assert!(count >= splitter.least || n + 1 == pieces.len());
            }
        }
    }
}
