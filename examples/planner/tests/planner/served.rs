//! The planner over HTTP, with its own words.
use fugato_testkit::{assert_contains, assert_starts_with};
use std::collections::BTreeSet;

use crate::common::{TestResult, World};
use axum::{
    Router,
    http::{StatusCode, request::Parts},
};
use fugato::{
    BoxError,
    axum::{AccessDenied, AgentRoutes, AllowAll, Caller},
};
use fugato_testkit::consent::TestRequest;
use serde_json::{Value, json};

/// The events of an answer: their names and their data.
pub(crate) async fn post(
    app: &Router,
    body: &Value,
) -> Result<(StatusCode, Vec<(String, Value)>), BoxError> {
    let request = TestRequest::post("/sse/planner", body.clone());
    let response = request.call(app.clone()).await;
    let status = StatusCode::from_u16(response.status)?;
    let mut events = vec![];
    for frame in response.body.split("\n\n") {
        let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name));
        if let (Some(name), Some(data)) = (field("event: "), field("data: ")) {
            events.push((name.to_owned(), serde_json::from_str(data)?));
        }
    }
    Ok((status, events))
}

fn app() -> Result<Router, BoxError> {
    Ok(AgentRoutes::new(World::new()?.planner()?)
        .authenticate(AllowAll)
        .router())
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

fn last(events: &[(String, Value)]) -> &Value {
    events.last().map_or(&Value::Null, |(_, data)| data)
}

/// Returns the code of the card that waits in a thread.
pub(crate) async fn code(app: &Router, thread: &str) -> Result<String, BoxError> {
    let view = get(app, &format!("/threads/{thread}")).await?;
    let id = view.pointer("/interrupts/0/id").and_then(Value::as_str);
    let id = fugato::state::InterruptId::from(id.ok_or("no card waits")?);
    Ok(id.code())
}

#[tokio::test]
async fn pln_18_a_plan_is_told_as_it_is_carried_out() -> TestResult {
    let app = app()?;
    let (_, events) = post(&app, &json!({ "thread": "t", "text": "sell 0.25 BTC" })).await?;
    assert_eq!(
        names(&events),
        ["planning", "plan", "step_start", "interrupt", "done"]
    );
    // A bare yes is answered with the card; words that name it by its code are the answer.
    let (_, asked) = post(&app, &json!({ "thread": "t", "text": "好的" })).await?;
    assert_eq!(names(&asked), ["interrupt", "done"]);
    let text = format!("好的 {}", code(&app, "t").await?);
    let (_, events) = post(&app, &json!({ "thread": "t", "text": text })).await?;
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
    assert_starts_with(&output, "Done: order #1 is filled");
    Ok(())
}

/// Returns the number of orders that were filled; each may be filled at several prices.
async fn orders(world: &World) -> Result<usize, BoxError> {
    let trades = world.desk.trades(10).await?;
    Ok(trades
        .iter()
        .map(|trade| trade.order)
        .collect::<BTreeSet<_>>()
        .len())
}

/// Sends a yes six times at once, as an impatient client does.
async fn at_once(app: &Router, body: &Value) -> Result<(), BoxError> {
    let sent = std::iter::repeat_n(body, 6).map(|body| post(app, body));
    for sent in futures::future::join_all(sent).await {
        sent?;
    }
    Ok(())
}

#[tokio::test]
async fn k35_six_copies_of_a_yes_place_one_order() -> TestResult {
    let world = World::new()?;
    let app = AgentRoutes::new(world.planner()?)
        .authenticate(AllowAll)
        .router();
    let asked = json!({ "thread": "t", "text": "buy 0.01 BTC" });
    post(&app, &asked).await?;
    at_once(&app, &json!({ "thread": "t", "text": "yes" })).await?;
    assert_eq!(orders(&world).await?, 0, "no card was named");
    let text = format!("yes {}", code(&app, "t").await?);
    at_once(&app, &json!({ "thread": "t", "text": text })).await?;
    assert_eq!(orders(&world).await?, 1);
    Ok(())
}

#[tokio::test]
async fn k35_a_yes_under_a_card_that_was_replaced_buys_nothing() -> TestResult {
    let world = World::new()?;
    let app = AgentRoutes::new(world.planner()?)
        .authenticate(AllowAll)
        .router();
    post(&app, &json!({ "thread": "t", "text": "buy 0.01 BTC" })).await?;
    let view = get(&app, "/threads/t").await?;
    let card = view.pointer("/interrupts/0/id").cloned();
    let card = card.ok_or("no card waits")?;
    // Another client in the same thread.
    post(&app, &json!({ "thread": "t", "text": "buy 0.4 BTC" })).await?;
    for text in ["yes", "好的", "确定"] {
        post(&app, &json!({ "thread": "t", "text": text, "card": card })).await?;
    }
    assert_eq!(world.desk.trades(10).await?.len(), 0);
    let view = get(&app, "/threads/t").await?;
    let card = view.pointer("/interrupts/0/id").cloned();
    let yes = json!({ "thread": "t", "text": "yes", "card": card });
    post(&app, &yes).await?;
    assert_eq!(orders(&world).await?, 1);
    Ok(())
}

#[tokio::test]
async fn a_session_is_nobody_elses() -> TestResult {
    let by_user = |request: &Parts| {
        let user = request.headers.get("user").and_then(|it| it.to_str().ok());
        Ok::<_, AccessDenied>(Caller::default().user(user.unwrap_or_default()))
    };
    let routes = AgentRoutes::new(World::new()?.planner()?).authenticate(by_user);
    let app = routes.router();
    let ask = async |user: &str, method, path: &str| -> Result<_, BoxError> {
        let body = json!({ "thread": "t", "text": "remember that I hold BTC" });
        let request = TestRequest::new(method, path, body).header("user", user);
        Ok(StatusCode::from_u16(
            request.call(app.clone()).await.status,
        )?)
    };
    assert_eq!(ask("ann", "POST", "/sse/planner").await?, StatusCode::OK);
    for (user, method, path, expected) in [
        ("bob", "GET", "/threads/t", StatusCode::NOT_FOUND),
        ("bob", "POST", "/sse/planner", StatusCode::CONFLICT),
        ("ann", "GET", "/threads/t", StatusCode::OK),
        ("ann", "POST", "/sse/planner", StatusCode::OK),
    ] {
        assert_eq!(ask(user, method, path).await?, expected, "{user} {path}");
    }
    Ok(())
}

#[tokio::test]
async fn pln_20_over_http_a_question_is_answered_dropped_or_left() -> TestResult {
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
    assert_contains(&told, "waits for an answer");
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
    assert_starts_with(&output, "Prices: ");
    let (status, _) = post(&app, &json!({ "thread": "t", "text": "  " })).await?;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    Ok(())
}

async fn get(app: &Router, path: &str) -> Result<Value, BoxError> {
    let request = TestRequest::new("GET", path, Value::Null);
    Ok(serde_json::from_str(&request.call(app.clone()).await.body)?)
}

/// Returns the timeline of a session as the page shows it: the kind of each item, and its text.
async fn shown(app: &Router, thread: &str) -> Result<Vec<(String, String)>, BoxError> {
    let told = get(app, &format!("/threads/{thread}/timeline")).await?;
    let items = told
        .get("timeline")
        .and_then(Value::as_array)
        .ok_or("no items")?
        .iter();
    let word = |item: &Value, name: &str| {
        let word = item.get(name).and_then(Value::as_str);
        word.unwrap_or_default().to_owned()
    };
    let shown = items.map(|item| (word(item, "kind"), word(item, "text")));
    // Notes about the plans are left out.
    Ok(shown.filter(|(kind, _)| kind != "note").collect())
}

#[tokio::test]
async fn pln_w3_the_page_lists_the_sessions_of_a_person_and_shows_all_that_was_said() -> TestResult
{
    let world = World::new()?;
    let app = AgentRoutes::new(world.planner()?)
        .authenticate(AllowAll)
        .router();
    let say = async |thread: &str, text: &str| {
        post(&app, &json!({ "thread": thread, "text": text })).await
    };
    say("one", "/help").await?;
    for text in ["create a trader named alpha", "glimmer"] {
        say("one", text).await?;
    }
    say("one", &format!("yes {}", code(&app, "one").await?)).await?;
    say("two", "my balance\nand no more").await?;
    // The model's history is cut off; the timeline is not.
    world.wait(25 * 60 * 60 * 1000);
    say("one", "Which traders are there?").await?;
    let listed = get(&app, "/threads").await?;
    let listed = listed
        .get("threads")
        .and_then(Value::as_array)
        .ok_or("no threads")?
        .iter();
    let listed: Vec<_> = listed
        .map(|one| json!([one.get("thread"), one.get("title")]))
        .collect();
    let expected = [
        json!(["one", "create a trader named alpha"]),
        json!(["two", "my balance"]),
    ];
    assert_eq!(listed, expected);
    let mut one = shown(&app, "one").await?;
    assert_eq!(one.remove(0), ("user_text".into(), "/help".into()));
    assert_eq!(one.remove(0).0, "assistant_text");
    let expected = [
        ("user_text", "create a trader named alpha"),
        ("confirm_request", ""),
        ("user_text", "glimmer"),
        ("confirm_request", ""),
        ("tool_result", ""),
        (
            "assistant_text",
            "Done: made the trader alpha with glimmer on replay",
        ),
        ("user_text", "Which traders are there?"),
        ("assistant_text", "Traders: alpha (glimmer, replay)"),
    ];
    assert_eq!(
        one,
        expected.map(|(kind, text)| (kind.to_owned(), text.to_owned()))
    );
    let states = world
        .planner()?
        .config("agent_execution_state_home")
        .await?;
    let states = states.ok_or("no states")?;
    let names: Vec<_> = states.as_object().ok_or("no object")?.keys().collect();
    assert_eq!(names, ["one", "two"]);
    Ok(())
}
