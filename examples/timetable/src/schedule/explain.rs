//! The reason for the place of an item: what the place costs, what others would cost, and what
//! keeps the item away from better ones.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::objective::{DayWishes, weekly_share};
use super::quality::{Cells, Kinds, even_share, of_day};
use super::relocate::Target;
use super::{
    Board, BrokenRule, Change, Discomfort, EventType, ObjectiveTerm, Point, Quality, ScheduleState,
    ScheduleTask, Slot, Source, Strategy, WriteOptions, WriteRefusal,
};

/// The number of other places that an explanation shows.
const SHOWN: usize = 3;

/// The reason for the place of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceReason {
    /// The item.
    pub task: u32,
    /// Its place.
    pub slot: Slot,
    /// The cost of the place, in points of [`Quality`]; the sum of `unmet`.
    pub cost: i64,
    /// The wishes that the place does not meet.
    pub unmet: Vec<Discomfort>,
    /// The best other places, the cheapest first.
    pub others: Vec<OtherPlace>,
    /// The number of other places that are open to the item.
    pub open: usize,
    /// The obstacles at places that would be cheaper, the most frequent first.
    pub obstacles: Vec<Obstacle>,
}

/// Another place that an item could take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherPlace {
    /// The place.
    pub slot: Slot,
    /// Its cost.
    pub cost: i64,
    /// The wishes that it does not meet.
    pub unmet: Vec<Discomfort>,
}

/// A reason for which an item cannot lie at places that would be cheaper.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obstacle {
    /// The reason.
    pub reason: ObstacleReason,
    /// The number of these places.
    pub places: usize,
    /// The cheapest of them.
    pub example: Slot,
}

/// The reasons for which a place is not open to an item.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ObstacleReason {
    /// A course is there.
    Course,
    /// Another item is there.
    Item,
    /// It would not keep the order of its class.
    Order,
    /// The class excludes the time of the day.
    Time,
    /// The class excludes the day of the week.
    Weekday,
    /// It lies outside of the dates of the class or of the item.
    Dates,
    /// It has begun already.
    Past,
    /// The person wants the time kept free.
    KeptFree,
    /// Another rule.
    Rule,
}

/// Explains the place of an item; none if it has no single place. `options` are those of the write
/// tools; every other place is tried with them, as the tool that moves the item would do it.
pub fn explain(state: &ScheduleState, task: u32, options: &WriteOptions) -> Option<PlaceReason> {
    let known = state.task(task)?;
    let [slot] = known.slots.as_slice() else {
        return None;
    };
    let mut scale = PlaceScale::of(state, known);
    let here = scale.unmet(*slot);
    let cost = sum(&here);
    let options = options.clone().existing_may_move(true);
    let (mut open, mut others) = (0, vec![]);
    let mut obstacles: Vec<(i64, Obstacle)> = vec![];
    let length = slot.sections();
    let sections = state.window.sections.count();
    let starts = (1..=(sections + 1).saturating_sub(length)).step_by(2);
    let days = state.window.days.iter().map(|day| day.day_index);
    let places = days.flat_map(|day| {
        starts
            .clone()
            .map(move |start| Slot::starting_at(day, start, length))
    });
    for place in places.filter(|place| place != slot) {
        let refused = scale.attempt(place, &options);
        let unmet = scale.unmet(place);
        let there = sum(&unmet);
        match refused {
            None => {
                open += 1;
                others.push(OtherPlace {
                    slot: place,
                    cost: there,
                    unmet,
                });
            }
            Some(reason) if there < cost => note(&mut obstacles, reason, place, there),
            Some(_) => {}
        }
    }
    let far = |place: &OtherPlace| (place.cost, place.slot.day.abs_diff(slot.day), place.slot);
    others.sort_by_key(far);
    others.truncate(SHOWN);
    obstacles.sort_by_key(|(_, obstacle)| (std::cmp::Reverse(obstacle.places), obstacle.reason));
    Some(PlaceReason {
        task,
        slot: *slot,
        cost,
        unmet: here,
        others,
        open,
        obstacles: obstacles
            .into_iter()
            .map(|(_, obstacle)| obstacle)
            .collect(),
    })
}

fn note(obstacles: &mut Vec<(i64, Obstacle)>, reason: ObstacleReason, place: Slot, cost: i64) {
    let known = obstacles
        .iter_mut()
        .find(|(_, known)| known.reason == reason);
    match known {
        Some((cheapest, known)) => {
            known.places += 1;
            if cost < *cheapest {
                *cheapest = cost;
                known.example = place;
            }
        }
        None => obstacles.push((
            cost,
            Obstacle {
                reason,
                places: 1,
                example: place,
            },
        )),
    }
}

fn sum(unmet: &[Discomfort]) -> i64 {
    unmet.iter().map(|unmet| i64::from(unmet.points)).sum()
}

