//! The records of a thread as a person reads them: words, questions, answers, and what was done.
use fugato_axum::{ServedAgent, TimelineItem};
use fugato_graph::{HistoryEntry, HistoryEvent};
use fugato_state::{Interrupt, State};
use fugato_stream::{CardText, EventKind, ToolStatus};
use jiff::{Timestamp, tz::TimeZone};
use serde_json::Value;

use crate::{
    Lang,
    terminal::{ToolWords, half, tool_name},
};

/// The most lines of a card, or of another text.
const LINES: usize = 12;

/// The reader of the records of a thread, in their order.
pub(crate) struct TranscriptReader<'a, A> {
    agent: &'a A,
    lang: Lang,
    tools: &'a [ToolWords],
    zone: TimeZone,
    day: String,
    /// The words of answers, which the changes of a later record may repeat.
    words: Vec<String>,
}

impl<'a, A: ServedAgent> TranscriptReader<'a, A> {
    pub(crate) fn new(agent: &'a A, lang: Lang, tools: &'a [ToolWords]) -> Self {
        Self {
            agent,
            lang,
            tools,
            zone: TimeZone::system(),
            day: String::new(),
            words: vec![],
        }
    }

    /// Returns the lines about a record, after the day if that is another one; none for a record of
    /// the machinery.
    pub(crate) fn lines(&mut self, entry: &HistoryEntry) -> Vec<String> {
        let told = self.told(entry);
        if told.is_empty() {
            return vec![];
        }
        let (day, time) = self.when(entry);
        let mark = if entry.is_checkpoint() { "*" } else { " " };
        let mut head = format!("{:>5}{mark} {time}  ", entry.seq);
        let mut lines = vec![];
        if day != self.day {
            lines.extend([String::new(), day.clone()]);
            self.day = day;
        }
        for text in told {
            for line in clipped(&text, self.lang) {
                lines.push(format!("{head}{line}"));
                head = " ".repeat(head.chars().count());
            }
        }
        lines
    }

    /// Returns the day and the time of a record, where the program runs.
    fn when(&self, entry: &HistoryEntry) -> (String, String) {
        let Ok(at) = Timestamp::from_millisecond(entry.at) else {
            return (String::new(), String::new());
        };
        let at = at.to_zoned(self.zone.clone());
        let weekday = usize::from(at.weekday().to_monday_zero_offset().unsigned_abs());
        let chinese = ["一", "二", "三", "四", "五", "六", "日"];
        let weekday = chinese.get(weekday).copied().unwrap_or_default();
        let day = self.lang.pick(
            at.strftime("%A, %-d %B %Y").to_string(),
            format!("{} 星期{weekday}", at.strftime("%Y年%-m月%-d日")),
        );
        (day, at.strftime("%H:%M").to_string())
    }

    fn told(&mut self, entry: &HistoryEntry) -> Vec<String> {
        let lang = self.lang;
        // The changes of a subgraph concern its own state.
        let changes = |updates: Option<&str>| match updates {
            Some(updates) if entry.scope.is_empty() => Some(updates.to_owned()),
            _ => None,
        };
        match entry.event() {
            HistoryEvent::Started { updates, .. } => {
                self.words.clear();
                self.said(changes(updates))
            }
            HistoryEvent::Stepped { updates, notes, .. }
            | HistoryEvent::Finished { updates, notes, .. } => {
                let mut told: Vec<_> = notes.iter().filter_map(|note| self.noted(note)).collect();
                told.extend(self.said(changes(updates)));
                told
            }
            HistoryEvent::Asked { questions, .. } => {
                questions.iter().map(|it| asked(it, lang)).collect()
            }
            HistoryEvent::Answered { answers, .. } => {
                answers.iter().map(|(_, it)| self.answered(it)).collect()
            }
            HistoryEvent::Expired { .. } => vec![
                lang.pick("The question expired.", "问题已过期。")
                    .to_owned(),
            ],
            HistoryEvent::Withdrawn { .. } => vec![
                lang.pick("The question was withdrawn.", "问题已撤回。")
                    .to_owned(),
            ],
            HistoryEvent::Amended {
                by, why, updates, ..
            } => {
                let heading = lang.pick("Changed by", "修改者");
                let mut told = vec![format!("{heading} {by}: {why}")];
                told.extend(self.said(changes(updates)));
                told
            }
            HistoryEvent::RunFailed { error } => {
                vec![format!("{}: {error}", lang.pick("Failed", "失败"))]
            }
            HistoryEvent::Cancelled { why, .. } => {
                vec![format!("{}: {why}", lang.pick("Stopped", "已停止"))]
            }
            HistoryEvent::Forked { from, seq, .. } => vec![lang.pick(
                format!("A copy of {from}, as it was after line {seq}."),
                format!("{from} 的副本，取自第 {seq} 行之后。"),
            )],
            _ => vec![],
        }
    }

