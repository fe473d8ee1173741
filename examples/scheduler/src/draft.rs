//! A draft in words: what changes, when and why, before anybody agrees to it.
use crate::{
    agent::AgentState,
    calendar::{Lang, Sections, WeekTable, language},
    schedule::{
        Difference, Location, PlaceChange, ScheduleState, Strategy, TaskClass, differences,
    },
    understand::{Facts, Understanding, understand},
};

/// The columns of a week in a terminal.
const WIDTH: u16 = 120;

/// The draft of a conversation, as a person sees it.
#[derive(Debug, Clone, Copy)]
pub struct Draft<'a> {
    /// The state that holds it.
    pub agent: &'a AgentState,
    /// The times of the sections of a day.
    pub sections: &'a Sections,
}

impl Draft<'_> {
    /// Returns the changes since the schedule that is stored.
    fn changes(&self) -> Vec<Difference> {
        unstored(self.agent).unwrap_or_default()
    }

    /// Returns the weeks in which something changes, as tables; all weeks if nothing does.
    pub fn weeks(&self) -> String {
        let Some(schedule) = &self.agent.schedule else {
            return String::new();
        };
        let changes = self.changes();
        let touched = |week: u16| {
            let steps = changes.iter().map(|change| &change.step);
            let places = steps.flat_map(|step| [step.from(), step.to()]).flatten();
            places.flat_map(|at| &at.sections).any(|at| at.week == week)
        };
        let table = WeekTable {
            sections: self.sections,
            lang: language(self.agent.lang),
            width: WIDTH,
        };
        let mut weeks = WeekTable::weeks(schedule);
        if !changes.is_empty() {
            weeks.retain(|week| touched(*week));
        }
        let tables = weeks.iter().map(|week| table.draw(schedule, *week));
        tables.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}

/// Returns the answer to words about a draft that are neither a yes nor a no: the weeks again, and
/// the ways to answer.
pub fn answer_about(draft: &Draft<'_>, text: &str) -> String {
    let mut agent = draft.agent.clone();
    // In the language of the question, which need not be that of the card.
    if text.chars().any(char::is_alphabetic) {
        agent.lang = Lang::of(text);
    }
    let agent = &agent;
    let draft = &Draft { agent, ..*draft };
    let how = draft.agent.lang.pick(
        "The card stays open. Answer yes to keep it, or no, with a reason if you like: no, not on Friday.",
        "卡片仍在等待。同意请回答“是”，不同意请回答“不”，也可以说明原因：不，周五没空。",
    );
    let asked = draft
        .agent
        .schedule
        .as_deref()
        .map(|schedule| understand(text, &Facts::about(draft.agent, schedule, draft.sections)));
    match asked {
        Some(Understanding::Answer(answer)) => format!("{answer}\n{how}"),
        Some(Understanding::Refusal(refusal)) => {
            let schedule = draft.agent.schedule.as_deref();
            let list =
                schedule.map(|schedule| listed(schedule, &draft.changes(), draft.agent.lang));
            format!("{refusal}\n{}\n{how}", list.unwrap_or_default())
        }
        _ => {
            let first = draft.agent.lang.pick(
                "Nothing was changed: first answer the card, then ask for it.",
                "没有改动任何内容：请先回答卡片，再提出这个要求。",
            );
            format!("{}\n{first} {how}", draft.weeks())
        }
    }
}

/// Returns the changes since the schedule that is stored; none if there is no schedule.
pub(crate) fn unstored(agent: &AgentState) -> Option<Vec<Difference>> {
    let stored = agent.stored.as_ref().or(agent.original.as_ref())?;
    Some(differences(stored, agent.schedule.as_ref()?))
}

