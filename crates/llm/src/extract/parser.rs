use std::collections::BTreeSet;

use serde_json::{Map, Number, Value};

use super::Repair;

/// Deeper nesting than this is refused: nothing that a person would ask for needs it.
const MAX_DEPTH: usize = 64;

/// Reads one object, forgiving what leaves no doubt. Never goes back.
pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Whether the last value was a bare token that ends where the text ends: it may go on.
    may_go_on: bool,
    pub(super) repairs: BTreeSet<Repair>,
}

pub(super) enum Fault {
    Truncated,
    Broken { at: usize, expected: &'static str },
}

/// What stands between two members, or after the last one.
enum Separator {
    Next,
    End,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self {
            text,
            at,
            depth: 0,
            may_go_on: false,
            repairs: BTreeSet::new(),
        }
    }

    /// The object at the current place, which is a `{`.
    pub(super) fn root(&mut self) -> Result<Map<String, Value>, Fault> {
        self.eat('{');
        self.object()
    }

    fn value(&mut self) -> Result<Value, Fault> {
        self.skip_space();
        match self.peek() {
            None => Err(Fault::Truncated),
            Some('{') => self.nested('{', |parser| parser.object().map(Value::Object)),
            Some('[') => self.nested('[', |parser| parser.array().map(Value::Array)),
            Some('"' | '\'' | '“') => self.string().map(Value::String),
            Some('-' | '0'..='9') => self.number(),
            Some(c) if starts_word(c) => self.word_value(),
            Some(_) => Err(self.broken("a value")),
        }
    }

    fn nested<T>(
        &mut self,
        open: char,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self.depth >= MAX_DEPTH {
            return Err(self.broken("fewer levels of nesting"));
        }
        self.depth += 1;
        self.eat(open);
        let value = read(self)?;
        self.depth -= 1;
        self.may_go_on = false;
        Ok(value)
    }

    fn object(&mut self) -> Result<Map<String, Value>, Fault> {
        let mut members = Map::new();
        self.skip_space();
        if self.eat('}') {
            return Ok(members);
        }
        loop {
            let start = self.at;
            let key = self.key()?;
            self.skip_space();
            if !self.eat(':') && !self.eat_other('：') {
                return Err(self.expected("`:` after a key"));
            }
            let value = self.value()?;
            if members.get(&key).is_some_and(|earlier| *earlier != value) {
                return Err(Fault::Broken {
                    at: start,
                    expected: "each key once",
                });
            }
            members.insert(key, value);
            if let Separator::End = self.separator('}')? {
                return Ok(members);
            }
        }
    }

    fn array(&mut self) -> Result<Vec<Value>, Fault> {
        let mut items = vec![];
        self.skip_space();
        if self.eat(']') {
            return Ok(items);
        }
        loop {
            items.push(self.value()?);
            if let Separator::End = self.separator(']')? {
                return Ok(items);
            }
        }
    }

    fn separator(&mut self, close: char) -> Result<Separator, Fault> {
        self.skip_space();
        if self.eat(',') || self.eat_other('，') {
            self.skip_space();
            if self.eat(close) {
                self.repairs.insert(Repair::TrailingComma);
                return Ok(Separator::End);
            }
            return if self.at_end() {
                Err(Fault::Truncated)
            } else {
                Ok(Separator::Next)
            };
        }
        if self.eat(close) {
            return Ok(Separator::End);
        }
        if self.at_end() {
            if self.may_go_on {
                return Err(Fault::Truncated);
            }
            self.repairs.insert(Repair::MissingBracket);
            return Ok(Separator::End);
        }
        if close == '}' && self.peek() == Some('"') {
            self.repairs.insert(Repair::MissingComma);
            return Ok(Separator::Next);
        }
        Err(self.broken(if close == '}' {
            "`,` or `}`"
        } else {
            "`,` or `]`"
        }))
    }

