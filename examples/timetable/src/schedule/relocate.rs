//! The one implementation of changing the places of tasks. Placing, moving, swapping and moving
//! several at once differ only in the targets; all of them are checked here, before anything
//! changes.
use super::lookup::Point;
use super::scope::DayScope;
use super::{
    Board, BrokenRule, Change, EventType, PlacementStatus, ScheduleTask, Slot, WriteRefusal, order,
};

/// The permissions of write tools.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteOptions {
    /// True if tasks that were in the calendar before may be moved, swapped and unplaced. Locked
    /// ones never are.
    pub existing_may_move: bool,
    /// The number of moves that one call may make; none for any number.
    pub batch_limit: Option<usize>,
    /// The days that may be touched; none for all of them.
    pub scope: Option<DayScope>,
    /// True if the rules of classes (excluded blocks and days, dates, fillers) are enforced.
    pub class_rules: bool,
    /// The first point at which something may begin now; none if nothing is over. What began
    /// before it stays where it is unless it is moved on purpose, and nothing goes there.
    pub earliest: Option<Point>,
    /// The starts to which tasks may go back although they have begun: what was changed a moment
    /// ago can be undone.
    pub returns: Vec<(u32, Point)>,
    /// The times that the person wants kept free: nothing goes there.
    pub closed: Vec<Slot>,
}

impl Default for WriteOptions {
    /// Returns options that let only suggested tasks move, in any number, on all days, within the
    /// rules of their classes.
    fn default() -> Self {
        Self {
            existing_may_move: false,
            batch_limit: None,
            scope: None,
            class_rules: true,
            earliest: None,
            returns: vec![],
            closed: vec![],
        }
    }
}

impl WriteOptions {
    /// Allows, or forbids, to change the place of tasks that were in the calendar before.
    #[must_use]
    pub const fn existing_may_move(mut self, allowed: bool) -> Self {
        self.existing_may_move = allowed;
        self
    }

    /// Limits the number of moves in one call; active optimisation allows two.
    #[must_use]
    pub const fn batch_limit(mut self, limit: usize) -> Self {
        self.batch_limit = Some(limit);
        self
    }

    /// Limits the days that may be touched.
    #[must_use]
    pub fn scope(mut self, scope: Option<DayScope>) -> Self {
        self.scope = scope;
        self
    }

    /// Closes everything that begins before a point.
    #[must_use]
    pub const fn earliest(mut self, earliest: Option<Point>) -> Self {
        self.earliest = earliest;
        self
    }

    /// Lets tasks go back to these starts, although they have begun.
    #[must_use]
    pub fn returns(mut self, starts: Vec<(u32, Point)>) -> Self {
        self.returns = starts;
        self
    }

    /// Keeps these times free.
    #[must_use]
    pub fn closed(mut self, closed: Vec<Slot>) -> Self {
        self.closed = closed;
        self
    }

    /// Returns true if something may go to a place: it is ahead, and is not to be kept free.
    pub fn is_open(&self, slot: &Slot) -> bool {
        self.is_ahead(slot.start()) && !self.is_closed(*slot)
    }

    fn is_closed(&self, slot: Slot) -> bool {
        self.closed.iter().any(|closed| closed.overlaps(&slot))
    }

    /// Returns true if something that begins at a point has not begun yet.
    pub fn is_ahead(&self, start: Point) -> bool {
        self.earliest.is_none_or(|earliest| start >= earliest)
    }

    /// Enforces, or ignores, the rules of classes.
    #[must_use]
    pub const fn class_rules(mut self, enforced: bool) -> Self {
        self.class_rules = enforced;
        self
    }
}

/// The new start of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) task: u32,
    pub(crate) day: u16,
    pub(crate) start: u8,
}

/// The changes of a proposal, and those that undo it.
#[derive(Debug)]
pub(crate) struct AppliedProposal {
    pub(crate) changes: Vec<Change>,
    undo: Vec<Change>,
}

