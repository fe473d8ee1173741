use std::{collections::BTreeSet, mem};

use fugato_state::Lang;
use serde_json::{Map, Value, map::Entry};

use super::{
    JsonRepair, ObjectPiece,
    input::{Comment, Input, NextToken},
    literal,
    text::Text,
};

/// The deepest nesting that is read; no sensible answer needs more.
const MAX_DEPTH: usize = 64;

/// A lenient parser of one object; it repairs only unambiguous deviations.
///
/// It never goes back, and its state is complete, so that it can continue when more text has come.
/// An object that grows is thus read like one that is whole.
#[derive(Debug)]
pub(super) struct Parser {
    pub(super) at: usize,
    /// The end of the scanned part of the current token, which is not scanned again.
    pub(super) seen: usize,
    pub(super) repairs: BTreeSet<JsonRepair>,
    /// The containers that are open, the outermost first.
    pub(super) open: Vec<Open>,
    pub(super) next: Next,
    pub(super) text: Text,
    comment: Option<Comment>,
    /// True if a colon was read, so that this is hardly prose.
    pub(super) is_object: bool,
    /// The end of the last value.
    behind: usize,
    /// True if the last value was a bare word at the end of the text, which may continue.
    may_go_on: bool,
    /// True if a bracket was closed by that of its container.
    is_uneven: bool,
    done: Option<Map<String, Value>>,
    /// The pieces to report; `None` if nothing is to be reported.
    pub(super) told: Option<Vec<ObjectPiece>>,
}

/// The reason why a parser stops before the end of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParseStop {
    /// More text is needed.
    More,
    /// The text is complete and ends within the object.
    Truncated,
    /// No repair applies.
    Broken { at: usize, expected: &'static str },
}

/// A container that is open.
#[derive(Debug)]
pub(super) enum Open {
    Object {
        members: Map<String, Value>,
        key: String,
        key_at: usize,
    },
    Array(Vec<Value>),
}

/// The token to read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A key, or the end of an object that has just begun.
    FirstKey,
    Key,
    /// The rest of a key in quotes.
    KeyText,
    Colon,
    /// An item, or the end of an array that has just begun.
    FirstItem,
    Value,
    /// The rest of a string.
    ValueText,
    /// A comma, or the bracket after a member or an item.
    Separator,
    /// The next member or item after a comma, or the bracket after a trailing comma.
    AfterComma,
}

impl Parser {
    /// Creates a parser of the object whose `{` is at `at`.
    pub(super) fn new(at: usize, listens: bool) -> Self {
        Self {
            at: at + 1,
            seen: 0,
            repairs: BTreeSet::new(),
            open: vec![Open::object()],
            next: Next::FirstKey,
            text: Text::default(),
            comment: None,
            is_object: false,
            behind: 0,
            may_go_on: false,
            is_uneven: false,
            done: None,
            told: listens.then(Vec::new),
        }
    }

    /// Continues to the end of the object and returns it.
    pub(super) fn run(&mut self, input: Input<'_>) -> Result<Map<String, Value>, ParseStop> {
        loop {
            match self.next {
                Next::FirstKey | Next::Key => self.key(input)?,
                Next::KeyText => self.key_text(input)?,
                Next::Colon => self.colon(input)?,
                Next::FirstItem | Next::Value => self.value(input)?,
                Next::ValueText => self.value_text(input)?,
                Next::Separator => self.separator(input)?,
                Next::AfterComma => self.after_comma(input)?,
            }
            if let Some(object) = self.done.take() {
                return Ok(object);
            }
        }
    }

    fn key(&mut self, input: Input<'_>) -> Result<(), ParseStop> {
        let found = self.skip_space(input)?;
        if let Some(Open::Object { key_at, .. }) = self.open.last_mut() {
            *key_at = self.at;
        }
        match found {
            NextToken::End => Err(ParseStop::Truncated),
            NextToken::Char('}') if self.next == Next::FirstKey => self.close(),
            NextToken::Char(quote @ ('"' | '\'' | '“')) => {
                self.begin_text(quote);
                self.next = Next::KeyText;
                Ok(())
            }
            NextToken::Char(c) if literal::starts_word(c) => {
                let word = self.token(input, literal::goes_on_word)?;
                self.at += word.len();
                // The key has only a closing quote.
                if input.byte(self.at) == Some(b'"') {
                    self.at += 1;
                    self.repairs.insert(JsonRepair::OtherQuotes);
                }
                self.repairs.insert(JsonRepair::UnquotedKey);
                self.named(word.to_owned());
                Ok(())
            }
            NextToken::Char(_) => Err(self.broken("a key in quotes")),
        }
    }

    fn key_text(&mut self, input: Input<'_>) -> Result<(), ParseStop> {
        let key = self.read_text(input)?;
        self.named(key);
        Ok(())
    }

    fn named(&mut self, name: String) {
        if let Some(Open::Object { key, .. }) = self.open.last_mut() {
            *key = name;
        }
        self.next = Next::Colon;
    }

