//! The wishes of a person, understood without a model.
//!
//! A text, the schedule and the time become an [`Understanding`]: tool calls that the person is
//! asked about like those of a model, an answer, or the reason why nothing happens. Every word of a
//! wish has to be accounted for: a part that is not understood stops the wish, and is named.
#![expect(
    clippy::trivially_copy_pass_by_ref,
    clippy::similar_names,
    reason = "slots are passed as iterators hand them out"
)]
mod answer;
mod conditions;
mod free_times;
mod lex;
mod names;
mod notes;
mod plan;
mod preferred;
mod terms;
mod topic;
mod travel;
mod trouble;
mod when;
mod wish;
mod words;

use std::collections::BTreeSet;

use fugato::{
    state::{Message, Role, say},
    words::{Courtesy, ShortAnswer, corrected, courtesy, is_negated},
};
use jiff::civil::DateTime;

use crate::{
    agent::earliest,
    agent::{AgentState, FreeTime, Moment, Timeline, Update},
    calendar::{Lang, Sections},
    contract::Call,
    deps::Deps,
    schedule::{DayMapping, Point, ScheduleState},
    store::{MemoryNote, Reminder},
};

pub(crate) use notes::note;
pub(crate) use plan::{edited as edited_class, place_pending};
use travel::Travel;
pub(crate) use trouble::Trouble;
pub(crate) use words::Words;

/// The facts that are known when a request is read.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The schedule, with drafts.
    pub schedule: &'a ScheduleState,
    /// The schedule before the last change that was agreed to.
    pub previous: Option<&'a ScheduleState>,
    /// The number of the current day.
    pub today: i32,
    /// The time on the person's clock.
    pub now: Option<DateTime>,
    /// The times of the sections.
    pub sections: &'a Sections,
    /// The language of the answer.
    pub lang: Lang,
    /// The notes of the person.
    pub notes: &'a [MemoryNote],
    /// The reminders of the person.
    pub reminders: &'a [Reminder],
    /// True if the notes and reminders were read; under a card they are not.
    pub knows_notes: bool,
    /// The times that the person wants kept free.
    pub free_times: &'a [FreeTime],
    /// The times that were kept free before the last change; none if nothing was changed.
    pub previous_free_times: Option<&'a [FreeTime]>,
    /// The changes before the last one.
    pub timeline: &'a Timeline,
    /// True if items that were agreed to may move again.
    pub existing_may_move: bool,
    /// The last words of the agent.
    pub said: Option<&'a str>,
    /// The messages before the one that is read.
    pub earlier: &'a [Message],
    /// The items that the open card is about, if there is one.
    pub on_card: &'a [u32],
}

/// The meaning of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Understanding {
    /// An answer; nothing changes.
    Answer(String),
    /// Nothing is done, for this reason.
    Refusal(String),
    /// Calls that reach what the person wants, and the words that go before them.
    Calls {
        /// Remarks for the person before the card; empty if there are none.
        say: String,
        /// The calls, in their order.
        calls: Vec<Call>,
    },
    /// Repairs of a day, each a row of calls that belong together, and the words that go before
    /// them. Each is agreed to by itself.
    Repairs {
        /// The trouble and the repairs, in words.
        say: String,
        /// The calls of each repair.
        repairs: Vec<Vec<Call>>,
    },
    /// A text is kept.
    Note(MemoryNote),
    /// The person is reminded.
    Remind(Reminder),
    /// The reminder of this number gives way to another one.
    Correct(usize, Reminder),
    /// Notes or reminders are removed.
    Forget(BTreeSet<usize>),
    /// This holds from now on; and this follows.
    With(Beside, Box<Understanding>),
    /// Everything pending is placed by rule.
    PlaceAll,
}

/// The things that hold once a wish is carried out, beside its calls.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beside {
    /// These times are kept free, and no others; none to leave them as they are.
    pub free_times: Option<Vec<FreeTime>>,
    /// The steps that are gone in the timeline: back if it is negative.
    pub travels: i32,
}

impl Beside {
    /// Returns the updates by which it holds once the planned calls are made.
    pub(crate) fn updates(self) -> impl Iterator<Item = Update> {
        let travels = (self.travels != 0).then_some(Update::Travels(self.travels));
        travels
            .into_iter()
            .chain(self.free_times.map(Update::WouldKeepFree))
    }
}

impl Understanding {
    /// Returns what is to be done, and what holds then.
    pub(crate) fn parted(self) -> (Self, Beside) {
        match self {
            Self::With(beside, then) => (*then, beside),
            other => (other, Beside::default()),
        }
    }
}

impl<'a> Facts<'a> {
    /// Returns the facts of an agent, whose schedule is this one.
    pub(crate) fn of(agent: &'a AgentState, schedule: &'a ScheduleState, deps: &'a Deps) -> Self {
        let history = &agent.conversation.history;
        let last = history.iter().rposition(|said| said.role == Role::User);
        Self {
            existing_may_move: deps.existing_may_move,
            knows_notes: true,
            earlier: history.get(..last.unwrap_or(0)).unwrap_or_default(),
            ..Self::about(agent, schedule, &deps.sections)
        }
    }

