//! The decorators, driven by a scripted model and a paused clock.

use std::time::Duration;

use fugato_llm::{
    Attempt, ChatDelta, ChatModel, ChatModelExt as _, ChatRequest, Fallback, ModelError,
    ModelErrorKind, Retry, RetryAdvice, Timeout, Usage,
};
use fugato_state::Message;
use fugato_testkit::{Scripted, ScriptedReply};
use futures::StreamExt as _;
use tokio::time::Instant;

fn error(kind: ModelErrorKind) -> ModelError {
    ModelError::new(kind, "")
}

fn ask() -> ChatRequest {
    ChatRequest::new([Message::user("Hello")])
}

fn failed(model: &str, took_ms: u64, kind: ModelErrorKind) -> Attempt {
    Attempt::failed(model, Duration::from_millis(took_ms), &error(kind))
}

fn succeeded(model: &str, took_ms: u64) -> Attempt {
    Attempt::succeeded(model, Duration::from_millis(took_ms))
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[tokio::test(start_paused = true)]
async fn l2_retry_waits_as_long_as_the_server_asks() {
    let limited = error(ModelErrorKind::RateLimited).advice(RetryAdvice::After(seconds(7)));
    let script = Scripted::new([
        ScriptedReply::error(limited),
        ScriptedReply::error(error(ModelErrorKind::Unavailable)),
        ScriptedReply::text("Hello").after(Duration::from_millis(20)),
    ]);
    let start = Instant::now();
    let response = Retry::new(script.clone()).complete(ask()).await.unwrap();
    // 7 s as the server asks, then the second pause of the doubling sequence.
    assert_eq!(start.elapsed(), seconds(8) + Duration::from_millis(20));
    assert_eq!(response.message.content, "Hello");
    let expected = [
        failed("scripted", 0, ModelErrorKind::RateLimited),
        failed("scripted", 0, ModelErrorKind::Unavailable),
        succeeded("scripted", 20),
    ];
    assert_eq!(response.attempts, expected);
    assert_eq!(script.requests(), [ask(), ask(), ask()]);
}

#[tokio::test(start_paused = true)]
async fn what_an_answer_costs_is_no_part_of_it_that_would_be_said_twice() {
    let cost = |output| ChatDelta::Usage(Usage::new(5, output));
    let script = Scripted::new([
        ScriptedReply::deltas([cost(1)]).then_error(error(ModelErrorKind::CutOff)),
        ScriptedReply::deltas([cost(2), ChatDelta::text("Hello"), cost(3)]),
    ]);
    let deltas = Retry::new(script).stream(ask()).await.unwrap();
    let said: Vec<_> = deltas.map(Result::unwrap).collect().await;
    let expected = [
        ChatDelta::Attempt(failed("scripted", 0, ModelErrorKind::CutOff)),
        cost(2),
        ChatDelta::text("Hello"),
        cost(3),
        ChatDelta::Attempt(succeeded("scripted", 0)),
    ];
    assert_eq!(said, expected);
}

#[tokio::test(start_paused = true)]
async fn retry_gives_up_when_it_cannot_help() {
    let never = Scripted::new([error(ModelErrorKind::Denied)]);
    let why = Retry::new(never).complete(ask()).await.unwrap_err();
    assert_eq!(
        why.attempts,
        [failed("scripted", 0, ModelErrorKind::Denied)]
    );

    let long = error(ModelErrorKind::RateLimited).advice(RetryAdvice::After(seconds(3600)));
    let why = Retry::new(Scripted::new([long]))
        .complete(ask())
        .await
        .unwrap_err();
    assert_eq!(why.advice, RetryAdvice::After(seconds(3600)));

    let always = Scripted::new(vec![error(ModelErrorKind::Unavailable); 5]);
    let why = Retry::new(always.clone())
        .complete(ask().attempts(2))
        .await
        .unwrap_err();
    assert_eq!((why.attempts.len(), always.left()), (2, 3));
    assert_eq!(
        why.to_string(),
        "the model server is unavailable (after 2 attempts)"
    );
}

#[tokio::test(start_paused = true)]
async fn retry_never_repeats_a_delta() {
    let cut = ScriptedReply::chunks(["Good ", "mor"]).then_error(error(ModelErrorKind::CutOff));
    let script = Scripted::new([cut, ScriptedReply::text("Good morning")]);
    let mut deltas = Retry::new(script.clone()).stream(ask()).await.unwrap();
    assert_eq!(
        deltas.next().await.unwrap().unwrap(),
        ChatDelta::text("Good ")
    );
    assert_eq!(
        deltas.next().await.unwrap().unwrap(),
        ChatDelta::text("mor")
    );
    let why = deltas.next().await.unwrap().unwrap_err();
    assert_eq!(
        why.attempts,
        [failed("scripted", 0, ModelErrorKind::CutOff)]
    );
    assert!(deltas.next().await.is_none());
    assert_eq!(script.left(), 1);

    let empty = ScriptedReply::deltas([]).then_error(error(ModelErrorKind::CutOff));
    let script = Scripted::new([empty, ScriptedReply::text("Good morning")]);
    let response = Retry::new(script).complete(ask()).await.unwrap();
    assert_eq!(response.message.content, "Good morning");
}

#[tokio::test(start_paused = true)]
async fn l3_the_backup_is_asked_at_once() {
    let main =
        Scripted::new([ScriptedReply::error(error(ModelErrorKind::RateLimited)).after(seconds(1))]);
    let backup =
        Scripted::new([ScriptedReply::chunks(["He", "llo"]).paced(seconds(2))]).named("backup");
    let chain = Fallback::new(main.named("main")).or(backup);
    let start = Instant::now();
    let response = chain.complete(ask()).await.unwrap();
    assert_eq!(start.elapsed(), seconds(7));
    assert_eq!(response.message.content, "Hello");
    let expected = [
        failed("main", 1000, ModelErrorKind::RateLimited),
        succeeded("backup", 6000),
    ];
    assert_eq!(response.attempts, expected);
}

#[tokio::test(start_paused = true)]
async fn l3_attempts_are_counted_over_the_chain() {
    let down = |name: &str| Scripted::new(vec![error(ModelErrorKind::Unavailable); 9]).named(name);
    let (main, backup) = (down("main"), down("backup"));
    let model = Retry::new(Fallback::new(main.clone()).or(backup.clone())).attempts(4);
    let why = model.complete(ask()).await.unwrap_err();
    let tried: Vec<_> = why
        .attempts
        .iter()
        .map(|attempt| attempt.model.as_str())
        .collect();
    assert_eq!(tried, ["main", "backup", "main", "backup"]);

    // Retries of the main model never use up the attempt that is reserved for the backup.
    let model = Fallback::new(Retry::new(main)).or(backup);
    let why = model.complete(ask().attempts(3)).await.unwrap_err();
    let tried: Vec<_> = why
        .attempts
        .iter()
        .map(|attempt| attempt.model.as_str())
        .collect();
    assert_eq!(tried, ["main", "main", "backup"]);
}

#[tokio::test(start_paused = true)]
async fn timeout_limits_the_whole_and_the_silence() {
    let slow = || ScriptedReply::chunked("slow", 1).paced(seconds(2));
    for (model, context, took) in [
        (
            Timeout::new(Scripted::new([slow()])).total(seconds(5)),
            "the answer took longer than 5 s",
            5,
        ),
        (
            Timeout::new(Scripted::new([slow()])).idle(seconds(1)),
            "nothing was said for 1 s",
            1,
        ),
        (
            Timeout::new(Scripted::new([ScriptedReply::hang()])).idle(seconds(3)),
            "nothing was said for 3 s",
            3,
        ),
        (
            Timeout::new(Scripted::new([slow().after(seconds(60))])).total(seconds(4)),
            "the answer took longer than 4 s",
            4,
        ),
    ] {
        let start = Instant::now();
        let why = model.complete(ask()).await.unwrap_err();
        assert_eq!(
            (why.kind, why.context.as_str()),
            (ModelErrorKind::TimedOut, context)
        );
        assert_eq!(start.elapsed(), seconds(took));
    }
    let patient = Timeout::new(Scripted::new([slow()])).idle(seconds(3));
    assert_eq!(
        patient.complete(ask()).await.unwrap().message.content,
        "slow"
    );
    let hasty = Timeout::new(Scripted::new([slow()]));
    let why = hasty.complete(ask().timeout(seconds(1))).await.unwrap_err();
    assert_eq!(why.kind, ModelErrorKind::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn a_hanging_model_is_left_for_its_backup() {
    let main = Timeout::new(Scripted::new([ScriptedReply::hang()]).named("main")).idle(seconds(3));
    let chain = Fallback::new(main).or(Scripted::new(["Hello"]).named("backup"));
    let response = chain.complete(ask()).await.unwrap();
    let why = response.attempts[0]
        .failure
        .as_ref()
        .map(|failure| failure.kind);
    assert_eq!(
        (why, response.attempts[0].took),
        (Some(ModelErrorKind::TimedOut), seconds(3))
    );
    assert_eq!(response.message.content, "Hello");
}

#[tokio::test]
async fn pointers_to_models_are_models() {
    let boxed: Box<dyn ChatModel> = Box::new(Scripted::new(["a", "b"]).named("inner"));
    let shared: std::sync::Arc<dyn ChatModel> = std::sync::Arc::new(boxed);
    assert_eq!(shared.name(), "inner");
    assert_eq!(
        Retry::new(shared)
            .complete(ask())
            .await
            .unwrap()
            .message
            .content,
        "a"
    );
}