    fn colon(&mut self, input: Input<'_>) -> Result<(), ParseStop> {
        match self.skip_space(input)? {
            NextToken::Char(':') => self.at += 1,
            NextToken::Char(other @ '：') => self.other_punctuation(other),
            NextToken::End => return Err(ParseStop::Truncated),
            NextToken::Char(_) => return Err(self.broken("`:` after a key")),
        }
        self.is_object = true;
        self.next = Next::Value;
        Ok(())
    }

    fn value(&mut self, input: Input<'_>) -> Result<(), ParseStop> {
        let c = match self.skip_space(input)? {
            NextToken::End => return Err(ParseStop::Truncated),
            NextToken::Char(c) => c,
        };
        match c {
            ']' if self.next == Next::FirstItem => self.close(),
            '{' | '[' if self.open.len() > MAX_DEPTH => Err(self.broken("fewer levels of nesting")),
            '{' => {
                self.at += 1;
                self.open.push(Open::object());
                self.next = Next::FirstKey;
                Ok(())
            }
            '[' => {
                self.at += 1;
                self.open.push(Open::Array(vec![]));
                self.next = Next::FirstItem;
                Ok(())
            }
            '"' | '\'' | '“' => {
                self.begin_text(c);
                self.next = Next::ValueText;
                Ok(())
            }
            '-' | '+' | '.' | '0'..='9' => self.number(input),
            c if literal::starts_word(c) => self.word(input),
            _ => Err(self.broken("a value")),
        }
    }

    fn value_text(&mut self, input: Input<'_>) -> Result<(), ParseStop> {
        let text = self.read_text(input)?;
        self.may_go_on = false;
        self.put(Value::String(text))
    }

    fn number(&mut self, input: Input<'_>) -> Result<(), ParseStop> {
        let token = self.token(input, literal::goes_on_number)?;
        if self.at + token.len() == input.text.len() {
            return Err(ParseStop::Truncated);
        }
        let Some((number, repair)) = literal::number(token) else {
            let is_dots = token.starts_with('.');
            return Err(self.broken(if is_dots { "a value" } else { "a number" }));
        };
        self.at += token.len();
        self.may_go_on = false;
        self.repairs.extend(repair);
        self.put(number)
    }

    fn word(&mut self, input: Input<'_>) -> Result<(), ParseStop> {
        let word = self.token(input, literal::goes_on_word)?;
        let Some((value, repair)) = literal::word(word) else {
            return Err(self.broken("a value"));
        };
        self.at += word.len();
        self.may_go_on = value.is_string() && self.at == input.text.len();
        self.repairs.extend(repair);
        self.put(value)
    }

