//! Writing JSON into a buffer without a tree in between.
use std::fmt::Write as _;

use serde::Serialize;

/// Characters that some line readers take for a line end, though JSON allows them in strings and
/// server-sent events do not treat them as one.
const LINE_ENDS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];

/// Appends a string with its quotes.
pub(crate) fn string(out: &mut String, text: &str) {
    out.push('"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let (escape, length) = match byte {
            b'"' => ("\\\"", 1),
            b'\\' => ("\\\\", 1),
            b'\n' => ("\\n", 1),
            b'\r' => ("\\r", 1),
            b'\t' => ("\\t", 1),
            0..0x20 => ("", 1),
            // The first bytes of the line ends that are not ASCII.
            0xc2 | 0xe2 => match line_end(text, at) {
                Some((escape, length)) => (escape, length),
                None => continue,
            },
            _ => continue,
        };
        // An escape replaces a whole character, so both ends are character boundaries.
        out.push_str(text.get(from..at).unwrap_or_default());
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        from = at + length;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out.push('"');
}

/// Returns the escape of the line end that begins here, and its length in bytes.
fn line_end(text: &str, at: usize) -> Option<(&'static str, usize)> {
    match text.as_bytes().get(at..)? {
        [0xc2, 0x85, ..] => Some(("\\u0085", 2)),
        [0xe2, 0x80, 0xa8, ..] => Some(("\\u2028", 3)),
        [0xe2, 0x80, 0xa9, ..] => Some(("\\u2029", 3)),
        _ => None,
    }
}

/// Appends a value as JSON; `null` if it cannot be serialised.
pub(crate) fn value<T: Serialize + ?Sized>(out: &mut String, value: &T) {
    let Ok(json) = serde_json::to_string(value) else {
        out.push_str("null");
        return;
    };
    let mut rest = json.as_str();
    // These can only occur in strings.
    while let Some((before, after)) = rest.split_once(LINE_ENDS) {
        out.push_str(before);
        let escape = line_end(rest, before.len());
        out.push_str(escape.map_or("", |(escape, _)| escape));
        rest = after;
    }
    out.push_str(rest);
}

/// An object that is being appended.
pub(crate) struct Object<'a> {
    out: &'a mut String,
    empty: bool,
}

impl<'a> Object<'a> {
    pub(crate) fn begin(out: &'a mut String) -> Self {
        out.push('{');
        Self { out, empty: true }
    }

    /// Adds a field whose value is appended by `write`.
    pub(crate) fn field(&mut self, key: &str, write: impl FnOnce(&mut String)) -> &mut Self {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        string(self.out, key);
        self.out.push(':');
        write(self.out);
        self
    }

    pub(crate) fn string(&mut self, key: &str, text: &str) -> &mut Self {
        self.field(key, |out| string(out, text))
    }

    pub(crate) fn value<T: Serialize + ?Sized>(&mut self, key: &str, it: &T) -> &mut Self {
        self.field(key, |out| value(out, it))
    }

    pub(crate) fn object(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        self.field(key, |out| {
            let mut object = Object::begin(out);
            write(&mut object);
            object.end();
        })
    }

    pub(crate) fn end(&mut self) {
        self.out.push('}');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_string_reads_back_as_it_was(
            text in prop_oneof![any::<String>(), "[a\"\\\\\n\u{85}\u{86}\u{2027}\u{2028}\u{2029}\u{202a}é]{0,9}"],
        ) {
            let (mut quoted, mut value) = (String::new(), String::new());
            super::string(&mut quoted, &text);
            super::value(&mut value, &text);
            for out in [quoted, value] {
                prop_assert!(!out.contains(['\n', '\r']));
                prop_assert!(!out.contains(super::LINE_ENDS));
                prop_assert_eq!(&serde_json::from_str::<String>(&out).unwrap(), &text);
            }
        }
    }
}
