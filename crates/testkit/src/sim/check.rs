//! The conditions at the end of a case: K24.
use fugato_state::EffectClass;
use serde_json::Value;

use super::{
    case::Outcome,
    core::{Observations, counts},
};
use crate::log::{Failure, holds, same};

/// Compares a case with the run without faults.
pub(super) fn check(case: &Outcome, state: &Value, whole: &Observations) -> Result<(), Failure> {
    if let Some(broken) = case.seen.broken.first() {
        return Err(Failure::new(broken.clone()));
    }
    let ended = case.state.clone()?;
    effects(&case.seen, whole)?;
    same("the state at the end", &ended, state)?;
    let most = case.seen.most_in_flight;
    holds(most <= 1, || {
        format!("{most} appends of one thread were under way at once")
    })
}

fn effects(seen: &Observations, whole: &Observations) -> Result<(), Failure> {
    for ((name, address), action) in &seen.actions {
        let times = action.times;
        holds(action.class != EffectClass::Once || times <= 1, || {
            format!("{name} {address} was done {times} times")
        })?;
        let known = (name.clone(), address.clone());
        let wanted = !counts(action.class) || whole.actions.contains_key(&known);
        holds(wanted, || {
            format!("{name} {address} was done, and is not where nothing goes wrong")
        })?;
    }
    let missing = whole.actions.iter().find(|(known, action)| {
        let (_, address) = known;
        counts(action.class) && !seen.actions.contains_key(*known) && !seen.doubts.contains(address)
    });
    holds(missing.is_none(), || match missing {
        Some(((name, address), _)) => {
            format!("{name} {address} was never done, and nobody was asked about it")
        }
        None => String::new(),
    })
}