    /// Returns the characters from the current place on that belong to one token.
    fn token<'a>(
        &mut self,
        input: Input<'a>,
        goes_on: fn(char) -> bool,
    ) -> Result<&'a str, ParseStop> {
        let from = self.seen.max(self.at);
        let length = input.rest(from).find(|c| !goes_on(c));
        let Some(end) = length.map(|length| from + length) else {
            if input.is_whole {
                return Ok(input.rest(self.at));
            }
            self.seen = input.text.len();
            return Err(ParseStop::More);
        };
        Ok(input.text.get(self.at..end).unwrap_or_default())
    }

    /// Adds a value to the innermost container.
    fn put(&mut self, value: Value) -> Result<(), ParseStop> {
        self.next = Next::Separator;
        self.behind = self.at;
        let is_field = self.open.len() == 1;
        match self.open.last_mut() {
            Some(Open::Array(items)) => items.push(value),
            Some(Open::Object {
                members,
                key,
                key_at,
            }) => match members.entry(mem::take(key)) {
                Entry::Occupied(earlier) if *earlier.get() != value => {
                    return Err(ParseStop::Broken {
                        at: *key_at,
                        expected: "each key once",
                    });
                }
                Entry::Occupied(_) => {}
                Entry::Vacant(free) => {
                    if let Some(told) = self.told.as_mut().filter(|_| is_field) {
                        told.push(ObjectPiece::Field {
                            name: free.key().as_str().into(),
                            value: value.clone(),
                        });
                    }
                    free.insert(value);
                }
            },
            None => {}
        }
        Ok(())
    }

    fn separator(&mut self, input: Input<'_>) -> Result<(), ParseStop> {
        let found = self.skip_space(input)?;
        let is_object = self.is_in_object();
        let close = if is_object { '}' } else { ']' };
        self.next = match found {
            NextToken::Char(c) if c == close => return self.close(),
            NextToken::Char(',') => {
                self.at += 1;
                Next::AfterComma
            }
            NextToken::Char(other @ '，') => {
                self.other_punctuation(other);
                Next::AfterComma
            }
            NextToken::End => return self.end(),
            // The bracket of the outer container closes both.
            NextToken::Char('}' | ']') if self.closes_the_outer(found) => {
                self.is_uneven = true;
                self.repairs.insert(JsonRepair::MissingBracket);
                return self.close_unseen();
            }
            NextToken::Char('"' | '\'' | '“') if is_object => {
                self.repairs.insert(JsonRepair::MissingComma);
                Next::Key
            }
            // On the same line, these are more likely quotes in a text that should have been
            // escaped.
            NextToken::Char('"' | '\'' | '{' | '[') if !is_object && self.is_on_new_line(input) => {
                self.repairs.insert(JsonRepair::MissingComma);
                Next::Value
            }
            NextToken::Char(_) if is_object => return Err(self.broken("`,` or `}`")),
            NextToken::Char(_) => return Err(self.broken("`,` or `]`")),
        };
        Ok(())
    }

    fn after_comma(&mut self, input: Input<'_>) -> Result<(), ParseStop> {
        match (self.skip_space(input)?, self.is_in_object()) {
            (NextToken::Char('}'), true) | (NextToken::Char(']'), false) => {
                self.repairs.insert(JsonRepair::TrailingComma);
                self.close()
            }
            (NextToken::End, _) => Err(ParseStop::Truncated),
            (NextToken::Char(_), is_object) => {
                self.next = if is_object { Next::Key } else { Next::Value };
                Ok(())
            }
        }
    }

    fn is_in_object(&self) -> bool {
        matches!(self.open.last(), Some(Open::Object { .. }))
    }

    fn is_on_new_line(&self, input: Input<'_>) -> bool {
        let between = input.text.get(self.behind..self.at);
        between.is_some_and(|between| between.contains('\n'))
    }

    fn closes_the_outer(&self, found: NextToken) -> bool {
        let outer = self
            .open
            .len()
            .checked_sub(2)
            .and_then(|n| self.open.get(n));
        matches!(
            (found, outer),
            (NextToken::Char('}'), Some(Open::Object { .. }))
                | (NextToken::Char(']'), Some(Open::Array(_)))
        )
    }

    /// Closes a container at the end of the text.
    fn end(&mut self) -> Result<(), ParseStop> {
        // With a missing bracket in the middle and another at the end, the nesting is ambiguous.
        if self.may_go_on || self.is_uneven {
            return Err(ParseStop::Truncated);
        }
        self.repairs.insert(JsonRepair::MissingBracket);
        self.close_unseen()
    }

    fn close(&mut self) -> Result<(), ParseStop> {
        self.at += 1;
        self.close_unseen()
    }

    fn close_unseen(&mut self) -> Result<(), ParseStop> {
        self.may_go_on = false;
        match self.open.pop() {
            Some(Open::Object { members, .. }) if self.open.is_empty() => {
                self.done = Some(members);
                Ok(())
            }
            Some(Open::Object { members, .. }) => self.put(Value::Object(members)),
            Some(Open::Array(items)) => self.put(Value::Array(items)),
            None => Ok(()),
        }
    }

    fn other_punctuation(&mut self, c: char) {
        self.at += c.len_utf8();
        self.repairs.insert(JsonRepair::OtherPunctuation);
    }

    fn skip_space(&mut self, input: Input<'_>) -> Result<NextToken, ParseStop> {
        loop {
            if let Some(comment) = self.comment {
                match input.comment_end(self.at, comment) {
                    Ok(end) => self.at = end,
                    Err(so_far) => {
                        self.at = so_far;
                        return Err(ParseStop::More);
                    }
                }
                self.comment = None;
                self.repairs.insert(JsonRepair::Comment);
            }
            self.at = input.after_space(self.at);
            match input.byte(self.at) {
                Some(b'/' | b'#') => match input.comment(self.at)? {
                    Some(comment) => {
                        self.comment = Some(comment);
                        self.at += if comment == Comment::Block { 2 } else { 1 };
                    }
                    None => return input.look(self.at),
                },
                _ => return input.look(self.at),
            }
        }
    }

    pub(super) fn broken(&self, expected: &'static str) -> ParseStop {
        ParseStop::Broken {
            at: self.at,
            expected,
        }
    }
}

impl Open {
    fn object() -> Self {
        Self::Object {
            members: Map::new(),
            key: String::new(),
            key_at: 0,
        }
    }
}

/// Returns what was expected in a broken object, in the language that is spoken now.
pub(super) fn spoken(expected: &str) -> &str {
    let chinese = match expected {
        "a key in quotes" => "带引号的键",
        "`:` after a key" => "键后的 `:`",
        "fewer levels of nesting" => "更少的嵌套层数",
        "a value" => "一个值",
        "a number" => "一个数字",
        "each key once" => "每个键只出现一次",
        "`,` or `}`" => "`,` 或 `}`",
        "`,` or `]`" => "`,` 或 `]`",
        "four hexadecimal digits" => "四位十六进制数字",
        "quotes within a string to be escaped" => "字符串内的引号要转义",
        other => other,
    };
    Lang::current().pick(expected, chinese)
}
