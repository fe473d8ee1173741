//! Earlier messages of a conversation that a client keeps itself, by its own account: the plan is
//! read out of them by rule, so that the next words go on with it. Nothing is carried out.
use fugato::{
    agent::decision::Judge as _,
    state::{Message, Role, State as _},
};
use jiff::civil::Date;

use crate::{
    action,
    deps::Deps,
    read::document_ids,
    reply,
    service::{NextStepJudge, RequestPlanner, Situation, Slots},
    state::{
        Request, RequestKind, Runtime, RuntimeDecision, Steward, TaskPlan, Update, WorkStatus,
    },
};

/// Returns the plan to which a conversation has come.
pub(crate) fn recalled(deps: &Deps, earlier: &[Message], base: Date) -> TaskPlan {
    let mut state = Steward::default();
    for message in earlier {
        if message.role == Role::User {
            said(deps, &mut state, &message.content, base);
        } else {
            answered(&mut state, &message.content);
        }
    }
    state.steward_state
}

/// Reads words of the person as rules do it.
fn said(deps: &Deps, state: &mut Steward, words: &str, base: Date) {
    let request = Request::new(RequestKind::Chat, "", "").message(words);
    state.apply(Update::Requested(Box::new(request)));
    state.apply(Update::Prepared {
        message: words.to_owned(),
        client_trace_id: String::new(),
        base_date: base.to_string(),
        runtime: Runtime::default(),
    });
    let desk = &deps.desk;
    let mut plans = state.steward_state.current().is_none();
    if !plans {
        let decision = NextStepJudge(desk.clone()).rules(&Situation::of(state));
        plans = decision == RuntimeDecision::NewRequest;
        state.apply(Update::Decided(decision));
    }
    if plans {
        let mut intent = RequestPlanner(desk.clone()).rules(&Situation::of(state));
        action::attach(deps, &mut intent.tasks);
        state.apply(Update::Understood(intent));
    }
    let slots = Slots(desk.clone()).rules(&Situation::of(state));
    state.apply(Update::Filled(slots));
}

/// Settles the current task if the agent said that it was done or is not wanted.
fn answered(state: &mut Steward, words: &str) {
    let (status, document) = match () {
        () if reply::tells_done(words) => (WorkStatus::Done, document_ids(words).pop()),
        () if reply::tells_cancelled(words) => (WorkStatus::Closed, None),
        () => return,
    };
    if let Some(task) = state.steward_state.current() {
        let task_id = task.task_id.clone();
        state.apply(Update::Settled {
            task_id,
            status,
            document,
        });
    }
}
