//! The tools for what a person prefers, and for times that are to be kept free.
use std::collections::BTreeSet;

use fugato::state::say;
use fugato::tool::{EffectClass, RegistryBuilder, ToolFailure, ToolOutput, ToolSpec};
use jiff::civil::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Cx, ToolView};
use crate::{
    agent::{FreeTime, Update},
    calendar::Lang,
    schedule::{CostlyTime, PlacementPreferences, ScheduleState, Sections, Slot},
    understand::Words,
};

/// The tool that changes what the person prefers.
pub const SET_PREFERENCES: &str = "set_preferences";

/// The tool that keeps times free for all that follows, or gives them back.
pub const KEEP_FREE: &str = "keep_free";

/// Changes what the person prefers; what is not named stays. Places against a preference are
/// possible, and cost something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PreferenceArgs {
    /// Work in the evening.
    #[schemars(extend("x-zh" = "晚上做事。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evening: Option<Liking>,
    /// The time from which on it is evening, HH:MM.
    #[schemars(extend("x-zh" = "从几点起算晚上，HH:MM。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evening_from: Option<String>,
    /// Work late in the evening.
    #[schemars(extend("x-zh" = "深夜做事。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<Liking>,
    /// The time from which on it is late, HH:MM.
    #[schemars(extend("x-zh" = "从几点起算太晚，HH:MM。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_from: Option<String>,
    /// Work at the time to eat.
    #[schemars(extend("x-zh" = "吃饭时间做事。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lunch: Option<Liking>,
    /// The time to eat, HH:MM-HH:MM.
    #[schemars(extend("x-zh" = "吃饭时间，HH:MM-HH:MM。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lunch_time: Option<String>,
    /// Work on Saturdays and Sundays.
    #[schemars(extend("x-zh" = "周六和周日做事。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weekend: Option<Liking>,
    /// All days of the week that are to be quiet; 1 is Monday.
    #[schemars(extend("x-zh" = "所有想要清静的日子；1 是周一。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_days: Option<Vec<u8>>,
    /// The most sections of a day; 0 for any number.
    #[schemars(extend("x-zh" = "一天最多几节；0 表示不限。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_limit: Option<u8>,
    /// The most sections without a break; 0 for any number.
    #[schemars(extend("x-zh" = "最多连续几节不休息；0 表示不限。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_run: Option<u8>,
    /// Other times, each on some days of the week.
    #[schemars(extend("x-zh" = "其他时段，各在一周的某些日子。"))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<TimeLiking>,
    /// All preferences as they were before; for undoing.
    #[schemars(with = "Option<Value>", extend("x-zh" = "先前的全部偏好，用于撤销。"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Box<PlacementPreferences>>,
    /// True to have no preferences at all.
    #[schemars(extend("x-zh" = "true 表示不要任何偏好。"))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub none: bool,
}

/// A liking of a person for work at a time on some days of the week. The latest one about a time
/// counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeLiking {
    /// The days of the week, 1 is Monday; none for all.
    #[schemars(extend("x-zh" = "星期几，1 是周一；空表示每天。"))]
    #[serde(default)]
    pub days_of_week: Vec<u8>,
    /// The time, HH:MM-HH:MM; none for the whole day.
    #[schemars(extend("x-zh" = "时段，HH:MM-HH:MM；不写表示全天。"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// The liking.
    #[schemars(extend("x-zh" = "喜好。"))]
    pub liking: Liking,
}

/// A liking of a person for work at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Liking {
    /// It does not matter.
    #[schemars(extend("x-zh" = "无所谓。"))]
    Fine,
    /// Rather not.
    #[schemars(extend("x-zh" = "最好不要。"))]
    RatherNot,
    /// Only if there is no other place.
    #[schemars(extend("x-zh" = "除非没有别的位置。"))]
    Avoid,
}

/// The cost of a section that the person would avoid: ten times what most people pay for a late one.
const AVOIDED: u32 = 100;
/// The time to eat of most people.
const LUNCH: (Time, Time) = (Time::constant(12, 0, 0, 0), Time::constant(13, 0, 0, 0));

impl Liking {
    /// Returns the liking that a cost stands for.
    pub(crate) const fn of(cost: u32) -> Self {
        match cost {
            0 => Self::Fine,
            1..AVOIDED => Self::RatherNot,
            _ => Self::Avoid,
        }
    }

    const fn cost(self, usual: u32) -> u32 {
        match self {
            Self::Fine => 0,
            Self::RatherNot => usual,
            Self::Avoid => AVOIDED,
        }
    }
}

