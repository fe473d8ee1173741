//! Judges: a model decides by a function call, or else rules decide, inside and outside of graphs.
use std::sync::Arc;

use fugato_agent::{
    decision::{DecisionState, DecisionUpdate, Inquiry, Judge},
    trace::{RecordedModel, model_calls},
};
use fugato_graph::{BoxError, END, Graph, Runner};
use fugato_llm::{
    AskRecord, CallOutcome, ChatModel, ChatRequest, DecisionSource, ModelError, ModelErrorKind,
    Profile, RejectedAnswer, ToolSchema,
};
use fugato_state::{Message, Schema, ThreadId, ToolCall};
use fugato_store::MemoryLog;
use fugato_testkit::{Scripted, ScriptedReply};
use fugato_trace::RunTrace;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The number of seats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Seats(u32);

struct Waiter;

impl Judge for Waiter {
    type Situation = String;
    type Verdict = Seats;

    fn question(&self, words: &String) -> (ChatRequest, ToolSchema) {
        let request = ChatRequest::new([Message::user(words.as_str())]);
        let function = ToolSchema::new("book", "Books seats.", Schema::of::<Value>());
        (request.metadata("stage", "seats"), function)
    }

    fn read(&self, _: &String, arguments: &Value) -> Result<Seats, RejectedAnswer> {
        match u32::deserialize(&arguments["seats"])? {
            seats @ 1..=9 => Ok(Seats(seats)),
            _ => Err(RejectedAnswer::at("/seats", "1 to 9 are allowed")),
        }
    }

    fn rules(&self, words: &String) -> Seats {
        Seats(words.parse().unwrap_or(2))
    }
}

fn books(seats: &Value) -> ScriptedReply {
    ScriptedReply::tool_calls([ToolCall::new("f1", "book", json!({ "seats": seats }))])
}

fn inquiry(model: &Arc<Scripted>) -> Inquiry<Waiter> {
    Inquiry::new(Waiter, Some(model.clone()))
}

fn rule(traces: usize, how: &AskRecord) -> Option<&str> {
    assert_eq!(
        (how.source, how.traces.len()),
        (DecisionSource::Rule, traces)
    );
    how.fallback_reason.as_deref()
}

#[tokio::test]
async fn a_model_decides_and_what_does_not_fit_is_corrected() {
    let model = Arc::new(Scripted::new([
        books(&json!("many")),
        books(&json!(12)),
        books(&json!(4)),
    ]));
    let answer = inquiry(&model).ask(&"a table".to_owned()).await.unwrap();
    let (seats, how) = (answer.value, answer.record);
    assert_eq!(seats, Seats(4));
    assert_eq!(
        (how.source, how.fallback_reason),
        (DecisionSource::LlmFunctionCall, None)
    );
    let went: Vec<_> = how.traces.iter().map(|trace| trace.outcome).collect();
    let corrected = CallOutcome::Rejected;
    assert_eq!(went, [corrected, corrected, CallOutcome::MainSucceeded]);
    let told = |nth: usize| {
        let requests = model.requests();
        requests[nth].messages.last().unwrap().content.clone()
    };
    assert!(told(1).contains("expected u32"), "{}", told(1));
    let where_and_what = told(2);
    assert!(
        where_and_what.contains("/seats") && where_and_what.contains("1 to 9 are allowed"),
        "{where_and_what}"
    );
}

#[tokio::test]
async fn a_call_that_is_written_as_text_counts_and_is_known_as_such() {
    let text = r#"{"name": "book", "arguments": {"seats": 3}}"#;
    let text = format!("<tool_call>{text}</tool_call>");
    let model = Arc::new(Scripted::new([text.as_str()]));
    let answer = inquiry(&model).judged(&"a table".to_owned()).await;
    let expected = (Seats(3), DecisionSource::LlmTextCall);
    assert_eq!((answer.value, answer.record.source), expected);
}