    /// Returns the words in the changes of a record.
    fn said(&mut self, changes: Option<String>) -> Vec<String> {
        let parsed = changes.and_then(|changes| {
            serde_json::from_str::<Vec<<A::State as State>::Update>>(&changes).ok()
        });
        let items = self.agent.timeline_items(&parsed.unwrap_or_default());
        let items = items.unwrap_or_default().into_iter();
        items.filter_map(|item| self.item(item)).collect()
    }

    fn item(&mut self, item: TimelineItem) -> Option<String> {
        match item {
            TimelineItem::UserText { text } => {
                if let Some(known) = self.words.iter().position(|words| *words == text) {
                    self.words.remove(known);
                    return None;
                }
                Some(self.person(&text))
            }
            TimelineItem::AssistantText { text, .. } if !text.trim().is_empty() => Some(format!(
                "{}: {}",
                self.lang.pick("Reply", "回复"),
                text.trim()
            )),
            _ => None,
        }
    }

    fn person(&self, words: &str) -> String {
        format!("{}: {words}", self.lang.pick("You", "你"))
    }

    /// Returns a durable message of a task as a line, if it is of interest to a person.
    fn noted(&self, note: &EventKind) -> Option<String> {
        match note {
            EventKind::ToolFinished {
                name,
                status,
                summary,
                ..
            } if !summary.is_empty() => {
                let failed = match status {
                    ToolStatus::Ok => "",
                    ToolStatus::Blocked => self.lang.pick(" was refused", "被拒绝"),
                    ToolStatus::Failed => self.lang.pick(" failed", "失败"),
                };
                let name = tool_name(self.tools, name, self.lang);
                Some(format!("· {name}{failed}: {summary}"))
            }
            EventKind::Status { summary, .. } => Some(format!("· {}", half(summary, self.lang))),
            _ => None,
        }
    }

    fn answered(&mut self, answer: &Value) -> String {
        let words = answer.as_str().or_else(|| answer.get("text")?.as_str());
        let words = words.filter(|words| !words.trim().is_empty());
        self.words.extend(words.map(str::to_owned));
        let action = answer.get("action").and_then(Value::as_str);
        let agreed = match (action, answer) {
            (Some("approve" | "accept"), _) | (_, Value::Bool(true)) => {
                Some(self.lang.pick("You agreed", "你同意了"))
            }
            (Some("reject" | "cancel"), _) | (_, Value::Bool(false)) => {
                Some(self.lang.pick("You said no", "你拒绝了"))
            }
            _ => None,
        };
        match (agreed, words) {
            (Some(agreed), Some(words)) => format!("{agreed}: {words}"),
            (Some(agreed), None) => agreed.to_owned(),
            (None, Some(words)) => self.person(words),
            (None, None) => self.person(&answer.to_string()),
        }
    }
}

/// Returns a question with all that it shows.
fn asked(question: &Interrupt, lang: Lang) -> String {
    let card = CardText::of(question).chinese(lang == Lang::Zh);
    let (heading, body) = (card.heading(), card.body());
    let asks = lang.pick("Question", "提问");
    let parts = [heading, body].into_iter().filter(|it| !it.is_empty());
    format!("{asks}: {}", parts.collect::<Vec<_>>().join("\n"))
}

/// Returns the lines of a text; of a long one the first, and the number of the others.
fn clipped(text: &str, lang: Lang) -> Vec<String> {
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    let more = lines.len().saturating_sub(LINES);
    if more > 1 {
        lines.truncate(LINES);
        lines.push(lang.pick(format!("… {more} more lines"), format!("… 还有 {more} 行")));
    }
    lines
}
