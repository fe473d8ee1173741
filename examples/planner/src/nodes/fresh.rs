use std::collections::BTreeMap;

use async_trait::async_trait;
use fugato::{
    BoxError, Context, EventKind, Node, Outcome,
    agent::{
        plan::{StepKind, StepStatus, WorkUpdate},
        preflight::Preflight,
    },
};
use serde_json::json;

use crate::session::{Session, SessionUpdate};

/// Brings the session up to date before somebody plans or speaks: the facts, and whether the plan
/// was made for the tools that there are.
pub(crate) struct Fresh {
    preflight: Preflight,
    tools: BTreeMap<String, String>,
}

impl Fresh {
    pub(crate) fn new(preflight: Preflight, tools: BTreeMap<String, String>) -> Self {
        Self { preflight, tools }
    }

    /// A plan for other tools goes on if the tools of its steps to come are the same; if not, what
    /// has not begun is dropped, and the planner is asked again.
    fn checked(&self, session: &Session) -> (Vec<SessionUpdate>, Option<EventKind>) {
        if session.tools == self.tools {
            return (vec![], None);
        }
        let mut updates = vec![SessionUpdate::Tooled(self.tools.clone())];
        let known = !session.tools.is_empty();
        let pending = session.work.steps.iter();
        let pending = pending.filter(|step| step.status == StepStatus::Pending);
        let calls = pending.filter(|step| step.draft.kind == StepKind::Tool);
        let mut names = calls.map(|step| &step.draft.tool_name);
        let changed = names.find(|name| session.tools.get(*name) != self.tools.get(*name));
        let Some(tool) = changed.filter(|_| known) else {
            return (updates, None);
        };
        let (goal, steps) = (String::new(), vec![]);
        updates.push(SessionUpdate::Work(WorkUpdate::Planned { goal, steps }));
        let data = json!({ "tool": tool });
        (
            updates,
            Some(EventKind::Custom {
                name: "plan_invalidated".into(),
                data,
            }),
        )
    }
}

#[async_trait]
impl Node<Session> for Fresh {
    async fn run(&self, cx: Context<Session>) -> Result<Outcome<SessionUpdate>, BoxError> {
        let (mut all, told) = self.checked(cx.state());
        let looked = self.preflight.run(cx).await?;
        let Outcome::Done { updates, notes } = looked else {
            return Ok(looked);
        };
        all.extend(updates);
        let outcome = Outcome::Done {
            updates: all,
            notes,
        };
        Ok(match told {
            Some(told) => outcome.note(told),
            None => outcome,
        })
    }
}
