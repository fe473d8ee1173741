//! Items and the places that they can take, as numbers, so that a trial costs next to nothing.
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::super::objective::{DayWishes, weekly_share};
use super::super::quality::{Cells, Kind, Kinds, even_share, of_day};
use super::super::rough_build::grid::{Block, Grid};
use crate::schedule::order::{Bounds, bounds};
use crate::schedule::{
    Board, Change, PlacementStatus, Quality, SECTIONS, ScheduleState, ScheduleTask, Slot, Source,
    Strategy, TaskClass, WriteOptions,
};

/// The items and the places that they can take.
#[derive(Default)]
pub(super) struct Table {
    places: Vec<Place>,
    pieces: Vec<Piece>,
    days: Vec<Day>,
    /// True for each taken place; the places inside one course share one entry.
    taken: Vec<bool>,
    share: u32,
    least: u32,
    /// The score of all days and of the evenness of the weeks.
    total: u32,
    /// The distance of all pieces from their old places.
    far: u64,
    spreads: Vec<Spread>,
    /// The pieces of each segment of which some are kept, in the order of their old places.
    kept: Vec<Vec<usize>>,
    stability: u32,
    is_neutral: bool,
    trials: usize,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    block: Block,
    day: usize,
    /// The first of its two sections, from 0.
    cell: usize,
    /// The index of its entry in `taken`.
    group: usize,
}

struct Piece {
    task: u32,
    class: u32,
    order: u32,
    /// The siblings that stay, between which it lies. Pieces of a class with the same bounds can
    /// exchange their places.
    bounds: Bounds,
    kind: Kind,
    home: usize,
    at: usize,
    /// The places that its class allows, in the order of time.
    open: Rc<[usize]>,
    /// The index of its class in `spreads`.
    spread: Option<usize>,
    is_kept: bool,
}

struct Day {
    cells: Cells,
    wishes: DayWishes,
    week: usize,
    score: u32,
}

/// The items of an evenly spread class in each week.
struct Spread {
    weeks: Vec<u32>,
    share: u32,
    cost: u32,
}

impl Spread {
    /// Returns the cost of one more item in a week.
    fn more(&self, week: usize) -> u32 {
        let full = self
            .weeks
            .get(week)
            .is_some_and(|count| *count >= self.share);
        if full { self.cost } else { 0 }
    }
}

impl Table {
    /// Builds the table; none if nothing may be moved.
    pub(super) fn of(state: &ScheduleState, options: &WriteOptions) -> Option<Self> {
        let movable = movable(state, options);
        let mut bare = state.clone();
        for task in &movable {
            bare.apply(&Change::Unplace {
                task: task.state_id,
            });
        }
        let grid = Grid::ahead(&bare, options);
        let (kinds, board) = (Kinds::of(state), Board::new(&bare));
        let mut table = Self::bare(&bare, &kinds, &board);
        let mut known = BTreeMap::new();
        for class in &state.task_classes {
            let mut segments: Vec<(Bounds, Vec<&ScheduleTask>)> = vec![];
            let mine = |task: &&&ScheduleTask| task.task_class_id == Some(class.id);
            for task in movable.iter().filter(mine) {
                let bounds = bounds(&board, task);
                match segments.iter_mut().find(|(known, _)| *known == bounds) {
                    Some((_, tasks)) => tasks.push(task),
                    None => segments.push((bounds, vec![task])),
                }
            }
            let blocks = grid.open_to(class).blocks();
            let open: Vec<usize> = blocks
                .into_iter()
                .filter_map(|block| table.place(block, &mut known))
                .collect();
            let spread = table.spread(state, class);
            for (bounds, tasks) in segments {
                table.admit(class, (bounds, &tasks), &open, &kinds, spread);
            }
        }
        table.occupy(state, &kinds)?;
        Some(table)
    }

    fn bare(bare: &ScheduleState, kinds: &Kinds, board: &Board<'_>) -> Self {
        let wishes = DayWishes::of(bare, board);
        let days = bare.window.days.iter().zip(wishes);
        let days = days.map(|(day, wishes)| Day {
            cells: kinds.cells(board, day.day_index),
            wishes,
            week: usize::from(day.week),
            score: 0,
        });
        let stability = bare
            .preferences
            .as_ref()
            .map_or(0, |wishes| wishes.stability);
        Self {
            days: days.collect(),
            stability,
            is_neutral: bare.preferences.is_none(),
            ..Self::default()
        }
    }

