//! The cells of all days, and the aligned blocks among them that an item can take.
use crate::schedule::change::host_contains;
use crate::schedule::lookup::Point;
use crate::schedule::objective::DayWishes;
use crate::schedule::{Board, SECTIONS, ScheduleState, Slot, Source, TaskClass, WriteOptions};

/// The state of a section of a day, from the view of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::schedule) enum Cell {
    /// It is free.
    Free,
    /// It is taken: by a task, or if the number is negative by an item placed just now.
    Occupied(i64),
    /// The rules of the class exclude it.
    Blocked,
    /// It belongs to this course, inside which a guest may be.
    Filler(u32),
}

/// Two sections of a day, the first one odd.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::schedule) struct Block {
    pub(in crate::schedule) day: u16,
    pub(in crate::schedule) start: u8,
    /// The course that contains it. A course takes one guest, however long it is.
    pub(in crate::schedule) host: Option<u32>,
}

impl Block {
    pub(in crate::schedule) const fn slot(&self) -> Slot {
        Slot::starting_at(self.day, self.start, 2)
    }
}

#[derive(Debug, Clone)]
struct Day {
    number: u16,
    cells: [Cell; SECTIONS as usize],
    /// The whole ranges of hosts: a block must not straddle two of them.
    hosts: Vec<(u32, Slot)>,
    wishes: DayWishes,
    /// The sections that items take.
    items: u32,
}

/// The cells of all days.
#[derive(Debug, Clone)]
pub(in crate::schedule) struct Grid {
    days: Vec<Day>,
    mapping: Vec<crate::schedule::DayMapping>,
    placed: i64,
}

impl Grid {
    /// Returns the grid without the rules of any class.
    pub(in crate::schedule) fn of(state: &ScheduleState) -> Self {
        let board = Board::new(state);
        let mut mapping = state.window.days.clone();
        mapping.sort_by_key(|day| day.day_index);
        let wishes = DayWishes::of(state, &board);
        let mut wishes: Vec<(u16, DayWishes)> = state
            .window
            .days
            .iter()
            .map(|day| day.day_index)
            .zip(wishes)
            .collect();
        wishes.sort_by_key(|(day, _)| *day);
        let days = mapping
            .iter()
            .zip(wishes)
            .map(|(day, (_, wishes))| Day {
                number: day.day_index,
                cells: std::array::from_fn(|index| cell(&board, day.day_index, section(index))),
                hosts: board
                    .open_hosts(day.day_index)
                    .filter(|(task, slot)| host_contains(task, *slot))
                    .map(|(task, slot)| (task.state_id, slot))
                    .collect(),
                items: items(&board, day.day_index),
                wishes,
            })
            .collect();
        Self {
            days,
            mapping,
            placed: 0,
        }
    }

    /// Returns the grid of a schedule in which everything is closed that has begun or is kept free.
    pub(in crate::schedule) fn ahead(state: &ScheduleState, options: &WriteOptions) -> Self {
        let mut grid = Self::of(state);
        for day in &mut grid.days {
            for (index, cell) in day.cells.iter_mut().enumerate() {
                let section = section(index);
                let slot = Slot::new(day.number, section, section);
                if is_open(*cell) && !options.is_open(&slot) {
                    *cell = Cell::Blocked;
                }
            }
        }
        grid
    }

    /// Returns the grid with the rules of a class applied.
    pub(in crate::schedule) fn open_to(&self, class: &TaskClass) -> Self {
        let mut grid = self.clone();
        for (day, mapping) in grid.days.iter_mut().zip(&self.mapping) {
            let closed = class.admits_day(mapping).is_err();
            for (index, cell) in day.cells.iter_mut().enumerate() {
                let block = section(index).div_ceil(2);
                match *cell {
                    Cell::Free | Cell::Filler(_)
                        if closed || class.excluded_slots.contains(&block) =>
                    {
                        *cell = Cell::Blocked;
                    }
                    Cell::Filler(host) if !class.allow_filler_course => {
                        *cell = Cell::Occupied(i64::from(host));
                    }
                    _ => {}
                }
            }
        }
        grid
    }

