use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;

use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    /// Goes on.
    Continue,
    /// Asks the person.
    AskUser,
    Done,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    arguments: serde_json::Map<String, Value>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Decision {
    #[serde(default)]
    speak: String,
    action: Action,
    goal_check: Option<String>,
    tool_call: Option<Call>,
    #[schemars(range(min = 1, max = 7))]
    day: Option<u8>,
}

fn contract() -> Contract<Decision> {
    Contract::new("decision").check(|decision: &Decision, objections| {
        if decision.action == Action::Done && decision.goal_check.is_none() {
            objections.push(
                "/goal_check",
                "say in a string how you know that the goal is reached",
            );
        }
    })
}

fn refused(raw: &str) -> (RejectedClass, Vec<String>) {
    let rejected = contract().read(raw).unwrap_err();
    assert_eq!(rejected.raw.is_empty(), raw.is_empty());
    (
        rejected.class,
        rejected
            .violations
            .iter()
            .map(ToString::to_string)
            .collect(),
    )
}

#[test]
fn l4_what_fits_is_read() {
    let read = contract()
        .read("```json\n{action: 'ask_user', speak: \"Which one?\",}\n```")
        .unwrap();
    let expected = Decision {
        speak: "Which one?".into(),
        action: Action::AskUser,
        goal_check: None,
        tool_call: None,
        day: None,
    };
    assert_eq!(read, expected);
}

#[test]
fn sch_58_each_class_of_breach_is_told_apart() {
    use RejectedClass::*;
    let one_of = r#"one of "ask_user", "continue", "done""#;
    for (raw, class, violations) in [
        ("", Empty, vec![]),
        ("I'd continue.", NotJson, vec![]),
        ("[{\"action\": \"done\"}]", Array, vec![]),
        (
            "{\"action\": \"done\", \"speak\": \"I hav",
            Truncated,
            vec![],
        ),
        (
            "{\"action\": \"continue|ask_user|done\"}",
            Alternatives,
            vec![format!("/action: choose exactly {one_of}")],
        ),
        (
            "{\"action\": continue|ask_user}",
            Alternatives,
            vec![format!("/action: choose exactly {one_of}")],
        ),
        (
            "{\"action\": \"move\"}",
            Schema,
            vec![format!(
                "/action: \"move\" is not allowed; allowed is {one_of}"
            )],
        ),
        (
            "{\"speak\": \"x\"}",
            Schema,
            vec!["the value: \"action\" is a required property".into()],
        ),
        (
            "{\"action\": \"continue\", \"day\": 8}",
            Schema,
            vec!["/day: 8 is not allowed; allowed is integer from 1 to 7".into()],
        ),
        (
            "{\"action\": \"continue\", \"tool_call\": [{\"name\": \"a\"}]}",
            Schema,
            vec!["/tool_call: a list was given; give exactly one object".into()],
        ),
        (
            "{\"action\": \"continue\", \"tool_call\": {\"arguments\": {}}}",
            Schema,
            vec!["/tool_call: \"name\" is a required property".into()],
        ),
        (
            "{\"action\": \"continue\", \"tool_call\": {\"name\": \"a\", \"arguments\": \"{}\"}}",
            Schema,
            vec!["/tool_call/arguments: \"{}\" is not allowed; allowed is object".into()],
        ),
        (
            "{\"action\": \"done\"}",
            Sense,
            vec!["/goal_check: say in a string how you know that the goal is reached".into()],
        ),
    ] {
        assert_eq!(refused(raw), (class, violations), "{raw}");
    }
}

#[test]
fn an_unknown_key_is_told_with_the_known_ones() {
    let (class, violations) = refused("{\"action\": \"continue\", \"goal\": 1}");
    assert_eq!(class, RejectedClass::Schema);
    let expected = "the value: Additional properties are not allowed ('goal' was unexpected); \
         known keys are \"action\", \"day\", \"goal_check\", \"speak\", \"tool_call\"";
    assert_eq!(violations, [expected]);
}

