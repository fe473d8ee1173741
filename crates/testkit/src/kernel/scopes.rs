//! Scenarios of subgraphs: K21.
use std::{sync::Arc, time::Duration};

use fugato_graph::{
    Answers, BoxError, Context, END, EffectClass, Graph, RunErrorKind, RunnerOptions, Schedule,
    StateEdit, SubgraphInput, ThreadStatus, machine::Fact,
};
use fugato_stream::EventKind;
use futures::StreamExt;
use tokio::sync::Barrier;

use super::{
    AppendFault,
    fixture::{
        Calls, FailingNode, Fixture, Page, Switch, fails, finished, kind, line, parked, question,
    },
    world::{MailNode, NamedNodesExt, WiringExt, texts},
};
use crate::log::{Failure, LogFactory, Verdict, holds, same};

/// Returns the first state inside, made of the item, or of the lines outside.
#[expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "that is what a mapping looks like"
)]
fn enter(at: SubgraphInput<'_, Page>) -> Result<Page, BoxError> {
    let first = match at.item::<u32>() {
        Ok(item) => item.to_string(),
        Err(_) => at.state().lines.join("+"),
    };
    let lines = vec![first];
    Ok(Page {
        lines,
        ..Page::default()
    })
}

fn leave(_: &Page, inner: &Page) -> super::fixture::Change {
    line(format!("({})", inner.lines.join(" ")))
}

/// Builds one, then two, which may fail for the first of them.
fn pair(calls: &Calls, broken: &Switch) -> Result<Graph<Page>, Failure> {
    let (fails, broken) = (calls.clone(), broken.clone());
    Ok(Graph::<Page>::starting_at("one")
        .says(calls, &["one"])
        .node("two", move |cx: Context<Page>| {
            fails.note(cx.task());
            let first = cx.state().lines.first().is_some_and(|line| line == "0");
            let fails = first && broken.is_on();
            async move { if fails { Err("boom") } else { Ok(line("two")) } }
        })
        .way(&["one", "two", END])
        .build()?)
}

fn off() -> Switch {
    let switch = Switch::on();
    switch.turn_off();
    switch
}

/// Builds plan, three of the inner graph at once, last.
fn scattered(inner: &Graph<Page>, calls: &Calls) -> Result<Graph<Page>, Failure> {
    Ok(Graph::<Page>::starting_at("plan")
        .says(calls, &["plan", "last"])
        .subgraph("worker", inner, enter, leave)
        .scatter("plan", "worker", |_| 0..3_u32)
        .way(&["worker", "last", END])
        .build()?)
}

/// Builds in, a subgraph, out.
fn chained(inner: &Graph<Page>, calls: &Calls) -> Result<Graph<Page>, Failure> {
    Ok(Graph::<Page>::starting_at("in")
        .says(calls, &["in", "out"])
        .subgraph("sub", inner, enter, leave)
        .way(&["in", "sub", "out", END])
        .build()?)
}

fn asking() -> Result<Graph<Page>, Failure> {
    Ok(Graph::<Page>::starting_at("draft")
        .says(&Calls::default(), &["draft"])
        .pause("ask", |_| "ok?", |_, ok: bool| line(ok.to_string()))
        .way(&["draft", "ask", END])
        .build()?)
}

/// A subgraph has its own state, a mapping in and a mapping out: in a chain, in a scatter, and two
/// levels deep.
pub async fn k21_a_subgraph_maps_in_and_out(factory: &dyn LogFactory) -> Verdict {
    let calls = Calls::default();
    let inner = pair(&calls, &off())?;
    let chain = chained(&inner, &calls)?;
    let scatter = scattered(&inner, &calls)?;
    let nested = scattered(&chained(&inner, &calls)?, &calls)?;
    let all = [
        (chain, vec!["in", "(in one two)", "out"]),
        (
            scatter,
            vec!["plan", "(0 one two)", "(1 one two)", "(2 one two)", "last"],
        ),
        (
            nested,
            vec![
                "plan",
                "(0 in (0+in one two) out)",
                "(1 in (1+in one two) out)",
                "(2 in (2+in one two) out)",
                "last",
            ],
        ),
    ];
    for (graph, expected) in all {
        let desk = Fixture::of(factory).await?;
        let page = finished(desk.start(&graph).await)?;
        same(
            "what was said",
            page,
            Page {
                lines: texts(&expected),
                ..Page::default()
            },
        )?;
        desk.stored(&graph, &expected).await?;
    }
    Ok(())
}

