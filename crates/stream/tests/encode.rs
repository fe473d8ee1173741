//! What goes over the wire, byte by byte, and that it can be read back.
use std::sync::Arc;

use expect_test::{ExpectFile, expect_file};
use fugato_state::{Interrupt, InterruptId, Question, RunId, ThreadId};
use fugato_stream::{
    Encoder, Event, EventKind, Fidelity, Frames, NamedSseEncoder, OpenAiEncoder, Origin,
    ToolStatus, Vocabulary, decode,
};
use proptest::{collection::vec, option, prelude::*};
use serde_json::{Value, json};

fn event(seq: Option<u64>, node: Option<&str>, kind: EventKind) -> Event {
    let origin = |node: &str| Origin {
        scope: "".into(),
        node: node.into(),
        visit: 1,
        index: None,
        attempt: 1,
    };
    Event {
        thread: ThreadId::new("desk").expect("a short name is allowed"),
        run: RunId(1),
        seq,
        origin: node.map(|node| Arc::new(origin(node))),
        kind,
    }
}

fn interrupt(prompt: Value) -> Interrupt {
    Interrupt {
        id: InterruptId::from("i1"),
        task: "confirm#1".to_owned(),
        question: Question::new::<bool>("ok", prompt),
    }
}

/// A run with everything in it.
fn transcript() -> Vec<Event> {
    [thinking(), acting()].concat()
}

/// What a model says.
fn thinking() -> Vec<Event> {
    let block = || "b1".to_owned();
    let think = |kind| event(None, Some("think"), kind);
    let (call, name) = (|| "c1".to_owned(), || "find_free".to_owned());
    vec![
        event(Some(1), None, EventKind::RunStarted { resumed: false }),
        think(EventKind::NodeStarted),
        think(EventKind::Status {
            code: "planning".into(),
            summary: "planning your week".into(),
        }),
        think(EventKind::ReasoningStarted { block: "r1".into() }),
        think(EventKind::ReasoningDelta {
            block: "r1".into(),
            text: "Which day?".into(),
        }),
        think(EventKind::ReasoningFinished { block: "r1".into() }),
        think(EventKind::TextStarted { block: block() }),
        think(EventKind::TextDelta {
            block: block(),
            text: "我看一下\n".into(),
        }),
        think(EventKind::TextDelta {
            block: block(),
            text: String::new(),
        }),
        think(EventKind::TextDelta {
            block: block(),
            text: "\"now\"".into(),
        }),
        think(EventKind::TextFinished { block: block() }),
        think(EventKind::Correction {
            message: "there is no tool `find`".into(),
        }),
        think(EventKind::ToolCallProposed {
            call: call(),
            name: name(),
            arguments: json!({ "duration": 2 }),
        }),
        event(Some(2), Some("think"), EventKind::NodeFinished),
    ]
}

/// What a tool and a person do, and the end.
fn acting() -> Vec<Event> {
    let act = |seq, kind| event(Some(seq), Some("act"), kind);
    let (call, name) = (|| "c1".to_owned(), || "find_free".to_owned());
    vec![
        act(
            3,
            EventKind::ToolStarted {
                call: call(),
                name: name(),
                preview: "duration=2".into(),
            },
        ),
        act(
            3,
            EventKind::ToolFinished {
                call: call(),
                name: name(),
                status: ToolStatus::Ok,
                summary: "day 2 is free".into(),
                result: Some(json!({ "days": [2] })),
            },
        ),
        act(
            3,
            EventKind::NodeFailed {
                error: "the store is busy".into(),
                retry_at: Some(9),
            },
        ),
        act(
            3,
            EventKind::Card {
                card: "plan".into(),
                data: json!({ "steps": 2 }),
            },
        ),
        act(
            3,
            EventKind::Custom {
                name: "plan".into(),
                data: json!({ "summary": "two steps" }),
            },
        ),
        act(
            3,
            EventKind::Custom {
                name: "usage".into(),
                data: json!({ "total_tokens": 12 }),
            },
        ),
        event(
            Some(4),
            Some("confirm"),
            EventKind::InterruptRaised(interrupt(json!({
                "type": "confirm",
                "title": "Place it?",
                "summary": "Algebra on day 2",
            }))),
        ),
        event(
            Some(4),
            Some("confirm"),
            EventKind::InterruptRaised(interrupt(json!("Which week?"))),
        ),
        event(
            Some(5),
            None,
            EventKind::InterruptAnswered {
                id: InterruptId::from("i1"),
                answer: json!(true),
            },
        ),
        event(
            Some(6),
            None,
            EventKind::RunFinished {
                output: Some(json!("Done.")),
            },
        ),
    ]
}

