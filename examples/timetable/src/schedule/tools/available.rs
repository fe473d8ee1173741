//! The starts of a task of some length, under conditions on days and sections.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::calendar::{DayFilter, DayKind};
use super::{ReadResult, check_length};
use crate::schedule::text::{counted, range_text, sections};
use crate::schedule::{Board, ScheduleState, Slot, WriteRefusal};

/// Finds places of a given length under conditions on days and sections.
#[derive(
    smart_default::SmartDefault, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields, default)]
pub struct QueryAvailableSlotsArgs {
    /// How many consecutive sections are needed, 1 to 12.
    #[schemars(extend("x-zh" = "需要连续多少节，1 到 12。"))]
    #[default(2)]
    pub span: u8,
    /// How many places to show at most.
    #[schemars(extend("x-zh" = "最多显示多少个位置。"))]
    #[default(12)]
    pub limit: usize,
    /// Whether places inside courses that can hold a task count as well.
    #[schemars(extend("x-zh" = "可嵌入任务的课程内的位置是否也算。"))]
    #[default(true)]
    pub allow_embed: bool,
    /// Only these kinds of places; all kinds if empty.
    #[schemars(extend("x-zh" = "只要这些种类的位置；空则全部。"))]
    pub slot_types: Vec<SlotType>,
    /// Only this day.
    #[schemars(extend("x-zh" = "只看这一天。"))]
    pub day: Option<u16>,
    /// From this day on.
    #[schemars(extend("x-zh" = "从这一天起。"))]
    pub day_start: Option<u16>,
    /// Up to this day.
    #[schemars(extend("x-zh" = "到这一天为止。"))]
    pub day_end: Option<u16>,
    /// Only days of this kind.
    #[schemars(extend("x-zh" = "只看这类日子。"))]
    #[default(DayKind::All)]
    pub day_scope: DayKind,
    /// Only these days of the week; Monday is 1.
    #[schemars(extend("x-zh" = "只看一周中的这些天；周一是 1。"))]
    pub day_of_week: Vec<u8>,
    /// Only this week.
    #[schemars(extend("x-zh" = "只看这一周。"))]
    pub week: Option<u16>,
    /// Only these weeks.
    #[schemars(extend("x-zh" = "只看这些周。"))]
    pub week_filter: Vec<u16>,
    /// From this week on.
    #[schemars(extend("x-zh" = "从这一周起。"))]
    pub week_from: Option<u16>,
    /// Up to this week.
    #[schemars(extend("x-zh" = "到这一周为止。"))]
    pub week_to: Option<u16>,
    /// Sections that must not be used.
    #[schemars(extend("x-zh" = "不能用的节次。"))]
    pub exclude_sections: Vec<u8>,
    /// Only after this section.
    #[schemars(extend("x-zh" = "只在这一节之后。"))]
    pub after_section: Option<u8>,
    /// Only before this section.
    #[schemars(extend("x-zh" = "只在这一节之前。"))]
    pub before_section: Option<u8>,
    /// Not before this section.
    #[schemars(extend("x-zh" = "不早于这一节。"))]
    pub section_from: Option<u8>,
    /// Not after this section.
    #[schemars(extend("x-zh" = "不晚于这一节。"))]
    pub section_to: Option<u8>,
}

/// Kinds of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SlotType {
    /// Nobody takes it.
    #[schemars(extend("x-zh" = "没有被占用。"))]
    Empty,
    /// It lies inside a course that can hold a task.
    #[schemars(extend("x-zh" = "在可嵌入任务的课程内。"))]
    Embedded,
}

impl QueryAvailableSlotsArgs {
    fn days(&self, board: &Board<'_>) -> Result<Vec<u16>, WriteRefusal> {
        let weeks: Vec<u16> = self.week_filter.iter().copied().chain(self.week).collect();
        let filter = DayFilter {
            day: self.day,
            days: (self.day_start, self.day_end),
            kind: self.day_scope,
            day_of_week: &self.day_of_week,
            weeks: &weeks,
            week_range: (self.week_from, self.week_to),
        };
        filter.days(board)
    }

    fn allows(&self, section: u8) -> bool {
        !self.exclude_sections.contains(&section)
            && self.after_section.is_none_or(|after| section > after)
            && self.before_section.is_none_or(|before| section < before)
            && self.section_from.is_none_or(|from| section >= from)
            && self.section_to.is_none_or(|to| section <= to)
    }

    fn wants(&self, kind: SlotType) -> bool {
        self.slot_types.is_empty() || self.slot_types.contains(&kind)
    }
}

/// Returns places of the wanted length, disjoint and in the order of time: free ones first, then
/// those inside courses.
///
/// # Errors
/// Days outside the window, or a length that no day has.
pub fn query_available_slots(
    state: &ScheduleState,
    args: &QueryAvailableSlotsArgs,
) -> Result<ReadResult, WriteRefusal> {
    check_length(state, "span", args.span)?;
    let board = Board::new(state);
    let days = args.days(&board)?;
    let mut lines: Vec<String> = Vec::new();
    if args.wants(SlotType::Empty) {
        let free = days.iter().flat_map(|day| board.free(*day));
        lines.extend(free.flat_map(|slot| places(slot, args)).map(range_text));
    }
    if args.allow_embed && args.wants(SlotType::Embedded) {
        let hosts = days.iter().flat_map(|day| board.open_hosts(*day));
        lines.extend(hosts.flat_map(|(task, slot)| {
            let inside = say!(
                " inside #{} \"{}\"",
                "，在 #{}「{}」中",
                task.state_id,
                task.name
            );
            let places = places(slot, args).into_iter();
            places.map(move |place| format!("{}{inside}", range_text(place)))
        }));
    }
    let (length, places) = (
        sections(args.span.into()),
        counted(lines.len(), "place", "个位置"),
    );
    let summary = say!("{places} of {length}", "{length}的{places}");
    Ok(ReadResult::first(summary, lines, args.limit))
}

/// Returns disjoint places in the part of a range that the conditions on sections leave.
fn places(range: Slot, args: &QueryAvailableSlotsArgs) -> Vec<Slot> {
    let sections = (range.slot_start..=range.slot_end).filter(|section| args.allows(*section));
    let open = Slot::compress(sections.map(|s| Slot::new(range.day, s, s)).collect());
    let cut = |open: Slot| {
        let starts = (open.slot_start..=open.slot_end).step_by(usize::from(args.span));
        let places = starts.map(move |start| Slot::starting_at(open.day, start, args.span));
        places.filter(move |place| place.slot_end <= open.slot_end)
    };
    open.into_iter().flat_map(cut).collect()
}
