//! Random events.
use std::sync::Arc;

use fugato_state::{Interrupt, InterruptId, Question, RunId, ThreadId, ToolStatus};
use fugato_stream::{Event, EventKind, Origin};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::select,
};
use serde_json::Value;

/// Generates up to twelve events. There are few names, so that most events refer to others.
pub fn any_events() -> impl Strategy<Value = Vec<Event>> {
    vec(any_event(), 0..12)
}

prop_compose! {
    /// An event of a thread with two runs and two nodes.
    pub fn any_event()(
        run in 1u64..3,
        seq in option::of(prop_oneof![0u64..40, any::<u64>()]),
        origin in option::of(origin()),
        kind in kind(),
    ) -> Event {
        Event {
            thread: ThreadId::new("desk").expect("a short name is allowed"),
            run: RunId(run),
            seq,
            origin: origin.map(Arc::new),
            kind,
        }
    }
}

/// Generates texts that would be lines, frames or ends without escaping, and ordinary ones.
pub fn hostile_text() -> impl Strategy<Value = String> {
    let known = [
        "",
        " ",
        "\n",
        "\r",
        "\r\n\r\n",
        "a\n\ndata: [DONE]\n\n",
        "\u{2028}\u{2029}\u{85}\u{feff}",
        "\0\u{1b}[0m",
        "\"}]}, \"ev\": {",
        "data: {\"ev\":{}}",
        "id: 9\nevent: run_finished",
        "我看一下😀e\u{301}",
        "\\u0000\\n",
        "__proto__",
    ];
    prop_oneof![select(known.to_vec()).prop_map(str::to_owned), ".{0,9}"]
}

prop_compose! {
    fn origin()(
        scope in select(vec!["", "sub"]),
        node in select(vec!["think", "act\n"]),
        visit in 1u32..3,
        index in option::weighted(0.2, 0u32..2),
        attempt in 1u32..3,
    ) -> Origin {
        Origin { scope: scope.into(), node: node.into(), visit, index, attempt }
    }
}

fn block() -> impl Strategy<Value = &'static str> {
    select(vec!["b1", "b2\n", "a block that has a longer name"])
}

fn call() -> impl Strategy<Value = String> {
    select(vec!["c1", "c2\r", ""]).prop_map(str::to_owned)
}

