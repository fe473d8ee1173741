//! The contents of single appends, as whole values.
use std::sync::Arc;

use expect_test::expect;
use fugato_graph::{BoxError, Context, END, Graph, HistoryEntry, HistoryEvent, SubgraphInput};
use fugato_store::{Head, Status};
use tokio::sync::Notify;

use super::{
    fixture::{Calls, Fixture, Page, finished, line},
    script::{check, compare},
    world::{NamedNodesExt, Stage, WiringExt},
};
use crate::log::{CheckResult, LogFactory, same};

/// A step of one task is one record, and one append; the start is stored with the first, the end
/// with the last.
pub async fn append_of_single_task_steps(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > as json then start in
        = 3; + in | a | b; ran a#1 b#1
        [{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"a#1"}],"run":1,"updates":[{"line":"in"}]}}, {"stepped":{"routes":{"next":[{"task":"b#1"}]},"task":"a#1","updates":[{"line":"a"}]}}] Runnable
        [{"stepped":{"task":"b#1","updates":[{"line":"b"}]}}, {"run_ended":{"output":3}}] Idle
    "#]];
    let output = |page: &Page| page.lines.len();
    let graph = |stage: &Stage| stage.wire("a -> b")?.output(output).build();
    check(factory, graph, expected).await
}

/// Outcomes of several tasks are appended as they finish; the closing record comes with the last.
pub async fn append_of_parallel_tasks(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let turns: Vec<_> = (0..3).map(|_| Arc::new(Notify::new())).collect();
    let waits = turns.clone();
    let graph = Graph::<Page>::starting_at("plan")
        .node("plan", async |_: Context<Page>| ())
        .node("worker", move |cx: Context<Page>| {
            let waits = waits.clone();
            async move {
                let me: usize = cx.item()?;
                if let Some(turn) = waits.get(me) {
                    turn.notified().await;
                }
                Ok::<_, BoxError>(line(me.to_string()))
            }
        })
        .node("last", async |_: Context<Page>| ())
        .scatter("plan", "worker", |_| 0..3)
        .way(&["worker", "last", END])
        .build()?;
    let run = desk.runner(&graph).start(&desk.thread, ());
    for (n, turn) in [1, 0, 2].into_iter().zip(1..) {
        while desk.log.commits().len() < turn {
            tokio::task::yield_now().await;
        }
        turns.get(n).iter().for_each(|turn| turn.notify_one());
    }
    finished(run.await)?;
    compare(
        &expect![[r#"
            [{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"plan#1"}],"run":1}}, {"stepped":{"routes":{"next":[{"items":[0,1,2],"task":"worker#1"}]},"task":"plan#1"}}] Runnable
            [{"finished":{"task":"worker#1[1]","updates":[{"line":"1"}]}}] Runnable
            [{"finished":{"task":"worker#1[0]","updates":[{"line":"0"}]}}] Runnable
            [{"finished":{"task":"worker#1[2]","updates":[{"line":"2"}]}}, {"closed":{"routes":{"next":[{"task":"last#1"}]}}}] Runnable
            [{"stepped":{"task":"last#1"}}, {"run_ended":{}}] Idle
        "#]],
        &desk.log.brackets(),
    )
}