    /// Adds the weeks of an evenly spread class, with what stays in them.
    fn spread(&mut self, state: &ScheduleState, class: &TaskClass) -> Option<usize> {
        let cost = state.preferences.as_ref()?.bunching;
        if class.strategy != Strategy::Steady || cost == 0 {
            return None;
        }
        let tasks = state.tasks.iter();
        let mine = tasks.filter(|task| {
            task.task_class_id == Some(class.id)
                && task.source == Source::TaskItem
                && task.is_placed()
        });
        let items = u32::try_from(mine.count()).unwrap_or(u32::MAX);
        let last = self.days.iter().map(|day| day.week).max().unwrap_or(0);
        self.spreads.push(Spread {
            weeks: vec![0; last + 1],
            share: weekly_share(state, class, items),
            cost,
        });
        Some(self.spreads.len() - 1)
    }

    /// Makes the items of a segment of a class into pieces. An item that is not at the start of a
    /// block is put into a block near it.
    fn admit(
        &mut self,
        class: &TaskClass,
        (bounds, items): (Bounds, &[&ScheduleTask]),
        open: &[usize],
        kinds: &Kinds,
        spread: Option<usize>,
    ) {
        let within = |place: &usize| {
            let block = self.places.get(*place).map(|place| place.block.slot());
            block.is_some_and(|slot| bounds.admit(slot.start(), slot.end()))
        };
        let mut open: Vec<usize> = open.iter().copied().filter(within).collect();
        let home = |task: &ScheduleTask| {
            let (day, section) = task.start()?;
            let far = |place: &usize| {
                let (there, start) = self.start(*place).unwrap_or_default();
                (there.abs_diff(day), start.abs_diff(section))
            };
            open.iter().copied().min_by_key(far)
        };
        let homes: Option<Vec<usize>> = items.iter().map(|task| home(task)).collect();
        let Some(homes) = homes else { return };
        if class.strategy == Strategy::Rapid {
            // Early items must not become later; with preferences, not on a later day.
            let last = homes.iter().filter_map(|home| self.start(*home)).max();
            let last = last.map(|(day, start)| {
                if self.is_neutral {
                    (day, start)
                } else {
                    (day, 12)
                }
            });
            open.retain(|place| self.start(*place) <= last);
        }
        let open: Rc<[usize]> = open.into();
        let first = self.pieces.len();
        for (task, home) in items.iter().zip(homes) {
            self.pieces.extend(kinds.kind(task).map(|kind| Piece {
                task: task.state_id,
                class: class.id,
                order: task.task_order,
                bounds,
                kind,
                home,
                at: home,
                open: open.clone(),
                spread,
                is_kept: task.status == PlacementStatus::Existing,
            }));
        }
        let mut segment: Vec<usize> = (first..self.pieces.len()).collect();
        let is_kept = |piece: &usize| self.pieces.get(*piece).is_some_and(|piece| piece.is_kept);
        if segment.iter().any(is_kept) {
            segment.sort_by_key(|piece| self.pieces.get(*piece).map(|piece| piece.home));
            self.kept.push(segment);
        }
    }

    fn start(&self, place: usize) -> Option<(u16, u8)> {
        let block = self.places.get(place)?.block;
        Some((block.day, block.start))
    }

    fn place(&mut self, block: Block, known: &mut BTreeMap<(u16, u8), usize>) -> Option<usize> {
        if let Some(place) = known.get(&(block.day, block.start)) {
            return Some(*place);
        }
        let same = |place: &&Place| block.host.is_some() && place.block.host == block.host;
        let inside = self.places.iter().find(same).map(|place| place.group);
        let group = inside.unwrap_or_else(|| {
            self.taken.push(false);
            self.taken.len() - 1
        });
        let day = usize::from(block.day).checked_sub(1)?;
        let cell = usize::from(block.start).checked_sub(1)?;
        self.places.push(Place {
            block,
            day,
            cell,
            group,
        });
        let place = self.places.len() - 1;
        known.insert((block.day, block.start), place);
        Some(place)
    }

