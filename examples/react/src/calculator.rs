//! Exact arithmetic: numbers, `+ - * / % ^ √`, percents, brackets and signs, as people write them.
use std::fmt;

use fugato::state::say;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed as _, ToPrimitive as _, Zero as _};
use thiserror::Error;

/// Returns the value of an expression. A percent after a plus or a minus is one of what stands
/// before it, and `%` between two numbers is the remainder.
///
/// ```
/// use react::calculator::calculate;
///
/// let value = |expression: &str| calculate(expression).map(|value| value.to_string());
/// assert_eq!(value("(17 + 25) × 2"), Ok("84".into()));
/// assert_eq!(value("2 ^ 64"), Ok("18446744073709551616".into()));
/// assert_eq!(value("1,000 - 25%"), Ok("750".into()));
/// assert!(!calculate("10 / 3")?.is_exact());
/// assert_eq!(
///     value("3 / (1 - 1)").unwrap_err().to_string(),
///     "there is a division by zero",
/// );
/// # Ok::<(), react::calculator::CalculationError>(())
/// ```
pub fn calculate(expression: &str) -> Result<Number, CalculationError> {
    let plain: String = expression.chars().map(plain).collect();
    let mut reader = Reader {
        rest: &plain,
        position: 1,
        depth: 0,
    };
    let value = reader.sum()?;
    match reader.next() {
        Some(_) => Err(reader.unexpected()),
        None => Ok(value),
    }
}

/// A number: exact as long as it can be.
#[derive(Debug, Clone, PartialEq)]
pub struct Number(Repr);

#[derive(Debug, Clone, PartialEq)]
enum Repr {
    Exact(BigRational),
    Rounded(f64),
}

/// The most bits of a part of an exact number: about two thousand digits.
const MOST_BITS: u64 = 1 << 13;
/// The most decimal places that are written in full.
const MOST_PLACES: u32 = 12;

impl Number {
    fn exact(value: BigRational) -> Value {
        if value.numer().bits() > MOST_BITS || value.denom().bits() > MOST_BITS {
            return Self::rounded(value.to_f64().unwrap_or(f64::INFINITY));
        }
        Ok(Self(Repr::Exact(value)))
    }

    fn rounded(value: f64) -> Value {
        if value.is_finite() {
            Ok(Self(Repr::Rounded(value)))
        } else {
            Err(CalculationError::TooLarge)
        }
    }

