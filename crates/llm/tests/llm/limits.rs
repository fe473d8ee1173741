//! Limits of size, of spending and of the window, around models that exceed them.
use std::time::Duration;

use async_trait::async_trait;
use fugato_llm::{
    Allowance, ChatDelta, ChatModel, ChatModelExt as _, ChatRequest, CircuitBreaker, ContextWindow,
    DeltaStream, Fallback, ModelError, ModelErrorKind, Retry, SizeLimit, SpendLimit, SpendScope,
    Timeout, ToolCallDelta,
};
use fugato_state::Message;
use fugato_testkit::{Scripted, ScriptedReply};
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, advance};

fn ask() -> ChatRequest {
    ChatRequest::new([Message::user("Hello")])
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A model that repeats the same text without end.
#[derive(Clone)]
struct Endless(ChatDelta);

#[async_trait]
impl ChatModel for Endless {
    async fn stream(&self, _: ChatRequest) -> Result<DeltaStream, ModelError> {
        Ok(stream::repeat(self.0.clone()).map(Ok).boxed())
    }
}

#[tokio::test]
async fn an_endless_answer_ends_at_its_limit() {
    let long = "x".repeat(1_000);
    for delta in [
        ChatDelta::text(&long),
        ChatDelta::reasoning(&long),
        ChatDelta::ToolCall(ToolCallDelta::new(0, &long)),
        ChatDelta::ToolCall(ToolCallDelta::new(0, "").id(&long)),
        ChatDelta::Kept {
            by: "some".to_owned(),
            value: long.clone().into(),
        },
    ] {
        let model = SizeLimit::new(Endless(delta)).bytes(10 << 10);
        let mut deltas = model.stream(ask()).await.unwrap();
        let said = deltas
            .by_ref()
            .take_while(|it| std::future::ready(it.is_ok()));
        assert_eq!(said.count().await, 10);
        assert!(deltas.next().await.is_none(), "an end is an end");
        let why = Retry::new(model).complete(ask()).await.unwrap_err();
        assert_eq!(
            (why.kind, why.context.as_str(), why.attempts.len()),
            (ModelErrorKind::AnswerTooLong, "it is longer than 10 KiB", 1)
        );
    }
    // Without a decorator, `complete` limits the size of the answer itself.
    let why = Endless(ChatDelta::text(long)).complete(ask()).await;
    assert_eq!(why.unwrap_err().kind, ModelErrorKind::AnswerTooLong);
}

fn spent(why: &ModelError) -> (ModelErrorKind, &str) {
    (why.kind, &why.context)
}

#[tokio::test(start_paused = true)]
async fn a_stage_is_limited_with_its_corrections_and_a_run_with_its_stages() {
    let slow = || ScriptedReply::text("0123456789").after(seconds(4));
    let script = Scripted::new(std::iter::repeat_with(slow).take(9));
    let of = |time, bytes| Allowance {
        time: seconds(time),
        bytes,
    };
    let model = SpendLimit::new(script.clone())
        .stage(of(9, 1_000))
        .run(of(15, 1_000));
    let asked = |stage: &'static str, goes_on| {
        let model = model.clone();
        SpendScope::new("thread/1", stage).hold(async move {
            if goes_on {
                SpendScope::carry_on();
            }
            model.complete(ask()).await
        })
    };
    assert!(asked("plan", true).await.is_ok());
    assert!(asked("plan", true).await.is_ok());
    let start = Instant::now();
    let why = asked("plan", false).await.unwrap_err();
    let stage = "its answers took longer than 9 s in this stage";
    assert_eq!(spent(&why), (ModelErrorKind::OutOfBudget, stage));
    assert_eq!(start.elapsed(), seconds(1));
    // Another decision has a whole allowance, as far as that of the run permits.
    assert!(asked("plan", false).await.is_ok());
    let why = asked("plan", false).await.unwrap_err();
    let run = "its answers took longer than 15 s in this run";
    assert_eq!(spent(&why), (ModelErrorKind::OutOfBudget, run));
    let left = script.left();
    assert_eq!(spent(&asked("execute", false).await.unwrap_err()).1, run);
    assert_eq!(script.left(), left, "the model is not asked in vain");
    // Another run, and no scope at all.
    let other = SpendScope::new("thread/2", "plan").hold(model.complete(ask()));
    assert!(other.await.is_ok());
    assert!(model.complete(ask()).await.is_ok());
}

#[tokio::test]
async fn the_answers_of_a_stage_have_a_size_together() {
    let script = Scripted::new(vec!["0123456789"; 3]);
    let few = Allowance {
        time: seconds(60),
        bytes: 25,
    };
    let model = SpendLimit::new(script).stage(few);
    let work = async {
        assert!(model.complete(ask()).await.is_ok());
        assert!(model.complete(ask()).await.is_ok());
        model.complete(ask()).await.unwrap_err()
    };
    let why = SpendScope::new("thread/1", "plan").hold(work).await;
    assert_eq!(
        why.context,
        "its answers are longer than 25 bytes in this stage"
    );
}