/// Subgraphs of a scatter run at the same time.
pub async fn k21_subgraphs_run_at_the_same_time(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let meet = Arc::new(Barrier::new(3));
    let inner = Graph::<Page>::starting_at("meet")
        .node("meet", move |_: Context<Page>| {
            let meet = meet.clone();
            async move {
                meet.wait().await;
                line("met")
            }
        })
        .edge("meet", END)
        .build()?;
    let graph = scattered(&inner, &Calls::default())?;
    finished(desk.start(&graph).await)?;
    Ok(())
}

/// Questions inside have the address of their task and are answered like any other, one by one, in
/// another process; finished tasks do not run again.
pub async fn k21_questions_inside_are_answered(factory: &dyn LogFactory) -> Verdict {
    let schedules = [Schedule::Lockstep, Schedule::Eager];
    for (depth, schedule) in schedules.into_iter().flat_map(|how| [(1, how), (2, how)]) {
        let mut desk = Fixture::of(factory).await?;
        let options = RunnerOptions::default().schedule(schedule);
        let calls = Calls::default();
        let (inner, under) = match depth {
            1 => (asking()?, "ask#1"),
            _ => (chained(&asking()?, &calls)?, "sub#1/ask#1"),
        };
        let graph = scattered(&inner, &calls)?;
        let runner = desk.runner_with(&graph, options.clone());
        let open = parked(runner.start(&desk.thread, ()).await)?;
        let tasks: Vec<_> = open.iter().map(|asked| asked.task.clone()).collect();
        let expected = (0..3).map(|n| format!("worker#1[{n}]/{under}"));
        same("who asks", tasks, expected.collect())?;
        calls.take();
        for (n, asked) in open.iter().enumerate().rev() {
            desk.another_process();
            let answers = Answers::to(asked.id.clone(), n == 1)?;
            let runner = desk.runner_with(&graph, options.clone());
            let ended = runner.resume(&desk.thread, answers).await;
            if n == 0 {
                let page = finished(ended)?;
                same("by the log", desk.page(&graph).await?, page)?;
            } else {
                same("still open", parked(ended)?.len(), n)?;
            }
        }
        let ran = calls.take();
        let again = ran
            .iter()
            .any(|task| task.contains("draft") || task.ends_with("in#1"));
        holds(!again, || format!("after the answers ran {ran:?}"))?;
        let said = desk.page(&graph).await?.lines;
        let mut answers: Vec<_> = said
            .iter()
            .filter(|line| line.contains("draft"))
            .cloned()
            .collect();
        answers.sort();
        let inside = |n: usize| match depth {
            1 => format!("({n} draft {})", n == 1),
            _ => format!("({n} in ({n}+in draft {}) out)", n == 1),
        };
        same("answers", answers, (0..3).map(inside).collect())?;
    }
    Ok(())
}

/// A question inside that expires ends in its own update.
pub async fn k21_questions_inside_expire(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let inner = Graph::<Page>::starting_at("ask")
        .pause_for(
            "ask",
            Duration::from_secs(30),
            |_| "ok?",
            |_, ok: bool| line(ok.to_string()),
            Some(Box::new(|_: &Page| vec![line("nobody")])),
        )
        .edge("ask", END)
        .build()?;
    let graph = scattered(&inner, &Calls::default())?;
    parked(desk.start(&graph).await)?;
    desk.another_process();
    let page = finished(desk.recover(&graph).await)?;
    let said = ["plan", "(0 nobody)", "(1 nobody)", "(2 nobody)", "last"];
    page.said(&said)
}

/// A failure inside fails the run with the address of the task inside, when its siblings have
/// settled; a retry runs only that task.
pub async fn k21_a_retry_runs_only_the_inner_task(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let (calls, broken) = (Calls::default(), Switch::on());
    let graph = scattered(&pair(&calls, &broken)?, &calls)?;
    for _ in 0..2 {
        let runner = desk.runner(&graph);
        let run = match calls.count() {
            0 => runner.start(&desk.thread, ()),
            _ => runner.retry(&desk.thread),
        };
        let task = "worker#1[0]/two#1".to_owned();
        fails(run.await, RunErrorKind::Node { task })?;
        let standing = desk.runner(&graph).status(&desk.thread).await?;
        let failed = matches!(&standing, ThreadStatus::Failed { error } if error.contains("boom"));
        holds(failed, || format!("it stands at {standing:?}"))?;
        desk.another_process();
    }
    calls.take();
    broken.turn_off();
    let page = finished(desk.runner(&graph).retry(&desk.thread).await)?;
    calls.ran(&["last#1", "worker#1[0]/two#1"])?;
    let said = ["plan", "(0 one two)", "(1 one two)", "(2 one two)", "last"];
    page.said(&said)?;
    desk.stored(&graph, &said).await
}