impl Board<'_> {
    /// Gives tasks other places, all of them or none. The tasks first leave their places, so that
    /// they can exchange them; then all of them are placed before the order of their classes is
    /// checked.
    pub(crate) fn relocate(
        &mut self,
        targets: &[Target],
        options: &WriteOptions,
    ) -> Result<AppliedProposal, WriteRefusal> {
        let leave = |target: &Target| Change::Unplace { task: target.task };
        let mut undo: Vec<Change> = targets.iter().map(leave).collect();
        for target in targets {
            let task = self.known(target.task)?;
            self.check_scope(task, *target, options)?;
            undo.push(Change::restoring(task));
        }
        for target in targets {
            self.apply(&leave(target));
        }
        match self.settle(targets, &undo, options) {
            Ok(changes) => Ok(AppliedProposal { changes, undo }),
            Err(refused) => {
                self.take_back(&AppliedProposal {
                    changes: Vec::new(),
                    undo,
                });
                Err(refused)
            }
        }
    }

    /// Moves a task, as the tool of that name does.
    pub(crate) fn try_move(
        &mut self,
        target: Target,
        options: &WriteOptions,
    ) -> Result<AppliedProposal, WriteRefusal> {
        let from = self.check_movable(target.task, options)?;
        if from.start() == (target.day, target.start) {
            return Err(WriteRefusal::AlreadyThere(target.task));
        }
        self.relocate(&[target], options)
    }

    /// Swaps two tasks, as the tool of that name does.
    pub(crate) fn try_swap(
        &mut self,
        task_a: u32,
        task_b: u32,
        options: &WriteOptions,
    ) -> Result<AppliedProposal, WriteRefusal> {
        if task_a == task_b {
            return Err(WriteRefusal::Repeated(task_a));
        }
        let a = self.check_movable(task_a, options)?;
        let b = self.check_movable(task_b, options)?;
        if a.sections() != b.sections() {
            let (a, b) = (a.sections(), b.sections());
            return Err(WriteRefusal::DifferentDurations {
                task_a,
                task_b,
                a,
                b,
            });
        }
        let to = |task, slot: Slot| Target {
            task,
            day: slot.day,
            start: slot.slot_start,
        };
        self.relocate(&[to(task_a, b), to(task_b, a)], options)
    }

    /// Undoes a proposal.
    pub(crate) fn take_back(&mut self, applied: &AppliedProposal) {
        for change in &applied.undo {
            self.apply(change);
        }
    }

    /// Returns the task with this id.
    pub(crate) fn known(&self, task: u32) -> Result<&ScheduleTask, WriteRefusal> {
        self.state()
            .task(task)
            .ok_or(WriteRefusal::UnknownTask(task))
    }

    /// Checks that a task may leave its place, and returns the task.
    pub(crate) fn check_mobile(
        &self,
        id: u32,
        options: &WriteOptions,
    ) -> Result<&ScheduleTask, WriteRefusal> {
        let task = self.known(id)?;
        if !task.is_placed() || task.status == PlacementStatus::Pending {
            return Err(WriteRefusal::NotPlaced(id));
        }
        if task.marks.done {
            return Err(WriteRefusal::Done(id));
        }
        // A course that others may lie inside is not locked, and stays all the same.
        if task.locked || task.event_type == EventType::Course {
            return Err(WriteRefusal::Locked {
                task: id,
                name: task.name.clone(),
            });
        }
        if task.status == PlacementStatus::Existing && !options.existing_may_move {
            return Err(WriteRefusal::Existing {
                task: id,
                name: task.name.clone(),
            });
        }
        Ok(task)
    }

    /// Checks that a task may move to another place as a whole, and returns its current one.
    pub(crate) fn check_movable(
        &self,
        id: u32,
        options: &WriteOptions,
    ) -> Result<Slot, WriteRefusal> {
        match self.check_leaving(id, options)?.slots.as_slice() {
            [slot] => Ok(*slot),
            _ => Err(WriteRefusal::SeveralRanges(id)),
        }
    }

    /// Checks that a task may leave its place, also one of several ranges, and returns the task.
    pub(crate) fn check_leaving(
        &self,
        id: u32,
        options: &WriteOptions,
    ) -> Result<&ScheduleTask, WriteRefusal> {
        let task = self.check_mobile(id, options)?;
        match task.embedded_by {
            Some(guest) => Err(WriteRefusal::HasGuest { task: id, guest }),
            None => Ok(task),
        }
    }

    pub(crate) fn check_scope(
        &self,
        task: &ScheduleTask,
        target: Target,
        options: &WriteOptions,
    ) -> Result<(), WriteRefusal> {
        if self.state().day(target.day).is_none() {
            return Err(WriteRefusal::UnknownDay {
                day: target.day,
                last: self.state().last_day(),
            });
        }
        let Some(scope) = &options.scope else {
            return Ok(());
        };
        scope.check_target(target.day)?;
        task.slots
            .iter()
            .try_for_each(|slot| scope.check_source(slot.day))
    }

    /// Puts the tasks, which have all left their places, into their new ones.
    fn settle(
        &mut self,
        targets: &[Target],
        undo: &[Change],
        options: &WriteOptions,
    ) -> Result<Vec<Change>, WriteRefusal> {
        let mut changes = Vec::with_capacity(targets.len());
        for target in targets {
            let was = undo
                .iter()
                .rev()
                .find(|change| change.task() == target.task);
            let status = match was {
                Some(Change::Place { status, .. }) => *status,
                _ => PlacementStatus::Suggested,
            };
            let task = self.known(target.task)?;
            let slot = fit(*target, task.duration, self.state().window.sections.count())?;
            let host = self.check_vacant(task, slot, options)?;
            let change = Change::Place {
                task: target.task,
                slots: vec![slot],
                host,
                status,
            };
            self.apply(&change);
            changes.push(change);
        }
        for target in targets {
            order::check(self, self.known(target.task)?)?;
        }
        Ok(changes)
    }

    /// Gives a task without a place two ranges, of which the first takes the larger half.
    pub(crate) fn divide(
        &mut self,
        [first, second]: [Target; 2],
        status: PlacementStatus,
        options: &WriteOptions,
    ) -> Result<Change, WriteRefusal> {
        let task = self.known(first.task)?;
        if self.state().may_split(task) == Some(false) {
            return Err(WriteRefusal::Terms {
                task: first.task,
                rule: BrokenRule::OnePiece,
            });
        }
        let Some([long, short]) = self.state().parts(task) else {
            let why = say!(
                "an item of one section has no parts",
                "只占一节的任务不能分开"
            );
            return Err(WriteRefusal::argument("rest", why));
        };
        let most = self.state().window.sections.count();
        let slots = vec![fit(first, long, most)?, fit(second, short, most)?];
        for slot in &slots {
            if self.check_vacant(task, *slot, options)?.is_some() {
                let why = say!("no part lies inside a course", "各部分不能嵌在课程里");
                return Err(WriteRefusal::argument("rest", why));
            }
        }
        if slots
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if a.end() >= b.start()))
        {
            let why = say!("the second part comes later", "第二部分要在后面");
            return Err(WriteRefusal::argument("rest", why));
        }
        let change = Change::Place {
            task: first.task,
            slots,
            host: None,
            status,
        };
        self.apply(&change);
        order::check(self, self.known(first.task)?)?;
        Ok(change)
    }

    /// Checks that a task may go to a place, and returns the course inside which it would lie.
    fn check_vacant(
        &self,
        task: &ScheduleTask,
        slot: Slot,
        options: &WriteOptions,
    ) -> Result<Option<u32>, WriteRefusal> {
        let id = task.state_id;
        if !options.returns.contains(&(id, slot.start())) {
            if !options.is_ahead(slot.start()) {
                return Err(WriteRefusal::Past { task: id, slot });
            }
            if options.is_closed(slot) {
                return Err(WriteRefusal::KeptFree { task: id, slot });
            }
        }
        let host = self.spot(slot).map_err(|there| conflict(slot, there))?;
        if options.class_rules {
            self.check_class(task, slot, host.is_some())?;
        }
        Ok(host)
    }

    /// Checks a place against the rules of the class of a task.
    pub(crate) fn check_class(
        &self,
        task: &ScheduleTask,
        slot: Slot,
        embedded: bool,
    ) -> Result<(), WriteRefusal> {
        let last = task.marks.deadline.as_ref();
        if let Some((last, day)) = last.zip(self.state().day(slot.day))
            && !day.date.is_empty()
            && day.date > *last
        {
            return Err(WriteRefusal::ItemDeadline {
                task: task.state_id,
                last: last.clone(),
            });
        }
        let Some(day) = self.state().day(slot.day) else {
            return Ok(());
        };
        let (id, sections) = (task.state_id, &self.state().window.sections);
        let minutes = self.state().minutes(task);
        let own = task.terms.admits(day, &slot, minutes, sections);
        own.map_err(|rule| WriteRefusal::Terms { task: id, rule })?;
        let Some(class) = self.state().class_of(task) else {
            return Ok(());
        };
        class
            .admits(day, &slot, embedded)
            .and_then(|()| class.terms.admits(day, &slot, minutes, sections))
            .map_err(|rule| WriteRefusal::ClassRule {
                task: id,
                class: class.name.clone(),
                rule,
            })
    }
}

/// Returns the range that a task of this duration would take.
fn fit(target: Target, duration: u8, sections: u8) -> Result<Slot, WriteRefusal> {
    let slot = Slot::starting_at(target.day, target.start, duration);
    if duration == 0 || target.start == 0 || slot.slot_end > sections {
        let latest = (sections + 1).saturating_sub(duration.max(1));
        return Err(WriteRefusal::OutsideDay {
            start: target.start,
            duration,
            latest,
        });
    }
    Ok(slot)
}

fn conflict(slot: Slot, there: &ScheduleTask) -> WriteRefusal {
    WriteRefusal::Conflict {
        slot,
        with: there.state_id,
        name: there.name.clone(),
        hosts: there.is_open_host(),
    }
}
