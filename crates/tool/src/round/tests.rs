use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use fugato_state::{EffectClass, ToolStatus};
use futures::FutureExt as _;
use proptest::prelude::*;
use serde_json::json;
use tokio::sync::Barrier;

use super::*;
use crate::{GateChain, GatedCall, NoArguments, ToolSpec, async_tool_fn, confirm_writes};

type Log = Arc<Mutex<Vec<String>>>;

fn call(id: &str, name: &str) -> ToolCall {
    ToolCall::new(id, name, json!({}))
}

/// `meet` ends when three calls are running; every call records its begin and end.
fn registry() -> (Registry<(), ()>, Log) {
    let log = Log::default();
    let barrier = Arc::new(Barrier::new(3));
    let noted = |log: &Log, line: String| log.lock().unwrap().push(line);
    let first = Arc::clone(&log);
    let meet = async_tool_fn(
        ToolSpec::read("meet", "Meets."),
        move |cx, _: NoArguments| {
            let (log, barrier, id) = (
                Arc::clone(&first),
                Arc::clone(&barrier),
                cx.call_id().to_owned(),
            );
            async move {
                noted(&log, format!("{id} begins"));
                barrier.wait().await;
                noted(&log, format!("{id} ends"));
                Ok(id.into())
            }
            .boxed()
        },
    );
    let second = Arc::clone(&log);
    let write = async_tool_fn(
        ToolSpec::write("write", "Writes."),
        move |cx, _: NoArguments| {
            let (log, id) = (Arc::clone(&second), cx.call_id().to_owned());
            async move {
                noted(&log, format!("{id} begins"));
                tokio::task::yield_now().await;
                noted(&log, format!("{id} ends"));
                Ok(id.into())
            }
            .boxed()
        },
    );
    let registry = Registry::<(), ()>::builder().tool(meet).tool(write);
    (registry.build().unwrap(), log)
}

fn texts<U>(called: &[AnsweredCall<U>]) -> Vec<&str> {
    called.iter().map(|called| &*called.result.text).collect()
}

#[tokio::test]
async fn l11_reads_run_together_and_writes_alone_and_results_keep_the_order_of_the_calls() {
    let (registry, log) = registry();
    let calls = [
        call("r1", "meet"),
        call("x", "gone"),
        call("r2", "meet"),
        call("r3", "meet"),
        call("w1", "write"),
        call("w2", "write"),
    ];
    let called = registry.call_round(&calls, ToolContext::new(&())).await;
    assert_eq!(
        texts(&called),
        [
            "r1",
            "there is no tool `gone`; the tools that can be called now are meet and write",
            "r2",
            "r3",
            "w1",
            "w2"
        ]
    );
    let log = log.lock().unwrap();
    assert_eq!(log[..3], ["r1 begins", "r2 begins", "r3 begins"]);
    assert_eq!(log[6..], ["w1 begins", "w1 ends", "w2 begins", "w2 ends"]);
}

#[tokio::test]
async fn l11_what_follows_a_write_waits_for_it() {
    let (registry, log) = registry();
    let calls = [
        call("w1", "write"),
        call("r1", "meet"),
        call("r2", "meet"),
        call("r3", "meet"),
        call("w2", "write"),
    ];
    registry.call_round(&calls, ToolContext::new(&())).await;
    let log = log.lock().unwrap();
    assert_eq!(log[..2], ["w1 begins", "w1 ends"]);
    assert_eq!(log[8..], ["w2 begins", "w2 ends"]);
}

#[tokio::test]
async fn l11_an_error_of_the_caller_ends_the_round_before_the_next_write() {
    let (registry, log) = registry();
    let calls = [call("w1", "write"), call("w2", "write")];
    let round = registry.round(&calls, &Visibility::new());
    let ended = round.run(|call| async move {
        match &*call.call().id {
            "w1" => Err("the store is gone"),
            _ => Ok(call.run(ToolContext::new(&())).await),
        }
    });
    assert_eq!(ended.await, Err("the store is gone"));
    assert!(log.lock().unwrap().is_empty());
}