    /// Puts an item into a block. A course that takes a guest takes no other.
    pub(in crate::schedule) fn take(&mut self, block: Block) {
        self.placed += 1;
        let item = Cell::Occupied(-self.placed);
        for day in &mut self.days {
            let here = day.number == block.day;
            day.items += if here { 2 } else { 0 };
            for (index, cell) in day.cells.iter_mut().enumerate() {
                let section = section(index);
                if here && (section == block.start || section == block.start + 1) {
                    *cell = item;
                } else if let (Cell::Filler(host), Some(taken)) = (*cell, block.host)
                    && host == taken
                {
                    *cell = Cell::Occupied(i64::from(host));
                }
            }
        }
    }

    /// The blocks that an item could take, in the order of time.
    pub(in crate::schedule) fn blocks(&self) -> Vec<Block> {
        self.days.iter().flat_map(Day::blocks).collect()
    }

    /// All sections that are free or filler, in the order of time.
    pub(in crate::schedule) fn coordinates(&self) -> Vec<Point> {
        let of_day = |day: &Day| {
            let open = day
                .cells
                .iter()
                .enumerate()
                .filter(|(_, cell)| is_open(**cell));
            let number = day.number;
            open.map(|(index, _)| (number, section(index)))
                .collect::<Vec<_>>()
        };
        self.days.iter().flat_map(of_day).collect()
    }

    /// Returns the cost of an item in a block by the preferences.
    pub(in crate::schedule) fn discomfort(&self, block: Block) -> i64 {
        let day = self.days.iter().find(|day| day.number == block.day);
        day.map_or(0, |day| {
            let limit = day.wishes.load(day.items + 2) - day.wishes.load(day.items);
            i64::from(day.wishes.range(block.slot()) + limit)
        })
    }

    /// Returns the numbers of occupied sections and of free or filler sections of a day.
    pub(in crate::schedule) fn load(&self, day: u16) -> (i64, i64) {
        let cells = self
            .days
            .iter()
            .find(|known| known.number == day)
            .map(|day| day.cells);
        cells
            .into_iter()
            .flatten()
            .fold((0, 0), |(occupied, open), cell| match cell {
                Cell::Occupied(_) => (occupied + 1, open),
                Cell::Blocked => (occupied, open),
                Cell::Free | Cell::Filler(_) => (occupied, open + 1),
            })
    }
}

impl Day {
    fn blocks(&self) -> impl Iterator<Item = Block> {
        let pairs = self.cells.chunks_exact(2).zip((1..).step_by(2));
        pairs.filter_map(|(pair, start)| {
            let day = self.number;
            match pair {
                [Cell::Free, Cell::Free] => Some(Block {
                    day,
                    start,
                    host: None,
                }),
                [Cell::Filler(first), Cell::Filler(second)] if first == second => {
                    let block = Block {
                        day,
                        start,
                        host: Some(*first),
                    };
                    let slot = block.slot();
                    let inside =
                        |(host, range): &(u32, Slot)| host == first && range.contains(&slot);
                    self.hosts.iter().any(inside).then_some(block)
                }
                _ => None,
            }
        })
    }
}

fn cell(board: &Board<'_>, day: u16, section: u8) -> Cell {
    let mut there = board.at(day, section);
    match (there.next(), there.next()) {
        (None, _) => Cell::Free,
        (Some(host), None) if host.is_open_host() => Cell::Filler(host.state_id),
        (Some(task), _) => Cell::Occupied(i64::from(task.state_id)),
    }
}

/// Returns the number of sections of a day that items take.
fn items(board: &Board<'_>, day: u16) -> u32 {
    let items = board
        .on_day(day)
        .filter(|task| task.source == Source::TaskItem);
    let slots = items
        .flat_map(|task| &task.slots)
        .filter(|slot| slot.day == day);
    slots.map(|slot| u32::from(slot.sections())).sum()
}

const fn is_open(cell: Cell) -> bool {
    matches!(cell, Cell::Free | Cell::Filler(_))
}

fn section(index: usize) -> u8 {
    u8::try_from(index + 1).unwrap_or(u8::MAX)
}
