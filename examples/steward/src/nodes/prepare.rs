//! The first node: it cleans the words and looks an action up. No model is asked, and nothing is
//! written.
use async_trait::async_trait;
use fugato::{
    BoxError, Context, Node, Outcome,
    agent::sequence::{ActionEnd, ActionRequest, ActionsUpdate},
    form::{Fields, day},
    state::Millis,
    words::normalize_whitespace,
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use serde_json::Value;

use crate::{
    action::{self, WHITELIST},
    deps::Deps,
    state::{Request, RequestKind, Runtime, Steward, Update},
};

/// The most characters of a message.
const LONGEST: usize = 4000;

/// Cleans what is said, and looks actions up.
pub(crate) struct Prepare {
    deps: Deps,
    runtime: Runtime,
}

impl Prepare {
    pub(crate) fn new(deps: &Deps, runtime: Runtime) -> Self {
        Self {
            deps: deps.clone(),
            runtime,
        }
    }
}

#[async_trait]
impl Node<Steward> for Prepare {
    async fn run(&self, cx: Context<Steward>) -> Result<Outcome<Update>, BoxError> {
        let state = cx.state();
        let request = state.request.as_ref().ok_or("nothing is requested")?;
        let base = day(&request.beside.base_date);
        let prepared = Update::Prepared {
            message: normalize_whitespace(
                &request.message.chars().take(LONGEST).collect::<String>(),
            ),
            client_trace_id: match request.client_trace_id.as_str() {
                "" => format!("run-{}", cx.run().0),
                named => named.to_owned(),
            },
            base_date: base.unwrap_or_else(|| today(cx.now())).to_string(),
            runtime: self.runtime,
        };
        let requested = self.requested(state, request);
        let updates = requested.into_iter().map(Update::Acted);
        Ok(Outcome::done([prepared].into_iter().chain(updates)))
    }
}

/// Returns the day of this time, in the time zone of this machine.
fn today(now: Millis) -> Date {
    let now = Timestamp::from_millisecond(now).unwrap_or_default();
    now.to_zoned(TimeZone::system()).date()
}

impl Prepare {
    /// Requests an action of the whitelist with its arguments in canonical form; any other is
    /// rejected before anything is called.
    fn requested(&self, state: &Steward, request: &Request) -> Vec<ActionsUpdate> {
        let RequestKind::Execute {
            action: name,
            arguments,
            precheck_ref,
        } = &request.kind
        else {
            return vec![];
        };
        let (given, end) = match self.given(name, arguments) {
            Ok(given) => {
                let end = precheck_ref
                    .as_deref()
                    .and_then(|told| refuted(state, name, &given, told));
                (given, end)
            }
            Err(end) => (Value::Null, Some(end)),
        };
        let asked = ActionRequest::new(request.client_trace_id.as_str(), name, given);
        let ended = end.map(ActionsUpdate::Ended);
        [ActionsUpdate::Requested(asked)]
            .into_iter()
            .chain(ended)
            .collect()
    }

    fn given(&self, name: &str, arguments: &Fields) -> Result<Value, ActionEnd> {
        let unknown = || {
            let allowed: Vec<_> = WHITELIST.iter().map(|action| action.name).collect();
            let allowed = allowed.join(", ");
            let why = format!("there is no action {name:?}; allowed are {allowed}");
            ActionEnd::Rejected { why }
        };
        let given = action::find(name).ok_or_else(unknown)?;
        let given = given.canonical(&self.deps.desk.forms, arguments);
        let at = name.to_owned();
        given.map_err(|why| ActionEnd::Blocked { at, why })
    }
}

/// Blocks an action whose reference to a precheck does not name the finding that is stored here. A
/// client's claim about a precheck is only a reference.
fn refuted(state: &Steward, name: &str, given: &Value, told: &str) -> Option<ActionEnd> {
    let held = state.evidence.about(action::PRECHECK, given);
    if held.map(action::reference).as_deref() == Some(told) {
        return None;
    }
    let why = "the precheck that is referred to is not one of this content; run it again";
    Some(ActionEnd::Blocked {
        at: name.to_owned(),
        why: why.to_owned(),
    })
}