/// The process dies at any append inside: finished inner tasks are kept, and the end is the same.
pub async fn k21_a_crash_inside_keeps_inner_tasks(factory: &dyn LogFactory) -> Verdict {
    for nth in 1..=20 {
        for cut in [AppendFault::DiesBefore, AppendFault::DiesAfter] {
            let mut desk = Fixture::of(factory).await?;
            let calls = Calls::default();
            let inner = chained(&pair(&calls, &off())?, &calls)?;
            let graph = scattered(&inner, &calls)?;
            desk.log.cut(nth, cut);
            let died = desk.start(&graph).await.is_err();
            let stored = finished_tasks(&desk, &graph).await?;
            desk.another_process();
            calls.take();
            let runner = desk.runner(&graph);
            match runner.status(&desk.thread).await? {
                ThreadStatus::New => drop(finished(runner.start(&desk.thread, ()).await)?),
                ThreadStatus::Unfinished => drop(finished(runner.recover(&desk.thread).await)?),
                _ => {}
            }
            let ran = calls.take();
            let again: Vec<_> = ran.iter().filter(|task| stored.contains(task)).collect();
            let what = format!("append {nth}, {cut:?}, died: {died}");
            holds(again.is_empty(), || format!("{what}: again {again:?}"))?;
            let said = desk.page(&graph).await?.lines;
            let expected = [
                "plan",
                "(0 in (0+in one two) out)",
                "(1 in (1+in one two) out)",
                "(2 in (2+in one two) out)",
                "last",
            ];
            same(&what, said, texts(&expected))?;
        }
    }
    Ok(())
}

/// Returns the tasks whose outcome is stored, with their scopes.
async fn finished_tasks(desk: &Fixture, graph: &Graph<Page>) -> Result<Vec<String>, Failure> {
    let alive = super::RecordingLog::over(desk.opened.clone());
    let runner = fugato_graph::Runner::new(graph.clone(), Arc::new(alive));
    let history = runner.history(&desk.thread, 1, 1_000).await?;
    let finished = history.into_iter().filter_map(|entry| match entry.fact {
        Fact::Stepped { task, .. } | Fact::Finished { task, .. } => Some(match &*entry.scope {
            "" => task,
            scope => format!("{scope}/{task}"),
        }),
        _ => None,
    });
    Ok(finished.collect())
}

/// A subgraph whose mapping fails, or whose joins are half filled at its end, fails the run with
/// an error that names it.
pub async fn k21_a_mapping_that_fails_is_an_error(factory: &dyn LogFactory) -> Verdict {
    let inner = pair(&Calls::default(), &off())?;
    let broken = Switch::on();
    let (enters, leaves) = (broken.clone(), broken.clone());
    let graph = |fails_in: bool| {
        let (enters, leaves) = (enters.clone(), leaves.clone());
        Graph::<Page>::starting_at("sub")
            .subgraph(
                "sub",
                &inner,
                move |_| {
                    if fails_in && enters.is_on() {
                        Err("cannot enter")
                    } else {
                        Ok(Page::default())
                    }
                },
                move |_: &Page, _: &Page| {
                    if !fails_in && leaves.is_on() {
                        std::panic::panic_any("cannot leave");
                    }
                    line("left")
                },
            )
            .edge("sub", END)
            .build()
    };
    for fails_in in [true, false] {
        let desk = Fixture::of(factory).await?;
        let graph = graph(fails_in)?;
        let broken = broken.clone();
        let node = "sub#1".to_owned();
        fails(desk.start(&graph).await, RunErrorKind::Router { node })?;
        if !fails_in {
            broken.turn_off();
            let page = finished(desk.runner(&graph).retry(&desk.thread).await)?;
            same("after a retry", page.lines, texts(&["left"]))?;
        }
    }
    Ok(())
}

