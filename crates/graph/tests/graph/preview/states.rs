//! The state of the program that began the threads, and its mutations.
use std::fmt;

use fugato_state::{MigrateError, State};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A state of any shape, as the graphs use it.
pub(crate) trait TestState: State + Default + fmt::Debug {
    fn kind(&self) -> &str;
    fn total(&self) -> i64;
    fn of_kind(kind: &str) -> Self::Update;
    fn plus(amount: i64) -> Self::Update;
    fn line(text: &str) -> Self::Update;
}

/// Defines a state: the field of its sum, its other fields, the update that adds to the sum, and the
/// items of its `impl State` beside `apply`.
macro_rules! test_state {
    (
        $(#[$of:meta])* $name:ident { $(#[$field:meta])* $total:ident, $($more:tt)* }
        $change:ident { $(#[$variant:meta])* $add:ident($amount:ty) = $make:expr, $apply:expr }
        $($items:item)*
    ) => {
        #[derive(Debug, Clone, Default, Serialize, Deserialize)]
        $(#[$of])*
        pub(crate) struct $name {
            kind: String,
            lines: Vec<String>,
            $(#[$field])*
            $total: i64,
            $($more)*
        }

        #[derive(Debug, Serialize, Deserialize)]
        pub(crate) enum $change {
            Kind(String),
            Line(String),
            $(#[$variant])*
            $add($amount),
        }

        impl State for $name {
            type Update = $change;
            $($items)*

            fn apply(&mut self, change: $change) {
                let apply: fn(&mut i64, $amount) = $apply;
                match change {
                    $change::Kind(kind) => self.kind = kind,
                    $change::Line(line) => self.lines.push(line),
                    $change::$add(amount) => apply(&mut self.$total, amount),
                }
            }
        }

        impl TestState for $name {
            fn kind(&self) -> &str {
                &self.kind
            }

            fn total(&self) -> i64 {
                self.$total
            }

            fn of_kind(kind: &str) -> $change {
                $change::Kind(kind.into())
            }

            fn plus(amount: i64) -> $change {
                let make: fn(i64) -> $amount = $make;
                $change::$add(make(amount))
            }

            fn line(text: &str) -> $change {
                $change::Line(text.into())
            }
        }
    };
}

fn same(amount: i64) -> i64 {
    amount
}

fn sum(total: &mut i64, amount: i64) {
    *total += amount;
}

test_state! { Old { total, spare: u32 } OldChange { Add(i64) = same, sum } }
test_state! { OptionalField { total, spare: u32, note: Option<String>, #[serde(default)] tone: String }
OptionalFieldChange { Add(i64) = same, sum } }
test_state! { RequiredField { total, spare: u32, tone: String } RequiredFieldChange { Add(i64) = same, sum } }
test_state! { RenamedField { sum, spare: u32 } RenamedFieldChange { Add(i64) = same, sum } }
test_state! { AliasedField { #[serde(alias = "total")] sum, spare: u32 }
AliasedFieldChange { Add(i64) = same, sum } }
test_state! { RenamedVariant { total, spare: u32 } RenamedVariantChange { Plus(i64) = same, sum } }
test_state! { AliasedVariant { total, spare: u32 }
AliasedVariantChange { #[serde(alias = "Add")] Plus(i64) = same, sum } }
test_state! { OtherAmount { total, spare: u32 }
OtherAmountChange { Add(String) = |it| it.to_string(), |total, it| *total += i64::from(!it.is_empty()) } }
test_state! { RemovedField { total, } RemovedFieldChange { Add(i64) = same, sum } }
test_state! { #[serde(deny_unknown_fields)] StrictField { total, } StrictFieldChange { Add(i64) = same, sum } }
test_state! { Second { sum, } SecondChange { Plus(i64) = same, sum }
    const VERSION: u32 = 2;

    fn migrate_state(from: u32, old: Value) -> Result<Self, MigrateError> {
        let Old { kind, lines, total, .. } = read(from, old)?;
        Ok(Self { kind, lines, sum: total })
    }

    fn migrate_update(from: u32, old: Value) -> Result<Vec<SecondChange>, MigrateError> {
        Ok(vec![match read(from, old)? {
            OldChange::Kind(kind) => SecondChange::Kind(kind),
            OldChange::Line(line) => SecondChange::Line(line),
            OldChange::Add(amount) => SecondChange::Plus(amount),
        }])
    }
}
test_state! { SecondUnread { sum, } SecondUnreadChange { Plus(i64) = same, sum }
    const VERSION: u32 = 2;
}
test_state! { SecondHalfRead { sum, } SecondHalfReadChange { Plus(i64) = same, sum }
    const VERSION: u32 = 2;

    fn migrate_state(from: u32, old: Value) -> Result<Self, MigrateError> {
        let Old { kind, lines, total, .. } = read(from, old)?;
        Ok(Self { kind, lines, sum: total })
    }

    fn migrate_update(from: u32, old: Value) -> Result<Vec<SecondHalfReadChange>, MigrateError> {
        match read(from, old)? {
            OldChange::Kind(kind) => Ok(vec![SecondHalfReadChange::Kind(kind)]),
            OldChange::Line(line) => Ok(vec![SecondHalfReadChange::Line(line)]),
            OldChange::Add(amount) if amount % 7 == 0 => read(from, "a seven".into()),
            OldChange::Add(amount) => Ok(vec![SecondHalfReadChange::Plus(amount)]),
        }
    }
}

fn read<T: DeserializeOwned>(from: u32, old: Value) -> Result<T, MigrateError> {
    let to = 2;
    serde_json::from_value(old).map_err(|source| MigrateError { from, to, source })
}

/// The state of the subgraph.
pub(crate) trait Inner: State + Default {
    fn number(n: u32) -> Self::Update;
}

macro_rules! inner {
    ($name:ident $($items:item)*) => {
        #[derive(Debug, Clone, Default, Serialize, Deserialize)]
        pub(crate) struct $name {
            number: u32,
        }

        impl State for $name {
            type Update = u32;
            $($items)*

            fn apply(&mut self, number: u32) {
                self.number += number;
            }
        }

        impl Inner for $name {
            fn number(n: u32) -> u32 {
                n
            }
        }
    };
}

inner! { OldInner }
inner! { SecondInner
    const VERSION: u32 = 2;

    fn migrate_state(from: u32, old: Value) -> Result<Self, MigrateError> {
        read(from, old)
    }

    fn migrate_update(from: u32, old: Value) -> Result<Vec<u32>, MigrateError> {
        Ok(vec![read(from, old)?])
    }
}
inner! { SecondInnerUnread
    const VERSION: u32 = 2;

    fn migrate_update(from: u32, _: Value) -> Result<Vec<u32>, MigrateError> {
        read(from, "no number".into())
    }
}
