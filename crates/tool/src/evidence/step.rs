use serde::{Deserialize, Serialize};

use crate::{Access, AnsweredCall};

/// An observation, a write or a word of the person that lets a step of a plan count as done.
///
/// A model that says that a step is done is believed only if something shows it:
///
/// ```
/// use fugato_tool::StepEvidence;
///
/// let evidence = [StepEvidence::of_reply(0, "the blue one")];
/// assert!(StepEvidence::shows(&evidence, 0));
/// assert!(!StepEvidence::shows(&evidence, 1));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEvidence {
    /// The step, from 0.
    pub step_index: usize,
    /// The kind of evidence.
    pub source: EvidenceSource,
    /// The tool; empty for a reply of the person.
    pub name: String,
    /// The arguments, as text.
    pub arguments_digest: String,
    /// True if it succeeded.
    pub success: bool,
    /// The result in a few words.
    pub summary: String,
}

/// The kinds of evidence of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSource {
    /// A tool was used to look.
    ToolObservation,
    /// A tool was used to write.
    WriteReceipt,
    /// The person said so.
    UserReply,
}

impl StepEvidence {
    /// Returns the evidence that a call leaves for a step; none if it only changed which tools are
    /// active.
    pub fn of_call<U>(step_index: usize, called: &AnsweredCall<U>) -> Option<Self> {
        let source = match called.access {
            Some(Access::Context) => return None,
            Some(Access::Write) => EvidenceSource::WriteReceipt,
            Some(Access::Read) | None => EvidenceSource::ToolObservation,
        };
        Some(Self {
            step_index,
            source,
            name: called.call.name.clone(),
            arguments_digest: called.call.arguments.to_string(),
            success: called.result.is_ok(),
            summary: called.result.summary.clone(),
        })
    }

    /// Returns the evidence of a reply of the person.
    pub fn of_reply(step_index: usize, reply: impl Into<String>) -> Self {
        Self {
            step_index,
            source: EvidenceSource::UserReply,
            name: String::new(),
            arguments_digest: String::new(),
            success: true,
            summary: reply.into(),
        }
    }

    /// Returns true if some of the evidence shows that a step is done.
    pub fn shows(evidence: &[Self], step: usize) -> bool {
        let said = |it: &Self| it.source == EvidenceSource::UserReply || !it.name.is_empty();
        let mut of_step = evidence.iter().filter(|it| it.step_index == step);
        of_step.any(|it| it.success && said(it))
    }

    /// Returns true if the last write for a step failed, and none has repaired it.
    pub fn has_failed_write(evidence: &[Self], step: usize) -> bool {
        let is_write = |it: &&Self| it.source == EvidenceSource::WriteReceipt;
        let mut writes = evidence.iter().filter(is_write).rev();
        writes
            .find(|it| it.step_index == step)
            .is_some_and(|last| !last.success)
    }
}

#[cfg(test)]
mod tests {
    use fugato_state::ToolCall;
    use serde_json::json;

    use super::*;
    use crate::{NoArguments, Registry, ToolContext, ToolFailure, ToolSpec};

    #[test]
    fn sch_50_calls_leave_evidence_for_their_step() {
        let registry = Registry::<(), ()>::builder()
            .function(ToolSpec::read("look", "Looks."), |_, _: NoArguments| {
                Ok("a tree")
            })
            .function(ToolSpec::write("cut", "Cuts."), |_, _: NoArguments| {
                Err::<&str, _>(ToolFailure::failed("too thick"))
            })
            .function(ToolSpec::context("turn", "Turns."), |_, _: NoArguments| {
                Ok("turned")
            })
            .build()
            .unwrap();
        let calls = ["look", "turn", "cut"].map(|name| ToolCall::new(name, name, json!({})));
        let called = registry.call_round(&calls, ToolContext::new(&()));
        let called = futures::executor::block_on(called);
        let left = |called| StepEvidence::of_call(1, called);
        let evidence: Vec<_> = called.iter().filter_map(left).collect();
        let seen = |it: &StepEvidence| (it.name.clone(), it.source, it.success);
        let expected = [
            ("look".to_owned(), EvidenceSource::ToolObservation, true),
            ("cut".to_owned(), EvidenceSource::WriteReceipt, false),
        ];
        assert_eq!(evidence.iter().map(seen).collect::<Vec<_>>(), expected);
        assert!(StepEvidence::shows(&evidence, 1) && !StepEvidence::shows(&evidence, 0));
        let fails = |step| StepEvidence::has_failed_write(&evidence, step);
        assert_eq!([0, 1].map(fails), [false, true]);
    }
}
