//! Checks of a decision against the current state. The contract has already checked its form.
use fugato::{
    graph::Context,
    llm::{RejectedAnswer, TaggedAnswer, visible_text},
    prompt::one_of,
    state::ToolCall,
    tool::{Access, Verdict},
};
use serde_json::Value;

use super::{asking, said};
use crate::{
    agent::{
        AgentState, Card, DecisionView, EvidenceSource, PendingInteraction, PendingWrite, Phase,
        QuestionTopic, TerminalOutcome, Update,
    },
    contract::{ActionKind, Call, ExecutorDecision},
    deps::Deps,
    gates::CLOSED,
    llm_config::show,
    schedule::polish,
    wish::in_words,
};

/// Returns the changes that a decision makes, or the reason for refusing it.
pub(super) fn judge(
    deps: &Deps,
    cx: &Context<AgentState>,
    decision: &ExecutorDecision,
    spoken: &TaggedAnswer,
) -> Result<Vec<Update>, RejectedAnswer> {
    let judging = DecisionCheck {
        deps,
        agent: cx.state(),
        decision,
        raw: &spoken.decision,
    };
    let updates = match (decision.action, decision.call()) {
        (ActionKind::Continue | ActionKind::Confirm, Some(call)) => {
            let updates = judging.call(call, judging.text(spoken))?;
            // A card has the text itself, and a tool that only changes the active tools is of no
            // interest to the person.
            let told = |update: &Update| matches!(update, Update::Wanted(wanted) if wanted.accepted && !wanted.speak.is_empty());
            if spoken.after.is_empty() && updates.iter().any(told) {
                show(cx, &decision.speak);
            }
            return Ok(updates);
        }
        (ActionKind::Continue, None) => judging.go_on(spoken),
        (ActionKind::AskUser, _) => {
            asking(cx);
            judging.ask(spoken)
        }
        (ActionKind::NextPlan, _) => judging.next_step(judging.text(spoken))?,
        (ActionKind::Done, _) => judging.done(judging.text(spoken))?,
        (ActionKind::Abort, _) => judging.abort(),
        (ActionKind::Confirm, None) => {
            return Err(judging.refuse(
                "/tool_call",
                "confirm needs the call that is to be confirmed",
            ));
        }
    };
    let asks = matches!(decision.action, ActionKind::AskUser | ActionKind::Abort);
    if spoken.after.is_empty() && !asks {
        show(cx, &decision.speak);
    }
    Ok(updates)
}

struct DecisionCheck<'a> {
    deps: &'a Deps,
    agent: &'a AgentState,
    decision: &'a ExecutorDecision,
    raw: &'a str,
}

