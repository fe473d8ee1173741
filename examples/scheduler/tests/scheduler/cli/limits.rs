//! A harmful model server: the program continues by rule, says so, and does not grow.
use std::time::{Duration, Instant};

use fugato_testkit::{FaultyServer, FinishedProgram, ServerFault};

use super::work::Work;

/// Runs against such a server; returns the run with its peak memory.
fn run(fault: ServerFault, flags: &[&str]) -> (Work, FaultyServer, FinishedProgram, u64) {
    let (work, server) = (Work::new(), FaultyServer::start(fault));
    let named = ["--yes", "--base-url", server.url(), "--model", "harm"];
    let (ran, peak) = work.measured(&[&named, flags].concat());
    assert!(ran.well, "{fault:?}: {ran:?}");
    (work, server, ran, peak)
}

/// The words for the person; a model that failed is not asked again.
const BY_RULES: &str = "so I go on by rules alone";

#[test]
fn an_answer_without_end_costs_its_limit_and_no_more() {
    let plain = Work::new();
    let (_, least) = plain.measured(&["--yes"]);
    for (fault, told) in [
        (ServerFault::EndlessText, "longer than 256 KiB"),
        (ServerFault::LongText(10 << 20), "longer than 256 KiB"),
        (ServerFault::LongText(240_000), BY_RULES),
        (ServerFault::EndlessLine, "its answer cannot be read"),
        (ServerFault::EndlessArguments, "longer than 256 KiB"),
        (ServerFault::ManyCalls(1_000), BY_RULES),
        (ServerFault::EndlessJson, BY_RULES),
        (ServerFault::EndlessError, "status 500"),
    ] {
        let (work, _, ran, peak) = run(fault, &[]);
        assert!(ran.out.contains(BY_RULES), "{fault:?}: {ran:?}");
        assert!(ran.out.contains(told), "{fault:?}: {ran:?}");
        assert_eq!(work.placed(), plain.placed(), "{fault:?}");
        let grown = peak.saturating_sub(least);
        // Answers of an allowed length are corrected, and stay in the conversation.
        let allowed = matches!(fault, ServerFault::LongText(240_000));
        assert!(
            allowed || grown < 20_000,
            "{fault:?}: {peak} KiB and not {least}"
        );
    }
}

#[test]
fn a_server_that_hangs_is_waited_for_once() {
    for (fault, flags, told) in [
        (
            ServerFault::Hangs,
            ["--model-silence", "1"],
            "nothing was said for 1 s",
        ),
        (
            ServerFault::HangsMidway,
            ["--model-silence", "1"],
            "nothing was said for 1 s",
        ),
        (
            ServerFault::Comments(Duration::from_millis(100)),
            ["--model-silence", "1"],
            "nothing was said for 1 s",
        ),
        (
            ServerFault::Drip(Duration::from_millis(100)),
            ["--model-time", "1"],
            "the answer took longer than 1 s",
        ),
    ] {
        let start = Instant::now();
        let (_, server, ran, _) = run(fault, &flags);
        let took = start.elapsed();
        assert!(ran.out.contains(told), "{fault:?}: {ran:?}");
        assert!(server.requests() <= 2, "{fault:?}: {}", server.requests());
        assert!(took < Duration::from_secs(20), "{fault:?}: {took:?}");
    }
}