    /// Marks the places of items that cannot be moved, then those of the pieces.
    fn occupy(&mut self, state: &ScheduleState, kinds: &Kinds) -> Option<()> {
        if self.pieces.is_empty() {
            return None;
        }
        let pieces: BTreeSet<u32> = self.pieces.iter().map(|piece| piece.task).collect();
        let mut rest = state.clone();
        for task in &pieces {
            rest.apply(&Change::Unplace { task: *task });
        }
        let (now, rest) = (Board::new(state), Board::new(&rest));
        let days = || state.window.days.iter().map(|day| day.day_index);
        let whole: Vec<Cells> = days().map(|day| kinds.cells(&now, day)).collect();
        self.share = even_share(&whole);
        let share = self.share;
        for (day, number) in self.days.iter_mut().zip(days()) {
            day.cells = kinds.cells(&rest, number);
            day.score = of_day(&day.cells, share, &day.wishes).score();
        }
        self.total = self.days.iter().map(|day| day.score).sum();
        self.count_stuck(state, &pieces);
        // Items that are not pieces stay, so their places are not available.
        for place in &self.places {
            if rest.spot(place.block.slot()).ok() != Some(place.block.host) {
                *self.taken.get_mut(place.group)? = true;
            }
        }
        // An item adds at least the cost of its best section, and takes nothing away.
        let cheapest = |piece: &Piece| {
            let costs = piece.open.iter().filter_map(|place| self.comfort(*place));
            costs.min().unwrap_or(0)
        };
        let least = self.days.iter().map(|day| {
            // An item between two demanding ones can part them.
            let quality = of_day(&day.cells, share, &day.wishes);
            let parted = Quality {
                heavy_adjacent_days: 0,
                ..quality
            };
            parted.score()
        });
        self.least = least.sum::<u32>() + self.pieces.iter().map(cheapest).sum::<u32>();
        for piece in 0..self.pieces.len() {
            let home = self.pieces.get(piece)?.home;
            let group = self.places.get(home)?.group;
            let taken = *self.taken.get(group)?;
            let at = if taken { self.best(piece)? } else { home };
            self.put(piece, at);
        }
        Some(())
    }

    /// Counts the items of evenly spread classes that stay.
    fn count_stuck(&mut self, state: &ScheduleState, pieces: &BTreeSet<u32>) {
        let classes: BTreeMap<u32, usize> = self
            .pieces
            .iter()
            .filter_map(|piece| Some((piece.class, piece.spread?)))
            .collect();
        for task in &state.tasks {
            let stays = task.source == Source::TaskItem && !pieces.contains(&task.state_id);
            let spread = task.task_class_id.and_then(|class| classes.get(&class));
            let week = task.start().and_then(|(day, _)| state.day(day));
            if let (true, Some(spread), Some(day)) = (stays, spread, week) {
                self.total += self.count(*spread, usize::from(day.week));
            }
        }
    }

    /// Counts an item of an evenly spread class, and returns the cost of it.
    fn count(&mut self, spread: usize, week: usize) -> u32 {
        let Some(spread) = self.spreads.get_mut(spread) else {
            return 0;
        };
        let more = spread.more(week);
        if let Some(count) = spread.weeks.get_mut(week) {
            *count += 1;
        }
        more
    }

    /// Returns the cost of the sections of a place, whatever lies around it.
    fn comfort(&self, place: usize) -> Option<u32> {
        let place = self.places.get(place)?;
        Some(self.days.get(place.day)?.wishes.range(place.block.slot()))
    }

    pub(super) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn trials(&self) -> usize {
        self.trials
    }

    pub(super) fn score(&self) -> u32 {
        self.total + self.stability * self.moved()
    }

    /// Returns the score that no arrangement can improve on.
    pub(super) fn least(&self) -> u32 {
        self.least
    }

    /// Chooses one item of a day that could be better, and others: those of the same day first.
    pub(super) fn chosen(&self, count: usize, mut below: impl FnMut(usize) -> usize) -> Vec<usize> {
        let all = || 0..self.pieces.len();
        let bad: Vec<usize> = all().filter(|piece| self.day_score(*piece) > 0).collect();
        let Some(first) = bad.get(below(bad.len())).copied() else {
            return vec![];
        };
        let mut chosen = vec![first];
        let day = self.day_of(first);
        let beside: Vec<usize> = all().filter(|piece| self.day_of(*piece) == day).collect();
        while chosen.len() < count {
            let among = below(2);
            let next = match beside.get(below(beside.len())) {
                Some(next) if among == 0 => *next,
                _ => below(self.pieces.len()),
            };
            chosen.push(next);
        }
        chosen.sort_unstable();
        chosen.dedup();
        // The order decides which item chooses its place first.
        let turn = below(chosen.len());
        chosen.rotate_left(turn);
        chosen
    }