/// Events and history of a subgraph appear under its scope, live and from the log.
pub async fn k21_events_and_history_bear_the_scope(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let inner = Graph::<Page>::starting_at("one")
        .node("one", async |cx: Context<Page>| {
            let (block, text) = ("b".into(), "x".into());
            cx.emit(EventKind::TextDelta { block, text });
            line("one")
        })
        .edge("one", END)
        .build()?;
    let graph = chained(&inner, &Calls::default())?;
    let runner = desk.runner(&graph);
    let live: Vec<_> = runner.start(&desk.thread, ()).collect().await;
    let stored: Vec<_> = runner.events(&desk.thread, 0).collect().await;
    let seen = |events: &[fugato_stream::Event], delta: bool| {
        let from = events.iter().filter_map(|event| {
            let wanted = match &event.kind {
                EventKind::NodeFinished => !delta,
                kind => delta && kind.is_delta(),
            };
            let origin = event.origin.as_ref().filter(|_| wanted)?;
            Some(format!("{}:{}", origin.scope, origin.node))
        });
        from.collect::<Vec<_>>()
    };
    let nodes = [":in", "sub#1:one", ":sub", ":out"];
    same("live", seen(&live, false), texts(&nodes))?;
    same("from the log", seen(&stored, false), texts(&nodes))?;
    same("deltas", seen(&live, true), texts(&["sub#1:one"]))?;
    let history = runner.history(&desk.thread, 1, 100).await?;
    let inside = history.iter().filter(|entry| entry.scope == "sub#1");
    let facts: Vec<_> = inside
        .map(|entry| match &entry.fact {
            Fact::Entered { .. } => "entered".to_owned(),
            Fact::Stepped { task, .. } => format!("stepped {task}"),
            other => format!("{other:?}"),
        })
        .collect();
    same(
        "history inside",
        facts,
        texts(&["entered", "stepped one#1"]),
    )
}

/// A renamed or removed node inside is refused with its name and scope, and followed if the graph
/// declares the rename; a subgraph that became a node is named too.
pub async fn k21_what_is_gone_inside_is_named(factory: &dyn LogFactory) -> Verdict {
    let pausing = |name: &str, old: Option<&str>| {
        let graph = Graph::<Page>::starting_at(name)
            .pause(name, |_| "ok?", |_, ok: bool| line(ok.to_string()))
            .edge(name, END);
        match old {
            Some(old) => graph.renamed(old, name).build(),
            None => graph.build(),
        }
    };
    let mut desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = chained(&pausing("ask", None)?, &calls)?;
    question(desk.start(&graph).await)?;
    desk.another_process();
    let head = desk.head().await?;
    let flat = Graph::<Page>::starting_at("in")
        .says(&calls, &["in", "sub"])
        .way(&["in", "sub", END])
        .build()?;
    let renamed = chained(&pausing("confirm", None)?, &calls)?;
    for (graph, gone) in [
        (renamed, "node \"ask\" in sub#1"),
        (flat, "the subgraph of node \"sub\""),
    ] {
        let refused = desk.resume(&graph, Answers::only(true)?).await;
        let gone = vec![gone.to_owned()];
        fails(refused, RunErrorKind::GraphChanged { gone })?;
        same("the head", desk.head().await?, head)?;
    }
    let followed = chained(&pausing("confirm", Some("ask"))?, &calls)?;
    let page = finished(desk.resume(&followed, Answers::only(true)?).await)?;
    same(
        "what was said",
        page.lines,
        texts(&["in", "(in true)", "out"]),
    )
}

/// An operator can finish a task inside a subgraph; the subgraph continues from there.
pub async fn k21_an_operator_finishes_a_task_inside(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = chained(&asking()?, &Calls::default())?;
    let runner = desk.runner(&graph);
    question(runner.start(&desk.thread, ()).await)?;
    let by_hand = StateEdit::new([line("by hand")], "Ada", "nobody answers");
    let page = finished(
        runner
            .amend(&desk.thread, by_hand.finishing("sub#1/ask#1"))
            .await,
    )?;
    let said = ["in", "(in draft by hand)", "out"];
    page.said(&said)?;
    desk.stored(&graph, &said).await
}

/// An operator can finish the subgraph itself, with all that is open in it.
pub async fn k21_an_operator_finishes_a_subgraph(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = chained(&asking()?, &Calls::default())?;
    let runner = desk.runner(&graph);
    question(runner.start(&desk.thread, ()).await)?;
    let by_hand = StateEdit::new([line("by hand")], "Ada", "nobody answers");
    finished(runner.amend(&desk.thread, by_hand.finishing("sub#1")).await)?
        .said(&["in", "by hand", "out"])?;
    desk.stored(&graph, &["in", "by hand", "out"]).await
}

/// Snapshots, forks and compaction keep the open scopes: states, questions and receipts.
pub async fn k21_d18_open_scopes_survive_snapshots(factory: &dyn LogFactory) -> Verdict {
    for schedule in [Schedule::Lockstep, Schedule::Eager] {
        survives(Fixture::of(factory).await?, schedule).await?;
    }
    Ok(())
}