#[tokio::test]
async fn rules_decide_where_no_model_does_and_it_is_known_why() {
    let words = "7".to_owned();
    let none = Inquiry::new(Waiter, None).ask(&words).await.unwrap_err();
    assert_eq!(rule(0, &none.into()), Some("there is no model"));

    let down = ModelError::new(ModelErrorKind::Unavailable, "maintenance");
    let model = Arc::new(Scripted::new([ScriptedReply::error(down)]));
    let answer = inquiry(&model).judged(&words).await;
    assert_eq!(answer.value, Seats(7));
    let why = rule(1, &answer.record).unwrap_or_default();
    assert!(why.contains("maintenance"), "{why}");

    let model = Arc::new(Scripted::new([books(&json!(12)), books(&json!(4))]));
    let once = Profile {
        attempts: Some(1),
        ..Profile::default()
    };
    let answer = inquiry(&model).profile(once).judged(&words).await;
    assert_eq!((answer.value, model.requests().len()), (Seats(7), 1));
    assert!(
        rule(1, &answer.record)
            .unwrap_or_default()
            .contains("1 to 9")
    );
}

type Booking = DecisionState<String, Seats>;

fn graph(inquiry: &Inquiry<Waiter>, words: &str) -> Result<Graph<Booking>, BoxError> {
    let about = Booking::about(words.to_owned());
    let next = |state: &Booking| state.value.as_ref().map_or("rules", |_| "done");
    Ok(Graph::with_initial("model", move || about.clone())
        .node("model", inquiry.by_model())
        .node("rules", inquiry.by_rules())
        .node("done", async |_: fugato_graph::Context<Booking>| {})
        .branch("model", ["rules", "done"], next)
        .edge("rules", "done")
        .edge("done", END)
        .build()?)
}

async fn run(model: Scripted, words: &str) -> Result<(Booking, usize), BoxError> {
    let model: Arc<dyn ChatModel> = Arc::new(RecordedModel::new(model));
    let graph = graph(&Inquiry::new(Waiter, Some(model)), words)?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let thread = ThreadId::new("t")?;
    let ended = runner.start(&thread, vec![]).await?;
    let runs = RunTrace::read(&runner, &thread).await?;
    let tasks = runs.iter().flat_map(|run| &run.tasks);
    Ok((
        ended.state().clone(),
        tasks.flat_map(|task| model_calls(&task.notes)).count(),
    ))
}

#[tokio::test]
async fn in_a_graph_the_log_tells_who_was_asked_and_who_decided() -> Result<(), BoxError> {
    let (state, asked) = run(Scripted::new([books(&json!(4))]), "a table").await?;
    assert_eq!((&state.value, asked), (&Some(Seats(4)), 1));
    let how = state.how.as_ref().map(|how| how.source);
    assert_eq!(how, Some(DecisionSource::LlmFunctionCall));

    let (state, asked) = run(Scripted::new(["I do not know"]), "5").await?;
    assert_eq!((&state.value, asked), (&Some(Seats(5)), 1));
    // The record of the rules' decision has the reason.
    let why = state.how.as_ref().map(|how| rule(1, how).is_some());
    assert_eq!(why, Some(true));
    let told = state.updates(|_| "how".to_owned(), |seats| seats.0.to_string());
    assert_eq!(told, ["how", "5"]);
    Ok(())
}

#[test]
fn its_state_and_its_changes_are_stored_in_a_form_that_stays() -> Result<(), serde_json::Error> {
    let how = AskRecord::by_rule();
    let stored = json!({
        "situation": "a table",
        "value": 4,
        "how": { "source": "rule", "traces": [], "fallback_reason": null },
    });
    let read: Booking = serde_json::from_value(stored.clone())?;
    let mut expected = Booking::about("a table".to_owned());
    (expected.value, expected.how) = (Some(Seats(4)), Some(how));
    assert_eq!((&read, &serde_json::to_value(&read)?), (&expected, &stored));
    for source in [
        DecisionSource::LlmAnswer,
        DecisionSource::LlmFunctionCall,
        DecisionSource::LlmTextCall,
        DecisionSource::Rule,
    ] {
        assert_eq!(json!(source), json!(source.as_str()));
    }
    let thought = json!({ "value": 4, "how": null });
    assert_eq!(
        serde_json::to_value(DecisionUpdate::from(Seats(4)))?,
        thought
    );
    Ok(())
}
