//! The file in its raw form, before its values are checked against each other.
use std::fmt;

use jiff::civil::Date;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use toml::value::Datetime;

use crate::schedule::{ClosedTime, FixedTime, Level, Strategy, SubjectType};

use super::preferences::RawPreferences;
use super::{ClassesError, when};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClasses {
    pub(super) window: RawWindow,
    pub(super) zone: Option<String>,
    pub(super) sections: Option<Vec<String>>,
    #[serde(default)]
    pub(super) embeddable: Vec<String>,
    #[serde(default)]
    pub(super) ignore: Vec<String>,
    #[serde(default)]
    pub(super) classes: Vec<RawClass>,
    #[serde(default)]
    pub(super) preferences: RawPreferences,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWindow {
    pub(super) start: RawDate,
    pub(super) weeks: u16,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClass {
    pub(super) name: String,
    #[serde(default = "steady")]
    pub(super) strategy: Strategy,
    pub(super) total_slots: Option<u32>,
    #[serde(default)]
    pub(super) allow_filler_course: bool,
    #[serde(default)]
    pub(super) excluded_slots: Vec<RawBlock>,
    #[serde(default)]
    pub(super) excluded_days_of_week: Vec<RawWeekday>,
    pub(super) start_date: Option<RawDate>,
    pub(super) end_date: Option<RawDate>,
    pub(super) subject_type: Option<SubjectType>,
    pub(super) difficulty_level: Option<Level>,
    pub(super) cognitive_intensity: Option<Level>,
    pub(super) minutes: Option<RawMinutes>,
    pub(super) priority: Option<Level>,
    #[serde(default)]
    pub(super) not: OneOrMany<RawClosed>,
    pub(super) items: Vec<TextOrItem>,
}

fn steady() -> Strategy {
    Strategy::Steady
}

/// A value that is written as a text, as a number, or as a date or time of TOML.
struct FieldVisitor<T> {
    expected: &'static str,
    text: Option<fn(&str) -> Option<T>>,
    number: Option<fn(i64) -> Option<T>>,
}

impl<'de, T> Visitor<'de> for FieldVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        let found = Unexpected::Signed(number);
        let Some(read) = self.number else {
            return Err(E::invalid_type(found, &self));
        };
        read(number).ok_or_else(|| E::invalid_value(found, &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        let found = Unexpected::Str(text);
        let Some(read) = self.text else {
            return Err(E::invalid_type(found, &self));
        };
        read(text).ok_or_else(|| E::invalid_value(found, &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let Ok(time) = Datetime::deserialize(MapAccessDeserializer::new(map)) else {
            return Err(de::Error::invalid_type(Unexpected::Map, &self));
        };
        let text = time.to_string();
        // TOML writes a time with seconds.
        self.visit_str(text.strip_suffix(":00").unwrap_or(&text))
    }
}

macro_rules! written {
    ($($(#[$doc:meta])* $name:ident($type:ty) $expected:literal $text:expr, $number:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone)]
            pub(super) struct $name(pub(super) $type);

            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    let written = FieldVisitor {
                        expected: $expected,
                        text: $text,
                        number: $number,
                    };
                    deserializer.deserialize_any(written).map(Self)
                }
            }
        )*
    };
}

written! {
    /// The number of a pair of sections. The range is checked later, with its place in the file.
    #[derive(Copy)]
    RawBlock(u8)
        "the number of a pair of sections, 1 (sections 1 and 2) to 6 (11 and 12)"
        None, Some(|number| u8::try_from(number).ok());
    /// The number of a day of the week, which may be given by its name.
    #[derive(Copy)]
    RawWeekday(u8)
        "a day of the week, 1 (Monday) to 7 (Sunday) or its name, such as \"Sunday\""
        Some(when::weekday), Some(|number| u8::try_from(number).ok());
    /// A length in minutes.
    #[derive(Copy)]
    RawMinutes(u16)
        "a length in minutes, 5 to 10000"
        None, Some(|number| u16::try_from(number).ok().filter(|it| (5..=10_000).contains(it)));
    /// A time that is closed.
    RawClosed(ClosedTime)
        "a time such as \"Tuesday evening\", \"周二 18:00-22:30\", \"Saturday\" or \"12:00-14:00\""
        Some(ClosedTime::parse), None;
    /// A time at which an item begins.
    RawFixed(FixedTime)
        "a time such as \"14:00\", \"Tuesday 14:00\" or \"2026-03-10 14:00\""
        Some(FixedTime::parse), None;
    /// A date as TOML has it, or as a text.
    #[derive(Copy)]
    RawDate(Date)
        "a date such as 2026-03-02"
        Some(date), None;
}

/// Reads a date of no other shape: `20260302T08` would be read as a date as well.
fn date(text: &str) -> Option<Date> {
    let plain = text.len() == 10 && text.is_ascii();
    text.parse().ok().filter(|_| plain)
}

/// A text, or a table with a text and its terms.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawItem {
    pub(super) content: String,
    pub(super) order: Option<u32>,
    pub(super) minutes: Option<RawMinutes>,
    pub(super) split: Option<RawMinutes>,
    pub(super) earliest: Option<RawDate>,
    pub(super) deadline: Option<RawDate>,
    pub(super) priority: Option<Level>,
    pub(super) at: Option<RawFixed>,
    #[serde(default)]
    pub(super) after: OneOrMany<String>,
    #[serde(default)]
    pub(super) not: OneOrMany<RawClosed>,
}

/// Not an untagged enum, because its errors would only say that nothing matched.
#[derive(Debug)]
pub(super) struct TextOrItem(pub(super) RawItem);

impl<'de> Deserialize<'de> for TextOrItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = RawItem;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a table with `content` and perhaps `order`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawItem, E> {
                Ok(RawItem {
                    content: text.to_owned(),
                    ..RawItem::default()
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawItem, A::Error> {
                RawItem::deserialize(MapAccessDeserializer::new(map))
            }
        }

        deserializer.deserialize_any(Either).map(Self)
    }
}

/// One value, or a list of them.
#[derive(Debug)]
pub(super) struct OneOrMany<T>(pub(super) Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Either<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or a list of texts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
                T::deserialize(de::value::StrDeserializer::new(text)).map(|one| vec![one])
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list))
            }
        }

        deserializer
            .deserialize_any(Either(std::marker::PhantomData))
            .map(Self)
    }
}

/// Reads the file; an error has its line and column.
pub(super) fn read(file: &str, bytes: &[u8]) -> Result<RawClasses, ClassesError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let not_text = |_| ClassesError::NotText {
        file: file.to_owned(),
    };
    let text = std::str::from_utf8(bytes).map_err(not_text)?;
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let full = error.to_string();
            let tail = format!(" at line {line} column {column}");
            let message = full.strip_suffix(&tail).unwrap_or(&full).to_owned();
            ClassesError::Syntax {
                file: file.to_owned(),
                line,
                column: column.max(1),
                message,
            }
        });
    }
    toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        let before = text.get(..offset).unwrap_or(text);
        let last = before.rsplit('\n').next().unwrap_or_default();
        ClassesError::Syntax {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: last.chars().count() + 1,
            message: error.message().replace('\n', "; "),
        }
    })
}