async fn survives(mut desk: Fixture, schedule: Schedule) -> Verdict {
    if desk.opened.admin.is_none() {
        return Ok(());
    }
    let world = Calls::default();
    let mails = MailNode::of(&world, EffectClass::Once);
    let inner = Graph::<Page>::starting_at("acts")
        .node("acts", mails)
        .pause("ask", |_| "ok?", |_, ok: bool| line(ok.to_string()))
        .way(&["acts", "ask", END])
        .build()?;
    let nested = chained(&inner, &Calls::default())?;
    let log = desk.log.clone();
    let graph = Graph::<Page>::starting_at("in")
        .says(&Calls::default(), &["in", "out"])
        .node("beside", move |_: Context<Page>| {
            let log = log.clone();
            async move {
                while !log.shape().join(" ").contains("asked") {
                    tokio::task::yield_now().await;
                }
                line("beside")
            }
        })
        .subgraph("sub", &nested, enter, leave)
        .way(&["in", "sub", "out", END])
        .way(&["in", "beside", END])
        .build()?;
    let options = RunnerOptions::default().schedule(schedule);
    let runner = desk.runner_with(&graph, options.clone());
    let asked = question(runner.start(&desk.thread, ()).await)?;
    // A checkpoint while the scope is open: a branch that ends, or an amendment.
    let (before, after) = if schedule == Schedule::Eager {
        (texts(&["in", "beside"]), texts(&["out"]))
    } else {
        let noted = StateEdit::new([line("noted")], "Ada", "a checkpoint");
        parked(runner.amend(&desk.thread, noted).await)?;
        (texts(&["in", "noted"]), texts(&["beside", "out"]))
    };
    let head = desk.head().await?;
    let copy = super::fixture::thread("copy");
    runner.fork(&desk.thread, head, &copy).await?;
    same(
        "compacted at",
        runner.compact(&desk.thread, head).await?,
        head,
    )?;
    for name in [desk.thread.clone(), copy] {
        desk.another_process();
        let runner = desk.runner_with(&graph, options.clone());
        let state = runner.state(&name).await?;
        let lines = state.map(|page| page.lines.clone());
        same("its state", lines, Some(before.clone()))?;
        let standing = runner.status(&name).await?;
        same(
            "its standing",
            standing,
            ThreadStatus::Waiting(vec![asked.clone()]),
        )?;
        let page = finished(runner.resume(&name, Answers::only(true)?).await)?;
        let inside = texts(&["(in in (in+in sent 1 true) out)"]);
        let said = [before.clone(), inside, after.clone()].concat();
        same("what was said", page.lines, said)?;
    }
    same("what was done", world.take().len(), 1)
}

/// An effect inside a subgraph belongs to the task there, and is replayed after a crash.
pub async fn k21_effects_inside_belong_to_their_task(factory: &dyn LogFactory) -> Verdict {
    let world = Calls::default();
    let inner = Graph::<Page>::starting_at("acts")
        .node("acts", MailNode::of(&world, EffectClass::Once))
        .edge("acts", END)
        .build()?;
    let graph = scattered(&inner, &Calls::default())?;
    let mut desk = Fixture::of(factory).await?;
    finished(desk.start(&graph).await)?;
    let mut keys = world.take();
    keys.dedup();
    same("actions of three subgraphs", keys.len(), 3)?;
    desk = Fixture::of(factory).await?;
    let graph = chained(&inner, &Calls::default())?;
    // The step of in, the intent and the receipt are stored; the append of the step inside dies.
    desk.log.cut(4, AppendFault::DiesBefore);
    kind(desk.start(&graph).await)?;
    desk.another_process();
    finished(desk.recover(&graph).await)?;
    same("what was done", world.take().len(), 1)
}

/// A failure or question in a subgraph does not affect its siblings' outcomes, which are folded in
/// the order of their paths.
pub async fn k21_a_question_inside_keeps_its_siblings(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let (calls, broken) = (Calls::default(), Switch::on());
    let graph = Graph::<Page>::starting_at("open")
        .says(&calls, &["open", "beside", "last"])
        .subgraph("sub", &asking()?, enter, leave)
        .node("flaky", FailingNode("flaky", calls.clone(), broken.clone()))
        .fork("open", &["sub", "beside", "flaky"], "last")
        .edge("last", END)
        .build()?;
    let runner = desk.runner(&graph);
    kind(runner.start(&desk.thread, ()).await)?;
    broken.turn_off();
    calls.take();
    let asked = question(runner.retry(&desk.thread).await)?;
    same("who asks", &*asked.task, "sub#1/ask#1")?;
    let page = finished(runner.resume(&desk.thread, Answers::only(true)?).await)?;
    calls.ran(&["flaky#1", "last#1"])?;
    let said = ["open", "(open draft true)", "beside", "flaky", "last"];
    page.said(&said)
}
