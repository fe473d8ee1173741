//! The checks of the corpus.
use std::collections::BTreeSet;

use jiff::civil::{Date, Time};
use scheduler::{
    calendar::Lang,
    schedule::{
        Board, ClosedTime, EventType, FixedTime, Level, ScheduleState, ScheduleTask, Slot, order,
    },
};

use super::{
    case::{Any, Case, Check, InitialState, Places, Selector, TermsCheck},
    world::{Item, Outcome, Place, StoredRows},
};

/// Returns everything that is wrong with what came of a case.
pub(super) fn wrong(case: &Case, outcome: &Outcome) -> Vec<String> {
    let mut wrong = unconsented(case, outcome);
    wrong.extend(illegal(outcome));
    if !names_loss(case) {
        let lost = outcome
            .first
            .items
            .iter()
            .filter(|(id, _)| !outcome.after.items.contains_key(id));
        wrong.extend(lost.map(|(_, item)| format!("{} disappeared", item.name)));
    }
    if outcome.reply.trim().is_empty() {
        wrong.push("the reply is empty".into());
    }
    let fails = |check: &&Check| !holds(check, outcome);
    wrong.extend(
        case.must
            .iter()
            .filter(fails)
            .map(|check| format!("must {check:?}")),
    );
    let held = case.must_not.iter().filter(|check| holds(check, outcome));
    wrong.extend(held.map(|check| format!("must not {check:?}")));
    let accepted = |list: &Vec<Check>| list.iter().all(|check| holds(check, outcome));
    if !case.accept.is_empty() && !case.accept.iter().any(accepted) {
        wrong.push(format!("accepted would be {:?}", case.accept));
    }
    if !wrong.is_empty() {
        wrong.push(format!(
            "the reply was: {}",
            outcome.reply.trim().replace('\n', " / ")
        ));
    }
    wrong
}

/// Returns the words that are not in the language of the person, but for what they typed and for the
/// names of their items and courses.
pub(super) fn foreign(case: &Case, outcome: &Outcome) -> Option<String> {
    let items = outcome.after.schedule.tasks.iter();
    let items = items.map(|task| task.name.as_str());
    let typed = case.turns.iter().chain([&case.text]).map(String::as_str);
    let typed: Vec<&str> = typed.collect();
    let lang = Lang::of(&typed.join("\n"));
    let given: Vec<&str> = typed.into_iter().chain(items).collect();
    let found = fugato_testkit::language::foreign(lang, &outcome.reply, &given.join("\n"))?;
    Some(format!("{found:?} is not in {lang}"))
}

/// Returns the changes to which nobody agreed.
pub(super) fn unconsented(case: &Case, outcome: &Outcome) -> Vec<String> {
    // Words under a card may agree to it.
    let agrees = case.given == InitialState::Card
        && case
            .must
            .iter()
            .any(|check| matches!(check, Check::Kept(true)));
    let has = |wanted: &str| case.tags.iter().any(|tag| tag == wanted);
    if agrees || has("undo") || has("consent") {
        return vec![];
    }
    let (before, asked) = (&outcome.before, &outcome.asked);
    let moved = before.items.iter().filter(|(id, item)| {
        asked
            .items
            .get(id)
            .is_none_or(|now| now.place != item.place)
    });
    let mut wrong: Vec<_> = moved
        .map(|(_, item)| format!("{} changed unasked", item.name))
        .collect();
    if asked.items.len() > before.items.len() {
        wrong.push("an item was added unasked".into());
    }
    wrong
}

fn names_loss(case: &Case) -> bool {
    let all = case.must.iter().chain(case.accept.iter().flatten());
    let mut all = all.chain(&case.must_not);
    all.any(|check| matches!(check, Check::Gone(_) | Check::Restored(_))) || !case.turns.is_empty()
}

