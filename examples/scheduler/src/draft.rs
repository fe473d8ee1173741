//! A draft in words: what changes, when and why, before anybody agrees to it.
use fugato::state::{ToolCall, say};
use serde_json::Value;

use crate::{
    agent::AgentState,
    calendar::{Lang, Sections, WeekTable, language},
    schedule::{Difference, ScheduleState, differences, told::listed},
    tools::{ToolView, after_call},
    understand::{Facts, Understanding, replaces, understand, withdraws},
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

/// Returns the answer to words about a draft that are neither a yes nor a no, and the ways to answer.
pub fn answer_about(draft: &Draft<'_>, text: &str) -> String {
    let mut agent = draft.agent.clone();
    // In the language of the question, which need not be that of the card.
    let lang = Lang::evident(text).unwrap_or(agent.lang);
    agent.lang = lang;
    lang.scope(|| {
        let agent = &agent;
        Draft { agent, ..*draft }.answered(text)
    })
}

impl Draft<'_> {
    fn answered(&self, text: &str) -> String {
        let how = say!(
            "The card stays open. Answer yes to keep it, or no, with a reason if you like: no, not on Friday.",
            "卡片仍在等待。同意请回答“是”，不同意请回答“不”，也可以说明原因：不，周五没空。"
        );
        let items = self.items();
        let read = |schedule: &ScheduleState| {
            let facts = Facts {
                on_card: &items,
                ..self.facts(schedule)
            };
            understand(text, &facts)
        };
        let now = self.agent.schedule.as_deref().map(read);
        let then = self.proposed().map(|schedule| read(&schedule));
        match (now, then) {
            (Some(Understanding::Answer(now)), Some(Understanding::Answer(then)))
                if now != then =>
            {
                say!(
                    "Now: {now}\nIf you agree: {then}\n{how}",
                    "现在：{now}\n如果你同意：{then}\n{how}"
                )
            }
            (Some(Understanding::Refusal(_)), Some(Understanding::Answer(then))) => {
                say!("If you agree: {then}\n{how}", "如果你同意：{then}\n{how}")
            }
            (Some(Understanding::Answer(answer)), _) => format!("{answer}\n{how}"),
            (Some(Understanding::Refusal(refusal)), _) => {
                let schedule = self.agent.schedule.as_deref();
                let list = schedule.map(|schedule| listed(schedule, &self.changes()));
                format!("{refusal}\n{}\n{how}", list.unwrap_or_default())
            }
            _ => {
                let first = say!(
                    "Nothing was changed: first answer the card, then ask for it.",
                    "没有改动任何内容：请先回答卡片，再提出这个要求。"
                );
                format!("{first} {how}")
            }
        }
    }

    /// Returns the facts about a schedule. What is asked for in place of an answer is for another card,
    /// which may move what was agreed to.
    fn facts<'a>(&'a self, schedule: &'a ScheduleState) -> Facts<'a> {
        Facts {
            existing_may_move: true,
            ..Facts::about(self.agent, schedule, self.sections)
        }
    }

    /// Returns the schedule as agreeing to the open card, and to those that follow it, would leave it;
    /// none if no write is asked about.
    fn proposed(&self) -> Option<ScheduleState> {
        let wanted = self.agent.wanted.as_ref();
        let wanted = wanted.filter(|wanted| !wanted.accepted)?;
        let mut view = ToolView::of(self.agent, true, self.sections)?;
        let planned = self.agent.run.planned.iter().flatten();
        let planned = planned.map(|call| {
            let arguments = Value::Object(call.arguments.clone());
            ToolCall::new("", call.name.clone(), arguments)
        });
        for call in std::iter::once(wanted.call.clone()).chain(planned) {
            view.schedule = after_call(&call, &view)?.into();
        }
        Some((*view.schedule).clone())
    }

    /// Returns the items that the open card is about.
    fn items(&self) -> Vec<u32> {
        let changes = match (self.agent.schedule.as_deref(), self.proposed()) {
            (Some(before), Some(after)) => differences(before, &after),
            _ => self.changes(),
        };
        changes.iter().map(|change| change.task).collect()
    }

    /// Returns true if words take the place of what the open card asks about, and agree to nothing: "yes,
    /// but on Sunday", "leave it".
    pub(crate) fn is_replaced(&self, text: &str) -> bool {
        let Some(schedule) = self.agent.schedule.as_deref() else {
            return false;
        };
        let on_card = self.items();
        let facts = Facts {
            on_card: &on_card,
            ..self.facts(schedule)
        };
        let by_rules = self.agent.wanted.is_some() && self.agent.run.planned.is_some();
        if by_rules {
            replaces(text, &facts)
        } else {
            withdraws(text, &facts)
        }
    }
}

/// Returns the changes since the schedule that is stored; none if there is no schedule.
pub(crate) fn unstored(agent: &AgentState) -> Option<Vec<Difference>> {
    let stored = agent.stored.as_ref().or(agent.original.as_ref())?;
    Some(differences(stored, agent.schedule.as_ref()?))
}