    /// Returns the facts of an agent whose sections have these times, and whose kept items may not
    /// move.
    pub(crate) fn about(
        agent: &'a AgentState,
        schedule: &'a ScheduleState,
        sections: &'a Sections,
    ) -> Self {
        Self {
            schedule,
            previous: agent.previous.as_deref(),
            today: agent.today(),
            now: agent.now,
            sections,
            lang: agent.lang,
            notes: &[],
            reminders: &[],
            knows_notes: false,
            free_times: &agent.free_times,
            previous_free_times: agent.previous_free_times.as_deref(),
            timeline: &agent.timeline,
            existing_may_move: false,
            said: agent
                .conversation
                .history
                .iter()
                .rfind(|message| message.role == Role::Assistant)
                .map(|message| message.content.as_str()),
            earlier: &agent.conversation.history,
            on_card: &[],
        }
    }
}

impl Facts<'_> {
    /// Returns the days from today on.
    fn days_ahead(&self) -> impl Iterator<Item = &DayMapping> {
        let days = self.schedule.window.days.iter();
        days.filter(|day| i32::from(day.day_index) >= self.today)
    }

    /// Returns the plan as it is, and the changes that lead back and forth from there.
    fn timeline(&self) -> (Moment, Timeline) {
        let now = Moment {
            schedule: Some(self.schedule.clone()),
            free_times: self.free_times.to_vec(),
        };
        let settled = self
            .timeline
            .settled(self.previous, self.previous_free_times, &now);
        (now, settled)
    }

    /// Returns the first point at which something can still begin; none if that is not known.
    pub(crate) fn earliest(&self) -> Option<Point> {
        earliest(self.schedule, self.now?, self.sections)
    }
}

/// Returns true if code alone answers a request, also where a model reads the others: a repair of a
/// day, or the undoing of changes.
pub(crate) fn is_for_code(text: &str) -> bool {
    Trouble::told(text).is_some() || Travel::told(text).is_some()
}

/// Returns true if words under a card take its place: they change the last wish into one that can be
/// carried out, such as "yes, but on Sunday", or take it back: "leave it".
pub(crate) fn replaces(text: &str, facts: &Facts<'_>) -> bool {
    let behind = topic::after_withdrawal(text);
    let wish = topic::amended(text, facts).or((behind != text).then(|| behind.to_owned()));
    let wish = wish.map(|wish| plainly(&wish, facts).parted().0);
    matches!(wish, Some(Understanding::Calls { .. })) || withdraws(text, facts)
}

/// Returns true if words under a card take back what it asks about.
pub(crate) fn withdraws(text: &str, facts: &Facts<'_>) -> bool {
    ShortAnswer::of(text) == Some(ShortAnswer::Cancel) || wish::keeps_all(text, facts)
}

/// Reads a request.
pub fn understand(text: &str, facts: &Facts<'_>) -> Understanding {
    let amended = topic::amended(text, facts).map(|wish| plainly(&wish, facts));
    // Reminders are corrected where they are, and questions are asked again.
    let amended = amended.filter(|read| {
        use Understanding::{Calls, Refusal, With};
        matches!(read, Calls { .. } | With(..) | Refusal(_))
    });
    amended.unwrap_or_else(|| plainly(topic::after_withdrawal(text), facts))
}

/// Reads the words with which the last wish was declined: they change it, or are another one.
pub(crate) fn instead(reason: &str, facts: &Facts<'_>) -> Understanding {
    let changed = topic::amended(&say!("no, {reason}", "不，{reason}"), facts);
    // "Not on Friday" alone would be about everything.
    let other = || (!is_negated(reason, &[""])).then(|| reason.to_owned());
    plainly(&changed.or_else(other).unwrap_or_default(), facts)
}

/// Reads a request that corrects no other.
fn plainly(text: &str, facts: &Facts<'_>) -> Understanding {
    if let Some(read) = conditions::read(text, facts) {
        return read;
    }
    if let Some(trouble) = Trouble::told(text) {
        return plan::repaired(trouble, facts);
    }
    // A card takes such words before they come here.
    let short = ShortAnswer::of(text);
    if let Some(short @ (ShortAnswer::Yes | ShortAnswer::No | ShortAnswer::Cancel)) = short {
        // A card that was taken back is gone when this is told.
        let mut told = if short == ShortAnswer::Cancel {
            say!(
                "All right, nothing was changed.",
                "好的，没有改动任何内容。"
            )
        } else {
            say!(
                "Nothing waits for a yes or a no, and nothing was changed.",
                "没有等待你回答的内容，没有改动任何内容。"
            )
        };
        if facts.timeline().1.steps().0 > 0 {
            told.push_str(&say!(
                " “Undo” takes the last change back.",
                "要撤回上一次改动，请说“撤销”。"
            ));
        }
        return Understanding::Refusal(told);
    }
    if let Some(asks @ (Courtesy::WellBeing | Courtesy::Identity)) = courtesy(text) {
        return Understanding::Answer(asks.reply(facts.lang).into());
    }
    let said = match corrected(text) {
        Ok(said) => said,
        // A note keeps the words of the person.
        Err(words) => {
            let note = notes::read(text, facts);
            let note = note.filter(|read| matches!(read, Understanding::Note(_)));
            return note.unwrap_or_else(|| wish::not_understood(words, facts));
        }
    };
    let said = wish::after_small_talk(&said);
    if let Some(read) = notes::read(said, facts) {
        return read;
    }
    let said = wish::before_small_talk(said);
    if let Some(travel) = Travel::told(said) {
        return plan::travelled(travel, facts);
    }
    let read = terms::read(said, facts);
    read.unwrap_or_else(|| wish::read(&lex::with_questions(lex::counted(said, facts)), facts))
}
