//! Defects of stored records and of their writers.
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use fugato_graph::{Answers, Context, END, Graph, RunErrorKind};
use fugato_testkit::kernel::AppendFault;

use super::bench::{Bench, Calls, Work, did, names, two_questions};

#[tokio::test]
async fn d2_of_two_runs_of_one_thread_none_vanishes() {
    let bench = Bench::new();
    let graph = Graph::<Work>::starting_at("a")
        .node("a", async |_: Context<Work>| tokio::task::yield_now().await)
        .edge("a", END)
        .build()
        .unwrap();
    let (one, two) = (bench.runner(&graph), bench.runner(&graph));
    let (one, two) = tokio::join!(
        one.start(&bench.thread, did("one")).into_future(),
        two.start(&bench.thread, did("two")).into_future(),
    );
    let (won, lost) = match (one, two) {
        (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => (won, lost),
        other => panic!("one should be refused: {other:?}"),
    };
    assert!(matches!(lost.kind, RunErrorKind::Busy { .. }), "{lost:?}");
    let stored = bench
        .runner(&graph)
        .state(&bench.thread)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(stored.done, won.state().done);
    assert_eq!(stored.done.len(), 1);
}

#[tokio::test]
async fn d13_a_step_is_stored_before_the_next_and_a_failing_log_is_noticed_at_once() {
    let bench = Bench::new();
    let heads = Calls::default();
    let mut graph = Graph::<Work>::starting_at("n0");
    for n in 0..20 {
        let (log, thread) = (bench.opened.log.clone(), bench.thread.clone());
        let heads = heads.clone();
        let next = if n == 19 {
            END.to_owned()
        } else {
            format!("n{}", n + 1)
        };
        graph = graph
            .node(format!("n{n}"), move |_: Context<Work>| {
                let (log, thread, heads) = (log.clone(), thread.clone(), heads.clone());
                async move {
                    let head = log.head(&thread).await?.map_or(0, |head| head.seq);
                    heads.note(head.to_string());
                    Ok::<_, fugato_graph::BoxError>(did("n"))
                }
            })
            .edge(format!("n{n}"), next);
    }
    let graph = graph.build().unwrap();
    bench.runner(&graph).start(&bench.thread, ()).await.unwrap();
    // The start and the first step are one atomic append.
    let expected: Vec<_> = (0..20)
        .map(|n| if n == 0 { 0 } else { n + 2 }.to_string())
        .collect();
    assert_eq!(heads.take(), expected);
    let full = Bench::new();
    full.log.cut(3, AppendFault::Full);
    assert!(full.runner(&graph).start(&full.thread, ()).await.is_err());
    assert_eq!(heads.take().len(), 3);
}

#[tokio::test]
async fn d14_a_failing_task_keeps_its_siblings() {
    let bench = Bench::new();
    let calls = Calls::default();
    let failing = Arc::new(AtomicUsize::new(1));
    let fails = failing.clone();
    let graph = Graph::<Work>::starting_at("open")
        .node("open", calls.node("open"))
        .node("good", calls.node("good"))
        .node("bad", move |_: Context<Work>| {
            let fails = fails.load(Ordering::SeqCst) == 1;
            async move { if fails { Err("boom") } else { Ok(did("bad")) } }
        })
        .edge("open", "good")
        .edge("open", "bad")
        .edge("good", END)
        .edge("bad", END)
        .build()
        .unwrap();
    bench
        .runner(&graph)
        .start(&bench.thread, ())
        .await
        .unwrap_err();
    failing.store(0, Ordering::SeqCst);
    let ended = bench.runner(&graph).retry(&bench.thread).await.unwrap();
    assert_eq!(ended.state().done, names(&["open", "good", "bad"]));
    assert_eq!(calls.take(), names(&["open", "good"]));
}

#[tokio::test]
async fn d15_a_crash_after_any_append_runs_no_finished_node_again() {
    for nth in 1..=3 {
        let mut bench = Bench::new();
        let calls = Calls::default();
        let graph = Graph::<Work>::starting_at("a")
            .node("a", calls.node("a"))
            .node("b", calls.node("b"))
            .node("c", calls.node("c"))
            .edge("a", "b")
            .edge("b", "c")
            .edge("c", END)
            .build()
            .unwrap();
        bench.log.cut(nth, AppendFault::DiesAfter);
        bench
            .runner(&graph)
            .start(&bench.thread, ())
            .await
            .unwrap_err();
        bench.another_process();
        if nth < 3 {
            bench.runner(&graph).recover(&bench.thread).await.unwrap();
        }
        assert_eq!(calls.take(), names(&["a", "b", "c"]), "append {nth}");
        let stored = bench
            .runner(&graph)
            .state(&bench.thread)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(stored.done, names(&["a", "b", "c"]));
    }
}

#[tokio::test]
async fn d20_a_clock_that_steps_back_restores_nothing_old() {
    let bench = Bench::new();
    let graph = two_questions(&Calls::default());
    let runner = bench.runner(&graph);
    runner.start(&bench.thread, ()).await.unwrap();
    bench.now.store(5, Ordering::SeqCst);
    runner
        .resume(&bench.thread, Answers::to("a#1~1", 1).unwrap())
        .await
        .unwrap();
    bench.now.store(1, Ordering::SeqCst);
    let ended = runner
        .resume(&bench.thread, Answers::only(2).unwrap())
        .await
        .unwrap();
    let stored = runner.state(&bench.thread).await.unwrap().unwrap();
    assert_eq!(*stored, *ended.state());
    assert_eq!(stored.done.len(), 4);
}
