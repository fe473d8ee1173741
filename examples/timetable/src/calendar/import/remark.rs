//! The remarks about entries that were not taken as they are.
use jiff::civil::DateTime;

use crate::calendar::lang::Lang;

/// An entry of the calendar that was left out or cut, and why. None of these is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// No entry of the calendar is in the window.
    NothingInWindow,
    /// The entry is outside of all sections, so it takes none.
    Outside {
        /// Its name.
        name: String,
        /// The start.
        start: DateTime,
        /// The end.
        end: DateTime,
    },
    /// The entry leaves the time free, or is to be ignored.
    Free {
        /// Its name.
        name: String,
        /// The start.
        start: DateTime,
    },
    /// The entry is there twice; one of them counts.
    Twice {
        /// Its name.
        name: String,
        /// The start.
        start: DateTime,
    },
    /// The entry shares a section with another one without overlapping it.
    Shared {
        /// Its name.
        name: String,
        /// The entry that has the section.
        with: String,
        /// The start.
        start: DateTime,
    },
    /// Its recurrence does not name the day on which it starts; that day counts as the first.
    OffRule {
        /// Its name.
        name: String,
        /// The first day.
        start: DateTime,
    },
}

impl Remark {
    /// Returns the remark as a sentence.
    pub fn say(&self, lang: Lang) -> String {
        let when = |time: &DateTime| time.strftime("%Y-%m-%d %H:%M").to_string();
        match self {
            Self::NothingInWindow => lang
                .pick(
                    "nothing of the calendar lies in the window",
                    "日历中没有落在规划窗口内的日程",
                )
                .to_owned(),
            Self::Outside { name, start, end } => {
                let (from, to) = (when(start), when(end));
                lang.pick(
                    format!("\"{name}\", {from} to {to}, lies outside of all sections"),
                    format!("“{name}”（{from} 至 {to}）不在任何节次内"),
                )
            }
            Self::Free { name, start } => {
                let from = when(start);
                lang.pick(
                    format!("\"{name}\", {from}, takes no time"),
                    format!("“{name}”（{from}）不占用时间"),
                )
            }
            Self::Twice { name, start } => {
                let from = when(start);
                lang.pick(
                    format!("\"{name}\", {from}, is there twice; one of them counts"),
                    format!("“{name}”（{from}）重复出现，只计一次"),
                )
            }
            Self::Shared { name, with, start } => {
                let from = when(start);
                lang.pick(
                    format!("\"{name}\", {from}, shares a section with \"{with}\""),
                    format!("“{name}”（{from}）与“{with}”共用一节"),
                )
            }
            Self::OffRule { name, start } => {
                let from = when(start);
                lang.pick(
                    format!(
                        "\"{name}\" starts on {from}, a day that its recurrence does not name; \
                         it counts as the first"
                    ),
                    format!("“{name}”从 {from} 开始，但重复规则不含这一天；按首次发生计"),
                )
            }
        }
    }
}