impl PreferenceArgs {
    /// Returns the preferences of a schedule after the change.
    ///
    /// # Errors
    /// The first argument that is wrong, and what is allowed.
    pub fn applied(&self, state: &ScheduleState) -> Result<Option<PlacementPreferences>, String> {
        if self.none {
            return Ok(None);
        }
        if let Some(before) = &self.before {
            return Ok(Some((**before).clone()));
        }
        if *self == Self::default() {
            return Err(say!("name at least one preference", "请至少写一个偏好"));
        }
        let sections = &state.window.sections;
        let usual = PlacementPreferences::default();
        // Without preferences every place costs nothing.
        let mut wishes = state
            .preferences
            .clone()
            .unwrap_or_else(PlacementPreferences::neutral);
        let set = |cost: &mut u32, liking: Option<Liking>, usual: u32| {
            *cost = liking.map_or(*cost, |liking| liking.cost(usual));
        };
        for (from, name, at) in [
            (&mut wishes.evening_from, "evening_from", &self.evening_from),
            (&mut wishes.late_from, "late_from", &self.late_from),
        ] {
            if let Some(at) = at {
                *from = first_after(sections, time(name, at)?);
            }
        }
        set(&mut wishes.evening, self.evening, usual.evening);
        set(&mut wishes.late, self.late, usual.late);
        set(&mut wishes.lunch, self.lunch, usual.lunch);
        set(&mut wishes.weekend, self.weekend, usual.weekend);
        if self.lunch.is_some() || self.lunch_time.is_some() {
            let (from, to) = match &self.lunch_time {
                Some(time) => span("lunch_time", time)?,
                None => LUNCH,
            };
            wishes.lunch_sections = sections.touching(from, to);
        }
        if let Some(days) = &self.quiet_days {
            weekdays("quiet_days", days)?;
            wishes.quiet_days.clone_from(days);
            wishes.quiet = wishes.quiet.max(usual.quiet);
        }
        if let Some(limit) = self.daily_limit {
            wishes.daily_limit = limit;
            wishes.over_limit = wishes.over_limit.max(AVOIDED);
        }
        if let Some(run) = self.longest_run {
            wishes.longest_run = run;
            wishes.no_break = wishes.no_break.max(usual.no_break);
        }
        for time in &self.times {
            time.apply(&mut wishes, sections)?;
        }
        Ok(Some(wishes))
    }
}

/// The cost of a section at a time that the person would rather not use.
const RATHER_NOT: u32 = 4;

impl TimeLiking {
    fn apply(&self, wishes: &mut PlacementPreferences, sections: &Sections) -> Result<(), String> {
        weekdays("times", &self.days_of_week)?;
        let all = 1..=sections.count();
        let touched: Vec<u8> = match &self.time {
            Some(time) => {
                let (from, to) = span("times", time)?;
                sections.touching(from, to)
            }
            None => all.collect(),
        };
        let days: Vec<u8> = if self.days_of_week.is_empty() {
            (1..=7).collect()
        } else {
            self.days_of_week.clone()
        };
        let mut times = vec![];
        for known in std::mem::take(&mut wishes.times) {
            let on = |day: &u8| known.days_of_week.is_empty() || known.days_of_week.contains(day);
            let (here, elsewhere): (Vec<u8>, Vec<u8>) =
                (1..=7).filter(on).partition(|day| days.contains(day));
            let mut rest = known.sections.clone();
            rest.retain(|section| !touched.contains(section));
            let parts = [(elsewhere, known.sections.clone()), (here, rest)];
            let parts = parts
                .into_iter()
                .filter(|(on, at)| !on.is_empty() && !at.is_empty());
            times.extend(parts.map(|(days_of_week, sections)| CostlyTime {
                days_of_week,
                sections,
                points: known.points,
            }));
        }
        wishes.times = times;
        let points = self.liking.cost(RATHER_NOT);
        if points > 0 && !touched.is_empty() {
            wishes.times.push(CostlyTime {
                days_of_week: days,
                sections: touched,
                points,
            });
        }
        Ok(())
    }
}

fn weekdays(name: &str, days: &[u8]) -> Result<(), String> {
    match days.iter().find(|day| !(1..=7).contains(*day)) {
        None => Ok(()),
        Some(day) => Err(say!(
            "{name} has {day}; allowed are 1 to 7",
            "{name} 中有 {day}；可以是 1 到 7"
        )),
    }
}

fn time(name: &str, text: &str) -> Result<Time, String> {
    let shaped = text.len() == 5 && text.as_bytes().get(2) == Some(&b':');
    let time = text.parse().ok().filter(|_| shaped);
    time.ok_or_else(|| {
        say!(
            "{name} is {text:?}; it needs a time as HH:MM",
            "{name} 是 {text:?}；需要 HH:MM 形式的时间"
        )
    })
}