/// A pause asks in the append of the step before it; its answer, its outcome and the end of the
/// step are one append.
pub async fn append_of_a_pause(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > as json then start
        ? confirm#1~1 "ok?" boolean
        + draft; ran draft#1
        [{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"draft#1"}],"run":1}}, {"stepped":{"routes":{"next":[{"task":"confirm#1"}]},"task":"draft#1","updates":[{"line":"draft"}]}}, {"asked":{"questions":[{"id":"confirm#1~1","key":"answer","prompt":"ok?","schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"boolean","type":"boolean"},"task":"confirm#1"}],"task":"confirm#1"}}] Waiting { expires: None }
        > answer true
        = + true
        [{"answered":{"answers":[["confirm#1~1",true]]}}, {"stepped":{"task":"confirm#1","updates":[{"line":"true"}]}}, {"run_ended":{}}] Idle
    "#]];
    check(factory, "draft -> confirm; confirm: pause", expected).await
}

/// One task asks while another works: results are stored as they arrive. If a node asks midway, the
/// answer is stored before the task runs again.
pub async fn append_of_a_question_midway(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > as json then begin start
        > written 4 then open then end
        ? a#1~1 ok: "ok?" boolean
        + open; ran a#1 b#1 open#1
        [{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"open#1"}],"run":1}}, {"stepped":{"routes":{"next":[{"task":"a#1"},{"task":"b#1"}]},"task":"open#1","updates":[{"line":"open"}]}}] Runnable
        [{"asked":{"questions":[{"id":"a#1~1","key":"ok","prompt":"ok?","schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"boolean","type":"boolean"},"task":"a#1"}],"task":"a#1"}}] Runnable
        [{"finished":{"task":"b#1","updates":[{"line":"b"}]}}] Waiting { expires: None }
        > answer true
        = + true | b; ran a#1
        [{"answered":{"answers":[["a#1~1",true]]}}] Runnable
        [{"finished":{"task":"a#1","updates":[{"line":"true"}]}}, {"closed":{}}, {"run_ended":{}}] Idle
    "#]];
    check(factory, "open -> a b; a: ask ok; b: door", expected).await
}

/// Arrivals at a join are in the closing records, and so is the task that it starts.
pub async fn append_of_a_join(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > as json then start
        = + open | a | b | last; ran a#1 b#1 last#1 open#1
        [{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"open#1"}],"run":1}}, {"stepped":{"routes":{"arrived":[["last","open"]],"next":[{"task":"a#1"}]},"task":"open#1","updates":[{"line":"open"}]}}] Runnable
        [{"stepped":{"routes":{"next":[{"task":"b#1"}]},"task":"a#1","updates":[{"line":"a"}]}}] Runnable
        [{"stepped":{"routes":{"arrived":[["last","b"]],"joined":["last"],"next":[{"task":"last#1"}]},"task":"b#1","updates":[{"line":"b"}]}}] Runnable
        [{"stepped":{"task":"last#1","updates":[{"line":"last"}]}}, {"run_ended":{}}] Idle
    "#]];
    check(factory, "open -> a -> b; open b -> last", expected).await
}

/// An effect of class `Once` is an intent, the action, its receipt, and its step.
pub async fn append_of_an_effect(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > as json then start
        = + sent; ran send#1; did send#1/mail
        [{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"send#1"}],"run":1}}, {"intended":{"digest":"<digest 1>","input":"to all","key":"mail","not_after":"later","task":"send#1"}}] Runnable
        [{"receipt":{"digest":"<digest 1>","key":"mail","task":"send#1","value":"sent"}}] Runnable
        [{"stepped":{"task":"send#1","updates":[{"line":"sent"}]}}, {"run_ended":{}}] Idle
    "#]];
    check(factory, "send; send: once mail", expected).await
}

/// A failure that is retried is stored with the time of the retry, and the thread sleeps until
/// then.
pub async fn append_of_a_retry(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > as json then start
        = + a; ran a#1 a#1 try 2
        [{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"a#1"}],"run":1}}, {"failed":{"attempt":1,"error":"task a#1 failed: boom","retry_at":"later","task":"a#1"}}] Sleeping
        [{"stepped":{"attempt":2,"task":"a#1","updates":[{"line":"a"}]}}, {"run_ended":{}}] Idle
    "#]];
    check(factory, "a; a: fail on try 1, tries 2 after 5", expected).await
}

