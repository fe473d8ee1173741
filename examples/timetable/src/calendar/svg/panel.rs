//! One week of one schedule.
use crate::schedule::{DayMapping, ScheduleState, ScheduleTask, Slot};

use super::label::{escaped, wrapped};
use super::{Picture, colour, push, text};
use crate::lang::weekday;

pub(super) struct Panel<'a> {
    pub(super) picture: &'a Picture<'a>,
    pub(super) state: &'a ScheduleState,
    /// The schedule before, which shows what has moved.
    pub(super) before: &'a ScheduleState,
    pub(super) week: u16,
    pub(super) x: u32,
    pub(super) y: u32,
}

const GUTTER: u32 = 60;
const DAY: u32 = 96;
const HEADER: u32 = 26;
const SECTION: u32 = 24;
const LINE: u32 = 13;
/// The number of half-width columns of a label in a day.
const COLUMNS: usize = 15;

impl Panel<'_> {
    pub(super) const WIDTH: u32 = GUTTER + 7 * DAY;
    /// Returns the height of a week of this many sections a day.
    pub(super) fn height(sections: u8) -> u32 {
        HEADER + u32::from(sections) * SECTION + 10
    }

    pub(super) fn draw(&self, svg: &mut String) {
        self.grid(svg);
        for day in self
            .state
            .window
            .days
            .iter()
            .filter(|day| day.week == self.week)
        {
            self.heading(svg, day);
            let column = u32::from(day.day_of_week.clamp(1, 7) - 1);
            let x = self.x + GUTTER + column * DAY;
            let left = self.before.tasks.iter().filter(|task| self.has_left(task));
            for (task, slot) in on(day, left) {
                self.block(svg, task, slot, x, &Look::Left);
            }
            let mut here = on(day, self.state.tasks.iter());
            // A guest is drawn on top of its host.
            here.sort_by_key(|(task, _)| task.embed_host.is_some());
            for (task, slot) in here {
                let look = if self.has_moved(task) {
                    Look::Moved
                } else {
                    Look::Stays
                };
                self.block(svg, task, slot, x, &look);
            }
        }
    }

    fn grid(&self, svg: &mut String) {
        let (x, y) = (self.x, self.y + HEADER);
        let sections = self.state.window.sections.count();
        let (width, height) = (Self::WIDTH, u32::from(sections) * SECTION);
        push(
            svg,
            format_args!(
                "<rect x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{height}\" rx=\"4\" \
             fill=\"#fbfbfc\" stroke=\"#d9dde3\"/>\n",
                x + GUTTER,
                width - GUTTER
            ),
        );
        let mut path = String::new();
        for column in 1..7 {
            push(
                &mut path,
                format_args!("M{} {y}v{height}", x + GUTTER + column * DAY),
            );
        }
        for pair in 1..u32::from(sections).div_ceil(2) {
            let line = y + pair * 2 * SECTION;
            push(
                &mut path,
                format_args!("M{} {line}h{}", x + GUTTER, width - GUTTER),
            );
        }
        push(
            svg,
            format_args!("<path d=\"{path}\" stroke=\"#e4e7ec\" fill=\"none\"/>\n"),
        );
        for first in (1..=sections).step_by(2) {
            let top = y + u32::from(first - 1) * SECTION;
            let slot = Slot {
                day: 1,
                slot_start: first,
                slot_end: sections.min(first + 1),
            };
            let numbers = format!("{first}–{}", slot.slot_end);
            text(svg, x, top + 16, 11, "#374151", &numbers, true);
            if let Some((begin, end)) = self.picture.sections.times(&slot) {
                let (begin, end) = (begin.strftime("%H:%M"), end.strftime("%H:%M"));
                text(
                    svg,
                    x,
                    top + 30,
                    10,
                    "#6b7280",
                    &format!("{begin} –"),
                    false,
                );
                text(svg, x, top + 42, 10, "#6b7280", &end.to_string(), false);
            }
        }
    }

    fn heading(&self, svg: &mut String, day: &DayMapping) {
        let column = u32::from(day.day_of_week.clamp(1, 7) - 1);
        let x = self.x + GUTTER + column * DAY + 6;
        let date = day.date.split_once('-').map_or("", |(_, date)| date);
        let name = weekday(self.picture.lang, day.day_of_week);
        text(
            svg,
            x,
            self.y + 17,
            11,
            "#374151",
            &format!("{name} {date}"),
            false,
        );
    }

    fn block(&self, svg: &mut String, task: &ScheduleTask, slot: Slot, x: u32, look: &Look) {
        let sections = self.state.window.sections.count();
        if slot.slot_start == 0 || slot.slot_end > sections || slot.slot_end < slot.slot_start {
            return;
        }
        let colour = colour(task.task_class_id);
        let hosted = task.embed_host.is_some();
        // A guest is inset, so that the first line of the host stays visible.
        let inset = if hosted { LINE + 4 } else { 0 };
        let sections = u32::from(slot.slot_end - slot.slot_start) + 1;
        let height = (sections * SECTION - 3).saturating_sub(inset).max(LINE);
        let y = self.y + HEADER + u32::from(slot.slot_start - 1) * SECTION + 1 + inset;
        let (left, width) = if hosted {
            (x + 5, DAY - 9)
        } else {
            (x + 2, DAY - 4)
        };
        push(
            svg,
            format_args!(
                "<g><title>{}</title><rect x=\"{left}\" y=\"{y}\" width=\"{width}\" \
             height=\"{height}\" rx=\"4\" fill=\"{}\" {}/>",
                escaped(&format!("{} ({})", task.name, task.category)),
                if matches!(look, Look::Left) {
                    "#ffffff"
                } else {
                    colour.fill
                },
                look.stroke(colour.ink),
            ),
        );
        let guest = task.embedded_by.is_some() || self.hosts(task);
        let most = if guest {
            1
        } else {
            (height.saturating_sub(4) / LINE).max(1)
        };
        let lines = wrapped(&task.name, COLUMNS, usize::try_from(most).unwrap_or(1));
        // A nested picture clips text that a font makes wider than expected.
        push(
            svg,
            format_args!("<svg x=\"{left}\" y=\"{y}\" width=\"{width}\" height=\"{height}\">"),
        );
        for (line, number) in lines.iter().zip(0_u32..) {
            push(
                svg,
                format_args!(
                    "<text x=\"5\" y=\"{}\" font-size=\"11\" fill=\"{}\">{}</text>",
                    12 + number * LINE,
                    colour.ink,
                    escaped(line)
                ),
            );
        }
        svg.push_str("</svg></g>\n");
    }

    fn hosts(&self, task: &ScheduleTask) -> bool {
        self.state
            .tasks
            .iter()
            .any(|guest| guest.embed_host == Some(task.state_id))
    }

    /// Returns true if a task lay elsewhere before.
    fn has_moved(&self, task: &ScheduleTask) -> bool {
        let before = find(self.before, task);
        before.is_some_and(|before| !before.slots.is_empty() && before.slots != task.slots)
    }

    /// Returns true if a task of the schedule before no longer lies where it lay.
    fn has_left(&self, task: &ScheduleTask) -> bool {
        find(self.state, task).is_some_and(|now| now.slots != task.slots)
    }
}

/// The relation of a place to the schedule before.
enum Look {
    /// The task lay there before, or is new.
    Stays,
    /// The task lay elsewhere before.
    Moved,
    /// The task lay there before, and does no longer.
    Left,
}

impl Look {
    fn stroke(&self, ink: &str) -> String {
        let moved = "stroke=\"#111827\" stroke-width=\"2.2\"";
        match self {
            Self::Stays => format!("stroke=\"{ink}\" stroke-opacity=\"0.35\""),
            Self::Moved => moved.to_owned(),
            Self::Left => format!("{moved} stroke-dasharray=\"4 3\""),
        }
    }
}

fn find<'a>(state: &'a ScheduleState, task: &ScheduleTask) -> Option<&'a ScheduleTask> {
    state.tasks.iter().find(|it| it.state_id == task.state_id)
}

/// Returns the places of tasks on a day.
fn on<'a>(
    day: &DayMapping,
    tasks: impl Iterator<Item = &'a ScheduleTask>,
) -> Vec<(&'a ScheduleTask, Slot)> {
    let slots = tasks.flat_map(|task| task.slots.iter().map(move |slot| (task, *slot)));
    slots
        .filter(|(_, slot)| slot.day == day.day_index)
        .collect()
}
