//! Facts as text, for cards and for the end of a run.
use std::{collections::BTreeSet, fmt::Write as _};

use fugato::state::say;

use crate::{
    agent::{AgentState, TerminalStatus},
    draft,
    schedule::{EventType, PlaceChange, ScheduleState, ScheduleTask, told::listed},
};

/// Returns the steps of the plan, each with the condition under which it is done.
pub fn plan_summary(agent: &AgentState) -> String {
    let lines = agent.plan.steps.iter().zip(1..).map(|(step, n)| {
        if step.done_when.is_empty() {
            return format!("{n}. {}", step.content);
        }
        let done = say!("done when", "完成条件");
        format!("{n}. {} ({done}: {})", step.content, step.done_when)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The actions of a request, counted from their traces in the schedule and in the store. The model
/// has no influence on them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receipts {
    /// The number of tasks that got their first place.
    pub placed: usize,
    /// The number of tasks that moved.
    pub moved: usize,
    /// The number of tasks that lost their place.
    pub removed: usize,
    /// The number of tasks that were marked as done or not done, or got another deadline.
    pub marked: usize,
    /// The number of items that a class got.
    pub added: usize,
    /// The number of items that a class lost.
    pub dropped: usize,
    /// The number of stored changes.
    pub stored: u64,
    /// True if the run stored a class.
    pub classes: bool,
}

impl Receipts {
    /// Returns the actions of the current request.
    pub fn of_request(agent: &AgentState) -> Self {
        let mut receipts = Self {
            stored: agent.run.stored,
            classes: agent.run.upserts.stored > 0,
            ..Self::default()
        };
        let touched = agent.run.places.iter();
        let now = |id| agent.schedule.as_ref()?.task(id);
        for (before, task) in touched.filter_map(|(id, before)| Some((before, now(*id)?))) {
            receipts.count(!before.is_empty(), task.is_placed(), *before != task.slots);
            receipts.marked += usize::from(is_marked_anew(agent, task));
        }
        // The state before the first class that the request stored.
        let before = agent.previous.as_ref().filter(|_| receipts.classes);
        if let Some((before, now)) = before.zip(agent.schedule.as_ref()) {
            let (before, now) = (items(before), items(now));
            receipts.added = now.difference(&before).count();
            receipts.dropped = before.difference(&now).count();
        }
        receipts
    }

    /// Returns the actions since the calendar was loaded, in any request.
    pub fn of_conversation(agent: &AgentState) -> Self {
        let mut receipts = Self::of_request(agent);
        let (Some(original), Some(schedule)) = (&agent.original, &agent.schedule) else {
            return receipts;
        };
        for task in &schedule.tasks {
            let before = original.task(task.state_id);
            let was = before.is_some_and(ScheduleTask::is_placed);
            let differs = before.is_none_or(|before| before.slots != task.slots);
            receipts.count(was, task.is_placed(), differs);
            receipts.marked += usize::from(is_marked_anew(agent, task));
        }
        receipts.stored += u64::from(agent.stored.is_some());
        receipts
    }

    fn count(&mut self, was: bool, is: bool, differs: bool) {
        match (was, is) {
            (false, true) => self.placed += 1,
            (true, true) if differs => self.moved += 1,
            (true, false) => self.removed += 1,
            _ => {}
        }
    }

    /// Returns true if there is any action to report.
    pub const fn is_any(&self) -> bool {
        self.placed + self.moved + self.removed + self.marked > 0 || self.stored > 0 || self.classes
    }
}

fn items(schedule: &ScheduleState) -> BTreeSet<u32> {
    let tasks = schedule.tasks.iter();
    let items = tasks.filter(|task| task.event_type == EventType::Task);
    items.map(|task| task.state_id).collect()
}

/// Returns true if a task has other marks than when the calendar was loaded.
fn is_marked_anew(agent: &AgentState, task: &ScheduleTask) -> bool {
    let original = agent.original.as_ref();
    let before = original.and_then(|original| original.task(task.state_id));
    before.is_some_and(|before| before.marks != task.marks)
}

/// Returns the changes to be kept, counted and listed: the differences from the stored schedule.
pub fn schedule_summary(agent: &AgentState) -> String {
    let (Some(changes), Some(schedule)) = (draft::unstored(agent), &agent.schedule) else {
        return say!("nothing was placed", "没有安排任何内容");
    };
    let mut receipts = Receipts::default();
    for change in &changes {
        let (was, is) = (change.step.from(), change.step.to());
        receipts.count(was.is_some(), is.is_some(), was != is);
        let is_mark = matches!(change.step, PlaceChange::Mark { .. });
        receipts.marked += usize::from(is_mark);
    }
    let listed = listed(schedule, &changes);
    let mut text = counted(agent, &receipts);
    if agent.run.out_of_rounds {
        text.push('\n');
        text.push_str(&out_of_rounds());
    }
    for part in [agent.run.left.as_deref().unwrap_or_default(), &listed] {
        text.push('\n');
        text.push_str(part);
    }
    text.trim_end().to_owned()
}

fn out_of_rounds() -> String {
    say!(
        "I have used all the rounds I had; this is how far I came.",
        "可用轮数已用完，目前进度如下。"
    )
}

fn counted(agent: &AgentState, receipts: &Receipts) -> String {
    let tasks = agent.schedule.iter().flat_map(|schedule| &schedule.tasks);
    let pending = tasks.filter(|task| task.is_pending_item()).count();
    let Receipts {
        placed,
        moved,
        removed,
        marked,
        added,
        dropped,
        ..
    } = receipts;
    let marked = match marked {
        0 => String::new(),
        marked => say!("{marked} marked, ", "标记 {marked} 项，"),
    };
    let added = match added {
        0 => String::new(),
        added => say!("{added} added, ", "添加 {added} 项，"),
    };
    let dropped = match dropped {
        0 => String::new(),
        dropped => say!("{dropped} removed, ", "删除 {dropped} 项，"),
    };
    say!(
        "{added}{dropped}{marked}{placed} placed, {moved} moved, {removed} taken out, {pending} still pending",
        "{added}{dropped}{marked}新安排 {placed} 项，移动 {moved} 项，取消 {removed} 项，仍待办 {pending} 项"
    )
}

/// Returns the result of the call that the person made by hand.
pub fn by_hand(agent: &AgentState) -> String {
    match agent.run.evidence.last() {
        Some(done) if done.success => done.summary.clone(),
        Some(refused) => {
            let why = &refused.summary;
            say!("That is not possible: {why}", "无法这样做：{why}")
        }
        None => say!("Nothing was done.", "没有执行任何操作。"),
    }
}

/// Returns the end of the run, the steps, and the actions of the run.
pub fn summary(agent: &AgentState) -> String {
    let receipts = Receipts::of_request(agent);
    let mut text = match agent.run.outcome.as_ref().map(|outcome| outcome.status) {
        None | Some(TerminalStatus::Completed) if receipts.is_any() => {
            say!("Done.", "已完成。")
        }
        None | Some(TerminalStatus::Completed) => {
            say!("Nothing was changed.", "没有改动任何内容。")
        }
        Some(TerminalStatus::Exhausted) => out_of_rounds(),
        Some(TerminalStatus::Aborted) => say!("I had to stop.", "任务已中止。"),
    };
    if let Some(outcome) = agent
        .run
        .outcome
        .as_ref()
        .filter(|o| !o.user_message.is_empty())
    {
        // Writing into a string cannot fail.
        let _ = write!(text, " {}", outcome.user_message);
    }
    text.push_str(&steps(agent));
    if agent.schedule.is_some() {
        let _ = write!(text, "\n{}", counted(agent, &receipts));
        text.push_str(&standing(agent, &receipts));
    }
    text
}

/// Returns the steps with their marks. A finished plan has no empty box: a step for which nothing
/// was done has a mark of its own.
fn steps(agent: &AgentState) -> String {
    let finished = agent.run.outcome.is_none();
    let untouched = say!("nothing was done for it", "未为此做任何事");
    let lines = agent.plan.steps.iter().zip(0..).map(|(step, n)| {
        let content = &step.content;
        if n < agent.plan.current || finished && n == agent.plan.current {
            format!("\n[x] {content}")
        } else if finished {
            format!("\n- {content} ({untouched})")
        } else {
            format!("\n[ ] {content}")
        }
    });
    lines.collect()
}

/// Returns the place of the changes: stored in the calendar, or only a draft.
fn standing(agent: &AgentState, receipts: &Receipts) -> String {
    if agent.run.unsaved {
        say!(
            "\nIt is a draft: nothing of it is stored.",
            "\n这只是草稿，尚未保存。"
        )
    } else if receipts.stored > 0 {
        say!("\nIt is stored in the calendar.", "\n已存入日程。")
    } else {
        String::new()
    }
}