/// The steps of a subgraph in a scatter have its scope. Its last step is appended with the outcome
/// of its task, and with the closing record if it was the last of all.
pub async fn append_of_a_subgraph(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let turns: Vec<_> = (0..2).map(|_| Arc::new(Notify::new())).collect();
    let waits = turns.clone();
    let inner = Graph::<Page>::starting_at("x")
        .node("x", move |cx: Context<Page>| {
            let turn = usize::try_from(cx.state().count)
                .ok()
                .and_then(|n| waits.get(n).cloned());
            async move {
                if let Some(turn) = turn {
                    turn.notified().await;
                }
                line("x")
            }
        })
        .edge("x", END)
        .build()?;
    let graph = Graph::<Page>::starting_at("plan")
        .node("plan", async |_: Context<Page>| ())
        .subgraph(
            "sub",
            &inner,
            |at: SubgraphInput<'_, Page>| {
                let count = at.item()?;
                Ok(Page {
                    count,
                    ..Page::default()
                })
            },
            |_: &Page, inner: &Page| line(format!("{} {}", inner.count, inner.lines.concat())),
        )
        .scatter("plan", "sub", |_| 0..2)
        .edge("sub", END)
        .build()?;
    let run = desk.runner(&graph).start(&desk.thread, ());
    for (n, turn) in [1, 0].into_iter().zip(1..) {
        desk.appends(turn).await;
        turns.get(n).iter().for_each(|turn| turn.notify_one());
    }
    finished(run.await)?;
    compare(
        &expect![[r#"
            [{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"plan#1"}],"run":1}}, {"stepped":{"routes":{"next":[{"items":[0,1],"task":"sub#1"}]},"task":"plan#1"}}, {"entered":{"next":[{"task":"x#1"}],"state":{"count":0,"lines":[],"route":""},"version":1}} @sub#1[0], {"entered":{"next":[{"task":"x#1"}],"state":{"count":1,"lines":[],"route":""},"version":1}} @sub#1[1]] Runnable
            [{"stepped":{"task":"x#1","updates":[{"line":"x"}]}} @sub#1[1], {"finished":{"task":"sub#1[1]","updates":[{"line":"1 x"}]}}] Runnable
            [{"stepped":{"task":"x#1","updates":[{"line":"x"}]}} @sub#1[0], {"finished":{"task":"sub#1[0]","updates":[{"line":"0 x"}]}}, {"closed":{}}, {"run_ended":{}}] Idle
        "#]],
        &desk.log.brackets(),
    )
}

/// A cancellation records its author, its reason and the dropped tasks; an amendment its author,
/// its reason and the finished task.
pub async fn append_of_a_cancellation_and_an_amendment(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > as json then start
        ? ask#1~1 "ok?" boolean
        [{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"ask#1"}],"run":1}}, {"asked":{"questions":[{"id":"ask#1~1","key":"answer","prompt":"ok?","schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"boolean","type":"boolean"},"task":"ask#1"}],"task":"ask#1"}}] Waiting { expires: None }
        > cancel
        [{"cancelled":{"by":"Ada","dropped":["ask#1"],"why":"enough"}}] Idle
        > start
        ? ask#2~2 "ok?" boolean
        [{"started":{"next":[{"task":"ask#2"}],"run":2}}, {"asked":{"questions":[{"id":"ask#2~2","key":"answer","prompt":"ok?","schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"boolean","type":"boolean"},"task":"ask#2"}],"task":"ask#2"}}] Waiting { expires: None }
        > amend noted
        ? ask#2~2 "ok?" boolean
        + noted
        [{"amended":{"by":"Ada","updates":[{"line":"noted"}],"why":"by hand"}}] Waiting { expires: None }
        > finish ask#2 by hand
        = + by hand
        [{"amended":{"by":"Ada","task":"ask#2","updates":[{"line":"by hand"}],"why":"by hand"}}, {"closed":{}}, {"run_ended":{}}] Idle
    "#]];
    check(factory, "ask; ask: pause", expected).await
}

/// A fork is one transaction: a snapshot and one record, after the position at which it was made.
pub async fn append_of_a_fork(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    if desk.opened.admin.is_none() {
        return Ok(());
    }
    let calls = Calls::default();
    let graph = Graph::<Page>::starting_at("a")
        .says(&calls, &["a", "b"])
        .way(&["a", "b", END])
        .build()?;
    let runner = desk.runner(&graph);
    finished(runner.start(&desk.thread, ()).await)?;
    let copy = super::fixture::thread("copy");
    runner.fork(&desk.thread, 3, &copy).await?;
    let head = desk.log_of().head(&copy).await?;
    let head = head.map(|head| (head.base, head.seq, head.status));
    same("the fork", head, Some((3, 4, Status::Runnable)))?;
    let records = runner.history(&copy, 4, 10).await?;
    let events: Vec<_> = records.iter().map(HistoryEntry::event).collect();
    let from = desk.thread.as_str();
    same(
        "its records",
        events,
        vec![HistoryEvent::Forked { from, seq: 3 }],
    )?;
    let before = desk.log_of().head(&desk.thread).await?;
    runner.compact(&desk.thread, 4).await?;
    let after = desk.log_of().head(&desk.thread).await?;
    let same_end = |head: Option<Head>| head.map(|head| (head.seq, head.fence, head.status));
    same("a compaction", same_end(after), same_end(before))?;
    same("its base", after.map(|head| head.base), Some(4))
}