pub(super) fn illegal(outcome: &Outcome) -> Vec<String> {
    let schedule = &outcome.after.schedule;
    let board = Board::new(schedule);
    let mut wrong = vec![];
    for task in &schedule.tasks {
        let before = outcome.before.schedule.task(task.state_id);
        for slot in &task.slots {
            let meets = board.overlapping(*slot).filter(|other| {
                other.state_id != task.state_id
                    && other.embed_host != Some(task.state_id)
                    && task.embed_host != Some(other.state_id)
            });
            wrong.extend(meets.map(|other| format!("{} lies on {}", task.name, other.name)));
        }
        if before.is_some_and(|before| before.slots == task.slots) {
            continue;
        }
        if let Err(refused) = order::check(&board, task) {
            wrong.push(refused.to_string());
        }
        if let (Some(class), Some(slot)) = (schedule.class_of(task), task.slots.first())
            && let Some(day) = schedule.day(slot.day)
            && let Err(rule) = class.admits(day, slot, task.embed_host.is_some())
        {
            wrong.push(format!("{}: {rule}", task.name));
        }
    }
    for (id, item) in &outcome.after.items {
        let before = outcome.before.items.get(id);
        let moved = before.is_none_or(|before| before.place != item.place);
        if moved
            && item
                .place
                .as_ref()
                .is_some_and(|place| place.start < outcome.now)
        {
            wrong.push(format!("{} got a place before now", item.name));
        }
        if moved
            && before.is_some_and(|before| before.done)
            && outcome.before.items != outcome.after.items
        {
            wrong.push(format!("{} was done, and lost its place", item.name));
        }
    }
    wrong
}

impl Selector {
    /// Returns the items that it chooses.
    fn chosen(&self, outcome: &Outcome) -> BTreeSet<u32> {
        let before = &outcome.before;
        let chosen = before.items.iter().filter(|(_, item)| self.chooses(item));
        let mut chosen: BTreeSet<u32> = chosen.map(|(id, _)| *id).collect();
        for name in self.item.iter().flat_map(Any::all) {
            if before.items.values().all(|item| item.name != *name) {
                let name = name.to_lowercase();
                let new = outcome.after.items.iter();
                let new = new.filter(|(_, item)| item.name.to_lowercase().contains(&name));
                chosen.extend(new.map(|(id, _)| *id));
            }
        }
        if let Some(except) = &self.except {
            let except = except.chosen(outcome);
            chosen.retain(|id| !except.contains(id));
        }
        chosen
    }

    fn chooses(&self, item: &Item) -> bool {
        let date = item.place.as_ref().map(|place| place.start.date());
        let state = if item.done {
            "done"
        } else if item.place.is_some() {
            "placed"
        } else {
            "pending"
        };
        let names = |given: &Option<Any<String>>, name: &str| {
            given
                .as_ref()
                .is_none_or(|given| given.has(&name.to_owned()))
        };
        let part = item
            .place
            .as_ref()
            .map_or("", |place| part(place.start.time()));
        names(&self.item, &item.name)
            && names(&self.class, &item.class)
            && self
                .on
                .as_ref()
                .is_none_or(|on| date.is_some_and(|date| on.has(&date)))
            && self
                .from
                .is_none_or(|from| date.is_some_and(|date| date >= from))
            && self.to.is_none_or(|to| date.is_some_and(|date| date <= to))
            && names(&self.part, part)
            && names(&self.state, state)
    }
}

fn part(time: Time) -> &'static str {
    match time.hour() {
        ..12 => "morning",
        12..18 => "afternoon",
        _ => "evening",
    }
}

fn clock(text: &str) -> Time {
    text.parse().unwrap()
}

impl Places {
    fn admit(&self, place: &Place) -> bool {
        let (date, time): (Date, Time) = (place.start.date(), place.start.time());
        self.on.as_ref().is_none_or(|on| on.has(&date))
            && self.from.is_none_or(|from| date >= from)
            && self.to.is_none_or(|to| date <= to)
            && self
                .part
                .as_ref()
                .is_none_or(|given| given.has(&part(time).to_owned()))
            && self.at.as_deref().is_none_or(|at| time == clock(at))
            && self
                .after
                .as_deref()
                .is_none_or(|after| time >= clock(after))
            && self
                .before
                .as_deref()
                .is_none_or(|before| time < clock(before))
    }
}

fn named<'a>(stored: &'a StoredRows, name: &str) -> Option<&'a Item> {
    stored.items.values().find(|item| item.name == name)
}

fn place<'a>(stored: &'a StoredRows, name: &str) -> Option<&'a Place> {
    named(stored, name)?.place.as_ref()
}

