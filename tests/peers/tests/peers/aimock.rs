//! Our clients against a model server of others, in each way in which it answers and fails.
mod fixture;

use std::{
    io::Write,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use fixture::{SECRET, ask, desks, desks_of, failures, says};
use fugato::{
    BoxError, ChatModel, ChatModelExt as _,
    llm::{
        ApiKey, ChatDelta, CircuitBreaker, CircuitState, Fallback, FinishReason,
        ModelErrorKind::{
            CutOff, Denied, Malformed, RateLimited, Skipped, TimedOut, Unavailable, Unreachable,
        },
        Recorder, Replay, Retry, RetryAdvice, Secrets, Timeout, Usage,
    },
    memory::Embedder as _,
    openai::OpenAiEmbedder,
    state::ToolCall,
};
use futures::StreamExt as _;
use serde_json::json;

const HELLO: &str = "Good morning, 早上好. It is \"7:05\".\n";

/// A model that does not make a test wait where a server asks for no pause.
fn again<M: ChatModel + Clone>(model: &M) -> Retry<M> {
    Retry::new(model.clone()).pause(Duration::from_millis(1))
}

#[tokio::test]
async fn text_arrives_in_the_pieces_in_which_it_was_said() -> Result<(), BoxError> {
    for desk in desks("text")? {
        let mut deltas = desk.model.stream(ask("hello")).await?;
        let (mut pieces, mut last) = (vec![], vec![]);
        while let Some(delta) = deltas.next().await {
            match delta? {
                ChatDelta::Text(piece) => pieces.push(piece),
                other => last.push(other),
            }
        }
        let five: Vec<String> = HELLO
            .chars()
            .collect::<Vec<_>>()
            .chunks(5)
            .map(|piece| piece.iter().collect())
            .collect();
        assert_eq!(pieces, five);
        assert!(
            last.contains(&ChatDelta::Finish(FinishReason::Stop)),
            "{last:?}"
        );
        assert!(
            last.contains(&ChatDelta::Usage(Usage::new(11, 7))),
            "{last:?}"
        );
        assert_eq!(desk.seen().await?, [200]);
    }
    Ok(())
}

#[tokio::test]
async fn reasoning_and_parallel_tool_calls_arrive_whole() -> Result<(), BoxError> {
    for desk in desks("parts")? {
        let thought = desk.model.complete(ask("reason")).await?.message;
        assert_eq!(thought.content, "Day 4.");
        let reasoning = thought.reasoning.as_deref();
        assert_eq!(reasoning, Some("Which day is free? Let me look."));

        let called = desk.model.complete(ask("two tools")).await?;
        let calls = [
            ToolCall::new("call-1", "move", json!({ "task": "代数", "day": 4 })),
            ToolCall::new("call-2", "swap", json!({ "a": 1, "b": [2, 3] })),
        ];
        assert_eq!(called.message.tool_calls, calls);
        assert_eq!(called.finish, Some(FinishReason::ToolCalls));
    }
    Ok(())
}

#[tokio::test]
async fn l2_a_rate_limit_is_waited_for_as_long_as_the_server_asks() -> Result<(), BoxError> {
    for desk in desks("limited")? {
        let begin = Instant::now();
        let said = says(&again(&desk.model), "too often").await?;
        assert_eq!(said, ("Now it goes.".to_owned(), vec![RateLimited]));
        assert!(
            begin.elapsed() >= Duration::from_secs(1),
            "{:?}",
            begin.elapsed()
        );
        assert_eq!(desk.seen().await?, [429, 200]);

        // Longer than anyone would wait: the advice goes to the caller, who may have a backup.
        let model = again(&desk.model);
        let error = model
            .complete(ask("limited for an hour"))
            .await
            .unwrap_err();
        let hour = Duration::from_hours(1);
        assert_eq!(
            (error.kind, error.advice),
            (RateLimited, RetryAdvice::After(hour))
        );
        assert_eq!(error.context, "status 429: come back");
        assert_eq!(desk.seen().await?, [429, 200, 429]);
    }
    Ok(())
}

#[tokio::test]
async fn l2_failures_of_the_server_are_tried_again_and_refusals_are_not() -> Result<(), BoxError> {
    for desk in desks("failing")? {
        let said = says(&again(&desk.model), "is ill").await?;
        let expected = vec![Unavailable, Unavailable];
        assert_eq!(said, ("Well again.".to_owned(), expected));
        assert_eq!(desk.seen().await?, [503, 500, 200]);

        let error = again(&desk.model)
            .complete(ask("wrong key"))
            .await
            .unwrap_err();
        assert_eq!((error.kind, error.advice), (Denied, RetryAdvice::Never));
        assert_eq!(desk.seen().await?, [503, 500, 200, 401]);

        let error = again(&desk.model)
            .complete(ask("is down"))
            .await
            .unwrap_err();
        assert_eq!((error.kind, error.advice), (Unavailable, RetryAdvice::Now));
        assert_eq!(failures(&error.attempts), [Unavailable; 3]);
        assert_eq!(desk.seen().await?, [503, 500, 200, 401, 503, 503, 503]);
    }
    Ok(())
}

#[tokio::test]
async fn a_stream_that_is_cut_before_it_says_anything_is_tried_again() -> Result<(), BoxError> {
    for desk in desks("cut")? {
        let said = says(&again(&desk.model), "is cut").await?;
        assert_eq!(said, ("Said once.".to_owned(), vec![CutOff]));
        let said = says(&again(&desk.model), "hangs up").await?;
        assert_eq!(said, ("Here I am.".to_owned(), vec![Unreachable]));
        assert_eq!(desk.seen().await?, [200, 200, 0, 200]);
    }
    Ok(())
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_an_error_after_what_was_said() -> Result<(), BoxError> {
    for desk in desks("broken")? {
        let mut deltas = again(&desk.model).stream(ask("breaks off")).await?;
        let mut said = String::new();
        let error = loop {
            match deltas.next().await {
                Some(Ok(ChatDelta::Text(piece))) => said += &piece,
                Some(Ok(ChatDelta::Finish(reason))) => panic!("it ends with {reason:?}"),
                Some(Ok(_)) => {}
                Some(Err(error)) => break error,
                None => panic!("it ends in silence after {said:?}"),
            }
        };
        assert!(
            !said.is_empty() && "one two three four".starts_with(&said),
            "{said:?}"
        );
        assert_eq!((error.kind, error.advice), (CutOff, RetryAdvice::Now));
        assert!(deltas.next().await.is_none(), "nothing follows an error");
        // What a reader has seen is not said again.
        assert_eq!(desk.seen().await?, [200]);
    }
    Ok(())
}

#[tokio::test]
async fn what_is_no_answer_is_malformed_and_tried_again() -> Result<(), BoxError> {
    for desk in desks("malformed")? {
        let said = says(&again(&desk.model), "babbles").await?;
        assert_eq!(said, ("In words.".to_owned(), vec![Malformed]));
        assert_eq!(desk.seen().await?, [200, 200]);
    }
    Ok(())
}

#[tokio::test]
async fn a_slow_server_is_not_waited_for() -> Result<(), BoxError> {
    let short = Duration::from_millis(200);
    for desk in desks("slow")? {
        let request = ask("is slow").timeout(short);
        let error = desk.model.complete(request).await.unwrap_err();
        assert_eq!((error.kind, error.advice), (TimedOut, RetryAdvice::Now));

        let model = again(&Timeout::new(desk.model.clone()).idle(short)).attempts(2);
        let error = model.complete(ask("is slow")).await.unwrap_err();
        assert_eq!(failures(&error.attempts), [TimedOut; 2]);

        // What was said before the silence is delivered, and not asked for again.
        let mut deltas = model.stream(ask("falls asleep")).await?;
        let mut said = String::new();
        let error = loop {
            match deltas.next().await.ok_or("it ends in silence")? {
                Ok(ChatDelta::Text(piece)) => said += &piece,
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind, TimedOut);
        assert!("one two three four".starts_with(&said), "{said:?}");
    }
    Ok(())
}

#[tokio::test]
async fn l3_a_backup_answers_for_a_server_that_is_down() -> Result<(), BoxError> {
    let (mains, backups) = (desks("main")?, desks_of("backup", "backup")?);
    // The backup speaks the other protocol.
    for (main, backup) in mains.into_iter().zip(backups.into_iter().rev()) {
        let breaker = CircuitBreaker::new(main.model.clone()).failures(2);
        let chain = Fallback::new(breaker.clone()).or(backup.model.clone());
        for failure in [Unavailable, Unavailable, Skipped] {
            let said = says(&chain, "is down").await?;
            assert_eq!(said, (HELLO.to_owned(), vec![failure]));
        }
        // The third request found the circuit open, and the server that is down was left alone.
        assert_eq!(breaker.state(), CircuitState::Open);
        assert_eq!(main.seen().await?, [503, 503]);
        assert_eq!(backup.seen().await?, [200, 200, 200]);
    }
    Ok(())
}

#[tokio::test]
async fn a_cassette_of_a_stream_gives_it_again_and_holds_no_secret() -> Result<(), BoxError> {
    for desk in desks("cassette")? {
        let tape = Tape::default();
        let secrets = Secrets::default().and_key(&ApiKey::new(SECRET));
        let model = Recorder::new(desk.model.clone(), tape.clone()).secrets(secrets.clone());
        let questions = ["reason", "two tools", "hello"];
        // Someone told the model a key.
        let told = ask(&format!("hello, my key is {SECRET}"));
        let mut answers = vec![];
        for question in questions {
            answers.push(model.complete(ask(question)).await?);
        }
        answers.push(model.complete(told.clone()).await?);
        let failure = model.complete(ask("is down")).await.unwrap_err();

        let lines = tape.text();
        assert!(
            !lines.contains(SECRET) && lines.lines().count() == 5,
            "{lines}"
        );
        let replay = Replay::from_lines(&lines)?.secrets(secrets);
        for (question, answer) in questions.into_iter().zip(&answers) {
            assert_eq!(&replay.complete(ask(question)).await?, answer);
        }
        assert_eq!(Some(&replay.complete(told).await?), answers.last());
        let again = replay.complete(ask("is down")).await.unwrap_err();
        assert_eq!((again.kind, again.context), (failure.kind, failure.context));
        assert_eq!((replay.left(), desk.seen().await?.len()), (0, 5));
    }
    Ok(())
}

/// A cassette in memory.
#[derive(Clone, Default)]
struct Tape(Arc<Mutex<Vec<u8>>>);

impl Tape {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut tape = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tape.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn embeddings_come_in_the_order_of_their_texts() -> Result<(), BoxError> {
    let Some(url) = fixture::url() else {
        return Ok(());
    };
    let embedder = OpenAiEmbedder::new(url, "text-embedding-3-small").batch(2);
    let texts = ["复习", "exam", "复习"].map(str::to_owned);
    let vectors = embedder.embed(&texts).await?.vectors;
    let lengths: Vec<_> = vectors.iter().map(Vec::len).collect();
    assert!(lengths.iter().all(|length| *length == 1536), "{lengths:?}");
    assert_eq!(vectors.first(), vectors.last());
    assert_ne!(vectors.first(), vectors.get(1));
    Ok(())
}
