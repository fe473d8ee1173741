//! Death at every append: the first half of K24.
use fugato_graph::{Answers, Context, END, Ended, Graph, RunError, Runner, Standing};

use super::{
    Cut,
    asking::midway,
    desk::{Calls, Change, Desk, Page, Says, line},
    steps::three,
};
use crate::log::{Failure, LogFactory, holds, same};

/// Goes on with a thread, whatever it stands at, until it is idle; every question gets its answer.
async fn carry_on(desk: &Desk, runner: &Runner<Page>) -> Result<Page, RunError> {
    loop {
        let ended = match runner.standing(&desk.thread).await? {
            Standing::New => runner.start(&desk.thread, line("in")).await?,
            Standing::Waiting(open) => {
                let answers = open.iter().try_fold(Answers::none(), |answers, interrupt| {
                    let answer = if interrupt.question.key == "answer" {
                        1
                    } else {
                        7
                    };
                    answers.and(interrupt.id.clone(), answer)
                });
                runner.resume(&desk.thread, answers?).await?
            }
            Standing::Unfinished => runner.recover(&desk.thread).await?,
            _ => match runner.state(&desk.thread).await? {
                Some(state) => return Ok((*state).clone()),
                None => runner.start(&desk.thread, line("in")).await?,
            },
        };
        if let Ended::Finished { state, .. } = ended {
            return Ok((*state).clone());
        }
    }
}

fn graphs(calls: &Calls) -> Result<Vec<(&'static str, Graph<Page>)>, Failure> {
    let says = |name| Says(name, calls.clone());
    let pause = Graph::<Page>::starting_at("open")
        .node("open", says("open"))
        .node("a", says("a"))
        .pause("size", |_| "size?", |_, n: i64| Change::Count(n))
        .pause("sum", |_| "sum?", |_, n: i64| Change::Count(10 * n))
        .node("last", says("last"))
        .edge("open", "a")
        .edge("open", "size")
        .edge("open", "sum")
        .join(["a", "size", "sum"], "last")
        .edge("last", END)
        .build()?;
    let works = calls.clone();
    let scatter = Graph::<Page>::starting_at("plan")
        .node("plan", says("plan"))
        .node("worker", move |cx: Context<Page>| {
            works.note(cx.task());
            async move { Ok::<_, fugato_graph::BoxError>(line(cx.item::<String>()?)) }
        })
        .node("collect", async |cx: Context<Page>| {
            line(cx.state().lines.concat())
        })
        .scatter("plan", "worker", |page| {
            ["x", "y", "z"].map(|n| format!("{n}{}", page.count))
        })
        .edge("worker", "collect")
        .branch("collect", ["plan", END], |page| {
            if page.lines.len() < 10 { "plan" } else { END }
        })
        .build()?;
    Ok(vec![
        ("three", three(calls)?),
        ("pause", pause),
        ("midway", midway(calls)?),
        ("scatter", scatter),
    ])
}

/// For every append, before and after it was written: the process dies there, another goes on, and
/// the end is that of no crash. No task runs again whose outcome was written.
pub async fn k24_a_crash_at_any_append_changes_nothing(
    factory: &dyn LogFactory,
) -> Result<(), Failure> {
    let calls = Calls::default();
    for (name, graph) in graphs(&calls)? {
        let whole = Desk::of(factory).await?;
        let expected = carry_on(&whole, &whole.runner(&graph)).await?;
        let appends = whole.log.commits().len();
        let once = calls.take();
        for nth in 1..=appends + 1 {
            for cut in [Cut::DiesBefore, Cut::DiesAfter] {
                let what = format!("{name}, append {nth} {cut:?}");
                let mut desk = Desk::of(factory).await?;
                desk.log.cut(nth, cut);
                let died = carry_on(&desk, &desk.runner(&graph)).await;
                let finished = finished_in(&desk).await?;
                let before = calls.take();
                desk.another_process();
                let page = carry_on(&desk, &desk.runner(&graph)).await?;
                same(&format!("{what}: the end"), page, expected.clone())?;
                let after = calls.take();
                let again = after
                    .iter()
                    .filter(|task| finished.contains(task))
                    .collect::<Vec<_>>();
                holds(again.is_empty(), || format!("{what}: again {again:?}"))?;
                let lost = once
                    .iter()
                    .find(|task| !before.contains(task) && !after.contains(task));
                holds(lost.is_none(), || format!("{what}: {lost:?} never ran"))?;
                holds(nth > 1 || died.is_err(), || {
                    format!("{what}: it did not die")
                })?;
            }
        }
    }
    Ok(())
}

/// The tasks whose outcome is in the log.
async fn finished_in(desk: &Desk) -> Result<Vec<String>, Failure> {
    let records = desk.log_of().read(&desk.thread, 1, 10_000).await?;
    let mut tasks = vec![];
    for (_, record) in records {
        let entry: serde_json::Value =
            serde_json::from_slice(record.0.get(1..).unwrap_or_default())?;
        for kind in ["stepped", "finished"] {
            let task = entry.pointer(&format!("/fact/{kind}/task"));
            tasks.extend(task.and_then(|task| task.as_str()).map(str::to_owned));
        }
    }
    Ok(tasks)
}
