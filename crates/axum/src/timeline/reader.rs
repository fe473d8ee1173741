//! Reading the items of a conversation from its log.
use std::collections::HashMap;

use fugato_graph::HistoryEvent;
use fugato_state::{InterruptId, Seq};
use fugato_stream::Redaction;
use serde::Serialize;
use serde_json::Value;

use super::{FAILED, QuestionState, TimelineItem};

/// An item with its positions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TimelineEntry {
    /// The item's number from 1, in the order of the items.
    pub(crate) seq: u64,
    /// The position of its record in the log.
    pub(crate) at: Seq,
    #[serde(flatten)]
    pub(crate) item: TimelineItem,
}

/// Returns the entries as a reader with this redaction gets them.
pub(crate) fn redacted(entries: Vec<TimelineEntry>, redaction: Redaction) -> Vec<TimelineEntry> {
    let shown = |entry: TimelineEntry| {
        let item = entry.item.redacted(redaction)?;
        Some(TimelineEntry { item, ..entry })
    };
    entries.into_iter().filter_map(shown).collect()
}

/// The items of a log, built while the log is read.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    told: Vec<TimelineEntry>,
    calls: HashMap<String, usize>,
    results: HashMap<String, usize>,
    open: HashMap<InterruptId, usize>,
    /// The words of answers, which the changes of a later record may repeat.
    words: Vec<String>,
}

impl Timeline {
    pub(crate) fn into_items(self) -> Vec<TimelineEntry> {
        self.told
    }

    /// Adds the items of one record. `timeline_items` returns the items of its changes.
    pub(crate) fn read(
        &mut self,
        (at, scope): (Seq, &str),
        event: HistoryEvent<'_>,
        tells: impl FnOnce(&str) -> Vec<TimelineItem>,
    ) {
        // The changes of a subgraph concern its own state.
        let tells = |updates: Option<&str>| match updates {
            Some(updates) if scope.is_empty() => tells(updates),
            _ => vec![],
        };
        match event {
            HistoryEvent::Started { updates, .. } => {
                self.words.clear();
                self.add(at, tells(updates));
            }
            HistoryEvent::Amended { updates, .. } => self.add(at, tells(updates)),
            HistoryEvent::Stepped { updates, notes, .. }
            | HistoryEvent::Finished { updates, notes, .. } => {
                let noted = notes.iter().filter_map(TimelineItem::noted);
                let is_thought =
                    |item: &TimelineItem| matches!(item, TimelineItem::ThinkingSummary { .. });
                let (thoughts, others): (Vec<_>, Vec<_>) = noted.partition(is_thought);
                self.add(at, thoughts);
                self.add(at, tells(updates));
                self.add(at, others);
            }
            HistoryEvent::Asked { questions, .. } => {
                self.add(at, questions.iter().cloned().map(TimelineItem::asked));
            }
            HistoryEvent::Answered { answers, .. } => {
                for (id, answer) in answers {
                    self.closes(id, QuestionState::Answered, Some(answer));
                    let words = answer.as_str().or_else(|| answer.get("text")?.as_str());
                    if let Some(text) = words.filter(|text| !text.trim().is_empty()) {
                        // Each answer is an item, even if it equals an earlier one.
                        let text = text.to_owned();
                        self.push(at, TimelineItem::UserText { text: text.clone() });
                        self.words.push(text);
                    }
                }
            }
            HistoryEvent::Expired { id } | HistoryEvent::Withdrawn { id } => {
                self.closes(id, QuestionState::Expired, None);
            }
            HistoryEvent::Cancelled { why, .. } => {
                self.withdraw();
                let (code, summary) = ("interrupted".to_owned(), why.to_owned());
                self.add(at, [TimelineItem::Status { code, summary }]);
            }
            HistoryEvent::RunFailed { error } => {
                let (code, summary) = (FAILED.to_owned(), error.to_owned());
                self.add(at, [TimelineItem::Status { code, summary }]);
            }
            HistoryEvent::RunEnded { .. } => self.withdraw(),
            _ => {}
        }
    }

    pub(crate) fn add(&mut self, at: Seq, items: impl IntoIterator<Item = TimelineItem>) {
        for item in items {
            let place = self.told.len();
            let known = match &item {
                TimelineItem::UserText { text } => {
                    if let Some(said) = self.words.iter().position(|words| words == text) {
                        self.words.remove(said);
                        continue;
                    }
                    None
                }
                TimelineItem::ToolCall { call, .. } => known(&mut self.calls, call, place),
                TimelineItem::ToolResult { call, .. } => known(&mut self.results, call, place),
                TimelineItem::ConfirmRequest(confirm) => {
                    self.open.insert(confirm.asked.id.clone(), place);
                    None
                }
                _ => None,
            };
            match known.and_then(|place| self.told.get_mut(place)) {
                Some(told) => told.item.complete(item),
                None => self.push(at, item),
            }
        }
    }

    fn push(&mut self, at: Seq, item: TimelineItem) {
        let seq = self.told.len() as u64 + 1;
        self.told.push(TimelineEntry { seq, at, item });
    }

    fn closes(&mut self, id: &InterruptId, state: QuestionState, answer: Option<&Value>) {
        let place = self.open.remove(id);
        if let Some(told) = place.and_then(|place| self.told.get_mut(place))
            && let TimelineItem::ConfirmRequest(confirm) = &mut told.item
        {
            confirm.state = state;
            confirm.answer = answer.cloned();
        }
    }

    fn withdraw(&mut self) {
        let open: Vec<_> = self.open.keys().cloned().collect();
        for id in open {
            self.closes(&id, QuestionState::Withdrawn, None);
        }
    }
}

/// Returns the place of the item of this call; none for a new call, whose place is stored.
fn known(places: &mut HashMap<String, usize>, call: &str, place: usize) -> Option<usize> {
    let known = places.get(call).copied();
    places.entry(call.to_owned()).or_insert(place);
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(timeline: &mut Timeline, seq: Seq, event: HistoryEvent<'_>, tells: &[&str]) {
        let said = |text: &&str| TimelineItem::UserText {
            text: (*text).to_owned(),
        };
        timeline.read((seq, ""), event, |_| tells.iter().map(said).collect());
    }

    fn answered(timeline: &mut Timeline, seq: Seq, id: &str, words: &str) {
        let answers = &[(InterruptId(id.into()), words.into())];
        read(
            timeline,
            seq,
            HistoryEvent::Answered { answers, by: None },
            &[],
        );
    }

    #[test]
    fn equal_answers_are_each_shown_and_told_again_by_nobody() {
        let amended = HistoryEvent::Amended {
            updates: Some("null"),
            task: None,
            by: "ada",
            why: "she told it again",
        };
        let mut timeline = Timeline::default();
        answered(&mut timeline, 1, "a", "later");
        answered(&mut timeline, 2, "b", "later");
        // The state repeats both of them.
        read(&mut timeline, 3, amended, &["later", "later", "now"]);
        let items = timeline.into_items().into_iter();
        let told: Vec<_> = items
            .map(|told| match told.item {
                TimelineItem::UserText { text } => (told.seq, told.at, text),
                other => panic!("{other:?}"),
            })
            .collect();
        let told: Vec<_> = told.iter().map(|(s, a, t)| (*s, *a, t.as_str())).collect();
        assert_eq!(told, [(1, 1, "later"), (2, 2, "later"), (3, 3, "now")]);
    }
}