    /// Returns the nearest floating-point number.
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Repr::Exact(value) => value.to_f64().unwrap_or(f64::NAN),
            Repr::Rounded(value) => *value,
        }
    }

    /// Returns the number as it is written, if it is written in full.
    fn digits(&self) -> Option<String> {
        let Repr::Exact(value) = &self.0 else {
            return None;
        };
        let mut places = 0;
        let mut scaled = value.clone();
        while !scaled.is_integer() && places < MOST_PLACES {
            scaled *= BigRational::from_integer(BigInt::from(10));
            places += 1;
        }
        if !scaled.is_integer() {
            return None;
        }
        let width = usize::try_from(places).unwrap_or_default() + 1;
        let digits = format!("{:0>width$}", scaled.numer().abs());
        let (whole, part) = digits.split_at(digits.len() - (width - 1));
        let sign = if scaled.numer().is_negative() {
            "-"
        } else {
            ""
        };
        let point = if part.is_empty() { "" } else { "." };
        Some(format!("{sign}{whole}{point}{part}"))
    }

    /// Returns true if [`Display`](fmt::Display) writes it in full.
    pub fn is_exact(&self) -> bool {
        self.digits().is_some()
    }

    fn with(
        &self,
        other: &Self,
        exact: impl Fn(&BigRational, &BigRational) -> BigRational,
        rounded: impl Fn(f64, f64) -> f64,
    ) -> Value {
        match (&self.0, &other.0) {
            (Repr::Exact(one), Repr::Exact(other)) => Self::exact(exact(one, other)),
            _ => Self::rounded(rounded(self.to_f64(), other.to_f64())),
        }
    }

    fn is_zero(&self) -> bool {
        match &self.0 {
            Repr::Exact(value) => value.is_zero(),
            Repr::Rounded(value) => *value == 0.0,
        }
    }

    fn hundredth(&self) -> Value {
        let hundred = BigRational::from_integer(BigInt::from(100));
        self.with(&Self(Repr::Exact(hundred)), |a, b| a / b, |a, b| a / b)
    }

    fn negative(self) -> Self {
        Self(match self.0 {
            Repr::Exact(value) => Repr::Exact(-value),
            Repr::Rounded(value) => Repr::Rounded(-value),
        })
    }

    fn power(&self, exponent: &Self) -> Value {
        if let (Repr::Exact(base), Repr::Exact(by)) = (&self.0, &exponent.0)
            && let Some(times) = by.to_i32().filter(|_| by.is_integer())
        {
            if times < 0 && base.is_zero() {
                return Err(CalculationError::DivisionByZero);
            }
            let bits = base.numer().bits().max(base.denom().bits());
            if bits.saturating_mul(u64::from(times.unsigned_abs())) <= 2 * MOST_BITS {
                return Self::exact(base.pow(times));
            }
        }
        Self::rounded(self.to_f64().powf(exponent.to_f64()))
    }

    fn root(&self) -> Value {
        if let Repr::Exact(value) = &self.0
            && !value.is_negative()
        {
            let root = BigRational::new(value.numer().sqrt(), value.denom().sqrt());
            if &root * &root == *value {
                return Self::exact(root);
            }
        }
        Self::rounded(self.to_f64().sqrt())
    }
}

/// Writes an exact number in full, and another one rounded to twelve significant digits.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(digits) = self.digits() {
            return f.write_str(&digits);
        }
        let value = self.to_f64();
        let rounded: f64 = format!("{value:.11e}").parse().unwrap_or(value);
        // The rounding error of a sum that should be 0 can be negative; the result has no sign.
        write!(f, "{}", if rounded == 0.0 { 0.0 } else { rounded })
    }
}

/// Returns the keyboard equivalent of a typographic or a full-width sign.
pub(crate) fn plain(c: char) -> char {
    match c {
        '×' | '·' => '*',
        '÷' => '/',
        '−' | '–' => '-',
        '\u{3000}' => ' ',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        c => c,
    }
}

/// An expression comes to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CalculationError {
    /// A character or word at a position where it is not allowed.
    #[error("{}", say!(
        "{found} at character {position} is not expected there; allowed are numbers, + - * / % ^ √ and brackets",
        "第 {position} 个字符处的 {found} 看不懂；可以用数字、+ - * / % ^ √ 和括号"
    ))]
    Unexpected {
        /// The text at the position.
        found: String,
        /// The position in characters, from 1.
        position: usize,
    },
    /// A division by zero.
    #[error("{}", say!("there is a division by zero", "不能除以零"))]
    DivisionByZero,
    /// The result is no number that can be written.
    #[error("{}", say!("the result is too large, or no number", "结果太大，或者不是数"))]
    TooLarge,
    /// Brackets within brackets.
    #[error("{}", say!(
        "there are more than {MOST_BRACKETS} brackets or signs within each other",
        "括号或正负号的嵌套超过 {MOST_BRACKETS} 层"
    ))]
    TooDeep,
}

/// The most brackets or signs within each other.
const MOST_BRACKETS: usize = 64;

struct Reader<'a> {
    rest: &'a str,
    position: usize,
    depth: usize,
}

