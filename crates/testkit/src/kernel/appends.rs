//! The contents of single appends, as whole values.
use std::{sync::Arc, time::Duration};

use fugato_graph::{
    Answers, Context, END, EffectClass, Graph, ItemError, NodePolicy, Outcome, StateEdit,
    SubgraphInput, machine::Fact,
};
use fugato_state::Question;
use fugato_store::{Head, Status};
use tokio::sync::Notify;

use super::{
    fixture::{Calls, Fixture, Page, finished, line, parked, question},
    world::{MailNode, NamedNodesExt, WiringExt},
};
use crate::log::{LogFactory, Verdict, holds, same};

fn brackets(desk: &Fixture, what: &str, expected: &[&str]) -> Verdict {
    let got = desk.log.brackets();
    desk.log.forget();
    same(what, got.lines().collect::<Vec<_>>(), expected.to_vec())
}

/// A step of one task is one record, and one append; the start is stored with the first, the end
/// with the last.
pub async fn append_of_single_task_steps(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = Graph::<Page>::starting_at("a")
        .says(&calls, &["a", "b"])
        .way(&["a", "b", END])
        .output(|page| page.lines.len())
        .build()?;
    finished(desk.runner(&graph).start(&desk.thread, line("in")).await)?;
    let expected = [
        r#"[{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"a#1"}],"run":1,"updates":[{"line":"in"}]}}, {"stepped":{"routes":{"next":[{"task":"b#1"}]},"task":"a#1","updates":[{"line":"a"}]}}] Runnable"#,
        r#"[{"stepped":{"task":"b#1","updates":[{"line":"b"}]}}, {"run_ended":{"output":3}}] Idle"#,
    ];
    brackets(&desk, "two steps", &expected)
}

/// Outcomes of several tasks are appended as they finish; the closing record comes with the last.
pub async fn append_of_parallel_tasks(factory: &dyn LogFactory) -> Verdict {
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
                Ok::<_, fugato_graph::BoxError>(line(me.to_string()))
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
    let expected = [
        r#"[{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"plan#1"}],"run":1}}, {"stepped":{"routes":{"next":[{"items":[0,1,2],"task":"worker#1"}]},"task":"plan#1"}}] Runnable"#,
        r#"[{"finished":{"task":"worker#1[1]","updates":[{"line":"1"}]}}] Runnable"#,
        r#"[{"finished":{"task":"worker#1[0]","updates":[{"line":"0"}]}}] Runnable"#,
        r#"[{"finished":{"task":"worker#1[2]","updates":[{"line":"2"}]}}, {"closed":{"routes":{"next":[{"task":"last#1"}]}}}] Runnable"#,
        r#"[{"stepped":{"task":"last#1"}}, {"run_ended":{}}] Idle"#,
    ];
    brackets(&desk, "three workers", &expected)
}

/// A pause asks in the append of the step before it; its answer, its outcome and the end of the
/// step are one append.
pub async fn append_of_a_pause(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = Graph::<Page>::starting_at("draft")
        .says(&Calls::default(), &["draft"])
        .pause("confirm", |_| "sure?", |_, yes: bool| line(yes.to_string()))
        .way(&["draft", "confirm", END])
        .build()?;
    question(desk.start(&graph).await)?;
    let start = [
        r#"[{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"draft#1"}],"run":1}}, {"stepped":{"routes":{"next":[{"task":"confirm#1"}]},"task":"draft#1","updates":[{"line":"draft"}]}}, {"asked":{"questions":[{"id":"confirm#1~1","key":"answer","prompt":"sure?","schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"boolean","type":"boolean"},"task":"confirm#1"}],"task":"confirm#1"}}] Waiting { expires: None }"#,
    ];
    brackets(&desk, "start to pause", &start)?;
    finished(desk.resume(&graph, Answers::only(true)?).await)?;
    let end = [
        r#"[{"answered":{"answers":[["confirm#1~1",true]]}}, {"stepped":{"task":"confirm#1","updates":[{"line":"true"}]}}, {"run_ended":{}}] Idle"#,
    ];
    brackets(&desk, "answer to end", &end)
}