/// Returns what changes, a line for each item in the order of time, under the class that it belongs
/// to and the rule by which that is spread.
pub(crate) fn listed(schedule: &ScheduleState, changes: &[Difference], lang: Lang) -> String {
    let class_of = |change: &Difference| schedule.task(change.task)?.task_class_id;
    let mut changes: Vec<&Difference> = changes.iter().collect();
    changes.sort_by_key(|change| (class_of(change), begins(&change.step)));
    let mut lines = vec![];
    let mut class = None;
    for change in changes {
        let own = class_of(change);
        if own != class
            && let Some(named) = schedule.task_classes.iter().find(|it| Some(it.id) == own)
        {
            lines.push(rule(named, lang));
        }
        class = own;
        lines.push(line(change, lang));
    }
    lines.join("\n")
}

fn begins(step: &PlaceChange) -> (u16, u8) {
    let at = step.to().or_else(|| step.from());
    let first = at.and_then(|at| at.sections.first());
    first.map_or((0, 0), |at| (at.day, at.section))
}

/// Returns the name of a class, and the rule by which its items are placed.
fn rule(class: &TaskClass, lang: Lang) -> String {
    let mut rules = vec![match class.strategy {
        Strategy::Steady => lang.pick("spread evenly", "均匀分布").to_owned(),
        Strategy::Rapid => lang.pick("as early as possible", "尽早安排").to_owned(),
    }];
    if !class.excluded_days_of_week.is_empty() {
        let days = class.excluded_days_of_week.iter();
        let days: Vec<_> = days.map(|day| weekday(*day, lang)).collect();
        rules.push(lang.pick(
            format!("never on {}", days.join(", ")),
            format!("避开{}", days.join("、")),
        ));
    }
    if let Some(date) = &class.end_date {
        rules.push(lang.pick(format!("done by {date}"), format!("{date} 前完成")));
    }
    let (name, rules) = (&class.name, lang.pick(rules.join(", "), rules.join("，")));
    lang.pick(format!("{name} ({rules})"), format!("{name}（{rules}）"))
}

fn line(change: &Difference, lang: Lang) -> String {
    let name = &change.name;
    let place = |at: &Location| location(at, lang);
    match &change.step {
        PlaceChange::Place { to } => format!("  {}  {name}", place(to)),
        PlaceChange::Move { from, to } => {
            let (from, to) = (place(from), place(to));
            lang.pick(
                format!("  {to}  {name} (was {from})"),
                format!("  {to}  {name}（原为{from}）"),
            )
        }
        PlaceChange::Mark { to, after, .. } => {
            let at = to.as_ref().map(place).unwrap_or_default();
            let done = if after.done {
                lang.pick("done", "已完成")
            } else {
                lang.pick("not done", "未完成")
            };
            format!("  {at}  {name} ({done})")
        }
        PlaceChange::Unplace { from } => {
            let from = place(from);
            lang.pick(
                format!("  {name} loses its place ({from})"),
                format!("  {name} 取消安排（原为{from}）"),
            )
        }
    }
}

/// Returns a place in the words of a person: the day with its date, and the sections.
pub(crate) fn location(at: &Location, lang: Lang) -> String {
    let Some((first, last)) = at.sections.first().zip(at.sections.last()) else {
        return lang.pick("no place", "未安排").to_owned();
    };
    let day = day(first.day_of_week, &first.date, first.day, lang);
    let sections = if first.section == last.section {
        first.section.to_string()
    } else {
        format!("{}–{}", first.section, last.section)
    };
    lang.pick(
        format!("{day}, sections {sections}"),
        format!("{day} 第 {sections} 节"),
    )
}

/// Returns a day in the words of a person; its number if it has no date.
pub(crate) fn day(day_of_week: u8, date: &str, number: u16, lang: Lang) -> String {
    let name = weekday(day_of_week, lang);
    if date.is_empty() {
        return lang.pick(
            format!("{name}, day {number}"),
            format!("{name}（第 {number} 天）"),
        );
    }
    format!("{name} {date}")
}

pub(crate) fn weekday(day_of_week: u8, lang: Lang) -> &'static str {
    timetable::calendar::weekday(language(lang), day_of_week)
}
