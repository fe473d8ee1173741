//! Timetables: made ones, the same for the same number, and some by hand.
use timetable::schedule::{
    DayMapping, EventType, Level, PlacementPreferences, PlacementStatus, ScheduleState,
    ScheduleTask, Slot, Source, Strategy, SubjectType, TaskClass, Window,
};

/// A timetable and what is to be placed in it.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) state: ScheduleState,
}

/// The timetable with this number.
pub(crate) fn made(number: u64) -> Case {
    let mut dice = SeededRng::new(number);
    let weeks = dice.between(1, 4);
    let mut draft = Draft::new(weeks);
    let fill = dice.between(15, 75);
    for day_of_week in 1..=5 {
        for block in 1..=6 {
            if dice.below(100) < fill {
                let host = dice.below(8) == 0;
                draft.weekly(day_of_week, block, host);
            }
        }
    }
    for _ in 0..dice.below(4) {
        let (day, block) = (dice.between(1, weeks * 7), dice.between(1, 6));
        draft.errand(day, block);
    }
    for _ in 0..dice.between(2, 5) {
        let items = dice.between(2, 3 + 2 * weeks);
        let class = class(&mut dice, &draft);
        draft.class(class, items);
    }
    Case {
        name: format!("made {number}"),
        state: draft.state,
    }
}

fn class(dice: &mut SeededRng, draft: &Draft) -> TaskClass {
    let level = |n| match n {
        0 => Level::Low,
        1 => Level::Medium,
        _ => Level::High,
    };
    let subject_type = match dice.below(4) {
        0 => SubjectType::Quantitative,
        1 => SubjectType::Memory,
        2 => SubjectType::Reading,
        _ => SubjectType::Mixed,
    };
    let days = u64::try_from(draft.state.window.days.len()).unwrap_or(0);
    let date = Draft::date;
    let start_date = (dice.below(4) == 0).then(|| date(dice.between(1, days / 2)));
    let end_date = (dice.below(4) == 0).then(|| date(dice.between(days / 2 + 1, days)));
    TaskClass {
        strategy: if dice.below(5) == 0 {
            Strategy::Rapid
        } else {
            Strategy::Steady
        },
        allow_filler_course: dice.below(2) == 0,
        excluded_slots: if dice.below(3) == 0 { vec![6] } else { vec![] },
        excluded_days_of_week: if dice.below(2) == 0 { vec![7] } else { vec![] },
        start_date,
        end_date,
        subject_type: Some(subject_type),
        difficulty_level: Some(level(dice.below(3))),
        cognitive_intensity: Some(level(dice.below(4).min(2))),
        ..TaskClass::default()
    }
}

/// Timetables by hand: what made ones seldom are.
pub(crate) fn by_hand() -> Vec<Case> {
    let demanding = |subject| TaskClass {
        difficulty_level: Some(Level::High),
        ..plain(subject)
    };
    let case = |name: &str, draft: Draft| Case {
        name: name.to_owned(),
        state: draft.state,
    };
    let mut exams = Draft::new(2);
    for day_of_week in 1..=5 {
        exams.weekly(day_of_week, 1, false);
        exams.weekly(day_of_week, 2, false);
    }
    for subject in [
        SubjectType::Quantitative,
        SubjectType::Memory,
        SubjectType::Reading,
    ] {
        exams.class(demanding(subject), 12);
    }
    let mut full = Draft::new(1);
    for day_of_week in 1..=5 {
        for block in 1..=5 {
            full.weekly(day_of_week, block, false);
        }
    }
    for subject in [SubjectType::Quantitative, SubjectType::Memory] {
        let weekdays = TaskClass {
            excluded_days_of_week: vec![6, 7],
            ..demanding(subject)
        };
        full.class(weekdays, 2);
    }
    let mut narrow = Draft::new(2);
    narrow.class(plain(SubjectType::Reading), 60);
    let until = TaskClass {
        end_date: Some(Draft::date(3)),
        ..demanding(SubjectType::Quantitative)
    };
    narrow.class(until, 18);
    let mut impossible = Draft::new(1);
    let until = TaskClass {
        end_date: Some(Draft::date(2)),
        ..plain(SubjectType::Memory)
    };
    impossible.class(until, 13);
    let mut guests = Draft::new(2);
    for day_of_week in 1..=5 {
        for block in 1..=6 {
            guests.weekly(day_of_week, block, matches!(block, 2 | 5));
        }
    }
    for subject in [SubjectType::Quantitative, SubjectType::Memory] {
        let inside = TaskClass {
            allow_filler_course: true,
            excluded_days_of_week: vec![6, 7],
            ..demanding(subject)
        };
        guests.class(inside, 10);
    }
    vec![
        case("three exams in two weeks", exams),
        case("nothing free but inside courses", guests),
        case("evenings only", full),
        case("a narrow window that comes last", narrow),
        case("thirteen items in twelve blocks", impossible),
        term(),
    ]
}

/// 40 items over 16 weeks of a usual term.
pub(crate) fn term() -> Case {
    let mut draft = Draft::new(16);
    for (day_of_week, block) in [
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 4),
        (3, 2),
        (3, 3),
        (4, 1),
        (5, 2),
    ] {
        draft.weekly(day_of_week, block, day_of_week == 3);
    }
    for (subject, level, strategy) in [
        (SubjectType::Quantitative, Level::High, Strategy::Steady),
        (SubjectType::Memory, Level::High, Strategy::Steady),
        (SubjectType::Reading, Level::Low, Strategy::Steady),
        (SubjectType::Mixed, Level::High, Strategy::Rapid),
    ] {
        let class = TaskClass {
            difficulty_level: Some(level),
            strategy,
            ..plain(subject)
        };
        draft.class(class, 10);
    }
    Case {
        name: "40 items over 16 weeks".to_owned(),
        state: draft.state,
    }
}

