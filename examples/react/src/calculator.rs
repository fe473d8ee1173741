//! Arithmetic: numbers, `+ - * / % ^`, brackets and signs, as people write them.
use thiserror::Error;

/// Returns the value of an expression.
///
/// ```
/// use react::calculator::calculate;
///
/// assert_eq!(calculate("(17 + 25) × 2"), Ok(84.0));
/// assert_eq!(calculate("-2 ^ 2"), Ok(-4.0));
/// assert_eq!(
///     calculate("3 / (1 - 1)").unwrap_err().to_string(),
///     "there is a division by zero",
/// );
/// ```
pub fn calculate(expression: &str) -> Result<f64, CalculationError> {
    let mut reader = Reader {
        rest: expression,
        position: 1,
        depth: 0,
    };
    let value = reader.sum()?;
    match reader.next() {
        Some(_) => Err(reader.unexpected()),
        None if value.is_finite() => Ok(value),
        None => Err(CalculationError::TooLarge),
    }
}

/// Formats a number for people, rounded to twelve significant digits.
pub fn shown(value: f64) -> String {
    let rounded: f64 = format!("{value:.11e}").parse().unwrap_or(value);
    // The rounding error of a sum that should be 0 can be negative; the result has no sign.
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}

/// An expression comes to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CalculationError {
    /// A character or word at a position where it is not allowed.
    #[error(
        "{found} at character {position} is not expected there; allowed are numbers, + - * / % ^ and brackets"
    )]
    Unexpected {
        /// The text at the position.
        found: String,
        /// The position in characters, from 1.
        position: usize,
    },
    /// A division by zero.
    #[error("there is a division by zero")]
    DivisionByZero,
    /// The result is no number that can be written.
    #[error("the result is too large, or no number")]
    TooLarge,
    /// Brackets within brackets.
    #[error("there are more than {MOST_BRACKETS} brackets or signs within each other")]
    TooDeep,
}

/// The most brackets or signs within each other.
const MOST_BRACKETS: usize = 64;

struct Reader<'a> {
    rest: &'a str,
    position: usize,
    depth: usize,
}

type Value = Result<f64, CalculationError>;

impl Reader<'_> {
    /// Returns the next character, with typographic signs as their keyboard equivalents.
    fn next(&mut self) -> Option<char> {
        while let Some(c) = self.rest.chars().next().filter(|c| c.is_whitespace()) {
            self.skip(c);
        }
        self.rest.chars().next().map(|c| match c {
            '×' | '·' | '＊' => '*',
            '÷' | '／' => '/',
            '−' | '－' | '–' => '-',
            '＋' => '+',
            '（' => '(',
            '）' => ')',
            c => c,
        })
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
            found: found.map_or_else(|| "the end".into(), |_| format!("{:?}", self.word())),
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
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let other = self.product()?;
            value += if sign == '+' { other } else { -other };
        }
        Ok(value)
    }

    fn product(&mut self) -> Value {
        let mut value = self.signed()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let other = self.signed()?;
            value = match sign {
                '*' => value * other,
                _ if other == 0.0 => return Err(CalculationError::DivisionByZero),
                '/' => value / other,
                _ => value % other,
            };
        }
        Ok(value)
    }

    fn signed(&mut self) -> Value {
        match self.take(&['+', '-']) {
            None => self.power(),
            Some(sign) => {
                let value = self.deeper(Self::signed)?;
                Ok(if sign == '-' { -value } else { value })
            }
        }
    }

    fn power(&mut self) -> Value {
        let base = self.number()?;
        match self.take(&['^']) {
            None => Ok(base),
            Some(_) => Ok(base.powf(self.deeper(Self::signed)?)),
        }
    }

    fn number(&mut self) -> Value {
        if self.take(&['(']).is_some() {
            let value = self.deeper(Self::sum)?;
            let closed = self.take(&[')']);
            return closed.map(|_| value).ok_or_else(|| self.unexpected());
        }
        self.next();
        let length = self.rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let digits = self.rest.get(..length.unwrap_or(self.rest.len()));
        let digits = digits.unwrap_or_default();
        let value = digits.parse().map_err(|_| self.unexpected())?;
        self.position += digits.len();
        self.rest = self.rest.get(digits.len()..).unwrap_or_default();
        Ok(value)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(expression: &str) -> String {
        match calculate(expression) {
            Ok(value) => shown(value),
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
        ] {
            assert_eq!(said(expression), expected, "{expression}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let at = |found: &str, position: usize| {
            format!(
                "{found} at character {position} is not expected there; allowed are numbers, + - * / % ^ and brackets"
            )
        };
        for (expression, expected) in [
            ("", at("the end", 1)),
            ("2 +", at("the end", 4)),
            ("2 + apples", at("\"apples\"", 5)),
            ("(1", at("the end", 3)),
            ("1)", at("\")\"", 2)),
            ("1.2.3", at("\"1.2.3\"", 1)),
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

    proptest! {
        #[test]
        fn nothing_that_is_written_makes_it_panic(text in "[-+*/%^() .0-9a×（]{0,40}") {
            drop(calculate(&text));
        }

        #[test]
        fn sums_and_products_are_those_of_the_machine(a in -1e6..1e6_f64, b in 1..1000_i32, c in -50..50_i32) {
            let expression = format!("({a}) * {b} + ({c})");
            prop_assert_eq!(calculate(&expression), Ok(a * f64::from(b) + f64::from(c)));
        }
    }
}