#[tokio::test]
async fn l9_only_what_is_approved_is_executed() {
    let (registry, log) = registry();
    let calls = ["a", "b", "c", "d"].map(|id| call(id, "write"));
    let no_d = |gated: &GatedCall<'_>, (): &()| match &*gated.call.id {
        "d" => Verdict::Block("d is never written".into()),
        _ => Verdict::Allow,
    };
    let gates = GateChain::new().with(no_d).with(confirm_writes);
    let mut round = registry
        .round(&calls, &Visibility::new())
        .judged(&gates, &());
    let waiting: Vec<_> = round.cards().map(|card| card.call.id.clone()).collect();
    assert_eq!(waiting, ["a", "b", "c"]);
    assert!(round.approve("a"));
    assert!(round.decline("b", "the person says no: not today"));
    assert!(!round.approve("b") && !round.approve("d") && !round.decline("a", "late"));
    let run = |call: AdmittedCall| async move {
        Ok::<_, Infallible>(call.run(ToolContext::new(&())).await)
    };
    let called = round.run(run).await.unwrap();
    assert_eq!(
        texts(&called),
        [
            "a",
            "the person says no: not today",
            &unconfirmed(),
            "d is never written"
        ]
    );
    let statuses: Vec<_> = called.iter().map(|called| called.result.status).collect();
    let no = ToolStatus::Blocked;
    assert_eq!(statuses, [ToolStatus::Ok, no, no, no]);
    assert_eq!(*log.lock().unwrap(), ["a begins", "a ends"]);
}

fn slow(spec: ToolSpec) -> Registry<(), ()> {
    let tool = async_tool_fn(spec, |_, _: NoArguments| {
        async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok("done".into())
        }
        .boxed()
    });
    let builder = Registry::<(), ()>::builder().timeout(Duration::from_secs(30));
    builder.tool(tool).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn l7_a_tool_that_takes_too_long_fails_with_a_text() {
    let cx = ToolContext::new(&());
    for (limit, text) in [
        (
            None,
            "`fetch` took longer than 30s and was stopped; ask for less at once",
        ),
        (
            Some(5),
            "`fetch` took longer than 5s and was stopped; ask for less at once",
        ),
        (Some(90), "done"),
    ] {
        let spec = ToolSpec::read("fetch", "Fetches.");
        let spec = match limit {
            Some(limit) => spec.timeout(Duration::from_secs(limit)),
            None => spec,
        };
        let result = slow(spec).call(&call("c", "fetch"), cx).await;
        assert_eq!(result.text, text);
        assert_eq!(result.is_ok(), text == "done");
    }
}

#[tokio::test(start_paused = true)]
async fn l11_a_write_that_was_stopped_is_in_doubt_unless_it_may_be_repeated() {
    for (class, known) in [
        (EffectClass::Once, false),
        (EffectClass::Keyed, true),
        (EffectClass::Idempotent, true),
        (EffectClass::Pure, true),
    ] {
        let registry = slow(ToolSpec::write("pay", "Pays.").effect(class));
        let admit = || {
            registry
                .admit(&call("c", "pay"), &Visibility::new())
                .unwrap()
        };
        let acted = admit().act(ToolContext::new(&())).await;
        assert_eq!(acted.is_ok(), known, "{class:?}");
        let told = admit().run(ToolContext::new(&())).await;
        let unknown = "whether `pay` was carried out is not known; look before you call it again";
        assert_eq!(told.text == unknown, !known, "{class:?}: {}", told.text);
    }
}

#[tokio::test]
async fn l7_a_panic_is_the_failure_of_one_call() {
    let registry = Registry::<(), ()>::builder()
        .function(
            ToolSpec::read("burst", "Bursts."),
            |_, _: NoArguments| -> Result<&str, ToolFailure> { panic!("out of air") },
        )
        .function(ToolSpec::read("hold", "Holds."), |_, _: NoArguments| {
            Ok("held")
        })
        .build()
        .unwrap();
    let calls = [call("1", "burst"), call("2", "hold")];
    let called = registry.call_round(&calls, ToolContext::new(&())).await;
    assert_eq!(
        texts(&called),
        [
            "the tool failed for an internal reason; trying again may help",
            "held"
        ]
    );
}

#[test]
fn a_round_can_be_sent_to_another_thread() {
    fn sent<T: Send>(_: T) {}
    let (registry, _) = registry();
    sent(registry.call_round(&[], ToolContext::new(&())));
}

proptest! {
    /// Results are paired with their calls by id.
    #[test]
    fn l10_the_calls_of_a_round_have_distinct_ids(
        ids in proptest::collection::vec("|c|c-2|c-3|call-2|d", 0..9),
    ) {
        let calls: Vec<_> = ids.iter().map(|id| call(id, "write")).collect();
        let distinct = with_distinct_ids(&calls);
        let found: HashSet<_> = distinct.iter().map(|call| call.id.clone()).collect();
        prop_assert_eq!(found.len(), calls.len());
        prop_assert!(!found.contains(""));
        for (at, (before, after)) in calls.iter().zip(&distinct).enumerate() {
            let first = !before.id.is_empty() && !ids[..at].contains(&before.id);
            prop_assert_eq!(first, before.id == after.id);
        }
    }
}