/// A class of one of four kinds, every other one demanding.
pub(crate) fn subject(dice: &mut SeededRng, number: u64) -> TaskClass {
    let kinds = [
        SubjectType::Quantitative,
        SubjectType::Memory,
        SubjectType::Reading,
        SubjectType::Mixed,
    ];
    let kind = kinds
        .into_iter()
        .cycle()
        .nth(usize::try_from(number).unwrap_or(0));
    let mut class = plain(kind.unwrap_or(SubjectType::Mixed));
    if dice.below(2) == 0 {
        class.difficulty_level = Some(Level::High);
    }
    class
}

/// 500 items over 18 weeks in which courses take 20 blocks a week: more than fit.
pub(crate) fn crowded() -> Case {
    let mut draft = Draft::new(18);
    for day_of_week in 1..=5 {
        for block in 1..=4 {
            draft.weekly(day_of_week, block, false);
        }
    }
    let mut dice = SeededRng::new(500);
    for class in 0..5 {
        let class = subject(&mut dice, class);
        draft.class(class, 100);
    }
    draft.state.preferences = Some(PlacementPreferences::default());
    Case {
        name: "500 items, 18 weeks of 20 courses".to_owned(),
        state: draft.state,
    }
}

fn plain(subject: SubjectType) -> TaskClass {
    TaskClass {
        subject_type: Some(subject),
        difficulty_level: Some(Level::Low),
        cognitive_intensity: Some(Level::Low),
        ..TaskClass::default()
    }
}

pub(crate) struct Draft {
    pub(crate) state: ScheduleState,
    weeks: u64,
}

impl Draft {
    /// Weeks from a Monday on, without anything in them.
    pub(crate) fn new(weeks: u64) -> Self {
        let mut draft = Self {
            state: ScheduleState::default(),
            weeks,
        };
        let days = (1..=weeks * 7).map(|day| DayMapping {
            day_index: small(day),
            week: small((day - 1) / 7 + 1),
            day_of_week: u8::try_from((day - 1) % 7 + 1).unwrap_or(7),
            date: Self::date(day),
        });
        draft.state.window = Window {
            days: days.collect(),
            ..Window::default()
        };
        draft
    }

    /// A date that sorts as it should; months of 28 days keep it simple.
    fn date(day: u64) -> String {
        let month = (day - 1) / 28 + 1;
        format!("2026-{month:02}-{:02}", (day - 1) % 28 + 1)
    }

    fn weekly(&mut self, day_of_week: u64, block: u64, host: bool) {
        for week in 0..self.weeks {
            let mut course = self.task(format!("Course {day_of_week}{block}"));
            course.event_type = EventType::Course;
            course.locked = !host;
            course.can_embed = host;
            course.slots = vec![slot(week * 7 + day_of_week, block)];
            self.state.tasks.push(course);
        }
    }

    /// A course on a day of the week, every week.
    pub(crate) fn course(&mut self, day_of_week: u64, slot: Slot) {
        for week in 0..self.weeks {
            let mut course = self.task(format!("Course {day_of_week}-{}", slot.slot_start));
            course.event_type = EventType::Course;
            course.locked = true;
            let day = small(week * 7 + day_of_week);
            course.slots = vec![Slot { day, ..slot }];
            self.state.tasks.push(course);
        }
    }

    fn errand(&mut self, day: u64, block: u64) {
        let slot = slot(day, block);
        let taken = |task: &ScheduleTask| task.slots.contains(&slot);
        if !self.state.tasks.iter().any(taken) {
            let mut errand = self.task("Errands".to_owned());
            errand.slots = vec![slot];
            self.state.tasks.push(errand);
        }
    }

    pub(crate) fn class(&mut self, mut class: TaskClass, items: u64) {
        class.id = u32::try_from(self.state.task_classes.len() + 1).unwrap_or(u32::MAX);
        class.name = format!("Class {}", class.id);
        class.total_slots = u32::try_from(items * 2).unwrap_or(u32::MAX);
        for order in 1..=items {
            let mut item = self.task(class.name.clone());
            item.source = Source::TaskItem;
            item.status = PlacementStatus::Pending;
            item.task_class_id = Some(class.id);
            item.task_order = u32::try_from(order).unwrap_or(u32::MAX);
            self.state.tasks.push(item);
        }
        self.state.task_classes.push(class);
    }

    fn task(&self, category: String) -> ScheduleTask {
        let id = u32::try_from(self.state.tasks.len() + 1).unwrap_or(u32::MAX);
        ScheduleTask {
            state_id: id,
            source: Source::Event,
            source_id: format!("task-{id}"),
            name: format!("{category} {id}"),
            category,
            status: PlacementStatus::Existing,
            ..ScheduleTask::default()
        }
    }
}

fn slot(day: u64, block: u64) -> Slot {
    let start = u8::try_from(block * 2 - 1).unwrap_or(11);
    Slot::new(small(day), start, start + 1)
}

pub(crate) fn small(n: u64) -> u16 {
    u16::try_from(n).unwrap_or(u16::MAX)
}

pub(crate) struct SeededRng(u64);

impl SeededRng {
    pub(crate) fn new(number: u64) -> Self {
        Self(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x0DDB_1A5E_5BAD_5EED)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n.max(1)
    }

    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }
}