#[test]
fn l6_a_correction_names_what_is_allowed_and_shows_no_bars() {
    let correction = contract()
        .read("{\"action\": \"continue|done\"}")
        .unwrap_err()
        .correction();
    let expected = "\
Your last answer cannot be used: it copies a list of alternatives where exactly one must be chosen.
- /action: choose exactly one of \"ask_user\", \"continue\", \"done\"
Allowed are these keys:
- \"action\" (required): one of \"ask_user\", \"continue\", \"done\"
- \"day\" (optional): integer from 1 to 7
- \"goal_check\" (optional): string
- \"speak\" (optional): string
- \"tool_call\" (optional): object with the keys \"arguments\", \"name\"
Answer again with one JSON object and nothing else.";
    assert_eq!(correction, expected);
}

#[test]
fn sch_57_an_empty_answer_leaves_a_placeholder_in_the_history() {
    let [said, correction] = contract().read(" ").unwrap_err().messages();
    assert_eq!(said, fugato_state::Message::assistant("(empty answer)"));
    assert!(
        correction
            .content
            .starts_with("Your last answer cannot be used: it is empty.")
    );
}

#[test]
fn what_is_prepared_is_what_is_validated() {
    let contract = contract().prepare(|value| {
        if value["action"] == "ask" {
            value["action"] = "ask_user".into();
        }
    });
    assert_eq!(
        contract.read("{\"action\": \"ask\"}").unwrap().action,
        Action::AskUser
    );
}

#[test]
fn l4_other_names_and_words_are_taken_for_those_of_the_contract() {
    let contract = contract()
        .alias("next", "action")
        .synonym("action", "ask", "ask_user");
    for (raw, action) in [
        ("{\"next\": \"Ask \"}", Action::AskUser),
        (
            "{\"next\": \"continue\", \"action\": \"continue\"}",
            Action::Continue,
        ),
    ] {
        assert_eq!(contract.read(raw).unwrap().action, action, "{raw}");
    }
    let both = contract.read("{\"next\": \"ask\", \"action\": \"continue\"}");
    let told = both.unwrap_err().violations;
    assert!(
        told.iter()
            .any(|told| told.message.contains("'next' was unexpected")),
        "{told:?}"
    );
}

#[test]
fn arguments_of_a_call_are_read_as_an_object_or_as_text() {
    let contract = Contract::<Call>::new("call");
    let expected = Call {
        name: "move".into(),
        arguments: serde_json::Map::new(),
    };
    for value in [
        serde_json::json!({ "name": "move" }),
        "{name: 'move'}".into(),
    ] {
        assert_eq!(contract.read_value(value).unwrap(), expected);
    }
}

/// Generates objects that nearly fit the contract.
fn nearly() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "{",
        "}",
        ",",
        ":",
        "[",
        "]",
        " ",
        "\n",
        "\"",
        "'",
        "```json\n",
        "```",
        "\"action\": \"continue\"",
        "action: done",
        "\"action\": \"continue|done\"",
        "\"goal_check\": \"seen\"",
        "\"day\": 3",
        "\"day\": 9",
        "'day': 1.0",
        "\"tool_call\": {\"name\": \"a\"}",
        "\"tool_call\":",
        "\"arguments\": {",
        "null",
        "None",
        "speak: 'x'",
    ]);
    prop::collection::vec(part, 0..10).prop_map(|parts| format!("{{{}", parts.concat()))
}

proptest! {
    #[test]
    fn l4_what_gets_through_keeps_to_the_schema_and_what_does_not_is_told_why(raw in nearly()) {
        match contract().read(&raw) {
            Ok(_) => {
                let found = extract(&raw).expect("it was read");
                prop_assert!(contract().json_schema().check(&Value::Object(found.object)).is_ok());
            }
            Err(rejected) => {
                let correction = rejected.correction();
                prop_assert!(correction.ends_with("and nothing else."), "{correction}");
            }
        }
    }
}
