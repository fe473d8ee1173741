//! The file in its raw form, before its values are checked against each other.
use std::fmt;

use jiff::civil::Date;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
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

/// The number of a pair of sections. The range is checked later, with its place in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawBlock(pub(super) u8);

/// The number of a day of the week, which may be given by its name.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawWeekday(pub(super) u8);

impl<'de> Deserialize<'de> for RawBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let small = SmallNumber {
            expected: "the number of a pair of sections, 1 (sections 1 and 2) to 6 (11 and 12)",
            name: |_| None,
        };
        deserializer.deserialize_any(small).map(Self)
    }
}

impl<'de> Deserialize<'de> for RawWeekday {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let small = SmallNumber {
            expected: "a day of the week, 1 (Monday) to 7 (Sunday) or its name, such as \"Sunday\"",
            name: when::weekday,
        };
        deserializer.deserialize_any(small).map(Self)
    }
}

/// A number that fits into a byte, or a name for one.
struct SmallNumber {
    expected: &'static str,
    name: fn(&str) -> Option<u8>,
}

impl Visitor<'_> for SmallNumber {
    type Value = u8;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<u8, E> {
        let wrong = || E::invalid_value(de::Unexpected::Signed(number), &self);
        u8::try_from(number).map_err(|_| wrong())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<u8, E> {
        let wrong = || E::invalid_value(de::Unexpected::Unsigned(number), &self);
        u8::try_from(number).map_err(|_| wrong())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u8, E> {
        (self.name)(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
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

/// A length in minutes.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawMinutes(pub(super) u16);

impl<'de> Deserialize<'de> for RawMinutes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Minutes;

        impl Visitor<'_> for Minutes {
            type Value = u16;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a length in minutes, 5 to 10000")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<u16, E> {
                let wrong = || E::invalid_value(de::Unexpected::Signed(number), &self);
                let fits = u16::try_from(number)
                    .ok()
                    .filter(|it| (5..=10_000).contains(it));
                fits.ok_or_else(wrong)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<u16, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }
        }

        deserializer.deserialize_any(Minutes).map(Self)
    }
}

/// A time that is closed.
#[derive(Debug, Clone)]
pub(super) struct RawClosed(pub(super) ClosedTime);

impl<'de> Deserialize<'de> for RawClosed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || {
            let allowed = "a time such as \"Tuesday evening\", \"周二 18:00-22:30\", \"Saturday\" or \"12:00-14:00\"";
            de::Error::invalid_value(de::Unexpected::Str(&text), &allowed)
        };
        when::closed(&text).map(Self).ok_or_else(wrong)
    }
}

/// A time at which an item begins.
#[derive(Debug, Clone)]
pub(super) struct RawFixed(pub(super) FixedTime);

impl<'de> Deserialize<'de> for RawFixed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = RawFixed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"14:00\", \"Tuesday 14:00\" or \"2026-03-10 14:00\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawFixed, E> {
                let wrong = || E::invalid_value(de::Unexpected::Str(text), &self);
                when::fixed(text).map(RawFixed).ok_or_else(wrong)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawFixed, A::Error> {
                let time = Datetime::deserialize(MapAccessDeserializer::new(map))?;
                let text = time.to_string();
                // TOML writes a time with seconds.
                let short = text.strip_suffix(":00").unwrap_or(&text);
                self.visit_str(short)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// A date as TOML has it, or as a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawDate(pub(super) Date);

impl<'de> Deserialize<'de> for RawDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = RawDate;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a date such as 2026-03-02")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawDate, E> {
                let unlike = || E::invalid_value(de::Unexpected::Str(text), &self);
                // No other shape: `20260302T08` would be read as a date as well.
                let plain = text.len() == 10 && text.is_ascii();
                let date = text.parse().ok().filter(|_| plain);
                date.map(RawDate).ok_or_else(unlike)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawDate, A::Error> {
                let date = Datetime::deserialize(MapAccessDeserializer::new(map))?;
                self.visit_str(&date.to_string())
            }
        }

        deserializer.deserialize_any(Either)
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
