//! Defects of threads that are shared, pruned or tampered with.
use std::sync::Arc;

use fugato_graph::{
    Answers, BoxError, Context, END, Graph, RunErrorKind, RunnerOptions, Schedule, SubgraphInput,
};
use fugato_store::{Commit, Expect, Record, Status};
use tokio::sync::Notify;

use super::bench::{Bench, Calls, Work, did, names};

fn asking() -> Graph<Work> {
    Graph::<Work>::starting_at("draft")
        .node("draft", Calls::default().node("draft"))
        .pause("ask", |_| "ok?", |_, ok: bool| did(ok.to_string()))
        .edge("draft", "ask")
        .edge("ask", END)
        .build()
        .unwrap()
}

#[tokio::test]
async fn d18_compaction_keeps_subgraphs_and_state() {
    let mut bench = Bench::new();
    let graph = Graph::<Work>::starting_at("first")
        .node("first", Calls::default().node("first"))
        .subgraph(
            "sub",
            &asking(),
            |at: SubgraphInput<'_, Work>| Ok::<_, BoxError>(at.state().clone()),
            |_: &Work, inner: &Work| did(inner.done.join("+")),
        )
        .node("beside", Calls::default().node("beside"))
        .edge("first", "sub")
        .edge("first", "beside")
        .edge("sub", END)
        .edge("beside", END)
        .build()
        .unwrap();
    // An eager branch closes while the subgraph waits: a checkpoint with an open scope.
    let options = RunnerOptions::default().schedule(Schedule::Eager);
    let runner = bench.runner(&graph).options(options.clone());
    let parked = runner.start(&bench.thread, ()).await.unwrap();
    let head = bench.head().await;
    let before = runner.state(&bench.thread).await.unwrap();
    runner.compact(&bench.thread, head).await.unwrap();
    bench.another_process();
    let runner = bench.runner(&graph).options(options);
    assert_eq!(runner.state(&bench.thread).await.unwrap(), before);
    let id = parked.interrupts()[0].id.clone();
    let answers = Answers::to(id, true).unwrap();
    let ended = runner.resume(&bench.thread, answers).await.unwrap();
    let said = ["first", "beside", "first+draft+true"];
    assert_eq!(ended.state().done, names(&said));
}

#[tokio::test]
async fn d22_two_processes_never_run_the_same_step() {
    let mut bench = Bench::new();
    let (calls, entered, leave) = <(Calls, Arc<Notify>, Arc<Notify>)>::default();
    let (runs, enters, leaves) = (calls.clone(), entered.clone(), leave.clone());
    let graph = Graph::<Work>::starting_at("a")
        .node("a", move |_: Context<Work>| {
            let (enters, leaves) = (enters.clone(), leaves.clone());
            runs.note("began");
            async move {
                enters.notify_one();
                leaves.notified().await;
                did("a")
            }
        })
        .edge("a", END)
        .build()
        .unwrap();
    let first = tokio::spawn(bench.runner(&graph).start(&bench.thread, ()).into_future());
    entered.notified().await;
    let second = bench.runner(&graph).start(&bench.thread, ()).await;
    let kind = second.unwrap_err().kind;
    assert!(matches!(kind, RunErrorKind::Busy { .. }), "{kind:?}");
    assert_eq!(calls.take(), names(&["began"]));
    // The first process is suspended for longer than its lease; its results are not stored,
    // those of the other are.
    bench.another_process();
    let third = tokio::spawn(bench.runner(&graph).start(&bench.thread, ()).into_future());
    entered.notified().await;
    leave.notify_waiters();
    leave.notify_one();
    let (first, third) = (first.await.unwrap(), third.await.unwrap());
    let lost = first.unwrap_err().kind;
    assert!(matches!(lost, RunErrorKind::Store(_)), "{lost:?}");
    assert_eq!(third.unwrap().state().done, names(&["a"]));
    let stored = bench.runner(&graph).state(&bench.thread).await.unwrap();
    assert_eq!(stored.unwrap().done, names(&["a"]));
}

#[tokio::test]
async fn d26_what_is_read_is_what_the_types_say_and_nothing_is_built_by_name() {
    let bench = Bench::new();
    let graph = asking();
    let runner = bench.runner(&graph);
    runner.start(&bench.thread, ()).await.unwrap();
    // An answer is data of the question's type, whatever its fields say.
    let object = serde_json::json!({"lc": 1, "type": "constructor", "id": ["os", "system"]});
    let refused = runner
        .resume(&bench.thread, Answers::only(&object).unwrap())
        .await;
    let kind = refused.unwrap_err().kind;
    assert!(matches!(kind, RunErrorKind::Answer(_)), "{kind:?}");
    let head = bench.head().await;
    let last = bench.opened.log.read(&bench.thread, head, 1).await.unwrap();
    let (_, Record(good)) = last.into_iter().next().unwrap();
    let mut entry: serde_json::Value = serde_json::from_slice(&good[1..]).unwrap();
    let crafted = [
        (RunErrorKind::Format, object.clone()),
        (
            RunErrorKind::Migrate,
            serde_json::json!({"stepped": {"task": "ask#1", "updates": [object]}}),
        ),
    ];
    for (nonce, (kind, fact)) in (1..).zip(crafted) {
        let bench = Bench::new();
        let runner = bench.runner(&graph);
        runner.start(&bench.thread, ()).await.unwrap();
        let head = bench.opened.log.head(&bench.thread).await.unwrap().unwrap();
        let (head, fence) = (head.seq, head.fence);
        entry["fact"] = fact;
        let mut bytes = good[..1].to_vec();
        bytes.extend(serde_json::to_vec(&entry).unwrap());
        let commit = Commit {
            expect: Expect { head, fence },
            nonce,
            records: vec![Record(bytes)],
            status: Status::Idle,
            base: None,
        };
        bench
            .opened
            .log
            .append(&bench.thread, &commit)
            .await
            .unwrap();
        let refused = runner.state(&bench.thread).await;
        assert_eq!(refused.unwrap_err().kind, kind);
        let refused = runner
            .resume(&bench.thread, Answers::only(true).unwrap())
            .await;
        assert_eq!(refused.unwrap_err().kind, kind);
    }
}
