use memchr::memchr;

use super::parser::ParseStop;

/// The text so far, and whether it is complete.
#[derive(Debug, Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) text: &'a str,
    pub(super) is_whole: bool,
}

/// A comment that has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comment {
    /// A comment up to the end of the line.
    Line,
    /// A comment up to `*/`.
    Block,
}

/// The next token that is not white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextToken {
    Char(char),
    /// The end of the text, or of the Markdown fence around it.
    End,
}

impl<'a> Input<'a> {
    pub(super) fn rest(self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    pub(super) fn byte(self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Returns the halt for the end of the text: [`ParseStop::Truncated`] if the text is complete.
    pub(super) fn over(self) -> ParseStop {
        if self.is_whole {
            ParseStop::Truncated
        } else {
            ParseStop::More
        }
    }

    /// Returns the first place from `at` on that is not white space.
    pub(super) fn after_space(self, mut at: usize) -> usize {
        while let Some(byte) = self.byte(at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => at += 1,
                0..0x80 => break,
                _ => match self.rest(at).chars().next() {
                    Some(c) if c.is_whitespace() => at += c.len_utf8(),
                    _ => break,
                },
            }
        }
        at
    }

    /// Returns the character at a place; [`ParseStop::More`] if that depends on text that has not come
    /// yet.
    pub(super) fn look(self, at: usize) -> Result<NextToken, ParseStop> {
        match self.byte(at) {
            None if self.is_whole => Ok(NextToken::End),
            None => Err(ParseStop::More),
            Some(b'`') => {
                let rest = self.rest(at);
                if rest.starts_with("```") {
                    Ok(NextToken::End)
                } else if !self.is_whole && "``".starts_with(rest) {
                    Err(ParseStop::More)
                } else {
                    Ok(NextToken::Char('`'))
                }
            }
            Some(byte @ 0..0x80) => Ok(NextToken::Char(char::from(byte))),
            Some(_) => Ok(self
                .rest(at)
                .chars()
                .next()
                .map_or(NextToken::End, NextToken::Char)),
        }
    }

    /// Returns the kind of the comment that begins at a place; `None` if none does.
    pub(super) fn comment(self, at: usize) -> Result<Option<Comment>, ParseStop> {
        Ok(match (self.byte(at), self.byte(at + 1)) {
            (Some(b'#'), _) | (Some(b'/'), Some(b'/')) => Some(Comment::Line),
            (Some(b'/'), Some(b'*')) => Some(Comment::Block),
            (Some(b'/'), None) if !self.is_whole => return Err(ParseStop::More),
            _ => None,
        })
    }

    /// Returns the end of a comment; as the error, the place up to which it certainly extends.
    pub(super) fn comment_end(self, at: usize, comment: Comment) -> Result<usize, usize> {
        let rest = self.rest(at);
        let end = match comment {
            Comment::Line => memchr(b'\n', rest.as_bytes()),
            Comment::Block => rest.find("*/").map(|end| end + 2),
        };
        match end {
            Some(end) => Ok(at + end),
            None if self.is_whole => Ok(self.text.len()),
            // The text may end within `*/`.
            None => Err(at + rest.len() - usize::from(rest.ends_with('*'))),
        }
    }
}
