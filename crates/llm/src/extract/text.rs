//! Strings, including those with quotes that should have been escaped.
use std::{mem, sync::Arc};

use memchr::memchr3;

use super::{
    JsonRepair, ObjectPiece,
    input::{Input, NextToken},
    literal,
    parser::{Next, Open, ParseStop, Parser},
};

/// The number of characters after a comma in which the next key is looked for.
const KEY_LENGTH: usize = 64;

/// A string that has begun.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// The quote at its begin.
    quote: char,
    /// The content so far.
    said: String,
    /// The length of the reported part of the content, and the name of its field.
    told: usize,
    name: Option<Arc<str>>,
    /// True if a quotation within the string is open whose quotes should have been escaped.
    quotes: bool,
}

/// The meaning of a quote within a string.
enum Quote {
    /// The end of the string.
    End,
    /// The begin or the end of a quotation within the string.
    Inner { opens: bool },
    /// An apostrophe.
    Letter,
}

impl Parser {
    /// Begins a string at its opening quote.
    pub(super) fn begin_text(&mut self, quote: char) {
        self.at += quote.len_utf8();
        if quote != '"' {
            self.repairs.insert(JsonRepair::OtherQuotes);
        }
        self.text.quote = quote;
        self.text.told = 0;
        self.text.name = None;
        self.text.quotes = false;
    }

    /// Continues to the end of the string and returns it.
    pub(super) fn read_text(&mut self, input: Input<'_>) -> Result<String, ParseStop> {
        loop {
            let rest = input.rest(self.at);
            let Some((piece, behind)) = until_special(rest, self.text.quote) else {
                self.say(rest);
                return Err(self.wait(input));
            };
            match behind.chars().next().unwrap_or('"') {
                '\\' => {
                    self.say(piece);
                    self.escape(input).map_err(|halt| self.waits(halt))?;
                }
                '\n' => {
                    self.repairs.insert(JsonRepair::LooseString);
                    self.say(piece);
                    self.say("\n");
                }
                quote => match self.meaning(input, quote, piece) {
                    Ok(Quote::End) => {
                        self.at += piece.len() + quote.len_utf8();
                        return Ok(self.end_text(piece));
                    }
                    Ok(Quote::Inner { opens }) => {
                        self.text.quotes = opens;
                        self.repairs.insert(JsonRepair::InnerQuotes);
                        self.say(piece);
                        self.say("\"");
                    }
                    Ok(Quote::Letter) => {
                        self.say(piece);
                        self.say("'");
                    }
                    Err(ParseStop::More) => {
                        self.say(piece);
                        return Err(self.wait(input));
                    }
                    Err(halt) => return Err(halt),
                },
            }
        }
    }

    fn end_text(&mut self, piece: &str) -> String {
        let mut text = mem::take(&mut self.text.said);
        if text.is_empty() {
            piece.clone_into(&mut text);
        } else {
            text.push_str(piece);
        }
        self.tell(&text);
        text
    }

    /// Appends literal text to the content.
    fn say(&mut self, piece: &str) {
        self.text.said.push_str(piece);
        self.at += piece.len();
    }

    fn wait(&mut self, input: Input<'_>) -> ParseStop {
        self.waits(input.over())
    }

    /// Reports the content so far before more text is awaited.
    fn waits(&mut self, halt: ParseStop) -> ParseStop {
        if halt == ParseStop::More {
            let said = mem::take(&mut self.text.said);
            self.tell(&said);
            self.text.said = said;
        }
        halt
    }

    fn tell(&mut self, said: &str) {
        let (Some(told), [Open::Object { members, key, .. }], Next::ValueText) =
            (&mut self.told, self.open.as_slice(), self.next)
        else {
            return;
        };
        if self.text.name.is_none() && members.contains_key(key) {
            // The value was reported already; otherwise the object is broken.
            self.text.told = usize::MAX;
        }
        if let Some(more) = said.get(self.text.told..).filter(|more| !more.is_empty()) {
            let name = self.text.name.get_or_insert_with(|| key.as_str().into());
            told.push(ObjectPiece::Text {
                name: name.clone(),
                more: more.to_owned(),
            });
            self.text.told = said.len();
        }
    }

    /// Returns the meaning of the quote after `piece`.
    fn meaning(&mut self, input: Input<'_>, quote: char, piece: &str) -> Result<Quote, ParseStop> {
        let at = self.at + piece.len();
        let behind = at + quote.len_utf8();
        if quote == '”' || self.next == Next::KeyText && quote == '"' {
            return Ok(Quote::End);
        }
        let from = input.after_space(self.seen.max(behind));
        self.seen = from;
        let next = input.look(from)?;
        let before = piece
            .chars()
            .next_back()
            .or_else(|| self.text.said.chars().next_back());
        if quote == '\'' {
            return match next {
                NextToken::End | NextToken::Char(',' | ':' | '}' | ']' | '，' | '：') => {
                    Ok(Quote::End)
                }
                // An apostrophe of a word, not the begin of another string.
                _ if before.is_some_and(|c| !c.is_whitespace()) => Ok(Quote::Letter),
                NextToken::Char(_) => Err(unclear(at)),
            };
        }
        let touching = if from == behind {
            next
        } else {
            NextToken::Char(' ')
        };
        if self.text.quotes {
            return self.closes_quotation(input, at, from, (before, touching, next));
        }
        match next {
            NextToken::End
            | NextToken::Char(',' | '}' | ']' | '，' | '"' | '\'' | '“' | '/' | '#' | '{' | '[') => {
                Ok(Quote::End)
            }
            NextToken::Char(':' | '：') => Err(unclear(at)),
            NextToken::Char(_) if begins_quotation(before, touching) => {
                Ok(Quote::Inner { opens: true })
            }
            NextToken::Char(_) => Err(unclear(at)),
        }
    }