impl DecisionCheck<'_> {
    fn text<'a>(&'a self, spoken: &'a TaggedAnswer) -> &'a str {
        visible_text([spoken.after.as_str(), &self.decision.speak, &spoken.before])
    }

    fn refuse(&self, path: &str, why: impl Into<String>) -> RejectedAnswer {
        RejectedAnswer::sense(self.raw, path, why)
    }

    /// Returns the updates for a call that may be executed, or has to be confirmed.
    fn call(&self, call: &Call, text: &str) -> Result<Vec<Update>, RejectedAnswer> {
        let id = format!("call-{}", self.agent.calls + 1);
        let call = ToolCall::new(id, call.name.clone(), Value::Object(call.arguments.clone()));
        let admitted = self.deps.toolbox.admit(&call, self.agent);
        let (admitted, verdict) =
            admitted.map_err(|refusal| self.refuse("/tool_call", refusal.to_string()))?;
        let accepted = match verdict {
            Verdict::Allow => true,
            Verdict::Block(why) => return Err(self.refuse("/tool_call", why)),
            Verdict::NeedConfirm(_) if self.decision.action == ActionKind::Confirm => false,
            Verdict::NeedConfirm(_) => {
                let name = &admitted.spec().name;
                let confirm = one_of(["confirm"]);
                let why = format!("`{name}` writes, so the action must be {confirm}, not continue");
                return Err(self.refuse("/action", why));
            }
        };
        // A tool that only changes the active tools is of no interest to the person.
        let is_context = admitted.spec().access == Access::Context;
        let speak = if is_context { "" } else { text };
        let summary = self.summary(admitted.call(), admitted.preview(), text);
        let (call, speak) = (admitted.call().clone(), speak.to_owned());
        let judged = if accepted {
            DecisionView::Act
        } else {
            DecisionView::Confirm
        };
        Ok(vec![
            Update::Judged(judged),
            Update::Wanted(PendingWrite {
                call,
                summary,
                speak,
                accepted,
            }),
        ])
    }

    /// Returns the text that the person sees of a call; a consent needs the effect of the call in
    /// it.
    fn summary(&self, call: &ToolCall, preview: String, text: &str) -> String {
        let schedule = self.agent.schedule.as_ref();
        let words = schedule.and_then(|s| in_words(call, s, self.agent.lang));
        match (words, text.is_empty()) {
            (Some(words), true) => words,
            (Some(words), false) => format!("{text}\n{words}"),
            (None, true) => preview,
            (None, false) => format!("{text} ({preview})"),
        }
    }

    /// Keeps the visible reasoning, so that the next round does not start from the same point.
    fn go_on(&self, spoken: &TaggedAnswer) -> Vec<Update> {
        let text = visible_text([self.text(spoken), self.decision.reason.as_str(), "…"]);
        vec![Update::Judged(DecisionView::Continue), said(text)]
    }

    fn ask(&self, spoken: &TaggedAnswer) -> Vec<Update> {
        let text = self.text(spoken);
        let title = self.agent.lang.pick("A question", "请确认");
        let card = Card::question(title, text).streamed(!spoken.after.is_empty());
        let (topic, resume_phase) = (QuestionTopic::AskUser, Phase::Executing);
        let asked = Update::Asked(PendingInteraction {
            topic,
            card,
            resume_phase,
        });
        vec![Update::Judged(DecisionView::Ask), said(text), asked]
    }

    fn next_step(&self, text: &str) -> Result<Vec<Update>, RejectedAnswer> {
        if !self.agent.has_step() {
            let why = "there is no plan; when everything is done, the action is done";
            return Err(self.refuse("/action", why));
        }
        self.check_evidence()?;
        let mut updates = vec![Update::Judged(DecisionView::Continue)];
        updates.extend((!text.is_empty()).then(|| said(text)));
        updates.push(Update::Advanced);
        let last = self.agent.plan.current + 1 == self.agent.plan.steps.len();
        if last && self.agent.run.unsaved {
            updates.extend(self.keeping());
        }
        Ok(updates)
    }

    fn done(&self, text: &str) -> Result<Vec<Update>, RejectedAnswer> {
        self.check_evidence()?;
        let mut updates = vec![Update::Judged(DecisionView::Done)];
        updates.extend((!text.is_empty()).then(|| said(text)));
        if self.agent.run.unsaved {
            updates.extend(self.keeping());
        } else {
            updates.push(Update::Done);
        }
        Ok(updates)
    }

    /// Returns the updates at the end of the placing: without consent in advance, the person is
    /// asked whether to keep the result.
    fn keeping(&self) -> Vec<Update> {
        let mut updates = self.polished();
        updates.extend(if self.agent.run.always_execute {
            vec![Update::Kept, Update::Done]
        } else {
            vec![Update::Closing]
        });
        updates
    }

    /// Returns the polishing changes after a refinement, which the candidates do not cover. A draft
    /// that the person wanted, or places chosen by hand, are left as they are.
    fn polished(&self) -> Vec<Update> {
        let refined = self.agent.schedule.as_deref();
        let changes = refined
            .filter(|_| self.agent.run.optimize_only)
            .map(polish)
            .unwrap_or_default();
        if changes.is_empty() {
            return vec![];
        }
        vec![Update::Scheduled(changes)]
    }

    fn abort(&self) -> Vec<Update> {
        let outcome = match &self.decision.abort {
            Some(abort) => TerminalOutcome::aborted(
                "execute",
                if abort.code.is_empty() {
                    "aborted"
                } else {
                    &abort.code
                },
                &abort.user_message,
                &abort.internal_reason,
            ),
            None => TerminalOutcome::aborted("execute", "aborted", "", &self.decision.reason),
        };
        vec![Update::Judged(DecisionView::Done), Update::Ended(outcome)]
    }

    /// Checks that a finished step has evidence, and that no evidence contradicts it.
    fn check_evidence(&self) -> Result<(), RejectedAnswer> {
        if self.agent.is_gate_closed() {
            return Err(self.refuse("/action", CLOSED));
        }
        if self.agent.run.failed_write {
            let why = "the last write failed; repair it, ask the user, or abort";
            return Err(self.refuse("/action", why));
        }
        let step = self.agent.plan.current;
        let mut evidence = self
            .agent
            .run
            .evidence
            .iter()
            .filter(|e| e.step_index == step);
        let seen = evidence
            .any(|e| e.success && (e.source == EvidenceSource::UserReply || !e.name.is_empty()));
        if self.agent.has_step() && !seen && !self.agent.run.unsaved {
            let why =
                "nothing shows that this step is done: call a tool that shows it, or ask the user";
            return Err(self.refuse("/goal_check", why));
        }
        Ok(())
    }
}
