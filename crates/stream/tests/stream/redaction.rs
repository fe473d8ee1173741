//! A reader from whom the internals are kept, over each encoder.
use std::sync::Arc;

use fugato_state::RunId;
use fugato_stream::{
    AgUiEncoder, AiSdkEncoder, Encoder, EnvelopeEncoder, Event, EventKind, Fidelity, Frames,
    NamedSseEncoder, OpenAiEncoder, Origin, Redaction, Vocabulary,
};
use serde_json::json;

use crate::encode::{event, transcript};

/// The transcript of all kinds, with the call of a model and the failure of the run.
fn internals() -> Vec<Event> {
    let call = EventKind::Custom {
        name: "model_call".into(),
        data: json!({ "attempts": [{ "model": "gpt-secret" }] }),
    };
    let mut events = transcript();
    let end = events.pop();
    events.push(event(Some(5), Some("think"), call));
    let effect = |key: &str| EventKind::EffectDone { key: key.into() };
    events.push(event(Some(5), Some("act"), effect("mail/secret")));
    events.extend(end);
    let error = "task think#1 failed: secret cause".to_owned();
    events.push(event(Some(7), None, EventKind::RunFailed { error }));
    events
}

/// Everything that only an operator may see: names of tasks, raw outputs, errors, corrections,
/// effects and calls of models.
const SECRETS: [&str; 9] = [
    "\"think\"",
    "think#1",
    "\"act\"",
    "act#1",
    "confirm#1",
    "[2]",
    "store is busy",
    "there is no tool",
    "secret",
];

/// The parts that every reader needs.
const SHOWN: [&str; 2] = ["我看一下", "\\\"now\\\""];

fn encoded(mut encoder: Box<dyn Encoder>, events: &[Event]) -> String {
    let mut frames = Frames::new();
    for event in events {
        encoder.encode(event, &mut frames);
    }
    encoder.finish(&mut frames);
    frames.as_str().to_owned()
}

fn check(name: &str, encoder: impl Fn() -> Box<dyn Encoder>) {
    let events = internals();
    let all = encoded(encoder(), &events);
    let some = SECRETS.iter().filter(|secret| all.contains(**secret));
    assert!(
        some.count() >= 3,
        "{name} shows nothing to an operator: {all}"
    );

    let redaction = Redaction::internals();
    let events: Vec<_> = events
        .into_iter()
        .filter_map(|one| redaction.apply(one))
        .collect();
    let shown = encoded(encoder(), &events);
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{name} shows {secret}: {shown}");
    }
    for needed in SHOWN {
        assert!(shown.contains(needed), "{name} lacks {needed}: {shown}");
    }
}

#[test]
fn no_encoder_shows_internals_to_a_client() {
    check("openai", || {
        Box::new(OpenAiEncoder::new("run-1", "desk", 0))
    });
    let full = Fidelity::Full;
    check("openai, full", || {
        Box::new(OpenAiEncoder::new("run-1", "desk", 0).fidelity(full))
    });
    for vocabulary in [Vocabulary::REACT, Vocabulary::PLANNER] {
        check("named", || Box::new(NamedSseEncoder::new(vocabulary)));
        check("named, full", || {
            Box::new(NamedSseEncoder::new(vocabulary).fidelity(full))
        });
    }
    check("envelope", || Box::new(EnvelopeEncoder::new(|| 0)));
    check("ag-ui", || Box::new(AgUiEncoder::new()));
    check("ai sdk", || Box::new(AiSdkEncoder::new()));
}

#[test]
fn each_part_is_left_out_alone() {
    let events = internals();
    let left = |redaction: Redaction| {
        let events = events.iter().cloned();
        let shown: Vec<_> = events.filter_map(|one| redaction.apply(one)).collect();
        serde_json::to_string(&shown).unwrap()
    };
    assert_eq!(
        left(Redaction::none()),
        serde_json::to_string(&events).unwrap()
    );
    let nodes = left(Redaction::none().nodes(true));
    assert!(!nodes.contains("think") && nodes.contains("gpt-secret") && nodes.contains("[2]"));
    let calls = left(Redaction::none().model_calls(true));
    assert!(calls.contains("think") && !calls.contains("gpt-secret") && calls.contains("[2]"));
    let outputs = left(Redaction::none().tool_outputs(true));
    assert!(
        outputs.contains("think") && outputs.contains("gpt-secret") && !outputs.contains("[2]")
    );
}

#[test]
fn tasks_without_names_are_told_apart() {
    let origins = [
        ("", "draft", 1),
        ("", "draft", 2),
        ("", "check", 1),
        ("sub#1", "draft", 1),
    ];
    let shown = origins.map(|(scope, node, visit)| {
        let origin = Origin {
            scope: scope.into(),
            node: node.into(),
            visit,
            index: None,
            attempt: 1,
        };
        let text = EventKind::TextFinished { block: "b".into() };
        let event = Event {
            run: RunId(1),
            origin: Some(Arc::new(origin)),
            ..event(None, None, text)
        };
        let shown = Redaction::internals().apply(event).unwrap();
        shown.origin.unwrap()
    });
    for (at, one) in shown.iter().enumerate() {
        let same: Vec<_> = shown.iter().map(|other| one.is_same_task(other)).collect();
        let expected: Vec<_> = (0..shown.len()).map(|other| other == at).collect();
        assert_eq!(same, expected);
    }
}
