use std::mem;

use super::{
    Tag, TagFound,
    markup::{self, Opening},
};

/// The number of characters before which the tag must begin; after it the answer is plain text and
/// is not withheld any longer.
const LIMIT_CHARS: usize = 500;

/// An incremental splitter of the tag from an answer, whose pieces may be cut anywhere.
///
/// ```
/// use fugato_llm::{Tag, TagPiece, TagSplitter};
///
/// let mut splitter = TagSplitter::new(Tag::around("decision", "k7"));
/// assert_eq!(splitter.push("<decision nonce=\"k7\">{\"action\""), []);
/// let pieces = splitter.push(": \"done\"}</decision>\nAll set");
/// let [TagPiece::Found(found), TagPiece::Text(text)] = &pieces[..] else { panic!("{pieces:?}") };
/// assert_eq!((&*found.body, &**text), ("{\"action\": \"done\"}", "All set"));
/// ```
#[derive(Debug, Clone)]
pub struct TagSplitter {
    tag: Tag,
    close: String,
    state: State,
    /// Text that is not classified yet: all of it before the tag, the body within it.
    held: String,
    before: String,
    /// The end of the searched part of `held`.
    seen: usize,
}

#[derive(Debug, Clone)]
enum State {
    Before,
    Body(TagFound),
    /// After the tag, with nothing but white space so far.
    Behind,
    Text,
    Plain,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TagPiece {
    /// The tag, complete.
    Found(TagFound),
    /// Text after the tag, for the person.
    Text(String),
}

/// The result at the end of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TagEnd {
    /// The tag was found.
    Tagged {
        /// The text before it.
        before: String,
    },
    /// The answer ends within the tag.
    Unclosed {
        /// The tag, with as much of its body as there is.
        found: TagFound,
        /// The text before it.
        before: String,
    },
    /// There is no tag within the allowed part of the answer.
    Plain {
        /// The whole answer.
        text: String,
    },
}

impl TagSplitter {
    /// Creates a splitter for one answer.
    pub fn new(tag: Tag) -> Self {
        let close = format!("</{}>", tag.name);
        Self {
            tag,
            close,
            state: State::Before,
            held: String::new(),
            before: String::new(),
            seen: 0,
        }
    }

    /// Adds the next piece of the answer, and returns the pieces that are complete.
    pub fn push(&mut self, text: &str) -> Vec<TagPiece> {
        let mut out = vec![];
        self.held.push_str(text);
        while self.advance(&mut out) {}
        out
    }

    /// Ends the answer and returns its result.
    pub fn finish(self) -> TagEnd {
        match self.state {
            State::Before | State::Plain => TagEnd::Plain { text: self.held },
            State::Body(found) => TagEnd::Unclosed {
                found: TagFound {
                    body: self.held,
                    ..found
                },
                before: self.before,
            },
            State::Behind | State::Text => TagEnd::Tagged {
                before: self.before,
            },
        }
    }

    /// Does one step. Returns true if another may follow.
    fn advance(&mut self, out: &mut Vec<TagPiece>) -> bool {
        match mem::replace(&mut self.state, State::Plain) {
            State::Before => self.look_for_opening(out),
            State::Body(found) => self.look_for_closing(found, out),
            State::Behind => self.skip_space(),
            State::Text => {
                self.state = State::Text;
                if !self.held.is_empty() {
                    out.push(TagPiece::Text(mem::take(&mut self.held)));
                }
                false
            }
            State::Plain => false,
        }
    }

    fn look_for_opening(&mut self, out: &mut Vec<TagPiece>) -> bool {
        let unseen = self.held.get(self.seen..).unwrap_or_default();
        let at = unseen
            .find('<')
            .map_or(self.held.len(), |at| self.seen + at);
        let (before, rest) = self.held.split_at(at);
        if before.chars().count() >= LIMIT_CHARS {
            return false; // Plain it is.
        }
        self.state = State::Before;
        self.seen = at;
        if rest.is_empty() {
            return false;
        }
        match markup::read(rest, &self.tag.name) {
            Opening::Unclear => false,
            Opening::Tag {
                bytes,
                mut attributes,
            } if attributes.get("nonce") == Some(&self.tag.nonce) => {
                attributes.remove("nonce");
                let found = TagFound {
                    attributes,
                    body: String::new(),
                };
                let behind = rest.get(bytes..).unwrap_or_default().to_owned();
                before.clone_into(&mut self.before);
                (self.held, self.seen) = (behind, 0);
                self.state = if self.tag.body {
                    State::Body(found)
                } else {
                    out.push(TagPiece::Found(found));
                    State::Behind
                };
                true
            }
            Opening::Tag { .. } | Opening::Other => {
                self.seen = at + 1;
                true
            }
        }
    }

    fn look_for_closing(&mut self, found: TagFound, out: &mut Vec<TagPiece>) -> bool {
        let unseen = self.held.get(self.seen..).unwrap_or_default();
        let Some(at) = unseen.find(&self.close).map(|at| self.seen + at) else {
            // The closing tag may have begun in the searched part.
            let mut seen = self.held.len().saturating_sub(self.close.len());
            while !self.held.is_char_boundary(seen) {
                seen -= 1;
            }
            self.seen = seen;
            self.state = State::Body(found);
            return false;
        };
        let behind = self.held.split_off(at);
        let body = mem::replace(
            &mut self.held,
            behind
                .get(self.close.len()..)
                .unwrap_or_default()
                .to_owned(),
        );
        out.push(TagPiece::Found(TagFound { body, ..found }));
        self.state = State::Behind;
        true
    }

    /// Drops the white space between the tag and the text, and a closing tag that some models write
    /// although there is no body.
    fn skip_space(&mut self) -> bool {
        self.state = State::Behind;
        let text = self.held.trim_start();
        if text.is_empty() {
            self.held.clear();
            return false;
        }
        if !self.tag.body {
            if let Some(behind) = text.strip_prefix(&self.close) {
                self.held = behind.to_owned();
                return true;
            }
            if self.close.starts_with(text) {
                return false;
            }
        }
        self.held = text.to_owned();
        self.state = State::Text;
        true
    }
}