fn span(name: &str, text: &str) -> Result<(Time, Time), String> {
    let (from, to) = text.split_once(['-', '–']).unwrap_or((text, ""));
    let times = (time(name, from.trim())?, time(name, to.trim())?);
    if times.0 >= times.1 {
        return Err(say!(
            "{name} is {text:?}; it ends before it begins",
            "{name} 是 {text:?}；结束早于开始"
        ));
    }
    Ok(times)
}

/// Returns the first section that ends after a time; 0 if there is none.
fn first_after(sections: &Sections, from: Time) -> u8 {
    let ends = |section: &u8| {
        let times = sections.times(&Slot::new(1, *section, *section));
        times.is_some_and(|(_, end)| end > from)
    };
    (1..=sections.count()).find(ends).unwrap_or(0)
}

/// Keeps times free: nothing goes there any more. What lies there stays until it is moved.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KeepFreeArgs {
    /// The days, from 1.
    #[schemars(extend("x-zh" = "第几天，从 1 起。"))]
    pub days: BTreeSet<u16>,
    /// The sections of these days; empty for the whole days.
    #[schemars(extend("x-zh" = "这些日子的节次；空表示全天。"))]
    pub sections: BTreeSet<u8>,
    /// True to give the days back.
    #[schemars(extend("x-zh" = "true 表示这些日子又可以安排。"))]
    pub give_back: bool,
}

fn kept_free(view: &ToolView, args: &KeepFreeArgs) -> Result<Vec<FreeTime>, String> {
    let state = &view.schedule;
    let date = |day: &u16| {
        let date = state.day(*day).map(|day| day.date.clone());
        date.filter(|date| !date.is_empty()).ok_or_else(|| {
            say!(
                "days has {day}; it needs days of the schedule that have dates",
                "days 中有 {day}；需要日程中有日期的日子"
            )
        })
    };
    let dates = args
        .days
        .iter()
        .map(date)
        .collect::<Result<BTreeSet<_>, _>>()?;
    let count = state.window.sections.count();
    if let Some(section) = args.sections.iter().find(|it| !(1..=count).contains(*it)) {
        return Err(say!(
            "sections has {section}; allowed are 1 to {count}",
            "sections 中有 {section}；可以是 1 到 {count}"
        ));
    }
    if dates.is_empty() {
        return Err(say!("days: name at least one day", "days：请至少写一天"));
    }
    let mut times = view.free_times.clone();
    if args.give_back {
        for time in &mut times {
            time.dates.retain(|date| !dates.contains(date));
        }
        times.retain(|time| !time.dates.is_empty());
    } else {
        let time = FreeTime {
            dates,
            sections: args.sections.clone(),
        };
        if !times.contains(&time) {
            times.push(time);
        }
    }
    Ok(times)
}