type Value = Result<Number, CalculationError>;

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        while let Some(c) = self.rest.chars().next().filter(|c| c.is_whitespace()) {
            self.skip(c);
        }
        self.rest.chars().next()
    }

    fn skip(&mut self, c: char) {
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
        self.position += 1;
    }

    /// Takes the next character if it is one of these.
    fn take(&mut self, wanted: &[char]) -> Option<char> {
        let found = self.next().filter(|c| wanted.contains(c))?;
        let written = self.rest.chars().next()?;
        self.skip(written);
        Some(found)
    }

    fn unexpected(&mut self) -> CalculationError {
        let found = self.next();
        CalculationError::Unexpected {
            found: found.map_or_else(|| say!("the end", "结尾"), |_| format!("{:?}", self.word())),
            position: self.position,
        }
    }

    /// Returns the word at the position, for a message.
    fn word(&self) -> &str {
        let end = self.rest.find(char::is_whitespace);
        let word = self.rest.get(..end.unwrap_or(self.rest.len()));
        word.unwrap_or_default()
    }

    fn sum(&mut self) -> Value {
        let mut value = self.product()?.0;
        while let Some(sign) = self.take(&['+', '-']) {
            let (other, is_percent) = self.product()?;
            let other = if is_percent {
                value.with(&other, |a, b| a * b, |a, b| a * b)?
            } else {
                other
            };
            let other = if sign == '+' { other } else { other.negative() };
            value = value.with(&other, |a, b| a + b, |a, b| a + b)?;
        }
        Ok(value)
    }

    /// Returns a product, and true if it is a single percent.
    fn product(&mut self) -> Result<(Number, bool), CalculationError> {
        let (mut value, mut is_percent) = self.factor()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let (other, _) = self.factor()?;
            is_percent = false;
            value = match sign {
                '*' => value.with(&other, |a, b| a * b, |a, b| a * b)?,
                _ if other.is_zero() => return Err(CalculationError::DivisionByZero),
                '/' => value.with(&other, |a, b| a / b, |a, b| a / b)?,
                _ => value.with(&other, |a, b| a % b, |a, b| a % b)?,
            };
        }
        Ok((value, is_percent))
    }

    /// Returns a number with its sign, and true if it is a percent.
    fn factor(&mut self) -> Result<(Number, bool), CalculationError> {
        let value = self.signed()?;
        let is_percent = self.next() == Some('%') && self.ends_after_percent();
        if !is_percent {
            return Ok((value, false));
        }
        self.take(&['%']);
        Ok((value.hundredth()?, true))
    }

    /// Returns true if nothing that a remainder could be of follows the sign.
    fn ends_after_percent(&self) -> bool {
        let after = self.rest.trim_start_matches('%').trim_start();
        !after.starts_with(|c: char| c.is_ascii_digit() || "(.√".contains(c))
    }

    fn signed(&mut self) -> Value {
        match self.take(&['+', '-']) {
            None => self.power(),
            Some(sign) => {
                let value = self.deeper(Self::signed)?;
                Ok(if sign == '-' { value.negative() } else { value })
            }
        }
    }

    fn power(&mut self) -> Value {
        let base = self.number()?;
        match self.take(&['^']) {
            None => Ok(base),
            Some(_) => base.power(&self.deeper(Self::signed)?),
        }
    }

    fn number(&mut self) -> Value {
        if self.take(&['√']).is_some() {
            return self.deeper(Self::number)?.root();
        }
        if self.take(&['(']).is_some() {
            let value = self.deeper(Self::sum)?;
            let closed = self.take(&[')']);
            return closed.map(|_| value).ok_or_else(|| self.unexpected());
        }
        self.next();
        let written = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
        let length = self.rest.find(|c| !written(c));
        let digits = self.rest.get(..length.unwrap_or(self.rest.len()));
        let digits = digits.unwrap_or_default();
        let value = read(digits).ok_or_else(|| self.unexpected())?;
        self.position += digits.len();
        self.rest = self.rest.get(digits.len()..).unwrap_or_default();
        Number::exact(value)
    }

    fn deeper(&mut self, read: fn(&mut Self) -> Value) -> Value {
        if self.depth == MOST_BRACKETS {
            return Err(CalculationError::TooDeep);
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }
}

