//! Times that are to be free.
use std::collections::BTreeSet;

use fugato::{state::say, words::has_any_word};

use super::{
    super::{
        Facts, Understanding, free_times,
        lex::{Noun, Verb},
        when::When,
        wish::{Clause, Role, expand, fixed_course, is_open, not_understood},
    },
    PlanResult, Planner, spanned,
};
use crate::{
    schedule::{Change, ScheduleState, ScheduleTask, Slot},
    tools::{Liking, PreferenceArgs, TimeLiking},
};

impl Planner<'_> {
    /// Frees days and times: what lies there goes to the nearest other place, or is pending again.
    pub(super) fn free(&mut self, clause: &Clause) -> PlanResult {
        let denied = |role| matches!(role, Role::Not | Role::Except);
        // "I might be ill tomorrow" is not certain.
        if clause.has(Verb::Busy)
            && has_any_word(&clause.text, &["might", "may", "maybe", "perhaps"])
        {
            return Err(not_understood(&clause.text, self.facts));
        }
        let whens = freed_times(clause, self.facts);
        if whens.is_empty()
            || !clause.names.iter().all(|(_, role)| denied(*role))
                && clause.has(Verb::Free)
                && clause.objects().any(|name| name.items.len() == 1)
        {
            return Err(Understanding::Refusal(say!(
                "Which day or time shall be free? Nothing was changed.",
                "要空出哪一天或哪个时间？没有改动任何内容。"
            )));
        }
        self.drop_limits(clause);
        self.free.extend(whens.iter().cloned());
        self.clear(&whens, None)
    }

    /// Drops the limits that a clause set, which are the times themselves that are to be free.
    fn drop_limits(&mut self, clause: &Clause) {
        let of_clause = |when: &When| {
            let mut own = clause.whens.iter();
            own.any(|(own, role)| *role == Role::Only && own == when)
        };
        self.limits.only.retain(|when| !of_clause(when));
        (self.limits.before, self.limits.by, self.limits.after) = (vec![], vec![], vec![]);
    }

    /// Carries out "I only have time in the mornings this week": the other times of these days are
    /// kept free.
    pub(super) fn only(&mut self, clause: &Clause) -> PlanResult {
        let mut days = BTreeSet::new();
        let mut starts = BTreeSet::new();
        for (when, _) in &clause.whens {
            days.extend(when.days.iter().flatten().copied());
            starts.extend(when.starts.iter().flatten().copied());
        }
        if starts.is_empty() {
            return Err(not_understood(&clause.text, self.facts));
        }
        let others = When {
            days: (!days.is_empty()).then_some(days),
            starts: Some(starts),
            ..When::default()
        };
        let others = others.other_times(self.facts);
        self.drop_limits(clause);
        self.free.push(others.clone());
        self.clear(&[others], None)
    }

    /// Ends what was said of times that were kept free.
    pub(super) fn take_back(&mut self, clause: &Clause) -> PlanResult {
        let whens = clause.whens.iter().map(|(when, _)| when.clone());
        let mut whens: Vec<When> = whens.collect();
        if whens.is_empty() {
            let kept = free_times::listed(self.facts.free_times, self.facts);
            if kept.len() > 1 && !clause.nouns.contains(&Noun::All) {
                let kept = kept.join(&say!("; ", "；"));
                return Err(Understanding::Refusal(say!(
                    "Which of the times that are kept free do you mean: {kept}? Nothing was changed.",
                    "你指的是空着的哪个时间：{kept}？没有改动任何内容。"
                )));
            }
            whens.push(When::default());
        }
        let Some(times) = free_times::without(self.facts, &whens) else {
            if let Some(args) = self.fine_again(&whens) {
                return self.prefer(&args);
            }
            return Err(Understanding::Answer(say!(
                "That time is not kept free.",
                "那个时间没有被要求空着。"
            )));
        };
        let kept = free_times::kept_free(self.facts.free_times, self.facts);
        self.limits.closed.retain(|when| !kept.contains(when));
        let kept = free_times::kept_free(&times, self.facts);
        self.limits.closed.extend(kept);
        let left = free_times::listed(&times, self.facts);
        let left = if left.is_empty() {
            say!("no time is kept free now", "现在没有要空着的时间")
        } else {
            let left = left.join(&say!("; ", "；"));
            say!("kept free are still: {left}", "仍然空着：{left}")
        };
        self.say.push(say!(
            "All right, it can be used again; {left}.",
            "好的，又可以安排了；{left}。"
        ));
        self.free_before = Some(times);
        Ok(())
    }

    /// Returns the preferences by which times are fine that the person would rather not use; none if
    /// all of them are fine.
    fn fine_again(&self, whens: &[When]) -> Option<PreferenceArgs> {
        let wishes = self.work.preferences.as_ref()?;
        let (mut args, fine) = (PreferenceArgs::default(), Some(Liking::Fine));
        for when in whens.iter().filter(|when| when.is_named()) {
            let days: BTreeSet<u8> = match &when.weekly().days {
                Some(days) => {
                    let days = days.iter().filter_map(|day| self.work.day(*day));
                    days.map(|day| day.day_of_week).collect()
                }
                None => BTreeSet::new(),
            };
            let all = || (1..=self.facts.sections.count()).collect();
            let starts: BTreeSet<u8> = when.starts.clone().unwrap_or_else(all);
            let within = |first: u8| first > 0 && starts.iter().all(|start| *start >= first);
            let lunch = |start: &u8| wishes.lunch_sections.contains(start);
            let cost = |day: u8| {
                starts
                    .iter()
                    .map(|start| wishes.cost(day, *start))
                    .sum::<u32>()
            };
            let costs =
                (1..=7).any(|day| (days.is_empty() || days.contains(&day)) && cost(day) > 0);
            if !costs {
                continue;
            }
            if days.is_empty() && within(wishes.evening_from) {
                args.evening = fine;
            } else if days.is_empty() && starts.iter().all(lunch) {
                args.lunch = fine;
            } else if days == BTreeSet::from([6, 7]) && when.starts.is_none() {
                args.weekend = fine;
            }
            let slot = Slot::new(1, *starts.first()?, *starts.last()?);
            let time = self.facts.sections.times(&slot);
            let time = time
                .map(|(from, to)| format!("{}-{}", from.strftime("%H:%M"), to.strftime("%H:%M")));
            args.times.push(TimeLiking {
                days_of_week: days.into_iter().collect(),
                time,
                liking: Liking::Fine,
            });
        }
        let after = args.applied(&self.work).ok()?;
        (after.as_ref() != Some(wishes)).then_some(args)
    }

    /// Opens a time that is kept free to an item that goes there by name, and says so.
    pub(super) fn release(&mut self, clause: &Clause) {
        let goes = clause.objects().next().is_some();
        let named: BTreeSet<u16> = clause
            .whens
            .iter()
            .filter(|(_, role)| matches!(role, Role::At | Role::To))
            .flat_map(|(when, _)| when.days.iter().flatten().copied())
            .collect();
        let kept = free_times::kept_free(self.facts.free_times, self.facts);
        let is_named = |when: &When| {
            goes && kept.contains(when) && when.days.iter().flatten().any(|day| named.contains(day))
        };
        let before = self.limits.closed.len();
        self.limits.closed.retain(|when| !is_named(when));
        if self.limits.closed.len() < before {
            self.say.push(say!(
                "You wanted that day kept free; this goes there because you name it.",
                "那天本来要空着；因为你点名，这一项仍排在那里。"
            ));
        }
    }

    pub(super) fn clear(&mut self, whens: &[When], only: Option<&BTreeSet<u32>>) -> PlanResult {
        self.limits.closed.extend(whens.iter().cloned());
        let mut there: Vec<u32> = whens.iter().flat_map(|when| self.lying(when)).collect();
        there.retain(|id| only.is_none_or(|only| only.contains(id)));
        there.dedup();
        if there.is_empty() {
            let stays = self.work.tasks.iter().filter(|task| {
                self.stays(task.state_id)
                    && only.is_none_or(|only| only.contains(&task.state_id))
                    && task
                        .slots
                        .iter()
                        .any(|slot| whens.iter().any(|when| when.meets(slot)))
            });
            let stays = self.words.names(stays.map(|task| task.state_id));
            if !stays.is_empty() {
                return Err(Understanding::Answer(say!(
                    "Only {stays} lies there, and stays, as you say.",
                    "那里只有{stays}，按你说的不动。"
                )));
            }
            if let Some(only) = only {
                let open = only.iter().filter(|id| is_open(**id, self.facts));
                let names = self.words.names(open.copied());
                let names = if names.is_empty() {
                    say!("it", "这一项")
                } else {
                    names
                };
                return Err(Understanding::Answer(say!(
                    "None of {names} lies there, so nothing has to move. I do not remember this for later: to keep it off for good, say so of every week.",
                    "{names}都不在那里，不用挪动。这一点不会记下来；要一直避开，请说“每周……都别排”。"
                )));
            }
            return Err(Understanding::Answer(say!(
                "Nothing of yours lies there, so nothing has to move; it is free but for your courses.",
                "那里本来就没有你的事项，除课程外都是空的。"
            )));
        }
        let left = self.move_away(&there);
        if !left.is_empty() {
            let names = self.words.names(left);
            self.say.push(say!(
                "I found no other place for {names}, so it would be pending again.",
                "没有找到别的位置安排{names}，会重新变为待办。"
            ));
        }
        Ok(())
    }

    /// Gives items other places, each near its own, and returns those that found none. The last of
    /// a class goes first, so that those before it have room to follow; if it leaves them none, it
    /// goes last.
    fn move_away(&mut self, items: &[u32]) -> Vec<u32> {
        let before = self.work.clone();
        let mut best: Option<(Vec<u32>, ScheduleState)> = None;
        for is_last_first in [true, false] {
            let mut order = items.to_vec();
            self.work = before.clone();
            if is_last_first {
                order.reverse();
            } else {
                for id in items {
                    self.work.apply(&Change::Unplace { task: *id });
                }
            }
            for id in order {
                let near = before.task(id).and_then(ScheduleTask::start);
                if self.find(id, &When::default(), near).is_err() {
                    self.work.apply(&Change::Unplace { task: id });
                }
            }
            for id in self.those(items, |task| !task.is_placed()) {
                // What finds no place stays pending, and is named.
                let _ = self.find(id, &When::default(), None);
            }
            let left = self.those(items, |task| !task.is_placed());
            let is_better = best
                .as_ref()
                .is_none_or(|(least, _)| left.len() < least.len());
            if is_better {
                best = Some((left, self.work.clone()));
            }
            if best.as_ref().is_some_and(|(left, _)| left.is_empty()) {
                break;
            }
        }
        let (left, work) = best.unwrap_or_else(|| (vec![], before));
        self.work = work;
        left
    }

    /// Carries out "nothing on Friday" and "do not put reading on Friday".
    pub(super) fn keep_away(&mut self, clause: &Clause) -> PlanResult {
        let whens = freed_times(clause, self.facts);
        if whens.is_empty() {
            return self.keep_as_said(clause);
        }
        // "Nothing more on Friday" leaves what is there.
        let more = ["再", "另外", "别的"]
            .iter()
            .any(|word| clause.text.contains(word))
            || has_any_word(&clause.text, &["more", "else", "further", "new"]);
        if more && clause.names.is_empty() {
            self.free.extend(whens);
            return Ok(());
        }
        self.drop_limits(clause);
        // "Nothing tomorrow except the report" leaves the report.
        let (left, names): (Vec<_>, Vec<_>) = clause
            .names
            .iter()
            .partition(|(_, role)| *role == Role::Except);
        let expand = |(name, _): &&(_, Role)| expand(name, self.facts);
        self.limits.kept.extend(left.iter().flat_map(expand));
        let items: BTreeSet<u32> = names.iter().flat_map(expand).collect();
        let courses = names.iter().flat_map(|(name, _)| &name.courses).copied();
        if items.is_empty()
            && let Some(course) = courses.min()
        {
            return Err(fixed_course(course, self.facts));
        }
        let only = (!names.is_empty()).then_some(&items);
        if only.is_none() {
            self.free.extend(whens.iter().cloned());
        }
        self.clear(&whens, only)
    }

    /// Says that nothing happens where nothing is wanted, and asks what becomes of an item that is not
    /// wanted any more.
    pub(super) fn keep_as_said(&self, clause: &Clause) -> PlanResult {
        let named = clause
            .names
            .iter()
            .filter(|(_, role)| *role != Role::Except);
        let items: BTreeSet<u32> = named
            .clone()
            .flat_map(|(name, _)| expand(name, self.facts))
            .collect();
        let course = named
            .flat_map(|(name, _)| name.courses.iter().copied())
            .min();
        match course.filter(|_| items.is_empty()) {
            Some(course) => Err(fixed_course(course, self.facts)),
            None if items.is_empty() && clause.whens.is_empty() => Self::keep(),
            None if items.is_empty() => Err(not_understood(&clause.text, self.facts)),
            None => {
                let names = self.words.names(items);
                Err(Understanding::Refusal(say!(
                    "Is {names} not wanted any more? Say “drop …” to remove it, or “cancel …” to leave it for later. Nothing was changed.",
                    "{names}不做了吗？不再需要请说“删除……”，以后再做请说“取消……的安排”。没有改动任何内容。"
                )))
            }
        }
    }

    /// Says that nothing happens, because that is what is wanted.
    pub(super) fn keep() -> PlanResult {
        Err(Understanding::Answer(say!(
            "All right, everything stays as it is.",
            "好的，一切保持原样。"
        )))
    }

    pub(super) fn cancel(&mut self, clause: &Clause) -> PlanResult {
        let mut items = self.meant(clause)?;
        let within = clause.when(Role::From).or(clause.when(Role::At));
        if items.is_empty() && clause.objects().next().is_none() {
            let all = clause.nouns.contains(&Noun::All) || clause.nouns.contains(&Noun::Item);
            match within {
                Some(within) => items.extend(self.lying(within)),
                None if all => items.extend(self.lying(&When::default())),
                None => return Err(not_understood(&clause.text, self.facts)),
            }
        } else if let Some(within) = within
            && items.len() > 1
        {
            let there: BTreeSet<u32> = self.lying(within).into_iter().collect();
            items.retain(|id| there.contains(id));
        }
        let placed = self.those(&items, ScheduleTask::is_placed);
        if placed.is_empty() {
            return Err(self.unchanged(&say!(
                "it has no place that could be cancelled",
                "没有可以取消的安排"
            )));
        }
        for id in placed {
            self.work.apply(&Change::Unplace { task: id });
        }
        Ok(())
    }
}

