//! Exact amounts.
use std::{fmt, str::FromStr};

use fugato_state::say;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use thiserror::Error;

use crate::decimal;

/// An amount or a price: a decimal number with at most six places, never a float. It is serialised
/// as text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(i64);

/// A text that is no amount.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", say!("{text:?} is no amount: up to twelve digits with up to six places are, such as \"0.25\"", "{text:?} 不是金额：最多十二位数字、六位小数，例如 \"0.25\""))]
pub struct AmountError {
    /// The given text.
    pub text: String,
}

/// The number of millionths in one.
const ONE: i64 = 1_000_000;
const PLACES: usize = 6;
const DIGITS: usize = 12;

impl Amount {
    /// The amount 0.
    pub const ZERO: Self = Self(0);

    /// Creates an amount from millionths, the form for databases.
    pub fn from_millionths(millionths: i64) -> Self {
        Self(millionths)
    }

    /// Returns the amount in millionths.
    pub fn millionths(self) -> i64 {
        self.0
    }

    /// Multiplies a quantity by a price, rounded to a millionth towards zero.
    #[must_use]
    pub fn times(self, price: Self) -> Self {
        narrowed(i128::from(self.0) * i128::from(price.0) / i128::from(ONE))
    }

    /// Divides a total by a quantity, which gives the price of one; 0 if the quantity is 0.
    #[must_use]
    pub fn shared_by(self, quantity: Self) -> Self {
        let whole = i128::from(self.0) * i128::from(ONE);
        narrowed(whole.checked_div(i128::from(quantity.0)).unwrap_or(0))
    }

    /// Returns the sum, saturating at the greatest amount.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference, which may be negative.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the negated amount.
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
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let written = text.trim();
        let whole = written.split('.').next().unwrap_or_default();
        let fits = whole.len() <= DIGITS;
        let millionths = decimal(written, PLACES).filter(|_| fits);
        let text = || text.to_owned();
        millionths
            .map(Self)
            .ok_or_else(|| AmountError { text: text() })
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
