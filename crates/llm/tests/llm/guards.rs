//! The circuit breaker and the rate limit around a scripted model, with a paused clock.

use std::time::Duration;

use fugato_llm::{
    ChatModel as _, ChatModelExt as _, ChatRequest, CircuitBreaker, CircuitState, Fallback,
    ModelError, ModelErrorKind, Quota, RateLimit, Retry, RetryAdvice, Usage,
};
use fugato_state::Message;
use fugato_testkit::{Scripted, ScriptedReply};
use tokio::time::{Instant, advance};

fn ask() -> ChatRequest {
    ChatRequest::new([Message::user("Hello")])
}

fn down() -> ModelError {
    ModelError::new(ModelErrorKind::Unavailable, "")
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn l3_five_failures_open_the_circuit_and_two_successes_close_it() {
    let script = Scripted::new(vec![ScriptedReply::error(down()); 5]);
    let model = CircuitBreaker::new(script.clone());
    for _ in 0..5 {
        assert_eq!(model.state(), CircuitState::Closed);
        assert!(model.complete(ask()).await.is_err());
    }
    assert_eq!(model.state(), CircuitState::Open);
    advance(seconds(29)).await;
    let why = model.complete(ask()).await.unwrap_err();
    assert_eq!(
        (why.kind, why.context.as_str(), why.advice),
        (
            ModelErrorKind::Skipped,
            "it failed 29 s ago (the model server is unavailable) and is asked again in 1 s",
            RetryAdvice::After(seconds(1))
        )
    );

    advance(seconds(1)).await;
    (0..3).for_each(|_| script.push(ScriptedReply::text("Hello")));
    let begin = || model.stream(ask());
    let probes = [
        begin().await.unwrap(),
        begin().await.unwrap(),
        begin().await.unwrap(),
    ];
    let why = model.complete(ask()).await.unwrap_err();
    assert_eq!(
        (why.context.as_str(), why.advice),
        (
            "it failed 30 s ago (the model server is unavailable), and another request finds out whether it is well again",
            RetryAdvice::Now
        )
    );
    drop(probes);
    assert_eq!(model.state(), CircuitState::HalfOpen);
    for state in [CircuitState::HalfOpen, CircuitState::Closed] {
        script.push("Hello");
        assert!(model.complete(ask()).await.is_ok());
        assert_eq!(model.state(), state);
    }
    assert_eq!(script.requests().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_failure_while_half_open_opens_again() {
    let script = Scripted::new([ScriptedReply::error(down()), ScriptedReply::text("Hello")]);
    let model = CircuitBreaker::new(script.clone())
        .failures(1)
        .open_for(seconds(5))
        .probes(1)
        .successes(1);
    assert!(model.complete(ask()).await.is_err());
    advance(seconds(5)).await;
    assert!(model.complete(ask()).await.is_ok());
    let cut =
        ScriptedReply::chunks(["Hel"]).then_error(ModelError::new(ModelErrorKind::CutOff, ""));
    script.push(cut);
    assert!(model.complete(ask()).await.is_err());
    assert_eq!(model.state(), CircuitState::Open);
    advance(seconds(5)).await;
    script.push(down());
    assert!(model.complete(ask()).await.is_err());
    assert_eq!(model.state(), CircuitState::Open);
}

#[tokio::test(start_paused = true)]
async fn a_request_at_fault_says_nothing_of_the_server() {
    let denied = ModelError::new(ModelErrorKind::Denied, "");
    let script = Scripted::new(vec![denied; 9]);
    let model = CircuitBreaker::new(script.clone()).failures(1);
    for _ in 0..9 {
        assert!(model.complete(ask()).await.is_err());
    }
    assert_eq!((model.state(), script.left()), (CircuitState::Closed, 0));
}

#[tokio::test(start_paused = true)]
async fn l3_an_open_circuit_goes_to_the_backup_at_once() {
    let main = Scripted::new([down()]).named("main");
    let breaker = CircuitBreaker::new(main.clone()).failures(1);
    let backup = Scripted::new(["a", "b"]).named("backup");
    let model = Retry::new(Fallback::new(breaker).or(backup));
    let start = Instant::now();
    for answer in ["a", "b"] {
        let response = model.complete(ask()).await.unwrap();
        assert_eq!(response.message.content, answer);
        let tried = response
            .attempts
            .iter()
            .map(|attempt| attempt.model.as_str());
        assert_eq!(tried.collect::<Vec<_>>(), ["main", "backup"]);
    }
    assert_eq!(
        (start.elapsed(), main.requests().len()),
        (Duration::ZERO, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn models_of_one_account_share_their_quota() {
    let quota = Quota::default().requests(2);
    let large = RateLimit::new(Scripted::new(["a", "c"]), quota.clone());
    let small = RateLimit::new(Scripted::new(["b"]), quota);
    let start = Instant::now();
    for (model, took) in [(&large, 0), (&small, 0), (&large, 60)] {
        assert!(model.complete(ask()).await.is_ok());
        assert_eq!(start.elapsed(), seconds(took));
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_answer_cost_corrects_the_estimate() {
    let cheap = || ScriptedReply::text("Hi").usage(Usage::new(5, 1));
    let script = Scripted::new([cheap(), cheap(), cheap()]);
    // An estimate is 8 for the message and 100 for the answer.
    let model = RateLimit::new(script, Quota::default().tokens(120).answer(100));
    let start = Instant::now();
    for took in [0, 0, 0] {
        assert!(model.complete(ask()).await.is_ok());
        assert_eq!(start.elapsed(), seconds(took));
    }
    let eager = RateLimit::new(
        Scripted::new(["a", "b"]),
        Quota::default().tokens(120).longest_wait(Duration::ZERO),
    );
    assert!(eager.complete(ask().max_tokens(100)).await.is_ok());
    let why = eager.complete(ask().max_tokens(100)).await.unwrap_err();
    assert_eq!(
        (why.kind, why.advice),
        (ModelErrorKind::RateLimited, RetryAdvice::After(seconds(60)))
    );
}