/// The costs of places for one item, which has left its own.
struct PlaceScale<'s> {
    task: &'s ScheduleTask,
    kinds: Kinds,
    board: Board<'s>,
    wishes: Vec<DayWishes>,
    share: u32,
    /// The weeks of the other items of its class and the share of a week; none if they need not be
    /// spread.
    weeks: Option<(Vec<u16>, u32)>,
}

impl<'s> PlaceScale<'s> {
    fn of(state: &'s ScheduleState, task: &'s ScheduleTask) -> Self {
        let kinds = Kinds::of(state);
        let mut board = Board::new(state);
        let days = state.window.days.iter();
        let cells: Vec<Cells> = days.map(|day| kinds.cells(&board, day.day_index)).collect();
        let wishes = DayWishes::of(state, &board);
        board.apply(&Change::Unplace {
            task: task.state_id,
        });
        Self {
            task,
            kinds,
            board,
            wishes,
            share: even_share(&cells),
            weeks: weeks(state, task),
        }
    }

    /// Returns the reason for which the item cannot take a place; none if it can.
    fn attempt(&mut self, place: Slot, options: &WriteOptions) -> Option<ObstacleReason> {
        let target = Target {
            task: self.task.state_id,
            day: place.day,
            start: place.slot_start,
        };
        match self.board.relocate(&[target], options) {
            Ok(applied) => {
                self.board.take_back(&applied);
                None
            }
            Err(refusal) => Some(self.reason(&refusal)),
        }
    }

    fn reason(&self, refusal: &WriteRefusal) -> ObstacleReason {
        match refusal {
            WriteRefusal::Conflict { with, .. } => {
                let there = self.board.state().task(*with);
                match there.map(|there| there.event_type) {
                    Some(EventType::Course) => ObstacleReason::Course,
                    _ => ObstacleReason::Item,
                }
            }
            WriteRefusal::Order { .. } | WriteRefusal::Dependency { .. } => ObstacleReason::Order,
            WriteRefusal::Past { .. } => ObstacleReason::Past,
            WriteRefusal::KeptFree { .. } => ObstacleReason::KeptFree,
            WriteRefusal::ItemDeadline { .. } => ObstacleReason::Dates,
            WriteRefusal::ClassRule { rule, .. } | WriteRefusal::Terms { rule, .. } => match rule {
                BrokenRule::Block(_) | BrokenRule::Fixed(_) | BrokenRule::Closed(_) => {
                    ObstacleReason::Time
                }
                BrokenRule::DayOfWeek(_) => ObstacleReason::Weekday,
                BrokenRule::TooEarly(_) | BrokenRule::TooLate(_) => ObstacleReason::Dates,
                BrokenRule::Filler => ObstacleReason::Course,
                BrokenRule::OnePiece => ObstacleReason::Rule,
            },
            _ => ObstacleReason::Rule,
        }
    }

    /// Returns the wishes that a place does not meet, as if it were free.
    fn unmet(&self, place: Slot) -> Vec<Discomfort> {
        let state = self.board.state();
        let index = state
            .window
            .days
            .iter()
            .position(|day| day.day_index == place.day);
        let found =
            index.and_then(|index| state.window.days.get(index).zip(self.wishes.get(index)));
        let (Some((day, wishes)), Some(kind)) = (found, self.kinds.kind(self.task)) else {
            return vec![];
        };
        let before = self.kinds.cells(&self.board, place.day);
        let mut after = before;
        let first = usize::from(place.slot_start.saturating_sub(1));
        for cell in after
            .iter_mut()
            .skip(first)
            .take(usize::from(place.sections()))
        {
            *cell = Some(kind);
        }
        let quality = |cells: &Cells| of_day(cells, self.share, wishes);
        let (was, is) = (quality(&before), quality(&after));
        let more = |of: fn(&Quality) -> u32| of(&is).saturating_sub(of(&was));
        let mut unmet = vec![
            (
                ObjectiveTerm::CalmNeighbours,
                1000 * more(|it| it.heavy_adjacent_days),
            ),
            (
                ObjectiveTerm::FewSwitches,
                20 * more(|it| it.extra_switches),
            ),
            (ObjectiveTerm::EvenDays, more(|it| it.imbalance)),
        ];
        if let Some(preferences) = &state.preferences {
            let sections = place.slot_start..=place.slot_end;
            let of_section = |section| preferences.section(day.day_of_week, section);
            let simple = sections.flat_map(of_section);
            unmet.extend(simple.map(|it| (it.wish, it.points)));
        }
        let named: u32 = unmet.iter().skip(3).map(|(_, points)| points).sum();
        let items = Kinds::items(&before);
        let length = u32::from(place.sections());
        let limit = wishes.load(items + length) - wishes.load(items);
        let buffer = wishes.range(place).saturating_sub(named);
        let rest = more(|it| it.discomfort).saturating_sub(named + limit + buffer);
        unmet.push((ObjectiveTerm::DailyLimit, limit));
        unmet.push((ObjectiveTerm::Buffer, buffer));
        unmet.push((ObjectiveTerm::Break, rest));
        if let (Some((weeks, share)), Some(preferences)) = (&self.weeks, &state.preferences) {
            let there = weeks.iter().filter(|week| **week == day.week).count();
            let is_full = u32::try_from(there).unwrap_or(u32::MAX) >= *share;
            unmet.push((
                ObjectiveTerm::EvenWeeks,
                if is_full { preferences.bunching } else { 0 },
            ));
        }
        joined(unmet)
    }
}

