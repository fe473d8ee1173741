use fugato_memory::{ExecutionStatus, PendingQuestion};
use serde_json::{Map, Value, json};

use super::PlanProgress;

impl PlanProgress {
    /// Returns the progress of the work as a document, under the field names of other programs. The
    /// caller adds other fields, such as the session and the person.
    ///
    /// ```
    /// use fugato_agent::plan::{PlanProgress, WorkUpdate};
    /// use fugato_state::State as _;
    ///
    /// let mut work = PlanProgress::default();
    /// work.apply(WorkUpdate::Requested { goal: "Buy tea.".into() });
    /// let document = work.document();
    /// assert_eq!(document["goal"], "Buy tea.");
    /// assert_eq!(document["status"], "planning");
    /// ```
    pub fn document(&self) -> Map<String, Value> {
        let execution = &self.execution;
        let observed = execution.observed.iter().map(|one| {
            json!({
                "step_id": one.step, "kind": one.kind, "summary": one.summary,
                "raw_json": one.raw, "created_at": one.at,
            })
        });
        let waiting = execution.waiting.as_ref();
        let fields = [
            ("goal", json!(execution.goal)),
            ("status", json!(execution.status)),
            ("steps", json!(self.steps)),
            (
                "current_step_id",
                json!(self.running().map(|step| &step.id)),
            ),
            ("execution_log", observed.collect()),
            ("summary_notes", json!(execution.notes)),
            ("dynamic_snapshots", json!(execution.snapshots)),
            ("current_references", json!(execution.references)),
            (
                "waiting",
                json!(waiting.map(|waiting| self.waited(waiting))),
            ),
            ("final_answer", json!(self.answer)),
            ("last_error", json!(execution.error)),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        fields.into_iter().collect()
    }

    fn waited(&self, waiting: &PendingQuestion) -> Value {
        let confirms = self.status() == ExecutionStatus::WaitingUserConfirmation;
        let target = self.running().filter(|_| confirms);
        json!({
            "question": waiting.question,
            "intent": waiting.intent,
            "pending_fields": waiting.missing,
            "confirmation_target": target.map(|step| &step.draft.tool_name),
            "created_at": waiting.since,
        })
    }
}
