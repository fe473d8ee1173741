//! Writing JSON into a buffer without a tree in between.
use std::fmt::Write as _;

use serde::Serialize;

/// Appends a string with its quotes.
pub(crate) fn string(out: &mut String, text: &str) {
    out.push('"');
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..0x20 => "",
            _ => continue,
        };
        // Escaped bytes are ASCII, so both ends lie between characters.
        out.push_str(text.get(from..at).unwrap_or_default());
        if escape.is_empty() {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        from = at + 1;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out.push('"');
}

/// Appends anything; `null` if it cannot be written.
pub(crate) fn value<T: Serialize + ?Sized>(out: &mut String, value: &T) {
    match serde_json::to_string(value) {
        Ok(json) => out.push_str(&json),
        Err(_) => out.push_str("null"),
    }
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

    /// A field whose value is appended by `write`.
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
        fn a_string_reads_back_as_it_was(text in any::<String>()) {
            let mut out = String::new();
            super::string(&mut out, &text);
            prop_assert!(!out.contains(['\n', '\r']));
            prop_assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
        }
    }
}