    fn day_of(&self, piece: usize) -> Option<usize> {
        let at = self.pieces.get(piece)?.at;
        Some(self.places.get(at)?.day)
    }

    fn day_score(&self, piece: usize) -> u32 {
        let day = self.day_of(piece).and_then(|day| self.days.get(day));
        day.map_or(0, |day| day.score)
    }

    /// Takes pieces out and puts each at the lowest cost. A result that is worse by more than some
    /// points is undone, and so is one that leaves a piece without a place.
    pub(super) fn replace(&mut self, pieces: &[usize], slack: u32) {
        let before = self.weight();
        let old: Vec<(usize, usize)> = pieces
            .iter()
            .filter_map(|piece| Some((*piece, self.take(*piece)?)))
            .collect();
        let mut put = vec![];
        for (piece, _) in &old {
            let Some(best) = self.best(*piece) else { break };
            self.put(*piece, best);
            put.push(*piece);
        }
        let is_accepted = |after: (u32, u64)| after <= before || after.0 < before.0 + slack;
        if put.len() < old.len() || !is_accepted(self.weight()) {
            for piece in put {
                self.take(piece);
            }
            for (piece, at) in old {
                self.put(piece, at);
            }
        }
    }

    /// Returns the score and the distance of all pieces from their old places.
    pub(super) fn weight(&self) -> (u32, u64) {
        (self.score(), self.far)
    }

    /// Returns the place of every piece.
    pub(super) fn places(&self) -> Vec<usize> {
        self.pieces.iter().map(|piece| piece.at).collect()
    }

    /// Puts every piece into a place of before.
    pub(super) fn restore(&mut self, places: &[usize]) {
        for piece in 0..self.pieces.len() {
            self.take(piece);
        }
        for (piece, at) in places.iter().enumerate() {
            self.put(piece, *at);
        }
    }

    /// Returns the number of kept items that would have another place. The items of a segment take
    /// its places in their order.
    fn moved(&self) -> u32 {
        let moved = self.kept.iter().map(|segment| {
            let pieces = || segment.iter().filter_map(|piece| self.pieces.get(*piece));
            let mut places: Vec<usize> = pieces().map(|piece| piece.at).collect();
            places.sort_by_key(|place| self.start(*place));
            let others = pieces().zip(places);
            others
                .filter(|(piece, at)| piece.is_kept && piece.home != *at)
                .count()
        });
        u32::try_from(moved.sum::<usize>()).unwrap_or(u32::MAX)
    }

    fn distance(&self, piece: &Piece, place: usize) -> u64 {
        let at = |place: usize| {
            let place = self.places.get(place);
            place.map_or(0, |place| place.day * 6 + place.cell / 2)
        };
        at(place).abs_diff(at(piece.home)) as u64
    }

    fn take(&mut self, piece: usize) -> Option<usize> {
        let piece = self.pieces.get(piece)?;
        let (at, spread) = (piece.at, piece.spread);
        self.far -= self.distance(piece, at);
        let week = self.week(at);
        if let Some(spread) = spread.and_then(|spread| self.spreads.get_mut(spread)) {
            if let Some(count) = spread.weeks.get_mut(week) {
                *count = count.saturating_sub(1);
            }
            self.total -= spread.more(week);
        }
        self.set(at, None);
        Some(at)
    }

    fn put(&mut self, piece: usize, place: usize) {
        let Some(taker) = self.pieces.get_mut(piece) else {
            return;
        };
        taker.at = place;
        let (kind, spread) = (taker.kind, taker.spread);
        let far = self
            .pieces
            .get(piece)
            .map(|piece| self.distance(piece, place));
        self.far += far.unwrap_or(0);
        if let Some(spread) = spread {
            self.total += self.count(spread, self.week(place));
        }
        self.set(place, Some(kind));
    }

    fn week(&self, place: usize) -> usize {
        let day = self
            .places
            .get(place)
            .and_then(|place| self.days.get(place.day));
        day.map_or(0, |day| day.week)
    }

