//! Words that undo changes, or make them again.
use fugato::words::{normalize, number, numerals};
use serde::Deserialize;

use super::lex::TRAVEL;

/// The meaning of a word of such a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TravelWord {
    Forth,
    Back,
    PutBack,
    Both,
    All,
    Today,
    Filler,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Back,
    Forth,
    /// Back, or forth where that was undone.
    PutBack,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Count {
    Number(usize),
    /// Those of the current day.
    Today,
    All,
}

/// A way to an earlier state of the plan, or back from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Travel {
    pub(super) direction: Direction,
    pub(super) count: Count,
}

impl Travel {
    pub(super) const fn one(direction: Direction) -> Self {
        Self {
            direction,
            count: Count::Number(1),
        }
    }

    /// Reads a text that says this and nothing else; none for other texts.
    pub(super) fn told(text: &str) -> Option<Self> {
        let separates = |c: char| c.is_whitespace() || ",.!".contains(c);
        let (mut direction, mut count, mut all) = (None, None, None);
        let mut left = normalize(text).trim_matches(separates).to_owned();
        while !left.is_empty() {
            let digits;
            let behind = if let Some((meanings, behind)) = TRAVEL.longest(&left) {
                match meanings.first()? {
                    TravelWord::Back if direction.is_none() => direction = Some(Direction::Back),
                    TravelWord::PutBack if direction.is_none() => {
                        direction = Some(Direction::PutBack);
                    }
                    TravelWord::Forth if direction.is_none() => direction = Some(Direction::Forth),
                    TravelWord::Both if count.is_none() => count = Some(2),
                    TravelWord::All if all.is_none() => all = Some(Count::All),
                    TravelWord::Today if all.is_some() => all = Some(Count::Today),
                    TravelWord::Filler => {}
                    _ => return None,
                }
                behind
            } else {
                digits = numerals(&left);
                let (number, behind) = number(&digits).filter(|_| count.is_none())?;
                count = Some(usize::try_from(number).ok()?);
                behind
            };
            left = behind.trim_start_matches(separates).to_owned();
        }
        let count = count.map(Count::Number).or(all);
        Some(Self {
            direction: direction?,
            count: count.unwrap_or(Count::Number(1)),
        })
    }

    /// Returns true if it takes back the last change.
    pub(super) fn is_undo(self) -> bool {
        self.direction != Direction::Forth && self.count == Count::Number(1)
    }
}

/// Returns true if a text takes back the last change, and says no more.
pub(super) fn is_undo(text: &str) -> bool {
    Travel::told(text).is_some_and(Travel::is_undo)
}