/// One task asks while another works: results are stored as they arrive. If a node asks midway, the
/// answer is stored before the task runs again.
pub async fn append_of_a_question_midway(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let asked = Arc::new(Notify::new());
    let wait = asked.clone();
    let graph = Graph::<Page>::starting_at("open")
        .node("open", async |_: Context<Page>| ())
        .node("a", async |cx: Context<Page>| {
            Ok::<_, serde_json::Error>(match cx.answer::<bool>("ok")? {
                Some(ok) => Outcome::done([line(ok.to_string())]),
                None => Outcome::ask(Question::new::<bool>("ok", "ok?")),
            })
        })
        .node("b", move |_: Context<Page>| {
            let wait = wait.clone();
            async move {
                wait.notified().await;
                line("b")
            }
        })
        .way(&["open", "a", END])
        .way(&["open", "b", END])
        .build()?;
    let run = desk.runner(&graph).start(&desk.thread, ());
    while desk.log.commits().len() < 2 {
        tokio::task::yield_now().await;
    }
    asked.notify_one();
    parked(run.await)?;
    let start = [
        r#"[{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"open#1"}],"run":1}}, {"stepped":{"routes":{"next":[{"task":"a#1"},{"task":"b#1"}]},"task":"open#1"}}] Runnable"#,
        r#"[{"asked":{"questions":[{"id":"a#1~1","key":"ok","prompt":"ok?","schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"boolean","type":"boolean"},"task":"a#1"}],"task":"a#1"}}] Runnable"#,
        r#"[{"finished":{"task":"b#1","updates":[{"line":"b"}]}}] Waiting { expires: None }"#,
    ];
    brackets(&desk, "a asks while b works", &start)?;
    finished(desk.resume(&graph, Answers::only(true)?).await)?;
    let end = [
        r#"[{"answered":{"answers":[["a#1~1",true]]}}] Runnable"#,
        r#"[{"finished":{"task":"a#1","updates":[{"line":"true"}]}}, {"closed":{}}, {"run_ended":{}}] Idle"#,
    ];
    brackets(&desk, "the answer", &end)
}

/// Arrivals at a join are in the closing records, and so is the task that it starts.
pub async fn append_of_a_join(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = Graph::<Page>::starting_at("open")
        .says(&calls, &["open", "a", "b", "last"])
        .way(&["open", "a", "b"])
        .join(["open", "b"], "last")
        .edge("last", END)
        .build()?;
    finished(desk.start(&graph).await)?;
    let expected = [
        r#"[{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"open#1"}],"run":1}}, {"stepped":{"routes":{"arrived":[["last","open"]],"next":[{"task":"a#1"}]},"task":"open#1","updates":[{"line":"open"}]}}] Runnable"#,
        r#"[{"stepped":{"routes":{"next":[{"task":"b#1"}]},"task":"a#1","updates":[{"line":"a"}]}}] Runnable"#,
        r#"[{"stepped":{"routes":{"arrived":[["last","b"]],"joined":["last"],"next":[{"task":"last#1"}]},"task":"b#1","updates":[{"line":"b"}]}}] Runnable"#,
        r#"[{"stepped":{"task":"last#1","updates":[{"line":"last"}]}}, {"run_ended":{}}] Idle"#,
    ];
    brackets(&desk, "a join", &expected)
}

const CREATED: &str = r#"{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}"#;