    fn set(&mut self, place: usize, kind: Option<Kind>) {
        let Some(place) = self.places.get(place) else {
            return;
        };
        if let Some(taken) = self.taken.get_mut(place.group) {
            *taken = kind.is_some();
        }
        if let Some(day) = self.days.get_mut(place.day) {
            for cell in day.cells.iter_mut().skip(place.cell).take(2) {
                *cell = kind;
            }
            let score = of_day(&day.cells, self.share, &day.wishes).score();
            self.total = self.total - day.score + score;
            day.score = score;
        }
    }

    fn best(&mut self, piece: usize) -> Option<usize> {
        let piece = self.pieces.get(piece)?;
        let spread = piece.spread.and_then(|spread| self.spreads.get(spread));
        let mut best: Option<((i64, u64), usize)> = None;
        for place in piece.open.iter() {
            let Some(there) = self.places.get(*place) else {
                continue;
            };
            if self.taken.get(there.group).is_none_or(|taken| *taken) {
                continue;
            }
            let Some(day) = self.days.get(there.day) else {
                continue;
            };
            self.trials += 1;
            let mut cells = day.cells;
            for cell in cells.iter_mut().skip(there.cell).take(2) {
                *cell = Some(piece.kind);
            }
            let score = of_day(&cells, self.share, &day.wishes).score();
            let moved = piece.is_kept && *place != piece.home;
            let more = i64::from(score) - i64::from(day.score)
                + i64::from(spread.map_or(0, |spread| spread.more(day.week)))
                + i64::from(if moved { self.stability } else { 0 });
            let weight = (more, self.distance(piece, *place));
            if best.is_none_or(|(least, _)| weight < least) {
                best = Some((weight, *place));
            }
        }
        best.map(|(_, place)| place)
    }

    /// Returns the changes that give the items the places of this table. The items of a class take
    /// its places in their order.
    pub(super) fn changes(&self, state: &ScheduleState) -> Vec<Change> {
        let mut moved: Vec<(u32, Block)> = vec![];
        let mut segments: BTreeMap<(u32, Bounds), Vec<&Piece>> = BTreeMap::new();
        for piece in &self.pieces {
            if piece.order == 0 {
                moved.extend(Some(piece.task).zip(self.block(piece)));
            } else {
                segments
                    .entry((piece.class, piece.bounds))
                    .or_default()
                    .push(piece);
            }
        }
        for pieces in segments.values_mut() {
            let blocks = pieces.iter().filter_map(|piece| self.block(piece));
            let mut blocks: Vec<Block> = blocks.collect();
            blocks.sort_by_key(|block| (block.day, block.start));
            pieces.sort_by_key(|piece| (piece.order, piece.home));
            moved.extend(pieces.iter().map(|piece| piece.task).zip(blocks));
        }
        moved.retain(|(task, block)| {
            let there = state.task(*task).map(|task| task.slots.as_slice());
            there != Some(&[block.slot()])
        });
        let up = moved
            .iter()
            .map(|(task, _)| Change::Unplace { task: *task });
        let down = moved.iter().map(|(task, block)| Change::Place {
            task: *task,
            slots: vec![block.slot()],
            host: block.host,
            status: PlacementStatus::Suggested,
        });
        up.chain(down).collect()
    }

    fn block(&self, piece: &Piece) -> Option<Block> {
        Some(self.places.get(piece.at)?.block)
    }
}

/// Returns the items that may be moved: items as long as a block that have not begun and have no
/// date of their own, suggested ones and with these options confirmed ones too.
fn movable<'s>(state: &'s ScheduleState, options: &WriteOptions) -> Vec<&'s ScheduleTask> {
    // Blocks are pairs of a day of twelve sections.
    let pairs = state.window.sections.count() == SECTIONS;
    let block = |slot: &Slot| pairs && slot.sections() == 2;
    let fits = |task: &&ScheduleTask| {
        let may_move = match task.status {
            PlacementStatus::Suggested => true,
            PlacementStatus::Existing => {
                // A kept item has a home that it can return to.
                let aligned = task.start().is_some_and(|(_, section)| section % 2 == 1);
                options.existing_may_move && aligned
            }
            PlacementStatus::Pending => false,
        };
        may_move
            && task.source == Source::TaskItem
            && task.task_class_id.is_some()
            && !task.locked
            && task.marks.is_none()
            && task.start().is_some_and(|start| options.is_ahead(start))
            && task.embedded_by.is_none()
            && !state.has_terms(task)
            && matches!(task.slots.as_slice(), [slot] if block(slot))
    };
    state.tasks.iter().filter(fits).collect()
}