fn encoded(mut encoder: impl Encoder, events: &[Event]) -> String {
    let mut frames = Frames::new();
    for event in events {
        encoder.encode(event, &mut frames);
    }
    encoder.finish(&mut frames);
    encoder.keep_alive(&mut frames);
    assert_eq!(frames.iter().collect::<String>(), frames.as_str());
    frames.as_str().to_owned()
}

fn openai() -> OpenAiEncoder {
    OpenAiEncoder::new("run-1", "desk", 1_700_000_000)
}

fn golden(encoder: impl Encoder, expected: &ExpectFile) {
    expected.assert_eq(&encoded(encoder, &transcript()));
}

#[test]
fn sch_118_openai_chunks() {
    golden(openai(), &expect_file!["golden/openai_strict.sse"]);
    golden(
        openai()
            .fidelity(Fidelity::Full)
            .extension_as_extra()
            .include_usage(),
        &expect_file!["golden/openai_full.sse"],
    );
}

#[test]
fn rct_10_named_events_of_a_loop() {
    golden(
        NamedSseEncoder::new(Vocabulary::REACT),
        &expect_file!["golden/react_strict.sse"],
    );
    golden(
        NamedSseEncoder::new(Vocabulary::REACT).fidelity(Fidelity::Full),
        &expect_file!["golden/react_full.sse"],
    );
}

#[test]
fn pln_18_named_events_of_a_plan() {
    golden(
        NamedSseEncoder::new(Vocabulary::PLANNER),
        &expect_file!["golden/planner_strict.sse"],
    );
}

fn chunks(wire: &str) -> Vec<Value> {
    let data = wire.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).expect("every frame is JSON"))
        .collect()
}

#[test]
fn sch_118_the_role_is_in_the_first_chunk_only_and_no_chunk_is_empty() {
    for events in [transcript(), transcript().split_off(7)] {
        let wire = encoded(openai(), &events);
        let chunks = chunks(&wire);
        let role = |chunk: &Value| chunk["choices"][0]["delta"].get("role").is_some();
        assert_eq!(chunks.iter().position(role), Some(0));
        assert_eq!(chunks.iter().filter(|chunk| role(chunk)).count(), 1);
        for chunk in &chunks {
            let delta = &chunk["choices"][0]["delta"];
            let said = delta.get("content").or(delta.get("reasoning_content"));
            let first = role(chunk);
            assert!(first || said.is_none_or(|text| text != ""), "{chunk}");
            assert_ne!(chunk["ext"]["kind"], Value::Null, "{chunk}");
        }
        assert!(wire.contains("data: [DONE]\n\n"));
    }
}

#[test]
fn tools_of_the_server_are_never_tool_calls_of_the_chunk() {
    for fidelity in [Fidelity::Strict, Fidelity::Full] {
        let wire = encoded(openai().fidelity(fidelity), &transcript());
        for chunk in chunks(&wire) {
            assert_eq!(chunk["choices"][0]["delta"].get("tool_calls"), None);
        }
        assert!(!wire.lines().any(|line| line.starts_with("id:")));
    }
}

