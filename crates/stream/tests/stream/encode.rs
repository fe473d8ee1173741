//! The exact bytes of each protocol, and decoding them.
use std::sync::Arc;

use expect_test::{ExpectFile, expect_file};
use fugato_state::{Interrupt, InterruptId, Question, RunId, ThreadId};
use fugato_stream::{
    AgUiEncoder, AiSdkEncoder, Encoder, EnvelopeEncoder, Event, EventKind, Fidelity, Frames,
    NamedSseEncoder, OpenAiEncoder, Origin, Text, ToolStatus, Vocabulary, card_text, decode,
};
use serde_json::{Value, json};

pub(crate) fn event(seq: Option<u64>, node: Option<&str>, kind: EventKind) -> Event {
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

fn interrupt(id: &str, prompt: Value) -> Interrupt {
    Interrupt {
        id: InterruptId::from(id),
        task: "confirm#1".to_owned(),
        question: Question::new::<bool>("ok", prompt),
    }
}

/// The card of a call that a gate wants confirmed, as it is raised.
fn gated() -> Interrupt {
    let mut interrupt = interrupt(
        "i1",
        json!({
            "title": "place",
            "summary": "day: 2\ntask: Algebra",
            "call": { "id": "c2", "name": "place", "arguments": { "day": 2, "task": "Algebra" } },
            "says": "Places a task.",
        }),
    );
    interrupt.question = interrupt.question.digest("d1");
    interrupt
}

/// A run with events of every kind.
pub(crate) fn transcript() -> Vec<Event> {
    [thinking(), acting()].concat()
}

/// A piece of the arguments of the call.
fn piece(arguments: &str) -> EventKind {
    EventKind::ToolCallDelta {
        call: "c1".into(),
        name: "find_free".into(),
        arguments: arguments.into(),
    }
}

/// The events of a model.
fn thinking() -> Vec<Event> {
    let block = || Text::from("b1");
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
            text: Text::default(),
        }),
        think(EventKind::TextDelta {
            block: block(),
            text: "\"now\"".into(),
        }),
        think(EventKind::TextFinished { block: block() }),
        think(EventKind::Correction {
            message: "there is no tool `find`".into(),
        }),
        think(piece("{\"dura")),
        think(piece("")),
        think(piece("tion\": 2}")),
        think(EventKind::ToolCallProposed {
            call: call(),
            name: name(),
            arguments: json!({ "duration": 2 }),
        }),
        event(Some(2), Some("think"), EventKind::NodeFinished),
    ]
}

