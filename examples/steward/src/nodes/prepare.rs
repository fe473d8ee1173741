//! What is said is cleaned, and an action is looked up. No model is asked, and nothing is written.
use async_trait::async_trait;
use fugato::{
    BoxError, Context, Node, Outcome,
    agent::{ActionEnd, ActionRequest, ActionsUpdate},
};

use crate::{
    action::{self, WHITELIST},
    deps::Deps,
    form::{Fields, day},
    state::{Request, RequestKind, Runtime, Steward, Update},
};

/// More of a message than anybody types.
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
        let mut updates = vec![Update::Prepared {
            message: cleaned(&request.message),
            client_trace_id: named(&request.client_trace_id, || format!("run-{}", cx.run().0)),
            base_date: match day(&request.base_date) {
                Some(day) => day.to_string(),
                None => today(cx.now()),
            },
            runtime: self.runtime,
        }];
        if let RequestKind::Execute {
            action,
            arguments,
            precheck_ref,
        } = &request.kind
        {
            updates.extend(execute(
                &self.deps,
                state,
                request,
                (action, arguments, precheck_ref.as_deref()),
            ));
        }
        Ok(Outcome::done(updates))
    }
}

fn named(given: &str, otherwise: impl FnOnce() -> String) -> String {
    if given.is_empty() {
        otherwise()
    } else {
        given.to_owned()
    }
}

/// The day of this time, where this program runs.
fn today(now: fugato::state::Millis) -> String {
    let now = jiff::Timestamp::from_millisecond(now).unwrap_or_default();
    now.to_zoned(jiff::tz::TimeZone::system())
        .date()
        .to_string()
}

/// Without what no reader sees, and with one space between words.
fn cleaned(message: &str) -> String {
    let seen = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    let lines = message.chars().take(LONGEST).map(seen).collect::<String>();
    let lines = lines
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// An action of the whitelist is requested with its arguments in canonical form; any other is
/// rejected before anything is called.
fn execute(
    deps: &Deps,
    state: &Steward,
    request: &Request,
    (name, arguments, precheck): (&str, &Fields, Option<&str>),
) -> Vec<Update> {
    let id = request.client_trace_id.as_str();
    let asked = |arguments| {
        Update::Acted(ActionsUpdate::Requested(ActionRequest::new(
            id, name, arguments,
        )))
    };
    let ended = |end| Update::Acted(ActionsUpdate::Ended(end));
    let Some(action) = action::find(name) else {
        let allowed: Vec<_> = WHITELIST.iter().map(|action| action.name).collect();
        let why = format!(
            "there is no action {name:?}; allowed are {}",
            allowed.join(", ")
        );
        return vec![
            asked(serde_json::Value::Null),
            ended(ActionEnd::Rejected { why }),
        ];
    };
    let given = match action::canonical(&deps.desk.forms, action, arguments) {
        Ok(given) => given,
        Err(why) => {
            let at = name.to_owned();
            return vec![
                asked(serde_json::Value::Null),
                ended(ActionEnd::Blocked { at, why }),
            ];
        }
    };
    let mut updates = vec![asked(given.clone())];
    if let Some(told) = precheck {
        let held = state
            .evidence
            .about(action::PRECHECK, &given)
            .map(action::reference);
        if held.as_deref() != Some(told) {
            let at = name.to_owned();
            let why = "the precheck that is referred to is not one of this content; run it again"
                .to_owned();
            updates.push(ended(ActionEnd::Blocked { at, why }));
        }
    }
    updates
}
