//! The statistics of a day, section by section.
use crate::schedule::{
    Board, EventType, Level, PlacementStatus, ScheduleState, ScheduleTask, Source,
};

/// The totals of the sections of a day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DayStats {
    pub(super) day: u16,
    /// Sections that something other than a course takes.
    pub(super) sections: u8,
    /// The number of category changes from one of them to the next.
    pub(super) switches: u8,
    /// The longest run of one category.
    pub(super) max_block: u8,
    /// Switches between two demanding tasks.
    pub(super) heavy: u8,
    /// Switches between two classes of the same known subject type.
    pub(super) same_type: u8,
    /// Demanding sections.
    pub(super) demanding: u8,
    /// The longest run of them.
    pub(super) demanding_run: u8,
}

impl DayStats {
    pub(super) fn of(board: &Board<'_>, day: u16) -> Self {
        let state = board.state();
        let mut sum = Self {
            day,
            ..Self::default()
        };
        let (mut block, mut run) = (0, 0);
        let mut last: Option<(&ScheduleTask, bool)> = None;
        for task in series(board, day).into_iter().flatten() {
            // A task was already classified as demanding or not in the section before.
            let demanding = match last {
                Some((before, demanding)) if std::ptr::eq(before, task) => demanding,
                _ => demands_much(state, task),
            };
            block += 1;
            if let Some((before, was_demanding)) = last
                && before.category != task.category
            {
                sum.switches += 1;
                sum.heavy += u8::from(demanding && was_demanding);
                sum.same_type += u8::from(same_type(state, before, task));
                block = 1;
            }
            run = if demanding { run + 1 } else { 0 };
            sum.sections += 1;
            sum.demanding += u8::from(demanding);
            sum.max_block = sum.max_block.max(block);
            sum.demanding_run = sum.demanding_run.max(run);
            last = Some((task, demanding));
        }
        sum
    }

    /// Returns the number of runs of one category: one more than there are switches.
    pub(super) const fn blocks(&self) -> u8 {
        if self.sections == 0 {
            0
        } else {
            self.switches + 1
        }
    }

    /// Returns the switches per possible switch, 0 to 1.
    pub(super) fn fragmentation(&self) -> f64 {
        if self.sections < 2 {
            return 0.0;
        }
        f64::from(self.switches) / f64::from(self.sections - 1)
    }

    pub(super) fn is_fragmented(&self) -> bool {
        self.switches >= 3 || self.fragmentation() >= 0.55
    }

    pub(super) const fn is_compressed(&self) -> bool {
        self.max_block >= 5 || self.demanding_run >= 4
    }
}

/// Returns the task that counts in each section of a day: suggested items before existing ones, and
/// those before the rest. Courses do not count.
pub(in crate::schedule) fn series<'b>(
    board: &'b Board<'_>,
    day: u16,
) -> Vec<Option<&'b ScheduleTask>> {
    let mut series = vec![None; board.state().window.sections.count().into()];
    for task in board
        .on_day(day)
        .filter(|task| task.event_type != EventType::Course)
    {
        for slot in task.slots.iter().filter(|slot| slot.day == day) {
            let first = usize::from(slot.slot_start).saturating_sub(1);
            let places = series
                .iter_mut()
                .skip(first)
                .take(usize::from(slot.sections()));
            for place in places {
                if place.is_none_or(|there| rank(task) < rank(there)) {
                    *place = Some(task);
                }
            }
        }
    }
    series
}

/// Returns the adjacent pairs of demanding tasks of different categories.
pub(super) fn heavy_pairs<'b>(
    board: &'b Board<'_>,
    day: u16,
) -> Vec<(&'b ScheduleTask, &'b ScheduleTask)> {
    let there: Vec<&ScheduleTask> = series(board, day).into_iter().flatten().collect();
    let next = there.iter().skip(1);
    let pairs = there.iter().copied().zip(next.copied());
    let state = board.state();
    pairs
        .filter(|(a, b)| a.category != b.category)
        .filter(|(a, b)| demands_much(state, a) && demands_much(state, b))
        .collect()
}

fn rank(task: &ScheduleTask) -> u8 {
    match (task.status, task.source) {
        (PlacementStatus::Suggested, _) => 0,
        (_, Source::TaskItem) => 1,
        _ => 2,
    }
}

pub(in crate::schedule) fn demands_much(state: &ScheduleState, task: &ScheduleTask) -> bool {
    state.class_of(task).is_some_and(|class| {
        class.cognitive_intensity == Some(Level::High)
            || class.difficulty_level == Some(Level::High)
    })
}

fn same_type(state: &ScheduleState, a: &ScheduleTask, b: &ScheduleTask) -> bool {
    let subject = |task| state.class_of(task).and_then(|class| class.subject_type);
    subject(a).is_some() && subject(a) == subject(b)
}