/// Returns the times of a clause that are to be free, without those that it excepts.
pub(in super::super) fn freed_times(clause: &Clause, facts: &Facts<'_>) -> Vec<When> {
    let off = clause.verbs.is_empty() && clause.nouns.contains(&Noun::Off);
    let frees = clause.has(Verb::Free) || clause.has(Verb::Busy) || off;
    let denied = |role| matches!(role, Role::Not | Role::Except);
    let is_wanted = |role| !denied(role) && role != Role::Only;
    let named = clause.whens.iter().any(|(_, role)| is_wanted(*role));
    // "Not on Friday, free it" frees Friday; "free the weekend, not Sunday" the rest of it. "From the
    // 7th to the 9th nothing" names the days; an item that stays away leaves some.
    let freed = |role| match role {
        Role::Except => false,
        Role::Not | Role::Only if frees => !named,
        Role::From => frees || clause.names.is_empty(),
        _ => true,
    };
    let bounds = |role| matches!(role, Role::Only | Role::Before | Role::By | Role::After);
    let dayed = clause
        .whens
        .iter()
        .filter(|(when, role)| when.days.is_some() && !bounds(*role) && freed(*role));
    let days: BTreeSet<u16> = dayed
        .clone()
        .flat_map(|(when, _)| when.days.iter().flatten().copied())
        .collect();
    let is_whole = dayed.clone().any(|(when, _)| when.starts.is_none());
    let (mut whens, mut excepted) = (vec![], vec![]);
    for (when, role) in &clause.whens {
        let is_time = when.days.is_none() && when.starts.is_some() && !days.is_empty();
        let is_time = is_time && !denied(*role);
        if is_time && bounds(*role) && (frees || *role != Role::Only) {
            // "Monday, but only the afternoon", "Monday after three".
            excepted.push(spanned(when, *role, facts).other_times(facts));
        } else if is_time && bounds(*role) {
            excepted.push(when.clone());
        } else if is_time && is_whole && freed(*role) && !clause.again {
            // "Keep Friday free from nine to twelve".
            excepted.push(when.other_times(facts));
        } else if is_time && freed(*role) && !clause.again {
            // "Monday morning and the evening".
            whens.push(When {
                days: Some(days.clone()),
                ..when.clone()
            });
        } else if freed(*role) {
            whens.push(spanned(when, *role, facts));
        } else if denied(*role) {
            excepted.push(when.weekly());
        }
    }
    // "Keep every day free except Sunday".
    let all = [Noun::All, Noun::Day]
        .iter()
        .any(|noun| clause.nouns.contains(noun));
    if whens.is_empty() && !excepted.is_empty() && all {
        whens.push(When::default());
    }
    if excepted.is_empty() {
        return whens;
    }
    let left = whens.iter().map(|when| when.without(&excepted, facts));
    left.flatten().collect()
}