fn name() -> impl Strategy<Value = String> {
    let known = [
        "usage",
        "plan",
        "step_start",
        "rag_query",
        "rag_result",
        "task_analysis",
        "event",
        "thinking_summary",
        "a\nb",
    ];
    select(known.to_vec()).prop_map(str::to_owned)
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        hostile_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(key(), inner, 0..3).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Generates names that have a meaning for a wire, and others.
fn key() -> impl Strategy<Value = String> {
    let known = [
        "type",
        "ev",
        "data",
        "metadata",
        "title",
        "summary",
        "call",
        "total_tokens",
        "accept",
    ];
    prop_oneof![
        select(known.to_vec()).prop_map(str::to_owned),
        hostile_text()
    ]
}

prop_compose! {
    fn interrupt()(
        id in 1u8..3,
        prompt in json(),
        about in option::of(call()),
        digest in option::of(hostile_text()),
        expires_at in option::of(any::<i64>()),
    ) -> Interrupt {
        let prompt = match about {
            Some(call) => serde_json::json!({ "type": "confirm", "summary": "Place it?", "call": call }),
            None => prompt,
        };
        let mut question = Question::new::<bool>("ok", prompt);
        question.digest = digest;
        question.expires_at = expires_at;
        Interrupt { id: InterruptId::from(&*format!("i{id}")), task: "confirm#1".to_owned(), question }
    }
}

fn kind() -> impl Strategy<Value = EventKind> {
    prop_oneof![4 => block_kind(), 2 => run_kind(), 2 => node_kind(), 3 => tool_kind(), 2 => asking_kind(), 3 => other_kind()]
}

fn block_kind() -> impl Strategy<Value = EventKind> {
    prop_oneof![
        block().prop_map(|block| EventKind::TextStarted {
            block: block.into()
        }),
        (block(), hostile_text()).prop_map(|(block, text)| EventKind::TextDelta {
            block: block.into(),
            text: text.into()
        }),
        block().prop_map(|block| EventKind::TextFinished {
            block: block.into()
        }),
        block().prop_map(|block| EventKind::ReasoningStarted {
            block: block.into()
        }),
        (block(), hostile_text()).prop_map(|(block, text)| EventKind::ReasoningDelta {
            block: block.into(),
            text: text.into()
        }),
        block().prop_map(|block| EventKind::ReasoningFinished {
            block: block.into()
        }),
    ]
}

fn run_kind() -> impl Strategy<Value = EventKind> {
    prop_oneof![
        any::<bool>().prop_map(|resumed| EventKind::RunStarted { resumed }),
        // A null output reads back the same as no output.
        option::of(json()).prop_map(|output| EventKind::RunFinished {
            output: output.filter(|json| !json.is_null())
        }),
        vec(interrupt(), 0..2).prop_map(|interrupts| EventKind::RunParked { interrupts }),
        hostile_text().prop_map(|error| EventKind::RunFailed { error }),
        (hostile_text(), hostile_text()).prop_map(|(by, why)| EventKind::RunCancelled { by, why }),
    ]
}

fn node_kind() -> impl Strategy<Value = EventKind> {
    prop_oneof![
        Just(EventKind::NodeStarted),
        Just(EventKind::NodeFinished),
        (hostile_text(), option::of(any::<i64>()))
            .prop_map(|(error, retry_at)| EventKind::NodeFailed { error, retry_at }),
    ]
}

fn tool_kind() -> impl Strategy<Value = EventKind> {
    let status = [ToolStatus::Ok, ToolStatus::Blocked, ToolStatus::Failed];
    let tool = select(vec!["place", "find\n"]);
    prop_oneof![
        (call(), tool, hostile_text()).prop_map(|(call, name, arguments)| {
            EventKind::ToolCallDelta {
                call: call.into(),
                name: name.into(),
                arguments: arguments.into(),
            }
        }),
        (call(), hostile_text(), json()).prop_map(|(call, name, arguments)| {
            EventKind::ToolCallProposed {
                call,
                name,
                arguments,
            }
        }),
        (call(), hostile_text(), hostile_text()).prop_map(|(call, name, preview)| {
            EventKind::ToolStarted {
                call,
                name,
                preview,
            }
        }),
        (
            call(),
            hostile_text(),
            select(status.to_vec()),
            option::of(json())
        )
            .prop_map(|(call, summary, status, result)| EventKind::ToolFinished {
                call,
                name: "place".to_owned(),
                status,
                summary,
                result: result.filter(|json| !json.is_null()),
            }),
    ]
}

fn asking_kind() -> impl Strategy<Value = EventKind> {
    prop_oneof![
        interrupt().prop_map(EventKind::InterruptRaised),
        (1u8..3, json()).prop_map(|(id, answer)| EventKind::InterruptAnswered {
            id: InterruptId::from(&*format!("i{id}")),
            answer
        }),
        (1u8..3).prop_map(|id| EventKind::InterruptExpired {
            id: InterruptId::from(&*format!("i{id}")),
        }),
    ]
}

fn other_kind() -> impl Strategy<Value = EventKind> {
    prop_oneof![
        (hostile_text(), hostile_text())
            .prop_map(|(code, summary)| EventKind::Status { code, summary }),
        (name(), json()).prop_map(|(card, data)| EventKind::Card { card, data }),
        hostile_text().prop_map(|message| EventKind::Correction { message }),
        (name(), json()).prop_map(|(name, data)| EventKind::Custom { name, data }),
        hostile_text().prop_map(|key| EventKind::EffectIntended { key }),
        hostile_text().prop_map(|key| EventKind::EffectDone { key }),
        (hostile_text(), hostile_text()).prop_map(|(by, why)| EventKind::Amended { by, why }),
    ]
}