/// Joins the costs of the same wish, and drops what costs nothing.
fn joined(unmet: Vec<(ObjectiveTerm, u32)>) -> Vec<Discomfort> {
    let mut joined: Vec<Discomfort> = vec![];
    for (wish, points) in unmet.into_iter().filter(|(_, points)| *points > 0) {
        match joined.iter_mut().find(|known| known.wish == wish) {
            Some(known) => known.points += points,
            None => joined.push(Discomfort { wish, points }),
        }
    }
    joined.sort_by_key(|unmet| (std::cmp::Reverse(unmet.points), unmet.wish));
    joined
}

fn weeks(state: &ScheduleState, task: &ScheduleTask) -> Option<(Vec<u16>, u32)> {
    let class = state.class_of(task)?;
    if class.strategy != Strategy::Steady {
        return None;
    }
    let tasks = state.tasks.iter();
    let mine = tasks.filter(|other| {
        other.task_class_id == task.task_class_id
            && other.source == Source::TaskItem
            && other.state_id != task.state_id
    });
    let starts: Vec<Point> = mine.filter_map(ScheduleTask::start).collect();
    let weeks = starts
        .iter()
        .filter_map(|(day, _)| Some(state.day(*day)?.week));
    let weeks: Vec<u16> = weeks.collect();
    let items = u32::try_from(weeks.len() + 1).unwrap_or(u32::MAX);
    let share = weekly_share(state, class, items);
    Some((weeks, share))
}

#[cfg(test)]
mod tests {
    use super::super::PlacementPreferences;
    use super::super::fixture::{course, state, suggested};
    use super::*;

    fn discomfort(wish: ObjectiveTerm, points: u32) -> Discomfort {
        Discomfort { wish, points }
    }

    #[test]
    fn a_late_place_names_its_costs_and_what_forced_it() {
        // One day: courses until 17:40, another item after them, a second one late.
        let mut now = state(
            1,
            vec![
                course(1, "Lecture", 1, 1, 8),
                suggested(2, 1, 1, Slot::new(1, 9, 10)),
                suggested(3, 2, 1, Slot::new(1, 11, 12)),
            ],
        );
        now.preferences = Some(PlacementPreferences::default());
        let reason = explain(&now, 3, &WriteOptions::default()).unwrap();
        assert_eq!(
            reason,
            PlaceReason {
                task: 3,
                slot: Slot::new(1, 11, 12),
                cost: 24,
                unmet: vec![
                    discomfort(ObjectiveTerm::Late, 20),
                    discomfort(ObjectiveTerm::Evening, 4)
                ],
                others: vec![],
                open: 0,
                obstacles: vec![
                    Obstacle {
                        reason: ObstacleReason::Course,
                        places: 4,
                        example: Slot::new(1, 1, 2),
                    },
                    Obstacle {
                        reason: ObstacleReason::Item,
                        places: 1,
                        example: Slot::new(1, 9, 10),
                    },
                ],
            }
        );
    }

    #[test]
    fn other_places_have_their_price_and_closed_ones_their_reason() {
        let mut now = state(7, vec![suggested(1, 1, 1, Slot::new(6, 1, 2))]);
        now.preferences = Some(PlacementPreferences::default());
        now.task_classes[0].excluded_days_of_week = vec![1, 2, 3, 4];
        let ahead = WriteOptions::default().earliest(Some((6, 1)));
        let reason = explain(&now, 1, &ahead).unwrap();
        assert_eq!(reason.unmet, [discomfort(ObjectiveTerm::Weekend, 6)]);
        assert_eq!(reason.open, 11);
        let first = reason.others.first().unwrap();
        assert_eq!((first.slot, first.cost), (Slot::new(6, 3, 4), 6));
        let reasons: Vec<_> = reason
            .obstacles
            .iter()
            .map(|obstacle| (obstacle.reason, obstacle.places))
            .collect();
        // Late evenings of weekdays would be no cheaper.
        assert_eq!(reasons, [(ObstacleReason::Past, 25)]);
        let past = explain(&now, 1, &WriteOptions::default()).unwrap();
        let reasons: Vec<_> = past
            .obstacles
            .iter()
            .map(|obstacle| (obstacle.reason, obstacle.places))
            .collect();
        assert_eq!(reasons, [(ObstacleReason::Weekday, 20)]);
        assert_eq!(past.others.first().unwrap().cost, 0);
    }
}
