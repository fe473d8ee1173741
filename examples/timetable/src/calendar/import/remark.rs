//! The remarks about entries that were not taken as they are.
use jiff::civil::DateTime;

use crate::calendar::ics::{IcsError, Occurrence};
use crate::lang::Lang;

/// Something about a calendar that a person should know. None of these is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remark {
    /// A part of the file could not be read.
    Unreadable(IcsError),
    /// So many further parts could not be read.
    MoreUnreadable(usize),
    /// No entry of the calendar is in the window.
    NothingInWindow,
    /// The class file names an entry that the calendar does not have.
    UnknownName {
        /// The key that names it, such as `embeddable`.
        key: &'static str,
        /// The name.
        name: String,
    },
    /// An entry was left out, cut or moved.
    Entry {
        /// Its name.
        name: String,
        /// The line of the file on which it begins.
        line: usize,
        /// The start.
        start: DateTime,
        /// The remark.
        what: EntryRemark,
    },
}

/// The remark about an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryRemark {
    /// It is outside of all sections, so it takes none.
    Outside,
    /// It leaves the time free, or is to be ignored.
    Free,
    /// It is there twice; one of them counts.
    Twice,
    /// It shares a section with another one without overlapping it; that one has the section.
    Shared {
        /// The name of the other.
        with: String,
    },
    /// It is at the same time as another one, which has the sections that both take.
    Overlap {
        /// The name of the other.
        with: String,
        /// The line on which that one begins.
        with_line: usize,
        /// The number of overlaps of the two in the window.
        times: usize,
    },
    /// Its recurrence does not name the day on which it starts; that day counts as the first.
    OffRule,
}

impl Remark {
    pub(super) fn entry(occurrence: &Occurrence, what: EntryRemark) -> Self {
        Self::Entry {
            name: occurrence.name.clone(),
            line: occurrence.line,
            start: occurrence.start,
            what,
        }
    }

    /// Returns the remark as a sentence.
    pub fn say(&self, lang: Lang) -> String {
        match self {
            Self::Unreadable(problem) => problem.say(lang),
            Self::MoreUnreadable(more) => lang.pick(
                format!("and {more} more entries or lines that could not be read"),
                format!("另有 {more} 处无法读取"),
            ),
            Self::NothingInWindow => {
                let en = "nothing of the calendar lies in the window";
                lang.pick(en, "日历中没有落在规划窗口内的日程").to_owned()
            }
            Self::UnknownName { key, name } => lang.pick(
                format!("`{key}` names \"{name}\", which is not in the calendar"),
                format!("`{key}` 中的“{name}”不在日历中"),
            ),
            Self::Entry {
                name,
                line,
                start,
                what,
            } => {
                let (start, what) = (when(start), what.say(lang));
                lang.pick(
                    format!("\"{name}\" (line {line}), {start}, {what}"),
                    format!("“{name}”（第 {line} 行，{start}）{what}"),
                )
            }
        }
    }
}

impl EntryRemark {
    fn say(&self, lang: Lang) -> String {
        match self {
            Self::Outside => {
                let en = "lies outside of all sections";
                lang.pick(en, "不在任何节次内").to_owned()
            }
            Self::Free => lang.pick("takes no time", "不占用时间").to_owned(),
            Self::Twice => {
                let en = "is there twice; one of them counts";
                lang.pick(en, "重复出现，只计一次").to_owned()
            }
            Self::Shared { with } => lang.pick(
                format!("shares a section with \"{with}\""),
                format!("与“{with}”共用一节"),
            ),
            Self::Overlap {
                with,
                with_line,
                times,
            } => lang.pick(
                format!(
                    "is at the same time as \"{with}\" (line {with_line}), {times}× in the \
                     window; the time is busy"
                ),
                format!("与“{with}”（第 {with_line} 行）时间重叠，窗口内 {times} 次；按占用处理"),
            ),
            Self::OffRule => {
                let en = "is on a day that its recurrence does not name; it counts as the first";
                lang.pick(en, "这一天不在重复规则内，按首次发生计")
                    .to_owned()
            }
        }
    }
}

fn when(time: &DateTime) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}