pub(super) fn register(
    builder: RegistryBuilder<ToolView, Update>,
) -> RegistryBuilder<ToolView, Update> {
    let write = |name: &str, text: &str| {
        ToolSpec::write(name, text)
            .effect(EffectClass::Pure)
            .domain("schedule")
            .pack("arrange")
            .requires_state()
    };
    let wishes = write(
        SET_PREFERENCES,
        "Changes what the person prefers: evenings, lunch, weekends, quiet days, a limit a day. It \
         moves nothing.",
    )
    .chinese("改动用户的偏好：晚上、午饭、周末、清静的日子、每天上限。不移动任何内容。");
    let free = write(
        KEEP_FREE,
        "Keeps days or parts of days free for all that follows, or gives them back. It moves \
         nothing.",
    )
    .chinese("让某些日子或时段以后都空着，或者收回。不移动任何内容。");
    builder
        .function(wishes, |cx: Cx<'_>, args: PreferenceArgs| {
            let view = cx.state()?;
            let after = args.applied(&view.schedule).map_err(ToolFailure::failed)?;
            let words = Words {
                schedule: &view.schedule,
                sections: Some(&view.schedule.window.sections),
                lang: Lang::current(),
            };
            let text = words.preferences(after.as_ref()).join("\n");
            let data = serde_json::to_value(&after).map_err(ToolFailure::internal)?;
            let output = ToolOutput::new(text).data(data);
            Ok(output.update(Update::Preferred(after)))
        })
        .function(free, |cx: Cx<'_>, args: KeepFreeArgs| {
            let times = kept_free(cx.state()?, &args).map_err(ToolFailure::failed)?;
            let text = say!("{} times are kept free", "有 {} 个时段空着", times.len());
            Ok(ToolOutput::new(text).update(Update::KeptFree(times)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::AgentState,
        schedule::{
            ScheduleTask, Window, WriteRefusal,
            tools::{PlaceArgs, place},
        },
    };

    fn applied(args: Value) -> Result<Option<PlacementPreferences>, String> {
        let args: PreferenceArgs = serde_json::from_value(args).expect("the arguments are right");
        let state = ScheduleState {
            preferences: Some(PlacementPreferences::default()),
            ..ScheduleState::default()
        };
        args.applied(&state)
    }

    #[test]
    fn a_time_that_is_kept_free_binds_the_writes_of_a_model() {
        let task: ScheduleTask = serde_json::from_value(serde_json::json!({
            "state_id": 1, "source": "task_item", "source_id": "1", "name": "Gym",
            "category": "Sport", "status": "pending", "locked": false, "slots": [],
            "duration": 2, "task_class_id": null, "task_order": 1, "can_embed": false,
            "embedded_by": null, "embed_host": null, "event_type": "task",
        }))
        .expect("a task");
        let monday = jiff::civil::date(2054, 9, 14);
        let schedule = ScheduleState {
            window: Window::starting(monday, 7),
            tasks: vec![task],
            ..ScheduleState::default()
        };
        let morning = FreeTime {
            dates: BTreeSet::from([monday.to_string()]),
            sections: BTreeSet::from([1, 2, 3, 4]),
        };
        let mut agent = AgentState {
            schedule: Some(std::sync::Arc::new(schedule)),
            free_times: vec![morning],
            ..AgentState::default()
        };
        let tried = |agent: &AgentState, slot_start| {
            let view = ToolView::of(agent, true, &Sections::default()).expect("a schedule");
            let task_id = 1;
            let args = PlaceArgs {
                task_id,
                day: 1,
                slot_start,
            };
            place(&view.schedule, &args, &view.options).map(|made| made.changes.len())
        };
        let refused = WriteRefusal::KeptFree {
            task: 1,
            slot: Slot::new(1, 3, 4),
        };
        assert_eq!(tried(&agent, 3), Err(refused));
        assert_eq!(tried(&agent, 5), Ok(1));
        // What rules plan because the person names it may go there.
        agent.run.planned = Some(vec![]);
        assert_eq!(tried(&agent, 3), Ok(1));
        agent.run.planned = None;
        let view = ToolView::of(&agent, true, &Sections::default()).expect("a schedule");
        let args = KeepFreeArgs {
            days: BTreeSet::from([1]),
            give_back: true,
            ..KeepFreeArgs::default()
        };
        assert_eq!(kept_free(&view, &args), Ok(vec![]));
    }

    #[test]
    fn what_is_named_changes_and_all_else_stays() {
        let usual = PlacementPreferences::default;
        let late = serde_json::json!({ "late_from": "21:00", "late": "avoid" });
        let wanted = PlacementPreferences {
            late_from: 11,
            late: AVOIDED,
            ..usual()
        };
        assert_eq!(applied(late), Ok(Some(wanted)));
        let fine = serde_json::json!({ "weekend": "fine" });
        let wanted = PlacementPreferences {
            weekend: 0,
            ..usual()
        };
        assert_eq!(applied(fine), Ok(Some(wanted)));
        let before = serde_json::json!({ "before": PlacementPreferences::neutral() });
        assert_eq!(applied(before), Ok(Some(PlacementPreferences::neutral())));
        assert_eq!(applied(serde_json::json!({ "none": true })), Ok(None));
        for wrong in [
            serde_json::json!({}),
            serde_json::json!({ "late_from": "9 pm" }),
            serde_json::json!({ "lunch_time": "13:00-12:00" }),
            serde_json::json!({ "quiet_days": [8] }),
            serde_json::json!({ "times": [{ "days_of_week": [0], "liking": "avoid" }] }),
        ] {
            assert!(applied(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_latest_liking_of_a_time_counts() {
        let at = |days: &[u8], time: &str, liking: &str| serde_json::json!({ "days_of_week": days, "time": time, "liking": liking });
        let args = serde_json::json!({ "times": [
            at(&[], "08:00-22:00", "rather_not"),
            at(&[], "08:00-11:40", "fine"),
            at(&[7], "08:00-09:40", "avoid"),
            at(&[1], "14:00-15:00", "fine"),
        ] });
        let wishes = applied(args)
            .expect("all are right")
            .expect("there are some");
        let cost = |day, section| {
            PlacementPreferences {
                times: wishes.times.clone(),
                ..PlacementPreferences::neutral()
            }
            .cost(day, section)
        };
        assert_eq!([1, 3, 7].map(|day| cost(day, 1)), [0, 0, AVOIDED]);
        assert_eq!([1, 3, 7].map(|day| cost(day, 3)), [0, 0, 0]);
        assert_eq!(
            [1, 3, 7].map(|day| cost(day, 5)),
            [0, RATHER_NOT, RATHER_NOT]
        );
        assert_eq!([1, 3, 7].map(|day| cost(day, 9)), [RATHER_NOT; 3]);
    }
}
