//! Changes of sessions as older programs wrote them.
use fugato::agent::ReactUpdate;
use serde_json::{Value, json};

use super::SessionUpdate;

/// Converts a change of version 1 to its present form. In version 1, the state of the person and
/// the start of the loop that takes over had changes of their own.
pub(super) fn from_1(old: Value) -> Value {
    let change = old.as_object().and_then(|old| old.iter().next());
    let Some((name, told)) = change else {
        return old;
    };
    match name.as_str() {
        "recalled" => json!({ "person": { "recalled": told } }),
        "kept" => json!({ "person": { "changed": told } }),
        "stored" => json!({ "person": { "stored": told } }),
        "rescue_began" => {
            let told = told.get("told").and_then(Value::as_str);
            json!(SessionUpdate::Rescue(ReactUpdate::user(
                told.unwrap_or_default()
            )))
        }
        _ => old,
    }
}

#[cfg(test)]
mod tests {
    use fugato::state::State as _;

    use super::*;
    use crate::session::PlannerSession;

    #[test]
    fn a_session_of_version_1_goes_on() {
        let task = json!({ "goal": "", "flow": "", "open_loops": [], "facts": ["is new"],
            "decision": null, "updated": 1 });
        let learnt = json!({ "task": { "learnt": { "fact": "trades by day", "at": 2 } } });
        let mut session = PlannerSession::default();
        for old in [
            json!({ "said": { "user": "ada", "text": "buy" } }),
            json!({ "recalled": { "task": task, "preferences": {} } }),
            json!({ "kept": learnt }),
            json!({ "stored": 1 }),
            json!({ "rescue_began": { "told": "buy" } }),
            json!("cleared"),
            json!({ "rescue_began": { "told": "sell" } }),
        ] {
            let read = PlannerSession::migrate_update(1, old.clone());
            let read = read.unwrap_or_else(|error| panic!("{old}: {:?}", error.source));
            for update in read {
                session.apply(update);
            }
        }
        assert_eq!(session.user, "ada");
        assert_eq!(session.person.unsaved.len(), 1, "that the task is cleared");
        let begun = session.rescue.conversation.history.iter();
        let begun: Vec<_> = begun.map(|message| message.content.as_str()).collect();
        assert_eq!(begun, ["sell"]);
        let wrong = PlannerSession::migrate_update(1, json!({ "dances": 1 }));
        assert!(wrong.is_err());
    }
}
