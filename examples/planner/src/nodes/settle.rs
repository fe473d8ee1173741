use async_trait::async_trait;
use fugato::{
    BoxError, Context, Node, Outcome,
    agent::{
        plan::{PlanRules as _, Preflight, StepDraft, StepKind, StepStatus, WorkStep},
        reply::{RunReport, show},
        toolbox::ToolUse,
    },
    memory::ExecutionStatus,
    state::{State as _, ToolStatus},
};

use crate::{
    answer,
    rules::{self, PlannerRules},
    session::{Course, PlannerSession, SessionUpdate},
    tools,
};

/// Ends the work with a reply. There always is one.
pub(crate) struct FinishNode(pub(crate) Preflight);

#[async_trait]
impl Node<PlannerSession> for FinishNode {
    async fn run(&self, cx: Context<PlannerSession>) -> Result<Outcome<SessionUpdate>, BoxError> {
        let mut session = cx.state().clone();
        let (mut updates, mut notes) = (vec![], vec![]);
        // The loop took some time, and the reply reads out what exists, so that the facts are
        // looked up again.
        let looks = is_rescued(&session);
        if looks
            && let Outcome::Done {
                updates: seen,
                notes: told,
            } = self.0.run(cx.clone()).await?
        {
            seen.iter().cloned().for_each(|seen| session.apply(seen));
            (updates, notes) = (seen, told);
        }
        let ReplyParts { shown, rest } = said(&session);
        show(&cx, &rest);
        let live = looks || !session.work.execution.snapshots.is_empty();
        updates.push(SessionUpdate::Replied {
            text: joined(&shown, &rest),
        });
        updates.push(SessionUpdate::Delivered { at: cx.now(), live });
        Ok(Outcome::Done { updates, notes })
    }
}

/// The reply in two parts: the text that was already streamed, and the rest that is still to be
/// shown.
struct ReplyParts {
    shown: String,
    rest: String,
}

fn said(session: &PlannerSession) -> ReplyParts {
    let now = |rest: String| ReplyParts {
        shown: String::new(),
        rest,
    };
    let before = |shown: &str, rest: String| ReplyParts {
        shown: shown.to_owned(),
        rest,
    };
    let said = &session.message.text;
    match &session.reply {
        reply if !reply.is_empty() && session.message.course == Course::Reply => now(reply.clone()),
        reply if !reply.is_empty() => before(reply, String::new()),
        _ if is_rescued(session) => match known(session) {
            Some(text) => now(text),
            None => now(rescued(session)),
        },
        _ if session.work.status() == ExecutionStatus::Completed => {
            before(&session.work.answer, String::new())
        }
        _ => now(joined(&report(session).lines(said), &unfinished(session))),
    }
}

/// Returns true if the loop has taken over and has ended.
fn is_rescued(session: &PlannerSession) -> bool {
    !session.rescue.run.final_reply.is_empty()
}

/// Returns the facts looked up after the loop ended, if the person asked for exactly those.
fn known(session: &PlannerSession) -> Option<String> {
    let step = WorkStep::new("answer", StepDraft::of(StepKind::Respond, ""));
    let knows = PlannerRules.knows(session, &step);
    knows.then(|| PlannerRules.say(session, &step)).flatten()
}

fn joined(first: &str, second: &str) -> String {
    let lines = [first, second].into_iter().filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the reason for which there is no answer, as a text with advice for the person.
fn unfinished(session: &PlannerSession) -> String {
    let work = &session.work;
    let why = work.planner_failure.as_ref();
    let why = why.unwrap_or(&work.execution.error);
    if work.timed_out {
        let en = "The model took longer than I may wait. Nothing is lost: say \"try again\" and I go on.";
        let zh = "模型太久没有回答。已有的进度都在：说“再试一次”我就继续。";
        return session.lang().pick(en, zh).to_owned();
    }
    answer::stopped(why)
}

/// Returns the reply after the loop: what was and was not done, followed by the loop's own words.
fn rescued(session: &PlannerSession) -> String {
    let (run, said) = (&session.rescue.run, &session.message.text);
    let report = report(session);
    let stopped = run.stop_reason.is_some();
    let words = match run.stop_reason {
        // These are words of code.
        Some(_) => joined(&report.lines(said), &run.final_reply),
        None => report.reply(&run.final_reply, said),
    };
    if let Some(facts) = rules::facts_asked(session) {
        return joined(&facts, &words);
    }
    let wanted = PlannerRules.wants_action(session) && report.is_empty() && !stopped;
    if wanted && words != RunReport::nothing(said) {
        return joined(RunReport::nothing(said), &words);
    }
    words
}

/// Returns the report of the writes of the plan and the loop: those that were done, and those that
/// were intended and not done.
fn report(session: &PlannerSession) -> RunReport {
    let written = session.written();
    let title = |tool: &str| tools::title(tool, session.lang());
    let steps = session.work.steps.iter();
    let steps = steps.filter(|step| step.status == StepStatus::Failed);
    let refused = steps
        .filter(|step| step.draft.kind == StepKind::Tool)
        .map(|step| {
            let call = step.call();
            ToolUse::new(call.name, call.arguments, &step.error).status(ToolStatus::Failed)
        });
    let uses = session.rescue.run.uses.iter();
    let failed = uses.filter(|used| used.status != ToolStatus::Ok).cloned();
    let undone = refused
        .chain(failed)
        .filter(|used| title(&used.name).is_some());
    // Completed calls come last, so that a failed call that later succeeded is not reported.
    let all: Vec<_> = undone.chain(written).collect();
    RunReport::of(&all).titled(title)
}