#[test]
fn a_failed_run_and_a_broken_stream_end_in_an_error() {
    let failed = event(
        Some(2),
        None,
        EventKind::RunFailed {
            error: "no model".into(),
        },
    );
    assert_eq!(
        encoded(openai(), &[failed]),
        "data: {\"error\":{\"message\":\"no model\"}}\n\ndata: [DONE]\n\n: ping\n\n"
    );
    assert_eq!(
        encoded(openai(), &[]),
        "data: {\"error\":{\"message\":\"the stream ended before the run did\"}}\n\n\
         data: [DONE]\n\n: ping\n\n"
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(".{0,4}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_kind() -> impl Strategy<Value = EventKind> {
    let text = || ".{0,9}";
    let status = prop_oneof![
        Just(ToolStatus::Ok),
        Just(ToolStatus::Blocked),
        Just(ToolStatus::Failed)
    ];
    prop_oneof![
        any::<bool>().prop_map(|resumed| EventKind::RunStarted { resumed }),
        any_json().prop_map(|json| EventKind::RunFinished {
            output: Some(json).filter(|json| !json.is_null())
        }),
        any_json().prop_map(|json| EventKind::RunParked {
            interrupts: vec![interrupt(json)]
        }),
        text().prop_map(|error| EventKind::RunFailed { error }),
        (text(), text()).prop_map(|(by, why)| EventKind::RunCancelled { by, why }),
        Just(EventKind::NodeStarted),
        Just(EventKind::NodeFinished),
        (text(), option::of(any::<i64>()))
            .prop_map(|(error, retry_at)| EventKind::NodeFailed { error, retry_at }),
        any_json().prop_map(|json| EventKind::InterruptRaised(interrupt(json))),
        any_json().prop_map(|answer| {
            let id = InterruptId::from("i1");
            EventKind::InterruptAnswered { id, answer }
        }),
        text().prop_map(|block| EventKind::TextStarted { block }),
        (text(), text()).prop_map(|(block, text)| EventKind::TextDelta { block, text }),
        text().prop_map(|block| EventKind::ReasoningFinished { block }),
        (text(), text()).prop_map(|(block, text)| EventKind::ReasoningDelta { block, text }),
        (text(), text(), any_json()).prop_map(|(call, name, arguments)| {
            EventKind::ToolCallProposed {
                call,
                name,
                arguments,
            }
        }),
        (text(), text(), text()).prop_map(|(call, name, preview)| EventKind::ToolStarted {
            call,
            name,
            preview
        }),
        (text(), text(), status, any_json()).prop_map(|(call, summary, status, result)| {
            let (name, result) = ("place".to_owned(), Some(result).filter(|it| !it.is_null()));
            EventKind::ToolFinished {
                call,
                name,
                status,
                summary,
                result,
            }
        }),
        (text(), text()).prop_map(|(code, summary)| EventKind::Status { code, summary }),
        (text(), any_json()).prop_map(|(card, data)| EventKind::Card { card, data }),
        text().prop_map(|message| EventKind::Correction { message }),
        (text(), any_json()).prop_map(|(name, data)| EventKind::Custom { name, data }),
    ]
}

prop_compose! {
    fn any_event()(
        seq in option::of(any::<u64>()),
        node in option::of("[a-z]{1,5}"),
        kind in any_kind(),
    ) -> Event {
        event(seq, node.as_deref(), kind)
    }
}

proptest! {
    #[test]
    fn l12_full_fidelity_decodes_back_to_the_same_events(events in vec(any_event(), 0..8)) {
        let wires = [
            encoded(openai().fidelity(Fidelity::Full), &events),
            encoded(openai().fidelity(Fidelity::Full).extension_as_extra(), &events),
            encoded(NamedSseEncoder::new(Vocabulary::REACT).fidelity(Fidelity::Full), &events),
            encoded(NamedSseEncoder::new(Vocabulary::PLANNER).fidelity(Fidelity::Full), &events),
        ];
        for wire in wires {
            prop_assert_eq!(&decode(&wire).unwrap(), &events);
        }
    }

    #[test]
    fn strict_tells_of_no_event_in_full(events in vec(any_event(), 0..8)) {
        let wires = [
            encoded(openai(), &events),
            encoded(NamedSseEncoder::new(Vocabulary::REACT), &events),
        ];
        for wire in wires {
            prop_assert_eq!(&decode(&wire).unwrap(), &[]);
        }
    }
}

#[test]
fn what_is_not_a_stream_of_events_names_its_line() {
    let error = decode("data: {}\n\ndata: {\"ev\":{}}\n").unwrap_err();
    assert_eq!(
        (error.line, error.to_string()),
        (3, "line 3 of the stream is not an event".into())
    );
}
