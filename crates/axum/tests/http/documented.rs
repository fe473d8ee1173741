//! The page of examples against the events of a real run.
use std::{fmt::Write as _, sync::Arc};

use expect_test::expect_file;
use fugato_state::{Interrupt, Question, RunId, ThreadId, ToolStatus};
use fugato_stream::{
    Encoder as _, Event, EventKind as Kind, Fidelity, Frames, NamedSseEncoder, Origin, Vocabulary,
};
use serde_json::{Value, json};

use crate::server::LetterServer;

/// The source of an event: the thread or a task at a position of the log, or a task without one.
enum From {
    Thread(u64),
    Task(u64),
    Now,
}

fn question() -> Interrupt {
    let prompt = json!({ "type": "confirm", "title": "Place it?", "summary": "Algebra on day 2" });
    Interrupt {
        id: "confirm#1~5".into(),
        task: "confirm#1".into(),
        question: Question::new::<bool>("answer", prompt)
            .digest("1f0c")
            .expires_at(4_102_444_800_000),
    }
}

fn of_runs() -> Vec<(From, Kind)> {
    let text = str::to_owned;
    vec![
        (From::Thread(2), Kind::RunStarted { resumed: false }),
        (
            From::Thread(9),
            Kind::RunFinished {
                output: Some(json!("placed")),
            },
        ),
        (
            From::Now,
            Kind::RunParked {
                interrupts: vec![question()],
            },
        ),
        (
            From::Thread(9),
            Kind::RunFailed {
                error: text("task think#1 failed: no model"),
            },
        ),
        (
            From::Thread(9),
            Kind::RunCancelled {
                by: text("Ada"),
                why: text("enough"),
            },
        ),
        (
            From::Thread(9),
            Kind::Amended {
                by: text("Ada"),
                why: text("a typing error"),
            },
        ),
        (From::Now, Kind::NodeStarted),
        (From::Task(3), Kind::NodeFinished),
        (
            From::Task(3),
            Kind::NodeFailed {
                error: text("no model"),
                retry_at: Some(1_700_000_000_000),
            },
        ),
        (From::Task(5), Kind::InterruptRaised(question())),
        (
            From::Thread(6),
            Kind::InterruptAnswered {
                id: "confirm#1~5".into(),
                answer: json!(true),
            },
        ),
        (
            From::Thread(6),
            Kind::InterruptExpired {
                id: "confirm#1~5".into(),
            },
        ),
        (From::Thread(7), Kind::EffectIntended { key: text("mail") }),
        (From::Thread(8), Kind::EffectDone { key: text("mail") }),
    ]
}

fn of_words() -> Vec<(From, Kind)> {
    let (thought, answer) = (|| "thought".into(), || "answer".into());
    vec![
        (From::Now, Kind::ReasoningStarted { block: thought() }),
        (
            From::Now,
            Kind::ReasoningDelta {
                block: thought(),
                text: "Which ".into(),
            },
        ),
        (From::Now, Kind::ReasoningFinished { block: thought() }),
        (From::Now, Kind::TextStarted { block: answer() }),
        (
            From::Now,
            Kind::TextDelta {
                block: answer(),
                text: "Let me ".into(),
            },
        ),
        (From::Now, Kind::TextFinished { block: answer() }),
    ]
}

fn of_work() -> Vec<(From, Kind)> {
    let (call, name, text) = (|| "c1".to_owned(), || "find_free".to_owned(), str::to_owned);
    vec![
        (
            From::Now,
            Kind::ToolCallDelta {
                call: "c1".into(),
                name: "find_free".into(),
                arguments: "{\"duration\":".into(),
            },
        ),
        (
            From::Task(3),
            Kind::ToolCallProposed {
                call: call(),
                name: name(),
                arguments: json!({ "duration": 2 }),
            },
        ),
        (
            From::Now,
            Kind::ToolStarted {
                call: call(),
                name: name(),
                preview: text("duration=2"),
            },
        ),
        (
            From::Task(3),
            Kind::ToolFinished {
                call: call(),
                name: name(),
                status: ToolStatus::Ok,
                summary: text("day 2 is free"),
                result: Some(json!({ "days": [2] })),
            },
        ),
        (
            From::Now,
            Kind::Status {
                code: text("planning"),
                summary: text("planning your week"),
            },
        ),
        (
            From::Task(3),
            Kind::Card {
                card: text("week"),
                data: json!({ "days": 7 }),
            },
        ),
        (
            From::Now,
            Kind::Correction {
                message: text("\"day\" must be 1 to 7, not 9"),
            },
        ),
        (
            From::Task(3),
            Kind::Custom {
                name: text("plan"),
                data: json!({ "steps": ["look", "place"] }),
            },
        ),
    ]
}

fn event((from, kind): (From, Kind)) -> Event {
    let task = || {
        Some(Arc::new(Origin {
            scope: "".into(),
            node: "think".into(),
            visit: 1,
            index: None,
            attempt: 1,
        }))
    };
    let (seq, origin) = match from {
        From::Thread(seq) => (Some(seq), None),
        From::Task(seq) => (Some(seq), task()),
        From::Now if matches!(kind, Kind::RunParked { .. }) => (None, None),
        From::Now => (None, task()),
    };
    Event {
        thread: ThreadId::new("desk").unwrap(),
        run: RunId(1),
        seq,
        origin,
        kind,
    }
}

fn name(kind: &Kind) -> String {
    serde_json::to_value(kind).unwrap()["kind"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn l12_each_kind_of_event_has_an_example() {
    let mut page = String::from(
        "# Events as they are sent\n\n\
         One example of each kind, as `GET /threads/{id}/events` sends it; a test writes this page.\n\
         What a page reads is the field `ev`; the other fields are for clients that know the vocabulary only.\n",
    );
    let mut encoder = NamedSseEncoder::new(Vocabulary::REACT).fidelity(Fidelity::Full);
    let mut frames = Frames::new();
    for example in of_runs().into_iter().chain(of_words()).chain(of_work()) {
        let event = event(example);
        frames.clear();
        encoder.encode(&event, &mut frames);
        let text = frames.as_str().trim_end();
        writeln!(page, "\n## {}\n\n```text\n{text}\n```", name(&event.kind)).unwrap();
    }
    expect_file!["../../docs/events.md"].assert_eq(&page);
}

/// The page documents the events of a real run, and no other forms.
#[tokio::test]
async fn what_a_run_sends_is_documented() {
    let page = include_str!("../../docs/events.md");
    let client = LetterServer::open().client();
    let mut events = client.run("desk", "a free day").await;
    let id = client.asked("desk").await;
    client
        .post("/threads/desk/resume", json!({ "answers": { id: true } }))
        .await;
    let rest = client
        .get("/threads/desk/events?after=4&follow=false")
        .await;
    events.extend(rest.events());
    events.extend(client.run("other", "fail").await);
    for event in events {
        let heading = format!("\n## {}\n", name(&event.kind));
        let (_, section) = page.split_once(&heading).expect("each kind has a section");
        let line = section
            .lines()
            .find_map(|line| line.strip_prefix("data: "))
            .unwrap();
        let example: Value = serde_json::from_str(line).unwrap();
        let sent = serde_json::to_value(&event).unwrap();
        for field in sent.as_object().unwrap().keys() {
            let known = &example["ev"][field];
            assert!(!known.is_null(), "{field} of {}", name(&event.kind));
        }
    }
}
