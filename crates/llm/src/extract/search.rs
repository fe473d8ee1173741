use memchr::{memchr, memmem};

use super::{
    ExtractedJson, NoObject, ObjectPiece,
    input::Input,
    parser::{ParseStop, Parser},
};

const THINK: &str = "<think>";
const THOUGHT: &str = "</think>";

/// The search for the first object in a text.
#[derive(Debug, Default)]
pub(super) struct Search {
    stage: Stage,
    /// The begin of the answer, behind a `<think>` block.
    answer: usize,
    /// The place from which the search continues.
    from: usize,
    parser: Option<Box<Parser>>,
    /// The place of the first failure, and the token that was expected there.
    failure: Option<(usize, &'static str)>,
    listens: bool,
    /// The pieces to report.
    told: Vec<ObjectPiece>,
    /// True if pieces of the present candidate were reported before.
    has_told: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    #[default]
    Begin,
    Thinking,
    Answer,
    /// An object was found that no repair covers.
    Refused,
}

impl Search {
    /// Creates a search that reports pieces of an object while it grows.
    pub(super) fn telling() -> Self {
        Self {
            listens: true,
            ..Self::default()
        }
    }

    /// Returns the pieces since the last call.
    pub(super) fn take_told(&mut self) -> Vec<ObjectPiece> {
        let mut told = std::mem::take(&mut self.told);
        if let Some(more) = self.parser.as_mut().and_then(|parser| parser.told.as_mut()) {
            self.has_told |= !more.is_empty();
            told.append(more);
        }
        told
    }

    /// Continues the search; `None` if more text is needed.
    pub(super) fn run(&mut self, input: Input<'_>) -> Option<Result<ExtractedJson, NoObject>> {
        match self.stage {
            Stage::Answer => {}
            Stage::Refused => return self.nothing(input).map(Err),
            Stage::Begin | Stage::Thinking => {
                if !self.find_answer(input) {
                    return None;
                }
            }
        }
        loop {
            let mut parser = match self.parser.take() {
                Some(parser) => parser,
                None => match self.next_candidate(input)? {
                    Ok(parser) => parser,
                    Err(why) => return Some(Err(why)),
                },
            };
            let halt = match parser.run(input) {
                Ok(object) => {
                    self.keep_told(&mut parser);
                    let repairs = parser.repairs;
                    return Some(Ok(ExtractedJson { object, repairs }));
                }
                Err(halt) => halt,
            };
            match halt {
                ParseStop::More => {
                    self.parser = Some(parser);
                    return None;
                }
                ParseStop::Truncated => return Some(Err(NoObject::Truncated)),
                ParseStop::Broken { at, expected } => {
                    self.failure.get_or_insert((at, expected));
                    self.forget(&mut parser);
                    if parser.is_object {
                        // An object within a refused one, or after it, is not taken in its place.
                        self.stage = Stage::Refused;
                        return self.nothing(input).map(Err);
                    }
                    // Text that was read is not read again, which keeps the time linear.
                    self.from = at.max(self.from);
                }
            }
        }
    }

    /// Voids the pieces that were reported of a candidate.
    fn forget(&mut self, parser: &mut Parser) {
        let told = self.told.len();
        self.keep_told(parser);
        if self.has_told || self.told.len() > told {
            self.told.push(ObjectPiece::Void);
        }
        self.has_told = false;
    }

    fn keep_told(&mut self, parser: &mut Parser) {
        self.told
            .append(parser.told.as_mut().unwrap_or(&mut vec![]));
    }

    /// Finds the begin of the answer. Returns false if more text is needed.
    fn find_answer(&mut self, input: Input<'_>) -> bool {
        if self.stage == Stage::Begin {
            let begin = input
                .text
                .find(|c: char| !c.is_whitespace() && c != '\u{feff}');
            let rest = input.rest(begin.unwrap_or(input.text.len()));
            if !input.is_whole && THINK.starts_with(rest) {
                return false;
            }
            self.from = input.text.len() - rest.len();
            self.answer = self.from;
            self.stage = Stage::Answer;
            if rest.starts_with(THINK) {
                self.stage = Stage::Thinking;
            }
        }
        if self.stage == Stage::Thinking {
            // The place may be within a character, so bytes are searched.
            let rest = input.text.as_bytes().get(self.from..).unwrap_or_default();
            match memmem::find(rest, THOUGHT.as_bytes()) {
                Some(at) => self.answer = self.from + at + THOUGHT.len(),
                None if input.is_whole => {}
                None => {
                    // The text may end within `</think>`.
                    self.from += rest.len().saturating_sub(THOUGHT.len());
                    return false;
                }
            }
            self.from = self.answer;
            self.stage = Stage::Answer;
        }
        true
    }

    /// Returns a parser at the next place where an object may begin, or the reason why there is
    /// none; `None` if more text is needed.
    fn next_candidate(&mut self, input: Input<'_>) -> Option<Result<Box<Parser>, NoObject>> {
        let rest = input.rest(self.from);
        let Some(start) = memchr(b'{', rest.as_bytes()).map(|at| self.from + at) else {
            self.from = input.text.len();
            return self.nothing(input).map(Err);
        };
        let before = input.text.get(self.answer..start).unwrap_or_default();
        if self.failure.is_none() && opens_a_list(before) {
            return Some(Err(NoObject::Array));
        }
        self.from = start + 1;
        Some(Ok(Box::new(Parser::new(start, self.listens))))
    }

    /// Returns the reason why there is no object; `None` if the text is incomplete.
    fn nothing(&self, input: Input<'_>) -> Option<NoObject> {
        if !input.is_whole {
            return None;
        }
        let answer = input.rest(self.answer).trim();
        Some(match self.failure {
            Some((at, expected)) => NoObject::Broken {
                near: input.rest(at).chars().take(24).collect(),
                expected: expected.to_owned(),
            },
            None if answer.is_empty() => NoObject::Empty,
            None if opens_a_list(without_fence(answer)) => NoObject::Array,
            None => NoObject::Absent,
        })
    }
}

fn opens_a_list(before: &str) -> bool {
    before.trim_end().ends_with('[') || before.trim_start().starts_with("[\"")
}

fn without_fence(text: &str) -> &str {
    let text = text.trim_start_matches('`');
    text.strip_prefix("json")
        .unwrap_or(text)
        .trim_start()
        .get(..2)
        .unwrap_or_default()
}