    fn key(&mut self) -> Result<String, Fault> {
        match self.peek() {
            Some('"' | '\'' | '“') => self.string(),
            Some(c) if starts_word(c) => {
                self.repairs.insert(Repair::UnquotedKey);
                Ok(self.word().to_owned())
            }
            _ => Err(self.expected("a key in quotes")),
        }
    }

    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let token = self.take_while(|c| matches!(c, '0'..='9' | '+' | '-' | '.' | 'e' | 'E'));
        self.may_go_on = self.at == self.text.len();
        if self.may_go_on {
            return Err(Fault::Truncated);
        }
        token
            .parse::<Number>()
            .map(Value::Number)
            .map_err(|_| Fault::Broken {
                at: start,
                expected: "a number",
            })
    }

    fn word_value(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let word = self.word();
        self.may_go_on = self.at == self.text.len();
        let (value, repair) = match word {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            "null" => return Ok(Value::Null),
            "True" => (Value::Bool(true), Repair::OtherLiteral),
            "False" => (Value::Bool(false), Repair::OtherLiteral),
            "None" => (Value::Null, Repair::OtherLiteral),
            "NaN" | "Infinity" | "undefined" => {
                return Err(Fault::Broken {
                    at: start,
                    expected: "a value",
                });
            }
            word => (Value::String(word.to_owned()), Repair::UnquotedValue),
        };
        self.repairs.insert(repair);
        Ok(value)
    }

    fn word(&mut self) -> &'a str {
        // The bar keeps a copied list of alternatives in one piece, so that it can be named.
        self.take_while(|c| starts_word(c) || c.is_numeric() || matches!(c, '-' | '.' | '|'))
    }

    fn string(&mut self) -> Result<String, Fault> {
        let open = self.peek().unwrap_or('"');
        self.eat(open);
        if open != '"' {
            self.repairs.insert(Repair::OtherQuotes);
        }
        let close = if open == '“' { '”' } else { open };
        let mut out = String::new();
        loop {
            out.push_str(self.take_while(|c| c != close && c != '\\' && c != '\n'));
            let Some(c) = self.peek() else {
                return Err(Fault::Truncated);
            };
            self.eat(c);
            match c {
                '\\' => self.escape(&mut out)?,
                '\n' => {
                    self.repairs.insert(Repair::LooseString);
                    out.push('\n');
                }
                // An apostrophe within a word does not end a string in single quotes.
                '\'' if !self.ends_string() => out.push('\''),
                _ => break,
            }
        }
        self.may_go_on = false;
        Ok(out)
    }

    fn ends_string(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.trim_start()
            .chars()
            .next()
            .is_none_or(|c| ",:}]，：`".contains(c))
    }

    fn escape(&mut self, out: &mut String) -> Result<(), Fault> {
        let Some(c) = self.peek() else {
            return Err(Fault::Truncated);
        };
        self.eat(c);
        let meant = match c {
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode_escape(out),
            '\'' => {
                self.repairs.insert(Repair::LooseString);
                c
            }
            _ => {
                self.repairs.insert(Repair::LooseString);
                out.push('\\');
                c
            }
        };
        out.push(meant);
        Ok(())
    }

    fn unicode_escape(&mut self, out: &mut String) -> Result<(), Fault> {
        let high = self.hex4()?;
        let mut units = vec![high];
        if (0xd800..0xdc00).contains(&high) && self.rest().starts_with("\\u") {
            self.at += 2;
            units.push(self.hex4()?);
        }
        for c in char::decode_utf16(units) {
            out.push(c.unwrap_or_else(|_| {
                self.repairs.insert(Repair::LooseString);
                char::REPLACEMENT_CHARACTER
            }));
        }
        Ok(())
    }

    fn hex4(&mut self) -> Result<u16, Fault> {
        let fault = Fault::Broken {
            at: self.at,
            expected: "four hexadecimal digits",
        };
        if self.text.len() < self.at + 4 {
            return Err(Fault::Truncated);
        }
        let digits = self
            .rest()
            .get(..4)
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits
            .and_then(|digits| u16::from_str_radix(digits, 16).ok())
            .ok_or(fault)?;
        self.at += 4;
        Ok(unit)
    }

    fn skip_space(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            let comment = match self.rest() {
                rest if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
                rest if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
                _ => return,
            };
            self.repairs.insert(Repair::Comment);
            self.at += comment;
        }
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += wanted.len_utf8();
        }
        found
    }

    fn eat_other(&mut self, wanted: char) -> bool {
        let found = self.eat(wanted);
        if found {
            self.repairs.insert(Repair::OtherPunctuation);
        }
        found
    }

    /// The text is over; the end of a Markdown fence is such an end too.
    fn at_end(&self) -> bool {
        self.at == self.text.len() || self.rest().starts_with("```")
    }

    fn expected(&self, expected: &'static str) -> Fault {
        if self.at_end() {
            Fault::Truncated
        } else {
            self.broken(expected)
        }
    }

    fn broken(&self, expected: &'static str) -> Fault {
        Fault::Broken {
            at: self.at,
            expected,
        }
    }
}

fn starts_word(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}
