//! Defects of actions on the outside world.
use std::sync::Arc;

use fugato_graph::{
    Answers, BoxError, Context, END, EffectClass, Graph, InDoubt, NodePolicy, RunErrorKind,
    RunResult, SubgraphInput,
};
use fugato_testkit::kernel::AppendFault;
use tokio::sync::Notify;

use super::bench::{Bench, Calls, Work, did, names};

/// Builds a node that pays once, with the last line of the state as its input.
fn pays(calls: &Calls) -> Graph<Work> {
    let calls = calls.clone();
    Graph::<Work>::starting_at("pay")
        .node("pay", move |cx: Context<Work>| {
            let calls = calls.clone();
            async move {
                let input = format!("{} of attempt {}", cx.state().done.concat(), cx.attempt());
                let act = move |_| async move {
                    calls.note("paid");
                    Ok::<_, BoxError>("receipt".to_owned())
                };
                let paid = cx.effect("pay", EffectClass::Once, &input, act).await?;
                Ok::<_, BoxError>(did(paid))
            }
        })
        .policy("pay", NodePolicy::default())
        .edge("pay", END)
        .build()
        .unwrap()
}

#[tokio::test]
async fn d12_changed_arguments_get_no_old_result_and_nothing_starts_twice() {
    let mut bench = Bench::new();
    let calls = Calls::default();
    let graph = pays(&calls);
    // The append of the step after the receipt dies; the next attempt acts with another input.
    bench.log.cut(3, AppendFault::DiesBefore);
    let died = bench.runner(&graph).start(&bench.thread, did("10")).await;
    died.unwrap_err();
    bench.another_process();
    let changed = bench.runner(&graph).recover(&bench.thread).await;
    let error = fugato_error(&changed.unwrap_err());
    assert!(error.contains("was done with another input"), "{error}");
    assert_eq!(calls.take(), names(&["paid"]));
    // The same request, sent twice at once, is one run.
    let bench = Bench::new();
    let runner = bench.runner(&graph);
    let (one, two) = tokio::join!(
        runner
            .start_keyed(&bench.thread, "order", did("5"))
            .into_future(),
        runner
            .start_keyed(&bench.thread, "order", did("5"))
            .into_future(),
    );
    assert_eq!(one.unwrap().state().done, two.unwrap().state().done);
    assert_eq!(calls.take(), names(&["paid"]));
}

fn fugato_error(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", fugato_error(source)),
        None => error.to_string(),
    }
}

#[tokio::test]
async fn d21_an_action_in_flight_at_a_kill_does_not_run_again() {
    let mut bench = Bench::new();
    let calls = Calls::default();
    let paid = calls.clone();
    let graph = Graph::<Work>::starting_at("pay")
        .node("pay", move |cx: Context<Work>| {
            let paid = paid.clone();
            async move {
                let act = move |_| async move {
                    paid.note("paid");
                    Ok::<_, BoxError>("receipt".to_owned())
                };
                let receipt = cx.effect("pay", EffectClass::Once, &(), act).await?;
                Ok::<_, BoxError>(did(receipt))
            }
        })
        .edge("pay", END)
        .build()
        .unwrap();
    bench.log.cut(2, AppendFault::DiesBefore);
    let died = bench.runner(&graph).start(&bench.thread, ()).await;
    died.unwrap_err();
    for _ in 0..3 {
        bench.another_process();
        let standing = bench.runner(&graph).recover(&bench.thread).await;
        // The first call starts the question; the others find it open.
        assert!(
            matches!(standing, Ok(RunResult::Interrupted { .. }) | Err(_)),
            "{standing:?}"
        );
    }
    assert_eq!(calls.take(), names(&["paid"]));
    let told = Answers::only(InDoubt::Happened("found".into())).unwrap();
    let ended = bench
        .runner(&graph)
        .resume(&bench.thread, told)
        .await
        .unwrap();
    assert_eq!(ended.state().done, names(&["found"]));
    assert_eq!(calls.take(), names(&[]));
}

/// A guard that notes its drop.
struct Dropped(Calls);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.note("stopped");
    }
}

#[tokio::test]
async fn d24_a_cancelled_run_keeps_what_was_finished_and_stops_its_subgraphs() {
    let bench = Bench::new();
    let (calls, entered) = (Calls::default(), Arc::new(Notify::new()));
    let (stops, enters) = (calls.clone(), entered.clone());
    let inner = Graph::<Work>::starting_at("slow")
        .node("slow", move |_: Context<Work>| {
            let (stops, enters) = (Dropped(stops.clone()), enters.clone());
            async move {
                let _stops = stops;
                enters.notify_one();
                std::future::pending::<()>().await;
            }
        })
        .edge("slow", END)
        .build()
        .unwrap();
    let graph = Graph::<Work>::starting_at("open")
        .node("open", calls.node("open"))
        .node("quick", calls.node("quick"))
        .subgraph(
            "sub",
            &inner,
            |_: SubgraphInput<'_, Work>| Ok::<_, BoxError>(Work::default()),
            |_: &Work, _: &Work| did("sub"),
        )
        .edge("open", "quick")
        .edge("open", "sub")
        .edge("quick", END)
        .edge("sub", END)
        .build()
        .unwrap();
    let runner = bench.runner(&graph);
    let run = tokio::spawn(runner.start(&bench.thread, ()).into_future());
    entered.notified().await;
    while !bench.log.brackets().contains("quick#1\",\"updates") {
        tokio::task::yield_now().await;
    }
    runner.cancel(&bench.thread, "Ada", "enough").await.unwrap();
    let kind = run.await.unwrap().unwrap_err().kind;
    assert!(matches!(kind, RunErrorKind::Cancelled { .. }), "{kind:?}");
    assert_eq!(calls.take(), names(&["open", "quick", "stopped"]));
    let stored = runner.state(&bench.thread).await.unwrap().unwrap();
    assert_eq!(stored.done, names(&["open", "quick"]));
}