/// The events of a tool and a person, and the end.
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
            EventKind::InterruptRaised(gated()),
        ),
        event(
            Some(4),
            Some("confirm"),
            EventKind::InterruptRaised(interrupt("i2", json!("Which week?"))),
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

fn encode(mut encoder: impl Encoder, events: &[Event], frames: &mut Frames) {
    for event in events {
        encoder.encode(event, frames);
    }
    encoder.finish(frames);
    encoder.keep_alive(frames);
}

fn encoded(encoder: impl Encoder, events: &[Event]) -> String {
    let mut frames = Frames::new();
    encode(encoder, events, &mut frames);
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
    golden(openai(), &expect_file!["../golden/openai_strict.sse"]);
    golden(
        openai()
            .fidelity(Fidelity::Full)
            .extension_as_extra()
            .include_usage(),
        &expect_file!["../golden/openai_full.sse"],
    );
}

#[test]
fn rct_10_named_events_of_a_loop() {
    golden(
        NamedSseEncoder::new(Vocabulary::REACT),
        &expect_file!["../golden/react_strict.sse"],
    );
    golden(
        NamedSseEncoder::new(Vocabulary::REACT).fidelity(Fidelity::Full),
        &expect_file!["../golden/react_full.sse"],
    );
}

#[test]
fn rct_10_a_call_is_shown_with_its_arguments_even_if_the_run_is_told_to_begin_after_it() {
    let call = || "c1".to_owned();
    let events = [
        EventKind::ToolCallProposed {
            call: call(),
            name: "place".into(),
            arguments: json!({ "day": 2 }),
        },
        EventKind::RunStarted { resumed: false },
        EventKind::ToolStarted {
            call: call(),
            name: "place".into(),
            preview: String::new(),
        },
    ];
    let events = events.map(|kind| event(None, None, kind));
    let wire = encoded(NamedSseEncoder::new(Vocabulary::REACT), &events);
    assert!(wire.contains("\"args\":{\"day\":2}"), "{wire}");
}

#[test]
fn pln_18_named_events_of_a_plan() {
    golden(
        NamedSseEncoder::new(Vocabulary::PLANNER),
        &expect_file!["../golden/planner_strict.sse"],
    );
}

#[test]
fn trn_13_envelopes() {
    // 2024-01-02T03:04:05.006Z, on every call.
    let envelope = || EnvelopeEncoder::new(|| 1_704_164_645_006);
    let lines = |encoder| {
        let mut frames = Frames::new();
        encode(encoder, &transcript(), &mut frames);
        let lines: Vec<_> = frames.iter().map(|frame| format!("{frame}\n")).collect();
        lines.concat()
    };
    expect_file!["../golden/envelope_strict.jsonl"].assert_eq(&lines(envelope()));
    expect_file!["../golden/envelope_full.jsonl"]
        .assert_eq(&lines(envelope().fidelity(Fidelity::Full)));
}

/// The names of envelopes, and their data.
fn enveloped(kinds: &[EventKind]) -> Vec<(String, Value)> {
    let mut frames = Frames::new();
    let events: Vec<_> = kinds
        .iter()
        .map(|kind| event(None, Some("act"), kind.clone()))
        .collect();
    encode(EnvelopeEncoder::new(|| 0), &events, &mut frames);
    let read = |frame: &str| -> Option<(String, Value)> {
        let mut read: Value = serde_json::from_str(frame).ok()?;
        let name = read.get("event")?.as_str()?.to_owned();
        Some((name, read.get_mut("data")?.take()))
    };
    frames
        .iter()
        .map(|frame| read(frame).expect("an envelope"))
        .collect()
}

#[test]
fn trn_w4_who_comes_late_is_told_of_a_call_before_its_result() {
    let (call, name) = ("c1".to_owned(), "look".to_owned());
    let proposed = EventKind::ToolCallProposed {
        call: call.clone(),
        name: name.clone(),
        arguments: json!({ "at": 1 }),
    };
    let started = EventKind::ToolStarted {
        call: call.clone(),
        name: name.clone(),
        preview: String::new(),
    };
    let finished = EventKind::ToolFinished {
        call,
        name,
        status: ToolStatus::Ok,
        summary: "seen".into(),
        result: None,
    };
    let live = enveloped(&[proposed.clone(), started, finished.clone()]);
    let late = enveloped(&[proposed, finished]);
    assert_eq!(live, late);
    let [(first, told), (second, _), ..] = &late[..] else {
        panic!("{late:?}");
    };
    assert_eq!(
        (first.as_str(), second.as_str()),
        ("tool_call", "tool_result")
    );
    assert_eq!(told["params"], json!({ "at": 1 }));
}

#[test]
fn trn_13_what_an_agent_tells_of_its_thoughts_keeps_its_name() {
    let correction = json!({ "old": { "path": "a" }, "new": { "path": "b" }, "cause": "no a" });
    let custom = |name: &str, data: Value| EventKind::Custom {
        name: name.into(),
        data,
    };
    let told = enveloped(&[
        custom("thinking", json!({ "content": "hm" })),
        custom("correction", correction.clone()),
        custom("somebody_elses", json!({})),
    ]);
    let expected = [
        ("thinking", json!({ "content": "hm" })),
        ("correction", correction),
    ];
    let expected = expected.map(|(name, data)| (name.to_owned(), data));
    assert_eq!(told.get(..2), Some(&expected[..]));
}

#[test]
fn trn_13_only_what_ends_the_run_is_an_error_that_cannot_be_mended() {
    let failed = |retry_at| EventKind::NodeFailed {
        error: "busy".into(),
        retry_at,
    };
    let given_up = EventKind::RunFailed {
        error: "no way on".into(),
    };
    let errors = |kinds: &[EventKind]| -> Vec<Value> {
        let told = enveloped(kinds).into_iter();
        let errors = told.filter(|(name, _)| name == "error");
        errors.map(|(_, data)| data).collect()
    };
    let busy = json!({ "message": "busy", "recoverable": true });
    assert_eq!(
        errors(&[failed(Some(7)), EventKind::NodeFinished])[..1],
        [busy]
    );
    // Another node takes over, so that nothing is wrong with the run.
    let told = enveloped(&[failed(None), EventKind::NodeStarted]);
    assert_eq!(
        told.first(),
        Some(&(
            "status".to_owned(),
            json!({ "code": "node_failed", "summary": "act" })
        ))
    );
    let end = json!({ "message": "no way on", "recoverable": false });
    assert_eq!(errors(&[failed(None), given_up]), [end]);
}

#[test]
fn l12_events_of_ag_ui() {
    let ag_ui = || AgUiEncoder::new().named("t-1", "r-1");
    golden(ag_ui(), &expect_file!["../golden/ag_ui_strict.sse"]);
    golden(
        ag_ui().fidelity(Fidelity::Full),
        &expect_file!["../golden/ag_ui_full.sse"],
    );
}

#[test]
fn l12_the_stream_of_the_ai_sdk() {
    golden(
        AiSdkEncoder::new(),
        &expect_file!["../golden/ai_sdk_strict.sse"],
    );
    golden(
        AiSdkEncoder::new().fidelity(Fidelity::Full),
        &expect_file!["../golden/ai_sdk_full.sse"],
    );
}

/// Returns the frames about calls: the type of each, and its part of the arguments.
fn told(encoder: impl Encoder, kinds: &[EventKind]) -> Vec<String> {
    let events = kinds
        .iter()
        .map(|kind| event(None, Some("think"), kind.clone()));
    let wire = encoded(encoder, &events.collect::<Vec<_>>());
    let frames = chunks(&wire).into_iter().filter_map(|frame| {
        let kind = frame
            .get("type")?
            .as_str()?
            .to_lowercase()
            .replace('_', "-");
        let kind = kind.strip_prefix("tool-")?.to_owned();
        let said = ["delta", "inputTextDelta", "input"];
        let said = said.iter().find_map(|name| frame.get(name));
        let id = frame.get("toolCallId")?.as_str()?.to_owned();
        Some(match said {
            Some(Value::String(said)) => format!("{kind} {id} {said}"),
            Some(said) => format!("{kind} {id} = {said}"),
            None => format!("{kind} {id}"),
        })
    });
    frames.collect()
}

fn proposed(arguments: Value) -> EventKind {
    EventKind::ToolCallProposed {
        call: "c1".into(),
        name: "find_free".into(),
        arguments,
    }
}

#[test]
fn l13_a_call_is_begun_once_and_its_proposal_says_what_is_left() {
    let whole = || proposed(json!({ "duration": 2 }));
    let both = |kinds: &[EventKind]| {
        let (ag_ui, ai_sdk) = (AgUiEncoder::new(), AiSdkEncoder::new());
        [told(ag_ui, kinds), told(ai_sdk, kinds)]
    };
    let begun = "input-start c1";
    let available = "input-available c1 = {\"duration\":2}";
    // Whitespace makes no difference, and pieces after the proposal add nothing.
    let late = || piece("{}");
    assert_eq!(
        both(&[piece("{\"duration\": "), piece("2}"), whole(), late()]),
        [
            vec![
                "call-start c1",
                "call-args c1 {\"duration\":2}",
                "call-end c1"
            ],
            vec![
                begun,
                "input-delta c1 {\"duration\": ",
                "input-delta c1 2}",
                available
            ],
        ]
    );
    // The missing rest of a call is sent with its proposal.
    assert_eq!(
        both(&[piece("{\"dur"), whole()]),
        [
            vec![
                "call-start c1",
                "call-args c1 {\"duration\":2}",
                "call-end c1"
            ],
            vec![begun, "input-delta c1 {\"dur", available],
        ]
    );
    // A proposal that contradicts the pieces is right.
    assert_eq!(
        both(&[piece("{\"days\":1}"), whole()]),
        [
            vec![
                "call-start c1",
                "call-args c1 {\"duration\":2}",
                "call-end c1"
            ],
            vec![begun, "input-delta c1 {\"days\":1}", available],
        ]
    );
}

#[test]
fn l13_a_call_that_is_not_proposed_is_closed_with_its_task_and_with_its_run() {
    let failed = EventKind::NodeFailed {
        error: "no model".into(),
        retry_at: Some(9),
    };
    let ended = EventKind::RunFinished { output: None };
    for end in [failed, EventKind::NodeFinished, ended] {
        let kinds = [piece("{\"dur"), end];
        assert_eq!(
            told(AgUiEncoder::new(), &kinds),
            ["call-start c1", "call-args c1 {}", "call-end c1"]
        );
        assert_eq!(
            told(AiSdkEncoder::new(), &kinds),
            [
                "input-start c1",
                "input-delta c1 {\"dur",
                "input-error c1 {\"dur"
            ]
        );
    }
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

#[test]
fn what_is_not_a_stream_of_events_names_its_frame() {
    let error = decode("data: {}\n\ndata: {\"ev\":{}}\n\n").unwrap_err();
    assert_eq!(
        (error.frame, error.to_string()),
        (2, "frame 2 of the stream cannot be read".into())
    );
}

#[test]
fn k35_a_parked_completion_says_what_it_waits_for() {
    let parked = EventKind::RunParked {
        interrupts: vec![gated(), interrupt("i2", json!("Which week?"))],
    };
    let says = |events: &[EventKind]| {
        let events: Vec<_> = events
            .iter()
            .map(|kind| event(None, None, kind.clone()))
            .collect();
        let wire = encoded(openai(), &events);
        let chunks = wire.lines().filter_map(|line| line.strip_prefix("data: "));
        let read = chunks.filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
        let content = |chunk: Value| {
            let content = chunk.pointer("/choices/0/delta/content")?.as_str()?;
            Some(content.to_owned())
        };
        read.filter_map(content).collect::<String>()
    };
    let cards = format!("{}\n\nWhich week?", card_text(&gated()));
    assert!(cards.contains("    task: Algebra\n"), "{cards}");
    assert_eq!(says(std::slice::from_ref(&parked)), cards);
    // A stream that ends before the run is parked gives the same text.
    let asked = [gated(), interrupt("i2", json!("Which week?"))].map(EventKind::InterruptRaised);
    assert_eq!(says(&asked), cards);
    let text = EventKind::TextDelta {
        block: "b".into(),
        text: "Look:".into(),
    };
    assert_eq!(says(&[text, parked]), format!("Look:\n\n{cards}"));
}

#[test]
fn k35_a_gate_asks_the_sdk_for_an_approval_of_a_call_that_it_shows() {
    let events = [
        EventKind::InterruptRaised(gated()),
        EventKind::RunParked {
            interrupts: vec![gated()],
        },
    ];
    let events = events.map(|kind| event(None, None, kind));
    let wire = encoded(AiSdkEncoder::new(), &events);
    let chunks = wire.lines().filter_map(|line| line.strip_prefix("data: "));
    let read = chunks.filter_map(|chunk| serde_json::from_str::<Value>(chunk).ok());
    let chunks: Vec<_> = read.collect();
    let of = |kind: &str| chunks.iter().find(|chunk| chunk["type"] == kind).cloned();
    let input = of("tool-input-available").unwrap();
    assert_eq!(input["input"], json!({ "day": 2, "task": "Algebra" }));
    let asked = of("tool-approval-request").unwrap();
    assert_eq!(
        (&asked["approvalId"], &asked["toolCallId"]),
        (&json!("i1"), &json!("c2"))
    );
    assert_eq!(of("finish").unwrap()["finishReason"], "tool-calls");
    assert_eq!(of("data-interrupt"), None);
}
