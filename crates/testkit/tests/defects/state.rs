//! Defects of state and its merging.
use fugato_graph::{Answers, Context, END, Graph};

use super::bench::{Bench, Calls, Change, Shade, Work, did, names};

#[tokio::test]
async fn d10_what_a_task_does_to_its_own_copy_reaches_nobody() {
    let bench = Bench::new();
    let spoils = async |cx: Context<Work>| {
        let mut own = cx.state().clone();
        own.done.clear();
        own.done.push("spoiled".into());
        Change::Pair(0, i64::try_from(own.done.len()).unwrap_or(0))
    };
    let graph = Graph::<Work>::starting_at("open")
        .node("open", Calls::default().node("open"))
        .node("a", spoils)
        .node("b", async |cx: Context<Work>| {
            did(cx.state().done.join(","))
        })
        .edge("open", "a")
        .edge("open", "b")
        .edge("a", END)
        .edge("b", END)
        .build()
        .unwrap();
    let ended = bench.runner(&graph).start(&bench.thread, ()).await.unwrap();
    let expected = Work {
        done: names(&["open", "open"]),
        pair: (0, 1),
        shade: None,
    };
    assert_eq!(*ended.state(), expected);
    assert_eq!(
        *bench
            .runner(&graph)
            .state(&bench.thread)
            .await
            .unwrap()
            .unwrap(),
        expected
    );
}

#[tokio::test]
async fn d11_types_survive_a_resume() {
    let mut bench = Bench::new();
    let graph = Graph::<Work>::starting_at("a")
        .node("a", async |_: Context<Work>| {
            let mixed = Shade::Mixed {
                of: (1, 255),
                depth: 0.1 + 0.2,
            };
            vec![
                Change::Pair(7, i64::MAX),
                Change::Shade(Shade::Plain),
                Change::Shade(mixed),
            ]
        })
        .pause("ask", |_| "on?", |_, (): ()| did("on"))
        .edge("a", "ask")
        .edge("ask", END)
        .build()
        .unwrap();
    let before = bench.runner(&graph).start(&bench.thread, ()).await.unwrap();
    bench.another_process();
    let after = bench
        .runner(&graph)
        .resume(&bench.thread, Answers::only(()).unwrap())
        .await
        .unwrap();
    let mut expected = before.state().clone();
    expected.done = names(&["on"]);
    assert_eq!(*after.state(), expected);
    assert_eq!(expected.pair, (7, i64::MAX));
}

#[tokio::test]
async fn d16_the_order_of_updates_does_not_depend_on_timing() {
    for late in 0..4_u32 {
        let bench = Bench::new();
        let graph = Graph::<Work>::starting_at("plan")
            .node("plan", async |_: Context<Work>| ())
            .node("worker", move |cx: Context<Work>| async move {
                let n: u32 = cx.item()?;
                for _ in 0..(n + late) % 4 * 10 {
                    tokio::task::yield_now().await;
                }
                Ok::<_, fugato_graph::BoxError>(did(n.to_string()))
            })
            .scatter("plan", "worker", |_| 0..4)
            .edge("worker", END)
            .build()
            .unwrap();
        let ended = bench.runner(&graph).start(&bench.thread, ()).await.unwrap();
        assert_eq!(ended.state().done, names(&["0", "1", "2", "3"]));
    }
}