/// Reads a decimal number; commas may only be between thousands.
fn read(written: &str) -> Option<BigRational> {
    let (whole, part) = written.split_once('.').unwrap_or((written, ""));
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let is_grouped = first.len() < whole.len();
    let fits = !is_grouped || (1..=3).contains(&first.len()) && groups.all(|it| it.len() == 3);
    let digits = format!("{}{part}", whole.replace(',', ""));
    let is_number = fits && !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let value: BigInt = digits.parse().ok().filter(|_| is_number)?;
    let scale = BigInt::from(10).pow(u32::try_from(part.len()).ok()?);
    Some(BigRational::new(value, scale))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(expression: &str) -> String {
        match calculate(expression) {
            Ok(value) => value.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn arithmetic_goes_by_its_rules() {
        for (expression, expected) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("2 ^ 3 ^ 2", "512"),
            ("2 ^ -1", "0.5"),
            ("-2 ^ 2", "-4"),
            ("--3", "3"),
            ("0.1 + 0.2", "0.3"),
            ("7 % 4 − 3", "0"),
            ("（8 ÷ 4）× 5", "10"),
            (".5*4", "2"),
            ("１２＋３", "15"),
            ("1,000+1", "1001"),
            ("12,345,678 - 345,678", "12000000"),
            ("2^64", "18446744073709551616"),
            ("123456789*987654321", "121932631112635269"),
            ("9007199254740993+0", "9007199254740993"),
            ("12% * 350", "42"),
            ("80 - 25%", "60"),
            ("350*12%", "42"),
            ("17 % 5", "2"),
            ("√144", "12"),
            ("√2", "1.41421356237"),
            ("10/3", "3.33333333333"),
            ("-1/8", "-0.125"),
            ("-0.05", "-0.05"),
        ] {
            assert_eq!(said(expression), expected, "{expression}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let at = |found: &str, position: usize| {
            format!(
                "{found} at character {position} is not expected there; allowed are numbers, + - * / % ^ √ and brackets"
            )
        };
        for (expression, expected) in [
            ("", at("the end", 1)),
            ("2 +", at("the end", 4)),
            ("2 + apples", at("\"apples\"", 5)),
            ("(1", at("the end", 3)),
            ("1)", at("\")\"", 2)),
            ("1.2.3", at("\"1.2.3\"", 1)),
            ("1,5", at("\"1,5\"", 1)),
            ("1 / 0", "there is a division by zero".into()),
            ("1 % 0", "there is a division by zero".into()),
            ("9 ^ 9 ^ 9", "the result is too large, or no number".into()),
        ] {
            assert_eq!(said(expression), expected, "{expression}");
        }
        let deep = "(".repeat(100_000);
        assert_eq!(calculate(&deep), Err(CalculationError::TooDeep));
        let signs = "-".repeat(100_000);
        assert_eq!(calculate(&signs), Err(CalculationError::TooDeep));
    }

    #[test]
    fn what_is_rounded_is_known() {
        for (expression, expected) in [
            ("10/4", true),
            ("10/3", false),
            ("√16", true),
            ("√2", false),
            ("2^300", true),
            ("1.0000000000001", false),
        ] {
            let value = calculate(expression).expect("a number");
            assert_eq!(value.is_exact(), expected, "{expression}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_written_makes_it_panic(text in "[-+*/%^() .0-9a×（]{0,40}") {
            drop(calculate(&text));
        }

        #[test]
        fn sums_and_products_are_exact(a in any::<i64>(), b in any::<i64>(), c in any::<i64>()) {
            let expression = format!("({a}) * ({b}) + ({c})");
            let exact = i128::from(a) * i128::from(b) + i128::from(c);
            prop_assert_eq!(said(&expression), exact.to_string());
        }
    }
}