fn history(messages: usize) -> Vec<Message> {
    let old = (1..messages).map(|n| Message::user(format!("{n} ").repeat(200)));
    old.chain([Message::user("And now?")]).collect()
}

#[tokio::test]
async fn a_request_is_fitted_to_the_window() {
    let script = Scripted::new(["a", "b"]);
    let model = ContextWindow::new(script.clone(), 1_000);
    assert!(
        model
            .complete(ChatRequest::new(history(3)).max_tokens(100))
            .await
            .is_ok()
    );
    assert!(
        model
            .complete(ChatRequest::new(history(30)).max_tokens(100))
            .await
            .is_ok()
    );
    let seen: Vec<_> = script
        .requests()
        .iter()
        .map(|it| it.messages.len())
        .collect();
    assert!(seen[0] == 3 && (4..12).contains(&seen[1]), "{seen:?}");
    assert_eq!(
        script.requests()[1].messages.last(),
        Some(&Message::user("And now?"))
    );

    let long = ChatRequest::new([Message::user("word ".repeat(4_000))]);
    let why = model.complete(long).await.unwrap_err();
    assert_eq!(why.kind, ModelErrorKind::TooLong);
    assert_eq!(script.requests().len(), 2, "it is not sent");
}

#[tokio::test]
async fn a_window_that_is_smaller_than_said_is_learnt() {
    let exceeded = || ModelError::new(ModelErrorKind::TooLong, "status 400: context size");
    let script = Scripted::new([
        ScriptedReply::error(exceeded()),
        ScriptedReply::text("a"),
        ScriptedReply::text("b"),
    ]);
    let model = Retry::new(ContextWindow::new(script.clone(), 100_000));
    let answer = model.complete(ChatRequest::new(history(30))).await.unwrap();
    let went: Vec<_> = answer
        .attempts
        .iter()
        .map(|it| it.failure.is_some())
        .collect();
    assert_eq!(went, [true, false]);
    assert!(model.complete(ChatRequest::new(history(30))).await.is_ok());
    let seen: Vec<_> = script
        .requests()
        .iter()
        .map(|it| it.messages.len())
        .collect();
    assert!(
        seen[0] == 30 && seen[1] < 26 && seen[2] == seen[1],
        "{seen:?}"
    );

    // A request that cannot be shortened is not sent twice.
    let script = Scripted::new([ScriptedReply::error(exceeded())]);
    let model = Retry::new(ContextWindow::new(script.clone(), 100_000));
    let why = model.complete(ask()).await.unwrap_err();
    assert_eq!((why.kind, why.attempts.len()), (ModelErrorKind::TooLong, 1));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_is_known_after_its_time_and_for_longer_each_time() {
    let script = Scripted::new(vec![ScriptedReply::hang(); 4]);
    let guarded = CircuitBreaker::new(Timeout::new(script.clone()).idle(seconds(30)))
        .lost(seconds(45))
        .open_at_most(seconds(100))
        .probes(1);
    let model = Retry::new(guarded).pause(Duration::ZERO);
    let start = Instant::now();
    let why = model.complete(ask()).await.unwrap_err();
    assert_eq!(
        (why.kind, start.elapsed()),
        (ModelErrorKind::TimedOut, seconds(60))
    );
    assert_eq!(why.attempts.len(), 3, "the third was skipped");
    advance(seconds(10)).await;
    let why = model.complete(ask()).await.unwrap_err();
    assert_eq!(
        why.to_string(),
        "the model was skipped: it failed 10 s ago (the model took too long: nothing was said for 30 s) and is asked again in 20 s"
    );
    for open in [60, 100] {
        advance(seconds(if open == 60 { 20 } else { 60 })).await;
        assert_eq!(
            model.complete(ask()).await.unwrap_err().kind,
            ModelErrorKind::TimedOut
        );
        let why = model.complete(ask()).await.unwrap_err();
        assert!(
            why.context.ends_with(&format!("asked again in {open} s")),
            "{why}"
        );
    }
    assert_eq!(script.left(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_skipped_backup_does_not_hide_why_the_main_model_failed() {
    let down = || ScriptedReply::error(ModelError::new(ModelErrorKind::Unavailable, "maintenance"));
    let backup = CircuitBreaker::new(Scripted::new([down()]).named("backup")).failures(1);
    assert!(backup.complete(ask()).await.is_err());
    let main = Scripted::new([down(), ScriptedReply::text("Hello")]).named("main");
    let model = Retry::new(Fallback::new(main).or(backup));
    let answer = model.complete(ask()).await.unwrap();
    assert_eq!(answer.message.content, "Hello");
    let kinds: Vec<_> = answer
        .attempts
        .iter()
        .map(|it| it.failure.as_ref().map(|it| it.kind))
        .collect();
    let (down, skipped) = (ModelErrorKind::Unavailable, ModelErrorKind::Skipped);
    assert_eq!(kinds, [Some(down), Some(skipped), None]);
}