/// An effect of class `Once` is an intent, the action, its receipt, and its step.
pub async fn append_of_an_effect(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let mails = MailNode::of(&Calls::default(), EffectClass::Once);
    let graph = Graph::<Page>::starting_at("send")
        .node("send", mails)
        .edge("send", END)
        .build()?;
    finished(desk.start(&graph).await)?;
    let got = desk.log.brackets();
    let digest = got.split(r#""digest":""#).nth(1);
    let digest = digest
        .and_then(|rest| rest.split('"').next())
        .unwrap_or_default()
        .to_owned();
    let intended = format!(
        r#"[{CREATED}, {{"started":{{"next":[{{"task":"send#1"}}],"run":1}}}}, {{"intended":{{"digest":"{digest}","input":"to all","key":"mail","not_after":"later","task":"send#1"}}}}] Runnable"#
    );
    let receipt = format!(
        r#"[{{"receipt":{{"digest":"{digest}","key":"mail","task":"send#1","value":"sent 1"}}}}] Runnable"#
    );
    let expected = [
        &*intended,
        &receipt,
        r#"[{"stepped":{"task":"send#1","updates":[{"line":"sent 1"}]}}, {"run_ended":{}}] Idle"#,
    ];
    brackets(&desk, "an effect", &expected)
}

/// A failure that is retried is stored with the time of the retry, and the thread sleeps until
/// then.
pub async fn append_of_a_retry(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let policy = NodePolicy::default().attempts(2);
    let graph = Graph::<Page>::starting_at("a")
        .node("a", async |cx: Context<Page>| match cx.attempt() {
            1 => Err("boom"),
            _ => Ok(line("a")),
        })
        .policy(
            "a",
            policy.backoff(Duration::from_millis(5), Duration::from_millis(5)),
        )
        .edge("a", END)
        .build()?;
    finished(desk.start(&graph).await)?;
    let failed = format!(
        r#"[{CREATED}, {{"started":{{"next":[{{"task":"a#1"}}],"run":1}}}}, {{"failed":{{"attempt":1,"error":"task a#1 failed: boom","retry_at":"later","task":"a#1"}}}}] Sleeping"#
    );
    let expected = [
        &*failed,
        r#"[{"stepped":{"attempt":2,"task":"a#1","updates":[{"line":"a"}]}}, {"run_ended":{}}] Idle"#,
    ];
    brackets(&desk, "a retry", &expected)
}

/// The steps of a subgraph in a scatter have its scope. Its last step is appended with the outcome
/// of its task, and with the closing record if it was the last of all.
pub async fn append_of_a_subgraph(factory: &dyn LogFactory) -> Verdict {
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
                Ok::<_, ItemError>(Page {
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
    let entered = |n: u32| {
        format!(
            r#"{{"entered":{{"next":[{{"task":"x#1"}}],"state":{{"count":{n},"lines":[],"route":""}},"version":1}}}} @sub#1[{n}]"#
        )
    };
    let left = |n: u32| {
        format!(
            r#"{{"stepped":{{"task":"x#1","updates":[{{"line":"x"}}]}}}} @sub#1[{n}], {{"finished":{{"task":"sub#1[{n}]","updates":[{{"line":"{n} x"}}]}}}}"#
        )
    };
    let begun = format!(
        r#"[{CREATED}, {{"started":{{"next":[{{"task":"plan#1"}}],"run":1}}}}, {{"stepped":{{"routes":{{"next":[{{"items":[0,1],"task":"sub#1"}}]}},"task":"plan#1"}}}}, {}, {}] Runnable"#,
        entered(0),
        entered(1)
    );
    let one = format!("[{}] Runnable", left(1));
    let other = format!(
        r#"[{}, {{"closed":{{}}}}, {{"run_ended":{{}}}}] Idle"#,
        left(0)
    );
    brackets(&desk, "subgraphs", &[&begun, &one, &other])
}

/// A cancellation records its author, its reason and the dropped tasks; an amendment its author,
/// its reason and the finished task.
pub async fn append_of_a_cancellation_and_an_amendment(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = Graph::<Page>::starting_at("ask")
        .pause("ask", |_| "ok?", |_, ok: bool| line(ok.to_string()))
        .edge("ask", END)
        .build()?;
    let runner = desk.runner(&graph);
    let by_hand = || StateEdit::new([line("by hand")], "Ada", "to see");
    question(runner.start(&desk.thread, ()).await)?;
    desk.log.forget();
    runner.cancel(&desk.thread, "Ada", "enough").await?;
    let cancelled = [r#"[{"cancelled":{"by":"Ada","dropped":["ask#1"],"why":"enough"}}] Idle"#];
    brackets(&desk, "a cancellation", &cancelled)?;
    question(runner.start(&desk.thread, ()).await)?;
    desk.log.forget();
    question(runner.amend(&desk.thread, by_hand()).await)?;
    let amended = [
        r#"[{"amended":{"by":"Ada","updates":[{"line":"by hand"}],"why":"to see"}}] Waiting { expires: None }"#,
    ];
    brackets(&desk, "an amendment", &amended)?;
    finished(
        runner
            .amend(&desk.thread, by_hand().finishing("ask#2"))
            .await,
    )?;
    let done = [
        r#"[{"amended":{"by":"Ada","task":"ask#2","updates":[{"line":"by hand"}],"why":"to see"}}, {"closed":{}}, {"run_ended":{}}] Idle"#,
    ];
    brackets(&desk, "an amendment that finishes a task", &done)
}

/// A fork is one transaction: a snapshot and one record, after the position at which it was made.
pub async fn append_of_a_fork(factory: &dyn LogFactory) -> Verdict {
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
    let facts: Vec<_> = records.into_iter().map(|entry| entry.fact).collect();
    let forked = matches!(
        facts.as_slice(),
        [Fact::Forked { from, seq: 3, .. }] if from == desk.thread.as_str()
    );
    holds(forked, || format!("its records are {facts:?}"))?;
    let before = desk.log_of().head(&desk.thread).await?;
    runner.compact(&desk.thread, 4).await?;
    let after = desk.log_of().head(&desk.thread).await?;
    let same_end = |head: Option<Head>| head.map(|head| (head.seq, head.fence, head.status));
    same("a compaction", same_end(after), same_end(before))?;
    same("its base", after.map(|head| head.base), Some(4))
}
