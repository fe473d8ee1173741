//! Items and the places that they can take, as numbers, so that a trial costs next to nothing.
use std::collections::{BTreeMap, BTreeSet};

use super::super::quality::{Cells, Kind, Kinds, even_share, of_day};
use super::super::rough_build::grid::{Block, Grid};
use crate::schedule::{
    Board, Change, PlacementStatus, ScheduleState, ScheduleTask, Slot, Source, Strategy, TaskClass,
    WriteOptions,
};

/// One point of the score weighs more than any distance.
const POINT: u64 = 1 << 24;

/// The items and the places that they can take.
pub(super) struct Table {
    places: Vec<Place>,
    pieces: Vec<Piece>,
    days: Vec<Day>,
    /// True for each taken place; the places inside one course share one entry.
    taken: Vec<bool>,
    share: u32,
    least: u32,
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
    kind: Kind,
    home: usize,
    at: usize,
    /// The places that its class allows, in the order of time.
    open: std::rc::Rc<[usize]>,
}

struct Day {
    cells: Cells,
    score: u32,
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
        let kinds = Kinds::of(state);
        let mut table = Self::bare(&bare, &kinds);
        let mut known = BTreeMap::new();
        for class in &state.task_classes {
            let items: Vec<&&ScheduleTask> = movable
                .iter()
                .filter(|task| task.task_class_id == Some(class.id))
                .collect();
            table.admit(class, &items, &grid, &kinds, &mut known);
        }
        table.occupy(state, &kinds)?;
        Some(table)
    }

    fn bare(bare: &ScheduleState, kinds: &Kinds) -> Self {
        let board = Board::new(bare);
        let days = bare.window.days.iter().map(|day| Day {
            cells: kinds.cells(&board, day.day_index),
            score: 0,
        });
        Self {
            places: vec![],
            pieces: vec![],
            days: days.collect(),
            taken: vec![],
            share: 0,
            least: 0,
            trials: 0,
        }
    }

    /// Makes the items of a class into pieces. An item that is not at the start of a block is put
    /// into a block near it.
    fn admit(
        &mut self,
        class: &TaskClass,
        items: &[&&ScheduleTask],
        grid: &Grid,
        kinds: &Kinds,
        known: &mut BTreeMap<(u16, u8), usize>,
    ) {
        let blocks = grid.open_to(class).blocks();
        let mut open: Vec<usize> = blocks
            .into_iter()
            .filter_map(|block| self.place(block, known))
            .collect();
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
            // Early items must not become later.
            let last = homes.iter().filter_map(|home| self.start(*home)).max();
            open.retain(|place| self.start(*place) <= last);
        }
        let open: std::rc::Rc<[usize]> = open.into();
        for (task, home) in items.iter().zip(homes) {
            self.pieces.extend(kinds.kind(task).map(|kind| Piece {
                task: task.state_id,
                class: class.id,
                order: task.task_order,
                kind,
                home,
                at: home,
                open: open.clone(),
            }));
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
        let whole: Vec<Cells> = state
            .window
            .days
            .iter()
            .map(|day| kinds.cells(&now, day.day_index))
            .collect();
        self.share = even_share(&whole);
        let share = self.share;
        for (day, mapping) in self.days.iter_mut().zip(&state.window.days) {
            day.cells = kinds.cells(&rest, mapping.day_index);
            day.score = of_day(&day.cells, share).score();
        }
        // Items that are not pieces stay, so their places are not available.
        for place in &self.places {
            if rest.spot(place.block.slot()).ok() != Some(place.block.host) {
                *self.taken.get_mut(place.group)? = true;
            }
        }
        // An item adds switches and sections and takes none away.
        self.least = self.score();
        for piece in 0..self.pieces.len() {
            let home = self.pieces.get(piece)?.home;
            let group = self.places.get(home)?.group;
            let taken = *self.taken.get(group)?;
            let at = if taken { self.best(piece)? } else { home };
            self.put(piece, at);
        }
        Some(())
    }

    pub(super) fn pieces(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn trials(&self) -> usize {
        self.trials
    }

    pub(super) fn score(&self) -> u32 {
        self.days.iter().map(|day| day.score).sum()
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

    /// Takes pieces out and puts each at the lowest cost. A worse result is undone, and so is one
    /// that leaves a piece without a place.
    pub(super) fn replace(&mut self, pieces: &[usize]) {
        let before = self.weight(pieces);
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
        if put.len() < old.len() || self.weight(pieces) > before {
            for piece in put {
                self.take(piece);
            }
            for (piece, at) in old {
                self.put(piece, at);
            }
        }
    }

    /// Returns the score and, in its lower bits, the distance of these pieces from their old
    /// places.
    fn weight(&self, pieces: &[usize]) -> u64 {
        let far = pieces
            .iter()
            .filter_map(|piece| self.pieces.get(*piece))
            .map(|piece| self.distance(piece, piece.at))
            .sum::<u64>();
        u64::from(self.score()) * POINT + far
    }

    fn distance(&self, piece: &Piece, place: usize) -> u64 {
        let at = |place: usize| {
            let place = self.places.get(place);
            place.map_or(0, |place| place.day * 6 + place.cell / 2)
        };
        at(place).abs_diff(at(piece.home)) as u64
    }

    fn take(&mut self, piece: usize) -> Option<usize> {
        let at = self.pieces.get(piece)?.at;
        self.set(at, None);
        Some(at)
    }

    fn put(&mut self, piece: usize, place: usize) {
        let Some(piece) = self.pieces.get_mut(piece) else {
            return;
        };
        piece.at = place;
        let kind = piece.kind;
        self.set(place, Some(kind));
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
            day.score = of_day(&day.cells, self.share).score();
        }
    }

    fn best(&mut self, piece: usize) -> Option<usize> {
        let piece = self.pieces.get(piece)?;
        let mut best: Option<(u64, usize)> = None;
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
            let more = of_day(&cells, self.share).score().abs_diff(day.score);
            let weight = u64::from(more) * POINT + self.distance(piece, *place);
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
        for class in &state.task_classes {
            let of_class = || self.pieces.iter().filter(|piece| piece.class == class.id);
            let mut ordered: Vec<&Piece> = of_class().filter(|piece| piece.order > 0).collect();
            let mut blocks = self.blocks(ordered.iter().copied());
            blocks.sort_by_key(|block| (block.day, block.start));
            ordered.sort_by_key(|piece| (piece.order, piece.home));
            moved.extend(ordered.iter().map(|piece| piece.task).zip(blocks));
            let free: Vec<&Piece> = of_class().filter(|piece| piece.order == 0).collect();
            let blocks = self.blocks(free.iter().copied());
            moved.extend(free.iter().map(|piece| piece.task).zip(blocks));
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

    fn blocks<'p>(&self, pieces: impl Iterator<Item = &'p Piece>) -> Vec<Block> {
        pieces
            .filter_map(|piece| Some(self.places.get(piece.at)?.block))
            .collect()
    }
}

/// Returns the items that may be moved: suggested ones as long as a block, of classes that have
/// nothing else placed. So the order of a class is kept by assigning its places in order.
fn movable<'s>(state: &'s ScheduleState, options: &WriteOptions) -> Vec<&'s ScheduleTask> {
    let block = |slot: &Slot| slot.sections() == 2;
    let fits = |task: &ScheduleTask| {
        task.source == Source::TaskItem
            && (task.status == PlacementStatus::Suggested
                || task.status == PlacementStatus::Existing && options.existing_may_move)
            && !task.locked
            && !task.marks.done
            && task.start().is_some_and(|start| options.is_ahead(start))
            && task.embedded_by.is_none()
            && matches!(task.slots.as_slice(), [slot] if block(slot))
    };
    let placed = || state.tasks.iter().filter(|task| task.is_placed());
    let stuck: BTreeSet<u32> = placed()
        .filter(|task| !fits(task))
        .filter_map(|task| task.task_class_id)
        .collect();
    placed()
        .filter(|task| fits(task))
        .filter(|task| task.task_class_id.is_some_and(|id| !stuck.contains(&id)))
        .collect()
}