fn is_same(a: &StoredRows, b: &StoredRows) -> bool {
    let wishes = |stored: &StoredRows| {
        let ScheduleState {
            tasks,
            task_classes,
            preferences,
            ..
        } = &stored.schedule;
        let tasks: Vec<_> = tasks.iter().map(|task| task.terms.clone()).collect();
        let classes: Vec<_> = task_classes
            .iter()
            .map(|class| class.terms.clone())
            .collect();
        (tasks, classes, preferences.clone())
    };
    (&a.items, &a.notes, &a.reminders) == (&b.items, &b.notes, &b.reminders)
        && wishes(a) == wishes(b)
}

/// Returns the first section that ends after a time.
fn section(schedule: &ScheduleState, at: &str) -> Option<u8> {
    let ends_after = |section: &u8| {
        let slot = Slot::new(1, *section, *section);
        let times = schedule.window.sections.times(&slot);
        times.is_some_and(|(_, end)| end > clock(at))
    };
    (1..=schedule.window.sections.count()).find(ends_after)
}

/// Returns the cost of the section of a day of the week that ends after a time.
fn cost(stored: &StoredRows, day_of_week: u8, at: &str) -> u32 {
    let schedule = &stored.schedule;
    let wishes = schedule.preferences.as_ref().zip(section(schedule, at));
    wishes.map_or(0, |(wishes, section)| wishes.cost(day_of_week, section))
}

fn cost_on(stored: &StoredRows, date: Date, at: &str) -> u32 {
    let day_of_week = date.weekday().to_monday_one_offset();
    cost(stored, u8::try_from(day_of_week).unwrap(), at)
}

/// Returns true if a section of a date is kept free, or costs more than before the first turn.
fn is_shut(outcome: &Outcome, date: Date, at: &str) -> bool {
    let section = section(&outcome.after.schedule, at).unwrap();
    let mut free = outcome.after.free_times.iter();
    let kept = free.any(|time| {
        let whole = time.sections.is_empty();
        time.dates.contains(&date.to_string()) && (whole || time.sections.contains(&section))
    });
    kept || cost_on(&outcome.after, date, at) > cost_on(&outcome.first, date, at)
}

/// Returns true if from now on no day has more sections of items.
fn within(stored: &StoredRows, now: Date, most: u8) -> bool {
    let schedule = &stored.schedule;
    let mut days = schedule.window.days.iter();
    days.all(|day| {
        let tasks = schedule
            .tasks
            .iter()
            .filter(|task| task.event_type == EventType::Task);
        let slots = tasks.flat_map(|task| &task.slots);
        let there = slots.filter(|slot| slot.day == day.day_index);
        day.date < now.to_string() || there.map(Slot::sections).sum::<u8>() <= most
    })
}

impl TermsCheck {
    fn hold(&self, outcome: &Outcome) -> bool {
        let schedule = &outcome.after.schedule;
        if let Some(of) = &self.of {
            let chosen = of.chosen(outcome);
            let tasks = chosen.iter().filter_map(|id| schedule.task(*id));
            let mut open = tasks.filter(|task| !task.marks.done);
            return !chosen.is_empty() && open.all(|task| self.holds_of(schedule, task));
        }
        let task = |name: &String| schedule.tasks.iter().find(|task| task.name == *name);
        let of_item = self.item.as_ref().and_then(task).map(|task| &task.terms);
        let of_class = || {
            let mut classes = schedule.task_classes.iter();
            let class = classes.find(|class| Some(&class.name) == self.class.as_ref());
            class.map(|class| &class.terms)
        };
        let Some(terms) = of_item.or_else(of_class) else {
            return false;
        };
        let is_closed = |at: &(u8, String)| terms.not.iter().any(|closed| is_at(closed, at));
        let follows = |name| task(name).is_some_and(|task| terms.after.contains(&task.state_id));
        (self.minutes.is_none() || terms.minutes == self.minutes)
            && (self.earliest.is_none() || terms.earliest == self.earliest)
            && (self.priority.is_none() || terms.priority == self.priority)
            && self.after.as_ref().is_none_or(follows)
            && self.closed.as_ref().is_none_or(is_closed)
            && (self.split.is_none() || terms.split == self.split)
            && (self.at.is_none() || terms.at == self.at.as_deref().and_then(FixedTime::parse))
    }

