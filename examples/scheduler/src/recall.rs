//! The recall for a request: notes that the person once asked to keep.
use std::{fmt::Write as _, sync::Arc};

use async_trait::async_trait;
use fugato::{
    graph::BoxError,
    memory::{HybridSearch, IndexEntry, MemoryIndex, SearchHit},
};

use jiff::civil::DateTime;

use crate::{
    calendar::Lang,
    store::{Calendar, NoteKind, ScheduleStore},
};

/// The number of notes recalled at once.
const MOST: usize = 5;

/// A memory that finds notes relevant to a request, over all conversations.
///
/// # Contract
/// - It is called before the graph runs, and once per request.
/// - An error costs the memory, and not the request.
#[async_trait]
pub trait NoteSearch: Send + Sync {
    /// Returns the relevant notes, the best first.
    async fn recall(&self, request: &str) -> Result<Vec<String>, BoxError>;
}

const _: Option<&dyn NoteSearch> = None;

/// The notes of a calendar.
#[derive(derive_more::Debug)]
pub struct Notes {
    #[debug(skip)]
    store: Arc<dyn ScheduleStore>,
    calendar: String,
}

impl Notes {
    /// Returns the notes of the calendar of this name.
    pub fn new(store: Arc<dyn ScheduleStore>, calendar: impl Into<String>) -> Self {
        let calendar = calendar.into();
        Self { store, calendar }
    }
}

#[async_trait]
impl NoteSearch for Notes {
    /// Returns the notes that share words with the request. Notes are few, so they are indexed on
    /// the fly.
    async fn recall(&self, request: &str) -> Result<Vec<String>, BoxError> {
        let stored = self.store.read(&self.calendar).await?;
        let notes = stored.map_or(vec![], |stored| stored.notes);
        if notes.is_empty() {
            return Ok(vec![]);
        }
        let id = |nth: usize| format!("note:{nth}");
        let entries = notes.iter().enumerate();
        let entries = entries.map(|(nth, note)| IndexEntry::new(id(nth), &note.text));
        let search = HybridSearch::new(Arc::new(MemoryIndex::default()));
        search.sync_entries("note:", entries.collect()).await?;
        let found = search.search(search.query(request).limit(MOST)).await?;
        let note = |hit: SearchHit| {
            let (_, note) = notes
                .iter()
                .enumerate()
                .find(|(nth, _)| id(*nth) == hit.id)?;
            Some(note.text.clone())
        };
        Ok(found.hits.into_iter().filter_map(note).collect())
    }
}

/// Returns the recalled notes as a list for the agent; none if there are none, or if recalling
/// failed.
pub(crate) async fn remembered(memory: &dyn NoteSearch, request: &str) -> Option<String> {
    let found = memory.recall(request).await;
    let found = found
        .inspect_err(|error| tracing::warn!(%error, "nothing is remembered"))
        .ok()?;
    let mut text = String::new();
    for note in found {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "- {note}");
    }
    (!text.is_empty()).then_some(text)
}

/// Returns a list for a person: the reminders, those that are due first, the to-dos and the notes.
pub fn listed(calendar: &Calendar, now: DateTime, lang: Lang) -> String {
    let reminders = |due: bool| {
        let chosen = calendar.reminders.iter();
        let chosen = chosen.filter(move |reminder| reminder.is_due(Some(now)) == due);
        chosen.map(move |reminder| {
            let at = reminder.due.map_or_else(String::new, |due| {
                format!("{} ", due.strftime("%Y-%m-%d %H:%M"))
            });
            let head = match (due, reminder.told) {
                (true, _) => lang.pick("due now: ", "已到时间："),
                (false, true) => lang.pick("shown: ", "已提醒："),
                (false, false) => lang.pick("reminder: ", "提醒："),
            };
            format!("{head}{at}{}", reminder.text)
        })
    };
    let notes = |kind: NoteKind, head: &'static str| {
        let chosen = calendar.notes.iter().filter(move |note| note.kind == kind);
        chosen.map(move |note| format!("{head}{}", note.text))
    };
    let lines = reminders(true)
        .chain(reminders(false))
        .chain(notes(NoteKind::Task, lang.pick("to do: ", "待办：")))
        .chain(notes(NoteKind::Note, lang.pick("note: ", "备忘：")));
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        let none = lang.pick(
            "There are no reminders, to-dos or notes.",
            "没有提醒、待办或备忘。",
        );
        return none.to_owned();
    }
    lines.join("\n")
}