    /// Returns the meaning of the quote at `at` within a quotation: its end, if no other reading is
    /// possible.
    fn closes_quotation(
        &self,
        input: Input<'_>,
        at: usize,
        from: usize,
        (before, touching, next): (Option<char>, NextToken, NextToken),
    ) -> Result<Quote, ParseStop> {
        let is_end = match next {
            NextToken::End | NextToken::Char('}' | ']' | ':' | '：') => true,
            NextToken::Char(comma @ (',' | '，')) => {
                self.goes_on(input, from + comma.len_utf8())?
            }
            NextToken::Char(_) => false,
        };
        if is_end || !ends_quotation(before, touching) {
            return Err(unclear(at));
        }
        Ok(Quote::Inner { opens: false })
    }

    /// Returns true if the text after a comma looks like the next member or item.
    fn goes_on(&self, input: Input<'_>, at: usize) -> Result<bool, ParseStop> {
        let rest: &str = input.rest(at);
        let end = rest.char_indices().nth(KEY_LENGTH).map(|(end, _)| end);
        if end.is_none() && !input.is_whole {
            return Err(ParseStop::More);
        }
        let near = rest
            .get(..end.unwrap_or(rest.len()))
            .unwrap_or_default()
            .trim_start();
        let in_object = matches!(self.open.last(), Some(Open::Object { .. }));
        let word = near.trim_start_matches(literal::goes_on_word);
        Ok(match near.chars().next() {
            None | Some('"' | '\'' | '“' | '{' | '[' | '}' | ']' | '/' | '#') => true,
            Some(_) if in_object => {
                word.starts_with('"') || word.trim_start().starts_with([':', '：'])
            }
            Some(c) => matches!(c, '-' | '0'..='9'),
        })
    }

    fn escape(&mut self, input: Input<'_>) -> Result<(), ParseStop> {
        let Some(c) = input.rest(self.at + 1).chars().next() else {
            return Err(input.over());
        };
        let meant = match c {
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode_escape(input),
            '\'' => {
                self.repairs.insert(JsonRepair::LooseString);
                c
            }
            _ => {
                self.repairs.insert(JsonRepair::LooseString);
                self.text.said.push('\\');
                c
            }
        };
        self.text.said.push(meant);
        self.at += 1 + c.len_utf8();
        Ok(())
    }

    fn unicode_escape(&mut self, input: Input<'_>) -> Result<(), ParseStop> {
        let mut units = vec![hex4(input, self.at)?];
        let mut end = self.at + 6;
        let is_high = matches!(units.as_slice(), [0xd800..0xdc00]);
        if is_high {
            let rest = input.rest(end);
            if rest.starts_with("\\u") {
                units.push(hex4(input, end)?);
                end += 6;
            } else if !input.is_whole && "\\u".starts_with(rest) {
                return Err(ParseStop::More);
            }
        }
        for c in char::decode_utf16(units) {
            self.text.said.push(c.unwrap_or_else(|_| {
                self.repairs.insert(JsonRepair::LooseString);
                char::REPLACEMENT_CHARACTER
            }));
        }
        self.at = end;
        Ok(())
    }
}

/// Returns the code unit of the `\u` escape at `at`.
fn hex4(input: Input<'_>, at: usize) -> Result<u16, ParseStop> {
    let rest = input.rest(at + 2);
    let digits = rest
        .bytes()
        .take(4)
        .take_while(u8::is_ascii_hexdigit)
        .count();
    if digits < 4 {
        return Err(if digits == rest.len() {
            input.over()
        } else {
            ParseStop::Broken {
                at: at + 2,
                expected: "four hexadecimal digits",
            }
        });
    }
    let digits = rest.get(..4).unwrap_or_default();
    u16::from_str_radix(digits, 16).map_err(|_| unclear(at))
}

/// Splits before the first character that may not be literal.
fn until_special(rest: &str, quote: char) -> Option<(&str, &str)> {
    let bytes = rest.as_bytes();
    let at = match quote {
        '"' => memchr3(b'"', b'\\', b'\n', bytes)?,
        '\'' => memchr3(b'\'', b'\\', b'\n', bytes)?,
        _ => rest.find(['”', '\\', '\n'])?,
    };
    rest.split_at_checked(at)
}

fn unclear(at: usize) -> ParseStop {
    ParseStop::Broken {
        at,
        expected: "quotes within a string to be escaped",
    }
}

fn begins_quotation(before: Option<char>, behind: NextToken) -> bool {
    let leads = |c: char| c.is_whitespace() || !c.is_ascii() || "([{:=".contains(c);
    let NextToken::Char(behind) = behind else {
        return false;
    };
    before.is_none_or(leads) && !behind.is_whitespace()
}

fn ends_quotation(before: Option<char>, behind: NextToken) -> bool {
    let NextToken::Char(behind) = behind else {
        return false;
    };
    before.is_some_and(|c| !c.is_whitespace()) && !behind.is_ascii_alphanumeric() && behind != '_'
}