    /// Returns true if an item has the terms, as its own or as those of its class.
    fn holds_of(&self, schedule: &ScheduleState, task: &ScheduleTask) -> bool {
        let class = schedule.class_of(task).unwrap();
        let earliest = task.terms.earliest.as_ref();
        let earliest = earliest
            .or(class.terms.earliest.as_ref())
            .or(class.start_date.as_ref());
        let mut closed = task.terms.not.iter().chain(&class.terms.not);
        (self.minutes.is_none() || schedule.minutes(task) == self.minutes)
            && (self.earliest.is_none() || earliest == self.earliest.as_ref())
            && (self.priority.is_none() || Some(schedule.priority(task)) == self.priority)
            && (self.split.is_none() || schedule.may_split(task) == self.split)
            && self
                .closed
                .as_ref()
                .is_none_or(|at| closed.any(|closed| is_at(closed, at)))
    }
}

fn is_at(closed: &ClosedTime, (day, at): &(u8, String)) -> bool {
    (closed.days_of_week.is_empty() || closed.days_of_week.contains(day))
        && (closed.from..closed.to).contains(&clock(at))
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

#[expect(
    clippy::too_many_lines,
    reason = "a line or two for each check of the corpus"
)]
fn holds(check: &Check, outcome: &Outcome) -> bool {
    let (before, after) = (&outcome.before, &outcome.after);
    match check {
        Check::Unchanged(wanted) => is_same(before, after) == *wanted,
        Check::Restored(wanted) => is_same(&outcome.first, after) == *wanted,
        Check::Same(of) => of.chosen(outcome).iter().all(|id| {
            let place = |stored: &StoredRows| stored.items.get(id).map(|item| item.place.clone());
            place(before) == place(after)
        }),
        Check::Only(of) => {
            let chosen = of.chosen(outcome);
            before
                .items
                .iter()
                .filter(|(id, _)| !chosen.contains(id))
                .all(|(id, item)| {
                    let now = after.items.get(id);
                    now.is_some_and(|now| (&now.place, now.done) == (&item.place, item.done))
                })
        }
        Check::Lies(places) => {
            let chosen = places.of.chosen(outcome);
            let lies = |id: &u32| {
                let Some(now) = after.items.get(id) else {
                    return false;
                };
                let was = before.items.get(id).and_then(|item| item.place.as_ref());
                now.done
                    || now.place.as_ref().is_some_and(|place| {
                        places.admit(place)
                            && (!places.earlier || was.is_some_and(|was| place.start < was.start))
                            && (!places.later || was.is_some_and(|was| place.start > was.start))
                    })
            };
            !chosen.is_empty() && chosen.iter().all(lies)
        }
        Check::Free(places) => after
            .items
            .values()
            .filter(|item| !item.done)
            .all(|item| !item.place.as_ref().is_some_and(|place| places.admit(place))),
        Check::Status { of, is } => {
            let chosen = of.chosen(outcome);
            let is_so = |id: &u32| match after.items.get(id) {
                Some(item) => match is.as_str() {
                    "done" => item.done,
                    "pending" => !item.done && item.place.is_none(),
                    "placed" => !item.done && item.place.is_some(),
                    other => panic!("{other} is no status"),
                },
                None => false,
            };
            !chosen.is_empty() && chosen.iter().all(is_so)
        }
        Check::Exists {
            item,
            class,
            minutes,
        } => after.items.values().any(|found| {
            contains(&found.name, item)
                && class.as_ref().is_none_or(|class| *class == found.class)
                && minutes.is_none_or(|minutes| found.minutes >= minutes.into())
        }),
        Check::Gone(name) => named(after, name).is_none(),
        Check::PlacedAll(wanted) => {
            let pending = before
                .items
                .iter()
                .filter(|(_, item)| item.place.is_none() && !item.done);
            let mut placed =
                pending.map(|(id, _)| after.items.get(id).is_some_and(|now| now.place.is_some()));
            placed.all(|placed| placed) == *wanted
        }
        Check::Order([a, b]) => {
            matches!((place(after, a), place(after, b)), (Some(a), Some(b)) if a < b)
        }
        Check::Swapped([a, b]) => {
            let places = |stored, name| place(stored, name).cloned();
            places(before, a).is_some()
                && places(before, a) == places(after, b)
                && places(before, b) == places(after, a)
        }
        Check::Deadline { class, item, date } => {
            let of_class = class
                .as_ref()
                .and_then(|class| *after.class_deadlines.get(class)?);
            let of_item = item.as_ref().and_then(|item| named(after, item)?.deadline);
            of_class.or(of_item) == Some(*date)
        }
        Check::Note {
            contains: part,
            equals,
        } => after.notes.iter().any(|note| {
            part.as_ref().is_none_or(|part| contains(note, part))
                && equals.as_ref().is_none_or(|text| note == text)
        }),
        Check::Reminder { contains: part, at } => after
            .reminders
            .iter()
            .any(|(text, due)| contains(text, part) && at.is_none_or(|at| *due == Some(at))),
        Check::Says(texts) => texts.iter().any(|text| contains(&outcome.reply, text)),
        Check::Asks(wanted) => (outcome.cards > 0 || outcome.waits) == *wanted,
        Check::SaysNotUnderstood(wanted) => {
            let refuses = outcome
                .refusals
                .iter()
                .any(|word| contains(&outcome.reply, word));
            (is_same(before, after) && refuses && outcome.cards == 0) == *wanted
        }
        Check::Kept(wanted) => {
            let kept = outcome.draft.as_ref().is_some_and(|draft| {
                draft.tasks.iter().all(|task| {
                    after
                        .schedule
                        .task(task.state_id)
                        .is_some_and(|now| now.slots == task.slots)
                })
            });
            kept == *wanted
        }
        Check::Card(wanted) => outcome.draft_waits == (wanted == "open"),
        Check::Terms(wanted) => wanted.hold(outcome),
        Check::Costlier(day, at) => cost(after, *day, at) > cost(before, *day, at),
        Check::Cheaper(day, at) => cost(after, *day, at) < cost(before, *day, at),
        Check::Limit(sections) => {
            let wishes = after.schedule.preferences.as_ref();
            wishes.is_some_and(|wishes| wishes.daily_limit == *sections && wishes.over_limit > 0)
        }
        Check::Run(sections) => {
            let wishes = after.schedule.preferences.as_ref();
            wishes.is_some_and(|wishes| wishes.longest_run == *sections && wishes.no_break > 0)
        }
        Check::Fits(of) => of.chosen(outcome).iter().all(|id| {
            let task = after.schedule.task(*id).unwrap();
            let sections: u8 = task.slots.iter().map(Slot::sections).sum();
            task.marks.done || sections == task.duration
        }),
        Check::Shut(date, at) => is_shut(outcome, *date, at),
        Check::Open(date, at) => !is_shut(outcome, *date, at),
        Check::Dearer(date, at, than) => cost_on(after, *date, at) > cost_on(after, *date, than),
        Check::NoDeadline(class) => after.class_deadlines.get(class) == Some(&None),
        Check::Above([first, second]) => {
            let of = |name: &String| {
                let tasks = after.schedule.tasks.iter();
                let class = |task: &ScheduleTask| after.schedule.class_of(task);
                let mine = tasks.filter(|task| class(task).is_some_and(|it| it.name == *name));
                let open = mine.filter(|task| !task.marks.done);
                open.map(|task| match after.schedule.priority(task) {
                    Level::Low => 0,
                    Level::Medium => 1,
                    Level::High => 2,
                })
                .collect::<Vec<i32>>()
            };
            of(first).iter().min() > of(second).iter().max()
        }
        Check::Daily(most) => within(after, outcome.now.date(), *most),
        Check::Parts { item, on } => {
            let task = after.schedule.tasks.iter().find(|task| task.name == *item);
            let days = task.into_iter().flat_map(|task| &task.slots);
            let dates = days.map(|slot| after.schedule.day(slot.day).unwrap().date.clone());
            let wanted = on.iter().map(ToString::to_string);
            dates.collect::<Vec<_>>() == wanted.collect::<Vec<_>>()
        }
    }
}

/// Claims of a change that only a model would make up.
const CLAIMS: [&str; 12] = [
    "i have moved",
    "i've moved",
    "has been moved",
    "have been moved",
    "i moved",
    "has been scheduled",
    "has been added",
    "has been removed",
    "已移动",
    "已经移",
    "已安排好",
    "已删除",
];

/// Returns the claims of changes where nothing changed.
pub(super) fn untrue(outcome: &Outcome) -> Vec<String> {
    if outcome.before != outcome.after {
        return vec![];
    }
    let claimed = CLAIMS.iter().filter(|claim| outcome.reply.contains(*claim));
    claimed
        .map(|claim| format!("says \"{claim}\", and nothing changed"))
        .collect()
}
