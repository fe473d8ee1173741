//! A decision against the current state, and the updates that it leads to.
use fugato::{
    agent::phases::{PhaseStep, PhaseWork},
    graph::Context,
    llm::{Abort, RejectedAnswer, TaggedAnswer, visible_text},
};

use super::{asking, said};
use crate::{
    agent::{
        AgentState, Card, DecisionView, PendingInteraction, Phase, QuestionTopic, TerminalOutcome,
        Update,
    },
    contract::{ActionKind, ExecutorDecision},
    deps::Deps,
    gates::closed,
    llm_config::show,
    understand::Words,
    wish::in_words,
};

/// Returns the changes that a decision makes, or the reason for refusing it.
pub(super) fn judge(
    deps: &Deps,
    cx: &Context<AgentState>,
    decision: &ExecutorDecision,
    spoken: &TaggedAnswer,
) -> Result<Vec<Update>, RejectedAnswer> {
    let agent = cx.state();
    let closed = agent.is_gate_closed().then(closed);
    let work = PhaseWork::new(&deps.toolbox, agent)
        .plan(&agent.plan)
        .evidence(&agent.run.evidence)
        .draft(agent.run.unsaved)
        .obstacle(closed.as_deref())
        .in_words(|call| {
            let words = Words {
                schedule: agent.schedule.as_ref()?,
                sections: Some(&deps.sections),
                lang: agent.lang,
            };
            in_words(call.call(), &words)
        });
    let text = visible_text([spoken.after.as_str(), &decision.speak, &spoken.before]);
    let id = format!("call-{}", agent.calls + 1);
    let steps = work.steps(decision, &id, text);
    let steps = steps.map_err(|rejected| rejected.raw(&spoken.decision))?;
    if spoken.after.is_empty() && is_told(decision.action, &steps) {
        show(cx, &decision.speak);
    }
    let mut updates = vec![Update::Judged(view(decision.action, &steps))];
    for step in steps {
        updates.extend(changes(cx, spoken, step));
    }
    Ok(updates)
}

/// Returns true if the person reads the text of a decision at once. A card has the text itself, and
/// a tool that only changes the active tools is of no interest.
fn is_told(action: ActionKind, steps: &[PhaseStep]) -> bool {
    match steps {
        [PhaseStep::Call(wanted)] => wanted.accepted && !wanted.speak.is_empty(),
        _ => !matches!(action, ActionKind::AskUser | ActionKind::Abort),
    }
}

fn view(action: ActionKind, steps: &[PhaseStep]) -> DecisionView {
    match (action, steps) {
        (_, [PhaseStep::Call(wanted)]) if wanted.accepted => DecisionView::Act,
        (_, [PhaseStep::Call(_)]) => DecisionView::Confirm,
        (ActionKind::AskUser, _) => DecisionView::Ask,
        (ActionKind::Done | ActionKind::Abort, _) => DecisionView::Done,
        _ => DecisionView::Continue,
    }
}

fn changes(cx: &Context<AgentState>, spoken: &TaggedAnswer, step: PhaseStep) -> Vec<Update> {
    let agent = cx.state();
    match step {
        PhaseStep::Call(wanted) => vec![Update::Wanted(wanted)],
        PhaseStep::Say(text) => vec![said(text)],
        PhaseStep::Ask(text) => {
            asking(cx);
            let title = agent.lang.pick("A question", "请确认");
            let card = Card::question(QuestionTopic::AskUser, title, &text);
            let card = card.streamed(!spoken.after.is_empty());
            vec![
                said(text),
                Update::Asked(PendingInteraction::new(card, Phase::Executing)),
            ]
        }
        PhaseStep::Advance => vec![Update::Advanced],
        PhaseStep::Close => keeping(agent),
        PhaseStep::Abort(abort) => vec![Update::Ended(given_up(&abort))],
        _ => vec![Update::Done],
    }
}

/// Returns the updates at the end of the placing: without consent in advance, the person is asked
/// whether to keep the result.
fn keeping(agent: &AgentState) -> Vec<Update> {
    if agent.run.always_execute {
        vec![Update::Kept, Update::Done]
    } else {
        vec![Update::Closing]
    }
}

fn given_up(abort: &Abort) -> TerminalOutcome {
    let code = match abort.code.as_str() {
        "" => "aborted",
        code => code,
    };
    TerminalOutcome::aborted("execute", code, &abort.user_message, &abort.internal_reason)
}
