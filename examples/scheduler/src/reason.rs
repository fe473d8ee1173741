//! The reasons of the schedule in the words of a person: names, dates and weekdays. The texts of
//! the tools have ids and day numbers, which are for the model.
use fugato::{state::say, tool::ToolResult};
use serde_json::{Value, json};

use crate::{
    agent::{AgentState, Update},
    calendar::Lang,
    schedule::{
        Change, ScheduleState, WriteRefusal,
        told::{changed, day_of, location, refusal},
    },
    store::{Conflict, StaleFact},
    understand::Words,
};

/// The key of the reason in the data of a failure, in each language.
const TOLD: &str = "told";

/// Returns a refusal in both languages, as data of a failure.
pub(crate) fn data(why: &WriteRefusal, schedule: &ScheduleState) -> Value {
    in_both(|| refusal(why, schedule))
}

/// Returns what others changed meanwhile in both languages, as data of a failure.
pub(crate) fn conflict_data(stale: &Conflict, schedule: &ScheduleState) -> Value {
    in_both(|| {
        let changed = conflict(stale, schedule).replace('\n', "; ");
        say!(
            "the calendar changed meanwhile: {changed}",
            "日程在此期间有变动: {changed}"
        )
    })
}

fn in_both(said: impl Fn() -> String) -> Value {
    json!({ TOLD: { "en": Lang::En.scope(&said), "zh": Lang::Zh.scope(&said) } })
}

/// Returns the reason in the data of a failure; none if it has none.
fn of_data(data: &Value) -> Option<&str> {
    data.get(TOLD)?
        .get(Lang::current().pick("en", "zh"))?
        .as_str()
}

/// Returns the result of a call for the person; none if the line of the tool says it as well.
pub(crate) fn told(agent: &AgentState, tool: &str, result: &ToolResult<Update>) -> Option<String> {
    if !result.is_ok() {
        return of_data(&result.data).map(str::to_owned);
    }
    if tool == "analyze_health" {
        return advised(&result.summary);
    }
    let schedule = agent.schedule.as_ref()?;
    if let [Update::Preferred(after)] = result.updates.as_slice() {
        let words = Words {
            schedule,
            sections: Some(&schedule.window.sections),
            lang: Lang::current(),
        };
        let new = words.preferred_anew(schedule.preferences.as_ref(), after.as_ref());
        return (!new.is_empty()).then(|| new.join("; "));
    }
    let changes = result.updates.iter().filter_map(|update| match update {
        Update::Scheduled(changes) => Some(changes.as_slice()),
        _ => None,
    });
    let changes: Vec<Change> = changes.flatten().cloned().collect();
    changed(schedule, &changes)
}

/// Returns what a diagnosis advises.
fn advised(operation: &str) -> Option<String> {
    Some(match operation {
        "swap" => say!("two items should change places", "建议交换两项的位置"),
        "move" => say!("an item should move", "建议移动一项"),
        "close" => say!("nothing is left to improve", "没有需要改进之处"),
        "askuser" => say!("you are asked first", "需要先问你"),
        _ => return None,
    })
}

/// Returns what others changed meanwhile, a line for each item.
pub(crate) fn conflict(conflict: &Conflict, schedule: &ScheduleState) -> String {
    let lines = conflict.changed.iter().map(|fact| stale(fact, schedule));
    lines.collect::<Vec<_>>().join("\n")
}

fn stale(fact: &StaleFact, schedule: &ScheduleState) -> String {
    match fact {
        StaleFact::Gone { name, .. } => say!(
            "“{name}” is no longer in the calendar",
            "“{name}”已不在日历中"
        ),
        StaleFact::Part(part) => part.to_string(),
        StaleFact::Elsewhere { name, found, .. } => match found {
            Some(found) => {
                let found = location(found, &schedule.window.sections);
                say!("“{name}” is on {found} now", "“{name}”现在在{found}")
            }
            None => say!("“{name}” has lost its place", "“{name}”已没有位置"),
        },
        StaleFact::Marked { name, .. } => {
            say!("“{name}” was marked meanwhile", "“{name}”已被另行标记")
        }
        StaleFact::Taken { name, by, .. } => say!(
            "the place for “{name}” is taken by “{by}”",
            "“{name}”的位置已被“{by}”占用"
        ),
        StaleFact::NoHost { name, .. } => say!(
            "“{name}” has no room inside its course any more",
            "“{name}”所在的课程已没有空位"
        ),
        StaleFact::NoDay { name, day, .. } => {
            let day = day_of(*day, schedule);
            say!(
                "“{name}” cannot lie on {day}, which the calendar no longer has",
                "日历中已没有{day}，“{name}”无法排在那天"
            )
        }
    }
}
