//! Facts in words, for cards and for the end of a run.
use std::fmt::Write as _;

use crate::{
    agent::{Agent, TerminalStatus},
    schedule::{Step, TaskStatus, differences},
};

/// The steps of the plan, with the conditions under which each is done.
pub fn plan_summary(agent: &Agent) -> String {
    let lines = agent.plan.steps.iter().zip(1..).map(|(step, n)| {
        if step.done_when.is_empty() {
            return format!("{n}. {}", step.content);
        }
        let done = agent.lang.pick("done when", "完成条件");
        format!("{n}. {} ({done}: {})", step.content, step.done_when)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What was placed and moved, counted.
pub fn schedule_summary(agent: &Agent) -> String {
    let (Some(original), Some(schedule)) = (&agent.original, &agent.schedule) else {
        return agent
            .lang
            .pick("nothing was placed", "没有安排任何内容")
            .into();
    };
    let mut counts = [0, 0, 0];
    for difference in differences(original, schedule) {
        let at = match difference.step {
            Step::Place { .. } => 0,
            Step::Move { .. } => 1,
            Step::Unplace { .. } => 2,
        };
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
    }
    let pending = schedule
        .tasks
        .iter()
        .filter(|task| task.status == TaskStatus::Pending)
        .count();
    let [placed, moved, unplaced] = counts;
    agent.lang.pick(
        format!("{placed} placed, {moved} moved, {unplaced} taken out, {pending} still pending"),
        format!("新安排 {placed} 项，移动 {moved} 项，取消 {unplaced} 项，仍待办 {pending} 项"),
    )
}

/// What became of the call that a person made with their own hands.
pub fn by_hand(agent: &Agent) -> String {
    match agent.run.evidence.last() {
        Some(done) if done.success => done.summary.clone(),
        Some(refused) => {
            let why = &refused.summary;
            agent.lang.pick(
                format!("That is not possible: {why}"),
                format!("无法这样做：{why}"),
            )
        }
        None => agent
            .lang
            .pick("Nothing was done.", "没有执行任何操作。")
            .into(),
    }
}

/// How the run ended, step by step.
pub fn summary(agent: &Agent) -> String {
    let lang = agent.lang;
    let mut text = match agent.run.outcome.as_ref().map(|outcome| outcome.status) {
        None | Some(TerminalStatus::Completed) => lang.pick("Done.", "已完成。").to_owned(),
        Some(TerminalStatus::Exhausted) => lang
            .pick(
                "I have used all the rounds I had; this is how far I came.",
                "可用轮数已用完，目前进度如下。",
            )
            .to_owned(),
        Some(TerminalStatus::Aborted) => lang.pick("I had to stop.", "任务已中止。").to_owned(),
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
    for (step, n) in agent.plan.steps.iter().zip(0..) {
        let mark = if n < agent.plan.current { "[x]" } else { "[ ]" };
        let _ = write!(text, "\n{mark} {}", step.content);
    }
    if agent.schedule.is_some() {
        let _ = write!(text, "\n{}", schedule_summary(agent));
    }
    text
}
