use async_trait::async_trait;
use fugato::{
    BoxError, Context, Node, Outcome,
    agent::{
        plan::{PlanRules as _, Step, StepDraft, StepKind},
        preflight::Preflight,
        show,
    },
    cli::Lang,
    memory::ExecutionStatus,
    state::State as _,
};

use crate::{
    rules::Rules,
    session::{Session, SessionUpdate},
};

/// Lets the loop of model and tools take over, and tells it what was done already.
pub(crate) struct Rescue;

#[async_trait]
impl Node<Session> for Rescue {
    async fn run(&self, cx: Context<Session>) -> Result<Outcome<SessionUpdate>, BoxError> {
        let work = &cx.state().work;
        let mut told = work.execution.goal.clone();
        let before = cx.state().done.iter();
        let before = before.map(|done| format!("- {}: {}", done.name, done.result));
        let steps = work.steps.iter();
        let steps = steps.filter(|step| !step.output_summary.is_empty());
        let steps = steps.map(|step| {
            format!(
                "- {} {}: {}",
                step.id, step.draft.tool_name, step.output_summary
            )
        });
        let done: Vec<String> = before.chain(steps).collect();
        if !done.is_empty() {
            told.push_str("\n\nThis was done already, and is not to be done again:\n");
            told.push_str(&done.join("\n"));
        }
        Ok(Outcome::done([SessionUpdate::RescueBegan { told }]))
    }
}

/// Says what came of it. There is always something to say.
pub(crate) struct Settle(pub(crate) Preflight);

#[async_trait]
impl Node<Session> for Settle {
    async fn run(&self, cx: Context<Session>) -> Result<Outcome<SessionUpdate>, BoxError> {
        let rescued = !cx.state().rescue.run.final_reply.is_empty();
        let mut session = cx.state().clone();
        let (mut looked, mut notes) = (vec![], vec![]);
        // The loop has taken its time, and what exists is read out.
        if rescued
            && let Outcome::Done {
                updates,
                notes: told,
            } = self.0.run(cx.clone()).await?
        {
            updates
                .iter()
                .cloned()
                .for_each(|update| session.apply(update));
            (looked, notes) = (updates, told);
        }
        let session = &session;
        let (text, is_shown) = if !session.reply.is_empty() {
            (
                session.reply.clone(),
                session.message.course != crate::session::Course::Reply,
            )
        } else if rescued {
            let (text, is_shown) = rescue(session);
            // It was stopped before it could say what it had done.
            match done(session) {
                Some(done) if is_shown && session.rescue.run.stop_reason.is_some() => {
                    show(&cx, &done);
                    (format!("{text}\n{done}"), true)
                }
                _ => (text, is_shown),
            }
        } else if session.work.status() == ExecutionStatus::Completed {
            (session.work.answer.clone(), true)
        } else {
            (unfinished(session), false)
        };
        if !is_shown {
            show(&cx, &text);
        }
        let live = rescued || !session.work.execution.snapshots.is_empty();
        let said = SessionUpdate::Replied { text };
        looked.extend([said, SessionUpdate::Delivered { at: cx.now(), live }]);
        let updates = looked;
        Ok(Outcome::Done { updates, notes })
    }
}

/// What the loop said; but what exists is read out as it was looked up after it ended.
fn rescue(session: &Session) -> (String, bool) {
    let step = spoken();
    let sure = Rules
        .knows(session, &step)
        .then(|| Rules.say(session, &step))
        .flatten();
    match sure {
        Some(text) => (text, false),
        None => (session.rescue.run.final_reply.clone(), true),
    }
}

fn spoken() -> Step {
    Step::new("answer", StepDraft::of(StepKind::Respond, ""))
}

/// Why there is no answer, in words that help, after what was done nevertheless.
fn unfinished(session: &Session) -> String {
    let lang = Lang::of(&session.message.text);
    let work = &session.work;
    let why = work
        .planner_failure
        .as_ref()
        .unwrap_or(&work.execution.error);
    let why = match (lang, work.timed_out) {
        (Lang::En, true) => {
            "This took longer than I may wait. Nothing is lost: say \"try again\" and I go on."
                .into()
        }
        (Lang::Zh, true) => "等待的时间太长了。已有的进度都在：说“再试一次”我就继续。".into(),
        (Lang::En, false) => format!(
            "I could not finish this: {why}. Nothing is lost: say \"try again\" to have me try once more."
        ),
        (Lang::Zh, false) => format!("没能做完：{why}。已有的进度都在：说“再试一次”我就重试。"),
    };
    done(session).map_or(why.clone(), |done| format!("{done}\n{why}"))
}

/// What was written all the same, if something was.
fn done(session: &Session) -> Option<String> {
    let lang = Lang::of(&session.message.text);
    let written = session.written().into_iter();
    let lines = written.map(|used| format!("{}{}", lang.pick("Done: ", "完成："), used.result));
    let lines: Vec<_> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
