//! What one append contains, as whole values.
use std::sync::Arc;

use fugato_graph::{Answers, Context, END, Graph, Outcome};
use fugato_state::Question;
use tokio::sync::Notify;

use super::desk::{Calls, Desk, Page, Says, finished, line, parked, question};
use crate::log::{Failure, LogFactory, same};

fn brackets(desk: &Desk, what: &str, expected: &[&str]) -> Result<(), Failure> {
    let got = desk.log.brackets();
    desk.log.forget();
    same(what, got.lines().collect::<Vec<_>>(), expected.to_vec())
}

/// A step of one task is one record, and one append; the start rides with the first, the end with
/// the last.
pub async fn append_of_single_task_steps(factory: &dyn LogFactory) -> Result<(), Failure> {
    let desk = Desk::of(factory).await?;
    let calls = Calls::default();
    let graph = Graph::<Page>::starting_at("a")
        .node("a", Says("a", calls.clone()))
        .node("b", Says("b", calls))
        .edge("a", "b")
        .edge("b", END)
        .output(|page| page.lines.len())
        .build()?;
    finished(desk.runner(&graph).start(&desk.thread, line("in")).await)?;
    let expected = [
        r#"[{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"a#1"}],"run":1,"updates":[{"line":"in"}]}}, {"stepped":{"routes":{"next":[{"task":"b#1"}]},"task":"a#1","updates":[{"line":"a"}]}}] Runnable"#,
        r#"[{"stepped":{"task":"b#1","updates":[{"line":"b"}]}}, {"run_ended":{"output":3}}] Idle"#,
    ];
    brackets(&desk, "two steps", &expected)
}

/// Outcomes of several tasks are appended as they come; the closing record comes with the last.
pub async fn append_of_parallel_tasks(factory: &dyn LogFactory) -> Result<(), Failure> {
    let desk = Desk::of(factory).await?;
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
        .edge("worker", "last")
        .edge("last", END)
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

/// A pause asks in the append of what came before it; its answer, its outcome and the end of the
/// step are one append.
pub async fn append_of_a_pause(factory: &dyn LogFactory) -> Result<(), Failure> {
    let desk = Desk::of(factory).await?;
    let graph = Graph::<Page>::starting_at("draft")
        .node("draft", Says("draft", Calls::default()))
        .pause("confirm", |_| "sure?", |_, yes: bool| line(yes.to_string()))
        .edge("draft", "confirm")
        .edge("confirm", END)
        .build()?;
    question(desk.runner(&graph).start(&desk.thread, ()).await)?;
    let start = [
        r#"[{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"draft#1"}],"run":1}}, {"stepped":{"routes":{"next":[{"task":"confirm#1"}]},"task":"draft#1","updates":[{"line":"draft"}]}}, {"asked":{"questions":[{"id":"confirm#1~1","key":"answer","prompt":"sure?","schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"boolean","type":"boolean"},"task":"confirm#1"}],"task":"confirm#1"}}] Waiting { expires: None }"#,
    ];
    brackets(&desk, "start to pause", &start)?;
    finished(
        desk.runner(&graph)
            .resume(&desk.thread, Answers::only(true)?)
            .await,
    )?;
    let end = [
        r#"[{"answered":{"answers":[["confirm#1~1",true]]}}, {"stepped":{"task":"confirm#1","updates":[{"line":"true"}]}}, {"run_ended":{}}] Idle"#,
    ];
    brackets(&desk, "answer to end", &end)
}

/// A task asks while another works: what was learned is stored as it comes. Asked midway, the
/// answer is stored before the task runs again.
pub async fn append_of_a_question_midway(factory: &dyn LogFactory) -> Result<(), Failure> {
    let desk = Desk::of(factory).await?;
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
        .edge("open", "a")
        .edge("open", "b")
        .edge("a", END)
        .edge("b", END)
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
    finished(
        desk.runner(&graph)
            .resume(&desk.thread, Answers::only(true)?)
            .await,
    )?;
    let end = [
        r#"[{"answered":{"answers":[["a#1~1",true]]}}] Runnable"#,
        r#"[{"finished":{"task":"a#1","updates":[{"line":"true"}]}}, {"closed":{}}, {"run_ended":{}}] Idle"#,
    ];
    brackets(&desk, "the answer", &end)
}

/// Arrivals at a join are in the closing records, and so is what it starts.
pub async fn append_of_a_join(factory: &dyn LogFactory) -> Result<(), Failure> {
    let desk = Desk::of(factory).await?;
    let calls = Calls::default();
    let graph = Graph::<Page>::starting_at("open")
        .node("open", Says("open", calls.clone()))
        .node("a", Says("a", calls.clone()))
        .node("b", Says("b", calls.clone()))
        .node("last", Says("last", calls))
        .edge("open", "a")
        .edge("a", "b")
        .join(["open", "b"], "last")
        .edge("last", END)
        .build()?;
    finished(desk.runner(&graph).start(&desk.thread, ()).await)?;
    let expected = [
        r#"[{"created":{"state":{"count":0,"lines":[],"route":""},"version":1}}, {"started":{"next":[{"task":"open#1"}],"run":1}}, {"stepped":{"routes":{"arrived":[["last","open"]],"next":[{"task":"a#1"}]},"task":"open#1","updates":[{"line":"open"}]}}] Runnable"#,
        r#"[{"stepped":{"routes":{"next":[{"task":"b#1"}]},"task":"a#1","updates":[{"line":"a"}]}}] Runnable"#,
        r#"[{"stepped":{"routes":{"arrived":[["last","b"]],"joined":["last"],"next":[{"task":"last#1"}]},"task":"b#1","updates":[{"line":"b"}]}}] Runnable"#,
        r#"[{"stepped":{"task":"last#1","updates":[{"line":"last"}]}}, {"run_ended":{}}] Idle"#,
    ];
    brackets(&desk, "a join", &expected)
}
