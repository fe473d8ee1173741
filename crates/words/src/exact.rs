//! Amounts of which nothing is lost.
use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use thiserror::Error;

use crate::decimal;

/// An amount of something, or a price: a decimal number with at most six places, never a float. At
/// rest it is a text, as people write it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(i64);

/// What is written is no amount.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is no amount: up to twelve digits with up to six places are, such as \"0.25\"")]
pub struct NoAmount {
    /// What was written.
    pub text: String,
}

/// How many millionths are one.
const ONE: i64 = 1_000_000;
const PLACES: usize = 6;
const DIGITS: usize = 12;

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many millionths: how a database keeps it.
    pub fn from_millionths(millionths: i64) -> Self {
        Self(millionths)
    }

    /// In millionths.
    pub fn millionths(self) -> i64 {
        self.0
    }

    /// What so much costs at a price, rounded down to a millionth.
    #[must_use]
    pub fn times(self, price: Self) -> Self {
        narrowed(i128::from(self.0) * i128::from(price.0) / i128::from(ONE))
    }

    /// What one of so many has cost; nothing where there are none.
    #[must_use]
    pub fn shared_by(self, quantity: Self) -> Self {
        let whole = i128::from(self.0) * i128::from(ONE);
        narrowed(whole.checked_div(i128::from(quantity.0)).unwrap_or(0))
    }

    /// The sum; the greatest amount where it is greater.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left, below zero if need be.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// As much below zero as it is above.
    #[must_use]
    pub fn negative(self) -> Self {
        Self::ZERO.minus(self)
    }
}

fn narrowed(wide: i128) -> Amount {
    Amount(i64::try_from(wide).unwrap_or(if wide < 0 { i64::MIN } else { i64::MAX }))
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let one = ONE.unsigned_abs();
        let (whole, rest) = (self.0.unsigned_abs() / one, self.0.unsigned_abs() % one);
        let places = format!("{rest:0PLACES$}");
        match places.trim_end_matches('0') {
            "" => write!(f, "{sign}{whole}"),
            places => write!(f, "{sign}{whole}.{places}"),
        }
    }
}

impl FromStr for Amount {
    type Err = NoAmount;

    fn from_str(text: &str) -> Result<Self, NoAmount> {
        let written = text.trim();
        let whole = written.split('.').next().unwrap_or_default();
        let fits = whole.len() <= DIGITS;
        let millionths = decimal(written, PLACES).filter(|_| fits);
        let text = || text.to_owned();
        millionths
            .map(Self)
            .ok_or_else(|| NoAmount { text: text() })
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_written_as_people_write_it() {
        let read = |text: &str| text.parse::<Amount>().map(|amount| amount.to_string());
        assert_eq!(read("0.25"), Ok("0.25".into()));
        assert_eq!(read("64000.10"), Ok("64000.1".into()));
        assert_eq!(read(" 7 "), Ok("7".into()));
        for bad in ["", ".5", "-1", "1e3", "0.1234567", "1234567890123", "1,5"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let (price, quantity) = (Amount(64_000 * ONE), Amount(ONE / 4));
        assert_eq!(quantity.times(price), Amount(16_000 * ONE));
        assert_eq!(quantity.times(price).shared_by(quantity), price);
        assert_eq!(price.shared_by(Amount::ZERO), Amount::ZERO);
        assert_eq!(quantity.negative().to_string(), "-0.25");
    }
}
