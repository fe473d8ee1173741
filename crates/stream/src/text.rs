use std::{borrow::Cow, fmt, ops::Deref, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A piece of text that is cheap to make, to copy and to extend.
///
/// A short one, as most deltas and names of blocks are, needs no allocation. A longer one is
/// shared by its copies, until one of them is extended.
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Arc<String>),
}

/// The longest text without an allocation, in bytes: a [`Text`] then has 16 bytes.
const SHORT: usize = 14;

impl Text {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Repr::Short { length, bytes } => {
                let bytes = bytes.get(..usize::from(*length)).unwrap_or_default();
                // They are always a whole `str`, so nothing is lost here.
                std::str::from_utf8(bytes).unwrap_or_default()
            }
            Repr::Long(text) => text,
        }
    }

    /// Appends some text. Copies stay as they were.
    pub fn push_str(&mut self, more: &str) {
        match &mut self.0 {
            Repr::Short { length, bytes } => {
                let from = usize::from(*length);
                let to = from + more.len();
                if let Some(free) = bytes.get_mut(from..to) {
                    free.copy_from_slice(more.as_bytes());
                    // Less than the length of the array, which fits.
                    *length = u8::try_from(to).unwrap_or(u8::MAX);
                } else {
                    let mut text = String::with_capacity(2 * to);
                    text.push_str(self.as_str());
                    text.push_str(more);
                    self.0 = Repr::Long(Arc::new(text));
                }
            }
            Repr::Long(text) => Arc::make_mut(text).push_str(more),
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut bytes = [0; SHORT];
        Self(
            match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
                (Some(own), Ok(length)) => {
                    own.copy_from_slice(text.as_bytes());
                    Repr::Short { length, bytes }
                }
                _ => Repr::Long(Arc::new(text.to_owned())),
            },
        )
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        if text.len() <= SHORT {
            Self::from(text.as_str())
        } else {
            Self(Repr::Long(Arc::new(text)))
        }
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Cow<'_, str>> for Text {
    fn from(text: Cow<'_, str>) -> Self {
        match text {
            Cow::Borrowed(text) => Self::from(text),
            Cow::Owned(text) => Self::from(text),
        }
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        match text.0 {
            Repr::Short { .. } => text.as_str().to_owned(),
            Repr::Long(text) => Arc::unwrap_or_clone(text),
        }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            // The bytes beyond the length are always zero.
            (
                Repr::Short { length, bytes },
                Repr::Short {
                    length: other,
                    bytes: others,
                },
            ) => length == other && bytes == others,
            _ => self.as_str() == other.as_str(),
        }
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl std::hash::Hash for Text {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Visitor)
    }
}

struct Visitor;

impl de::Visitor<'_> for Visitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Text, E> {
        Ok(text.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_as_small_as_a_pointer_with_its_length() {
        assert!(size_of::<Text>() <= 16, "{}", size_of::<Text>());
    }

    #[test]
    fn a_copy_stays_as_it_was_when_the_other_grows() {
        let mut text = Text::from("a text that is longer than what fits");
        let copy = text.clone();
        text.push_str("!");
        assert_eq!(copy, "a text that is longer than what fits");
        assert_eq!(text, "a text that is longer than what fits!");
    }

    proptest! {
        #[test]
        fn a_text_is_what_was_put_in(pieces in prop::collection::vec("\\PC{0,9}", 0..6)) {
            let mut text = Text::default();
            for piece in &pieces {
                text.push_str(piece);
            }
            let whole = pieces.concat();
            prop_assert_eq!(text.as_str(), &whole);
            prop_assert_eq!(&text, &Text::from(whole.as_str()));
            prop_assert_eq!(&text, &Text::from(whole.clone()));
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Text>(&json).unwrap(), &text);
            prop_assert_eq!(String::from(text), whole);
        }
    }
}
