//! The stable keys by which the events of a run are found in the log. A program of its own: a
//! callsite that another thread reaches first, without a subscriber, is never enabled again.
#![expect(clippy::unwrap_used, reason = "a helper that fails fails its test")]
#[allow(dead_code, reason = "one test uses a part of it")]
#[path = "scheduler/common.rs"]
mod common;

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use serde_json::json;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

use common::{FIRST, Talk, ends, place, plan, task};

/// A subscriber that keeps the lines of the agent, each with its fields.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<FoundKey>>>);

/// A key, and the names of the fields.
type FoundKey = (String, Vec<&'static str>);

#[derive(Default)]
struct Line {
    message: String,
    fields: Vec<&'static str>,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "message" => self.message = format!("{value:?}"),
            name => self.fields.push(name),
        }
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
            && ["scheduler", "fugato_agent"]
                .iter()
                .any(|of| metadata.target().starts_with(of))
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.0.lock().unwrap().push((line.message, line.fields));
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn sch_135_the_lines_of_a_run_are_found_by_their_keys() {
    let lines = Lines::default();
    let guard = tracing::subscriber::set_default(lines.clone());
    let said = [
        task(),
        plan(["Place the first chapter"]),
        json!("I think we should look first."),
        json!({ "action": "next_plan" }),
        place(FIRST, 1, 3),
    ];
    let stage = Talk::new(said);
    stage.say("Place the first chapter").await;
    stage.approve().await;
    stage.says(&ends("done"));
    stage.says(&json!("That was it."));
    let done = stage.approve().await;
    assert!(done.is_finished());
    drop(guard);

    let lines = lines.0.lock().unwrap().clone();
    let of = |key: &str| {
        let fields = lines.iter().filter(|(message, _)| message == key);
        fields.map(|(_, fields)| fields.clone()).collect::<Vec<_>>()
    };
    let found = vec!["thread", "run", "messages", "phase"];
    assert_eq!(of("load or create runtime state"), vec![found; 3]);
    assert_eq!(of("plan LLM"), [["task", "raw", "decision"]]);
    assert_eq!(of("execute LLM"), [["task", "raw", "decision"]; 2]);
    assert_eq!(
        of("execute decision unparsable"),
        [["task", "raw", "rejected"]]
    );
    assert_eq!(
        of("execute decision illegal"),
        [["task", "raw", "rejected"]]
    );
}
