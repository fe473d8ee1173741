//! Harmful servers, and the error in which each answer ends.
use std::time::{Duration, Instant};

use fugato_llm::{ChatModelExt as _, ChatRequest, ModelError, ModelErrorKind, SizeLimit, Timeout};
use fugato_providers::openai::OpenAi;
use fugato_state::Message;
use fugato_testkit::{FaultyServer, ServerFault};
use tokio::runtime::Runtime;

/// Sends a request to a faulty server with the limits of a program, but shorter times. Returns the
/// error.
fn asked(fault: ServerFault, idle: Duration, total: Duration) -> ModelError {
    let server = FaultyServer::start(fault);
    let timed = Timeout::new(OpenAi::new(server.url(), "m"))
        .idle(idle)
        .total(total);
    let request = ChatRequest::new([Message::user("Hello")]);
    let answer = SizeLimit::new(timed);
    let runtime = Runtime::new().expect("a runtime can be made");
    runtime
        .block_on(answer.complete(request))
        .expect_err("this is no answer")
}

/// A limit that only a hanging test would reach.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_server_without_end_ends_in_an_error() {
    use ModelErrorKind::{AnswerTooLong, Malformed, Unavailable, Unreachable};
    let too_long = "it is longer than 256 KiB";
    for (fault, kind, words) in [
        (ServerFault::EndlessText, AnswerTooLong, too_long),
        (ServerFault::EndlessReasoning, AnswerTooLong, too_long),
        (ServerFault::LongText(10 << 20), AnswerTooLong, too_long),
        (ServerFault::EndlessArguments, AnswerTooLong, too_long),
        (
            ServerFault::ManyCalls(1_000),
            AnswerTooLong,
            "it has more than 128 calls",
        ),
        (
            ServerFault::EndlessCalls,
            AnswerTooLong,
            "it has more than 128 calls",
        ),
        (ServerFault::EndlessLine, Malformed, ""),
        (ServerFault::EndlessEvent, Malformed, ""),
        (
            ServerFault::EndlessComments,
            Malformed,
            "the server sends more than 64 MiB",
        ),
        (
            ServerFault::EndlessJson,
            Malformed,
            "the server sends more than 512 KiB",
        ),
        (ServerFault::EndlessHead, Unreachable, ""),
    ] {
        let error = asked(fault, LONG, LONG);
        assert_eq!(
            (error.kind, error.context.as_str()),
            (kind, words),
            "{fault:?}"
        );
    }
    let error = asked(ServerFault::EndlessError, LONG, LONG);
    assert_eq!(error.kind, Unavailable);
    assert!(error.context.len() < 1_000, "{error}");
}

#[test]
fn a_server_that_hangs_is_left_in_time() {
    let (short, pause) = (Duration::from_millis(300), Duration::from_millis(20));
    let silent = "nothing was said for 300 ms";
    for (fault, [idle, total], words) in [
        (ServerFault::Hangs, [short, LONG], silent),
        (ServerFault::HangsMidway, [short, LONG], silent),
        // Comments keep a connection alive, but no answer comes.
        (ServerFault::Comments(pause), [short, LONG], silent),
        (
            ServerFault::Drip(pause),
            [LONG, short],
            "the answer took longer than 300 ms",
        ),
        (
            ServerFault::EndlessComments,
            [LONG, short],
            "the answer took longer than 300 ms",
        ),
    ] {
        let start = Instant::now();
        let error = asked(fault, idle, total);
        // Comments may exceed the limit of the body first.
        if fault != ServerFault::EndlessComments || error.kind == ModelErrorKind::TimedOut {
            let told = (error.kind, error.context.as_str());
            assert_eq!(told, (ModelErrorKind::TimedOut, words), "{fault:?}");
        }
        assert!(start.elapsed() < LONG / 2, "{fault:?}");
    }
}

#[test]
fn a_request_that_exceeds_the_context_is_too_long() {
    let error = asked(ServerFault::ContextExceeded, LONG, LONG);
    assert_eq!(error.kind, ModelErrorKind::TooLong);
}
