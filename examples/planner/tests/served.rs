//! The planner over HTTP, in its own vocabulary.
mod common;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use common::{Tested, World};
use fugato::{BoxError, axum::AgentRoutes};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// The events of an answer: their names and their data.
async fn post(app: &Router, body: &Value) -> Result<(StatusCode, Vec<(String, Value)>), BoxError> {
    let request = Request::post("/sse/planner")
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))?;
    let response = app.clone().oneshot(request).await?;
    let status = response.status();
    let body = String::from_utf8(to_bytes(response.into_body(), 1 << 20).await?.to_vec())?;
    let mut events = vec![];
    for frame in body.split("\n\n") {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
            events.push((name.to_owned(), serde_json::from_str(data)?));
        }
    }
    Ok((status, events))
}

fn app() -> Result<Router, BoxError> {
    Ok(AgentRoutes::new(World::new()?.planner()?).router())
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

fn last(events: &[(String, Value)]) -> &Value {
    events.last().map_or(&Value::Null, |(_, data)| data)
}

#[tokio::test]
async fn pln_18_a_plan_is_told_as_it_is_carried_out() -> Tested {
    let app = app()?;
    let (_, events) = post(&app, &json!({ "thread": "t", "text": "sell 0.25 BTC" })).await?;
    assert_eq!(
        names(&events),
        ["planning", "plan", "step_start", "interrupt", "done"]
    );
    // Words are the answer to what waits.
    let (_, events) = post(&app, &json!({ "thread": "t", "text": "好的" })).await?;
    let expected = [
        "tool",
        "step_complete",
        "planning",
        "replan",
        "step_start",
        "delta",
        "step_complete",
        "done",
    ];
    assert_eq!(names(&events), expected);
    let output = last(&events)["output"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(output.starts_with("Done: order #1 is filled"), "{output}");
    Ok(())
}

#[tokio::test]
async fn pln_20_over_http_a_question_is_answered_dropped_or_left() -> Tested {
    let app = app()?;
    let asked = json!({ "thread": "t", "text": "create a trader named alpha" });
    let (_, events) = post(&app, &asked).await?;
    let id = events
        .iter()
        .find_map(|(name, data)| (name == "interrupt").then(|| data["id"].clone()));
    let id = id
        .and_then(|id| id.as_str().map(str::to_owned))
        .ok_or("no question")?;
    let (_, events) = post(&app, &json!({ "thread": "t", "text": "/status" })).await?;
    let told = last(&events)["output"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(told.contains("waits for an answer"), "{told}");
    // The page answers by the id of the question.
    let by_id = json!({ "thread": "t", "answers": { id: "glimmer" } });
    let (status, events) = post(&app, &by_id).await?;
    assert_eq!(status, StatusCode::OK);
    assert!(names(&events).contains(&"interrupt"), "{events:?}");
    let (_, events) = post(
        &app,
        &json!({ "thread": "t", "text": "What are the prices?" }),
    )
    .await?;
    let output = last(&events)["output"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(output.starts_with("Prices: "), "{output}");
    let (status, _) = post(&app, &json!({ "thread": "t", "text": "  " })).await?;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    Ok(())
}
