//! The wishes of a person for the times of the day and the days of the week.
use std::collections::BTreeSet;

use jiff::civil::Time;

use super::sentence::Sentence;
use crate::{
    schedule::{EventType, Slot},
    tools::{Liking, PreferenceArgs, TimeLiking},
    understand::lex::TermWord,
};

impl Sentence<'_> {
    pub(super) fn preference(&self) -> Option<PreferenceArgs> {
        if !self.names.is_empty() {
            return None;
        }
        if self.has(TermWord::TakeBack) {
            return self.taken_back();
        }
        // "Keep Tuesday free, but not the evening" keeps the evening.
        let not = self.words.iter().position(|word| *word == TermWord::Not);
        if let Some((before, after)) = not.and_then(|at| self.words.split_at_checked(at))
            && before.contains(&TermWord::Free)
            && !after.contains(&TermWord::Put)
            && !after.contains(&TermWord::Study)
        {
            return None;
        }
        if let Some(args) = self.times() {
            return Some(args);
        }
        if !self.unknown.is_empty() {
            return None;
        }
        self.limit()
            .or_else(|| self.lunch())
            .or_else(|| self.weekend())
            .or_else(|| self.quiet())
            .or_else(|| self.evening())
            .or_else(|| self.best())
            .or_else(|| self.rest())
    }

    /// The turn of "what I said about weekends, forget it": the opposite of what the rest says.
    fn taken_back(&self) -> Option<PreferenceArgs> {
        let mut said = self.clone();
        said.words.retain(|word| *word != TermWord::TakeBack);
        let mut args = said.preference()?;
        let likings = [
            &mut args.evening,
            &mut args.late,
            &mut args.lunch,
            &mut args.weekend,
        ];
        let fine = |liking: &mut Liking| *liking = Liking::Fine;
        likings
            .into_iter()
            .filter_map(Option::as_mut)
            .for_each(fine);
        args.times
            .iter_mut()
            .for_each(|time| fine(&mut time.liking));
        args.daily_limit = args.daily_limit.map(|_| 0);
        args.longest_run = args.longest_run.map(|_| 0);
        args.quiet_days.is_none().then_some(args)
    }

    /// Returns the liking that the words tell.
    fn liking(&self) -> Option<Liking> {
        use TermWord::{Fine, Free, Keep, Never, Not};
        let avoids = [Free, Keep, Never, Not].iter().any(|word| self.has(*word));
        match (self.has(Fine), avoids) {
            (true, false) => Some(Liking::Fine),
            (false, true) => Some(Liking::Avoid),
            _ => None,
        }
    }

    /// "Keep lunch free from twelve to one on weekdays", "not on Sunday mornings"; a part of a
    /// certain day is a time to keep free.
    fn times(&self) -> Option<PreferenceArgs> {
        use TermWord::{
            Afternoon, Each, Evening, Fine, Free, Keep, Lunch, Morning, Never, Noon, Not, Put,
            Study,
        };
        let also = [
            Each, Put, Study, Keep, Free, Not, Never, Fine, Lunch, Morning, Afternoon, Evening,
            Noon,
        ];
        let plain = self.numbers.is_empty() && self.lengths.is_empty() && self.clocks.is_empty();
        // What a time is kept free for may be anything.
        let purpose = self.has(Keep) && !self.ranges.is_empty();
        if !plain || !self.says(&[], &also) || !(self.unknown.is_empty() || purpose) {
            return None;
        }
        let liking = self.liking()?;
        let days = self.habitual(false)?;
        // "Not on Sundays and not in the mornings" are two times, as are "no mornings, and keep Sundays
        // free" and "Monday mornings and Friday evenings".
        let denials = self.words.iter().filter(|word| matches!(word, Not | Never));
        let likings = denials.count() + usize::from(self.has(Keep) || self.has(Free));
        if likings > 1 && !days.is_empty() || self.parts_of_day().len() > 1 {
            return None;
        }
        // "Plan everything and avoid mornings" wants something placed, too; "do not put anything there"
        // does not.
        let denied = |word: &TermWord| matches!(word, Not | Never | Keep | Free);
        let follows = |pair: &[TermWord]| matches!(pair, [word, Put] if !denied(word));
        let placed = self.words.first() == Some(&Put) || self.words.windows(2).any(follows);
        if placed && self.words.iter().any(denied) {
            return None;
        }
        // The evenings of all days are a preference of their own.
        let every_day = self.again && !self.has(Evening);
        let (from, to) = match self.ranges.as_slice() {
            [range] => self.range(*range)?,
            [] if every_day || !days.is_empty() => self.span_of(self.part()?)?,
            _ => return None,
        };
        Some(timed(days, from, to, liking))
    }

    /// "At most four sections a day".
    fn limit(&self) -> Option<PreferenceArgs> {
        use TermWord::{AtMost, Each, Put, Section, Study};
        if !self.days.is_empty() || !self.clocks.is_empty() || !self.has(Each) {
            return None;
        }
        let limit = match (self.numbers.as_slice(), self.lengths.as_slice()) {
            ([sections], []) if self.says(&[AtMost, Section], &[Each, Put, Study]) => {
                u8::try_from(*sections).ok()?
            }
            ([], [minutes]) if self.says(&[AtMost], &[Each, Put, Study]) => {
                self.sections_in(*minutes)?
            }
            ([items], []) if self.says(&[AtMost], &[Each, Put, Study]) => {
                let sections = items.checked_mul(self.item_sections()?.into())?;
                u8::try_from(sections).ok()?
            }
            _ => return None,
        };
        (limit > 0).then(|| PreferenceArgs {
            daily_limit: Some(limit),
            ..PreferenceArgs::default()
        })
    }

    /// Returns the sections that each item that is not done takes, if all take the same number.
    fn item_sections(&self) -> Option<u8> {
        let tasks = self.facts.schedule.tasks.iter();
        let open = tasks.filter(|task| task.event_type == EventType::Task && !task.marks.done);
        let mut lengths = open.map(|task| task.duration);
        let first = lengths.next()?;
        lengths.all(|length| length == first).then_some(first)
    }

    /// Returns a limit of a day that was said in items, as sections, and the sections of one.
    pub(super) fn items_a_day(&self) -> Option<(u8, u8)> {
        let in_items = self.lengths.is_empty() && !self.has(TermWord::Section);
        let limit = self.limit().filter(|_| in_items && self.names.is_empty())?;
        limit.daily_limit.zip(self.item_sections())
    }

    /// Returns a limit of a day that was said in hours, in words, as sections, and the minutes of
    /// one.
    pub(super) fn hours_a_day(&self) -> Option<(String, u8, i64)> {
        let ([minutes], true) = (self.lengths.as_slice(), self.names.is_empty()) else {
            return None;
        };
        let sections = self.limit()?.daily_limit?;
        let (hours, rest) = (minutes / 60, minutes % 60);
        let lang = self.facts.lang;
        let said = match (hours, rest) {
            (hours, 0) => lang.pick(format!("{hours} hours"), format!("{hours} 小时")),
            _ => lang.pick(format!("{minutes} minutes"), format!("{minutes} 分钟")),
        };
        Some((said, sections, self.section_minutes()?))
    }

    /// Returns the number of sections in so many minutes, one at least.
    fn sections_in(&self, minutes: u16) -> Option<u8> {
        let sections = i64::from(minutes) / self.section_minutes()?;
        Some(u8::try_from(sections).ok()?.max(1))
    }

    /// Returns the minutes of the first section.
    fn section_minutes(&self) -> Option<i64> {
        let (begin, end) = self.facts.sections.times(&Slot::new(1, 1, 1))?;
        Some(begin.duration_until(end).as_mins().max(1))
    }

    /// "A break after every hour".
    fn rest(&self) -> Option<PreferenceArgs> {
        use TermWord::{Each, Rest, Study};
        let plain = self.days.is_empty() && self.clocks.is_empty() && self.numbers.is_empty();
        let ([minutes] | [minutes, _], true) = (self.lengths.as_slice(), plain) else {
            return None;
        };
        let run = self.sections_in(*minutes)?;
        let says = self.says(&[Rest], &[Each, Study, TermWord::After]) && self.has(Each);
        says.then(|| PreferenceArgs {
            longest_run: Some(run),
            ..PreferenceArgs::default()
        })
    }

    fn lunch(&self) -> Option<PreferenceArgs> {
        use TermWord::{Each, Fine, Free, Keep, Lunch, Never, Not, Put, Study};
        if !self.bare() || !self.days.is_empty() || !self.has(Lunch) {
            return None;
        }
        let free = [Free, Not, Never].iter().any(|word| self.has(*word));
        let liking = if self.says(&[Lunch, Fine], &[Each, Put, Study]) {
            Liking::Fine
        } else if free && self.says(&[Lunch], &[Free, Keep, Not, Never, Each, Put, Study]) {
            Liking::Avoid
        } else {
            return None;
        };
        Some(PreferenceArgs {
            lunch: Some(liking),
            ..PreferenceArgs::default()
        })
    }

    /// "Weekends off"; a certain weekend is a time to keep free.
    fn weekend(&self) -> Option<PreferenceArgs> {
        use TermWord::{Each, Fine, Free, Keep, Never, Not, Put, Study};
        if !self.bare() || self.habitual(false)? != BTreeSet::from([6, 7]) {
            return None;
        }
        let denies = self.has(Not) || self.has(Never);
        let liking = if self.says(&[Fine], &[Each, Put, Study]) {
            Liking::Fine
        } else if self.says(&[Free], &[Each, Keep])
            || denies && self.says(&[], &[Not, Never, Each, Put, Study])
        {
            Liking::Avoid
        } else {
            return None;
        };
        Some(PreferenceArgs {
            weekend: Some(liking),
            ..PreferenceArgs::default()
        })
    }

    /// "Quiet Wednesdays".
    fn quiet(&self) -> Option<PreferenceArgs> {
        use TermWord::{Each, Keep, Quiet};
        if !self.bare() || !self.says(&[Quiet], &[Each, Keep]) {
            return None;
        }
        let named = self.habitual(!self.facts.lang.pick(true, false))?;
        let wishes = self.facts.schedule.preferences.as_ref();
        let known = wishes.map(|wishes| wishes.quiet_days.clone());
        let mut days: BTreeSet<u8> = known.into_iter().flatten().collect();
        days.extend(&named);
        (!named.is_empty()).then(|| PreferenceArgs {
            quiet_days: Some(days.into_iter().collect()),
            ..PreferenceArgs::default()
        })
    }

    /// "I work best between nine and twelve".
    fn best(&self) -> Option<PreferenceArgs> {
        use TermWord::{Afternoon, Best, Each, Evening, Morning, Noon, Put, Study};
        let parts = self.parts_of_day();
        let (from, to) = match (self.ranges.as_slice(), parts.as_slice()) {
            _ if !self.days.is_empty() || !self.bare_but_ranges() => return None,
            ([range], _) => self.range(*range)?,
            ([], [part]) => self.span_of(*part)?,
            _ => return None,
        };
        let mut args = timed(BTreeSet::new(), from, to, Liking::Fine);
        // Every other time costs a little.
        args.times.insert(
            0,
            TimeLiking {
                days_of_week: vec![],
                time: None,
                liking: Liking::RatherNot,
            },
        );
        let also = [Each, Put, Study, Morning, Noon, Afternoon, Evening];
        self.says(&[Best], &also).then_some(args)
    }

    /// "No studying after nine", "no late evenings except on Wednesdays", "I can work late".
    fn evening(&self) -> Option<PreferenceArgs> {
        use TermWord::{
            After, Each, Evening, Except, Fine, Free, Keep, Late, Never, Not, Put, Study,
        };
        if !self.numbers.is_empty() || !self.lengths.is_empty() || !self.ranges.is_empty() {
            return None;
        }
        let rest = [Each, Put, Study, Evening, Late, After, Keep, Except];
        let liking = if self.says(&[Fine], &rest) {
            Liking::Fine
        } else if [Not, Never, Free].iter().any(|word| self.has(*word))
            && self.says(&[], &[rest.as_slice(), &[Not, Never, Free]].concat())
        {
            Liking::Avoid
        } else {
            return None;
        };
        let time = match self.clocks.as_slice() {
            [clock] => Some(self.clock(*clock).filter(|time| time.hour() >= 15)?),
            [] => None,
            _ => return None,
        };
        if !self.days.is_empty() {
            return self.evening_on_days(time, liking);
        }
        let from = time.map(|time| time.strftime("%H:%M").to_string());
        let mut args = PreferenceArgs::default();
        let habit = self.has(Study) || self.has(Each) || self.has(Never);
        match time {
            Some(time) if self.has(After) && (habit || self.has(Late)) => {
                if time.hour() < 20 {
                    (args.evening, args.evening_from) = (Some(liking), from);
                } else {
                    (args.late, args.late_from) = (Some(liking), from);
                }
            }
            None if self.has(Late) => args.late = Some(liking),
            None if self.has(Evening) && habit => args.evening = Some(liking),
            _ => return None,
        }
        Some(args)
    }

    /// The evenings of some days of the week, or of all others.
    fn evening_on_days(&self, time: Option<Time>, liking: Liking) -> Option<PreferenceArgs> {
        if self.excepts_of_days {
            return None;
        }
        let mut days = self.habitual(self.has(TermWord::Except))?;
        if self.has(TermWord::Except) {
            let but = |day: &u8| !days.contains(day);
            days = (1..=7).filter(but).collect();
        }
        let late = self.has(TermWord::Late);
        let from = match time {
            Some(time) => time,
            None if late => Time::constant(21, 0, 0, 0),
            None if self.has(TermWord::Evening) => Time::constant(18, 0, 0, 0),
            None => return None,
        };
        let last = self.facts.sections.count();
        let (_, end) = self.facts.sections.times(&Slot::new(1, last, last))?;
        (from < end).then(|| timed(days, from, end, liking))
    }
}

/// Returns the liking of a time on days of the week; none are all days.
fn timed(days: BTreeSet<u8>, from: Time, to: Time, liking: Liking) -> PreferenceArgs {
    let (from, to) = (from.strftime("%H:%M"), to.strftime("%H:%M"));
    PreferenceArgs {
        times: vec![TimeLiking {
            days_of_week: days.into_iter().collect(),
            time: Some(format!("{from}-{to}")),
            liking,
        }],
        ..PreferenceArgs::default()
    }
}
