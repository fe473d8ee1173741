//! The errors and remarks of a calendar file, with their place.
use std::fmt;

use thiserror::Error;

use crate::lang::Lang;

/// A problem of a calendar file, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IcsError {
    /// The name of the file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The event, by its `SUMMARY` or else its `UID`; none outside of events.
    pub event: Option<String>,
    /// The problem.
    pub problem: IcsProblem,
    /// The part of the file that is not used because of it.
    pub loss: Loss,
}

/// The part of a calendar file that a problem costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// The whole file.
    File,
    /// One event.
    Entry,
    /// One line, or one value of it.
    Line,
    /// Nothing; the problem says what is used instead.
    Nothing,
}

impl std::error::Error for IcsError {}

impl fmt::Display for IcsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.file, self.say(Lang::En))
    }
}

impl IcsError {
    /// Returns line, event, problem and loss as a sentence, without the name of the file.
    pub fn say(&self, lang: Lang) -> String {
        let line = self.line;
        let place = lang.pick(format!("line {line}"), format!("第 {line} 行"));
        let event = self.event.as_ref().map_or_else(String::new, |event| {
            lang.pick(format!(", event \"{event}\""), format!("，日程“{event}”"))
        });
        let loss = match self.loss {
            Loss::Entry => lang.pick("; the entry is left out", "；该日程未导入"),
            Loss::Line => lang.pick("; this line is ignored", "；该行被忽略"),
            Loss::File | Loss::Nothing => "",
        };
        let (colon, problem) = (lang.pick(": ", "："), self.problem.say(lang));
        format!("{place}{event}{colon}{problem}{loss}")
    }
}

/// The problems of a calendar file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum IcsProblem {
    /// There is no calendar in it.
    #[error("this is no calendar; an iCalendar file starts with BEGIN:VCALENDAR")]
    NotACalendar,
    /// Its bytes are no text.
    #[error("this is no UTF-8 text; what cannot be read is shown as \u{fffd}")]
    NotText,
    /// A line is no property.
    #[error("`{0}` is no property; allowed is NAME:VALUE or NAME;PARAMETER=VALUE:VALUE")]
    BadLine(String),
    /// A component is not closed.
    #[error("BEGIN:{0} is never closed by END:{0}; is the file cut off?")]
    Unclosed(String),
    /// A component is closed that is not open.
    #[error("END:{0} closes nothing")]
    Mismatched(String),
    /// An event does not say when it starts.
    #[error("the event has no DTSTART; it needs a date or a time at which it starts")]
    NoStart,
    /// A value is no time.
    #[error(
        "`{value}` is no time for {property}; \
         allowed are 20260302, 20260302T080000 and 20260302T080000Z"
    )]
    BadTime {
        /// The property.
        property: String,
        /// The value.
        value: String,
    },
    /// A value is no duration.
    #[error("`{0}` is no duration; allowed are durations such as PT1H30M, P1D and P2W")]
    BadDuration(String),
    /// An event ends before it starts.
    #[error("the event ends before it starts; the two are read the other way round")]
    EndsBeforeStart,
    /// A time zone is not known.
    #[error(
        "the time zone `{0}` is neither known nor defined in the file; its times are read as \
         local ones"
    )]
    UnknownZone(String),
    /// A recurrence cannot be followed.
    #[error("the recurrence `{rule}` cannot be followed: {why}")]
    BadRule {
        /// The rule.
        rule: String,
        /// The reason.
        why: String,
    },
    /// A newer version of the event is in the file.
    #[error("the file has a newer version of this event, with a higher SEQUENCE")]
    Outdated,
    /// The recurrences of the file add up to too many steps.
    #[error(
        "the recurrences of this file take more than {0} steps to follow; \
         give the old ones an UNTIL, or a DTSTART near the window"
    )]
    TooManyRepeats(u32),
    /// There are too many events.
    #[error("the file has more than {0} events, the most that is read")]
    TooManyEvents(usize),
}

impl IcsProblem {
    /// Returns the problem as a sentence.
    pub fn say(&self, lang: Lang) -> String {
        if lang == Lang::En {
            return self.to_string();
        }
        match self {
            Self::NotACalendar => "这不是日历；iCalendar 文件以 BEGIN:VCALENDAR 开头".to_owned(),
            Self::NotText => "这不是 UTF-8 文本；无法读取的字符显示为 \u{fffd}".to_owned(),
            Self::BadLine(text) => {
                format!("“{text}”不是属性；应为 NAME:VALUE 或 NAME;PARAMETER=VALUE:VALUE")
            }
            Self::Unclosed(kind) => format!("BEGIN:{kind} 没有对应的 END:{kind}；文件被截断了吗？"),
            Self::Mismatched(kind) => format!("END:{kind} 没有对应的 BEGIN:{kind}"),
            Self::NoStart => "缺少 DTSTART，不知道何时开始".to_owned(),
            Self::BadTime { property, value } => {
                format!("“{value}”不是 {property} 可用的时间；应如 20260302 或 20260302T080000Z")
            }
            Self::BadDuration(value) => format!("“{value}”不是时长；应如 PT1H30M、P1D 或 P2W"),
            Self::EndsBeforeStart => "结束早于开始；按互换读取".to_owned(),
            Self::UnknownZone(zone) => {
                format!("时区“{zone}”未知，文件中也没有定义；其时间按本地时间读取")
            }
            Self::BadRule { rule, why } => format!("无法处理重复规则“{rule}”：{why}"),
            Self::Outdated => "文件中有该日程的更新版本（SEQUENCE 更大）".to_owned(),
            Self::TooManyRepeats(limit) => {
                format!(
                    "该文件的重复规则超过 {limit} 步；请为旧日程设置 UNTIL，或让 DTSTART 靠近窗口"
                )
            }
            Self::TooManyEvents(limit) => format!("文件中的日程超过 {limit} 个，这是读取的上限"),
        }
    }
}

/// A problem, its line and its loss, while the file and the event are not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) problem: IcsProblem,
    pub(super) loss: Loss,
}

impl Fault {
    /// Creates a problem that costs an entry.
    pub(super) fn new(line: usize, problem: IcsProblem) -> Self {
        let loss = Loss::Entry;
        Self {
            line,
            problem,
            loss,
        }
    }

    /// Sets what is lost.
    pub(super) fn costing(self, loss: Loss) -> Self {
        Self { loss, ..self }
    }

    pub(super) fn within(self, file: &str, event: Option<&str>) -> IcsError {
        IcsError {
            file: file.to_owned(),
            line: self.line,
            event: event.map(str::to_owned),
            problem: self.problem,
            loss: self.loss,
        }
    }
}
