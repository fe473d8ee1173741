//! Scenarios of subgraphs: K21.
use std::sync::Arc;

use expect_test::expect;
use fugato_graph::{
    Context, Graph, HistoryEvent, RunnerOptions, Schedule, SubgraphInput, ThreadStatus,
};
use fugato_stream::EventKind;
use tokio::sync::Barrier;

use super::{
    AppendFault,
    fixture::{Fixture, Page, finished, line},
    script::{check, check_with},
    wiring::{enter, leave},
    world::{Stage, alone, texts},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

/// A chain of two inside, three of these at once, and all of that between two nodes.
const CHAIN: &str = "in -> sub -> out; sub/ one -> two";
const SCATTER: &str =
    "plan -> worker*3 -> last; worker/ one -> two; worker/ two: fail for 0 until mended";
const NESTED: &str = "plan -> worker*3 -> last; worker/ in -> sub -> out; worker/sub/ one -> two";
/// A node and a pause inside.
const ASKING: &str = "in -> sub -> out; sub/ draft -> ask; sub/ ask: pause";

/// A subgraph has its own state, a mapping in and a mapping out: in a chain, in a scatter, and two
/// levels deep.
pub async fn k21_a_subgraph_maps_in_and_out(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > without appends then start
        = + in | (in one two) | out; ran in#1 out#1 sub#1/one#1 sub#1/two#1
        > mend then program scatter then thread scatter then start
        = + plan | (0 one two) | (1 one two) | (2 one two) | last; ran last#1 plan#1 worker#1[0]/one#1 worker#1[0]/two#1 worker#1[1]/one#1 worker#1[1]/two#1 worker#1[2]/one#1 worker#1[2]/two#1
        > program nested then thread nested then start
        = + plan | (0 in (0+in one two) out) | (1 in (1+in one two) out) | (2 in (2+in one two) out) | last; ran last#1 plan#1 worker#1[0]/in#1 worker#1[0]/out#1 worker#1[0]/sub#1/one#1 worker#1[0]/sub#1/two#1 worker#1[1]/in#1 worker#1[1]/out#1 worker#1[1]/sub#1/one#1 worker#1[1]/sub#1/two#1 worker#1[2]/in#1 worker#1[2]/out#1 worker#1[2]/sub#1/one#1 worker#1[2]/sub#1/two#1
    "#]];
    let graph = |stage: &Stage| {
        let words = match &*stage.program {
            "scatter" => SCATTER,
            "nested" => NESTED,
            _ => CHAIN,
        };
        stage.wire(words)?.build()
    };
    check(factory, graph, expected).await
}

/// Subgraphs of a scatter run at the same time.
pub async fn k21_subgraphs_run_at_the_same_time(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > without appends then start
        = + plan | (0 met) | (1 met) | (2 met); ran plan#1
    "#]];
    let meet = Arc::new(Barrier::new(3));
    let graph = |stage: &Stage| {
        let meet = meet.clone();
        let meets = move |_: Context<Page>| {
            let meet = meet.clone();
            async move {
                meet.wait().await;
                line("met")
            }
        };
        let graph = stage.wire("plan -> worker*3; worker: elsewhere")?;
        graph
            .subgraph("worker", &alone("meet", meets)?, enter, leave)
            .build()
    };
    check(factory, graph, expected).await
}

/// Questions inside have the address of their task and are answered like any other, one by one, in
/// another process; finished tasks do not run again.
pub async fn k21_questions_inside_are_answered(factory: &dyn LogFactory) -> CheckResult {
    let flat = "plan -> worker*3 -> last; worker/ draft -> ask; worker/ ask: pause";
    let deep = "plan -> worker*3 -> last; worker/ in -> sub -> out
        worker/sub/ draft -> ask; worker/sub/ ask: pause";
    let eager = RunnerOptions::default().schedule(Schedule::Eager);
    let expected = expect![[r#"
        > without appends then start
        ? worker#1[0]/ask#1~1 "ok?" boolean
        ? worker#1[1]/ask#1~1 "ok?" boolean
        ? worker#1[2]/ask#1~1 "ok?" boolean
        + plan; ran plan#1 worker#1[0]/draft#1 worker#1[1]/draft#1 worker#1[2]/draft#1
        > another process then answer worker#1[2]/ask#1~1=false
        ? worker#1[0]/ask#1~1 "ok?" boolean
        ? worker#1[1]/ask#1~1 "ok?" boolean
        > another process then answer worker#1[1]/ask#1~1=true
        ? worker#1[0]/ask#1~1 "ok?" boolean
        > another process then answer worker#1[0]/ask#1~1=false
        = + (0 draft false) | (1 draft true) | (2 draft false) | last; ran last#1
    "#]];
    check(factory, flat, expected).await?;
    let expected = expect![[r#"
        > without appends then start
        ? worker#1[0]/ask#1~1 "ok?" boolean
        ? worker#1[1]/ask#1~1 "ok?" boolean
        ? worker#1[2]/ask#1~1 "ok?" boolean
        + plan; ran plan#1 worker#1[0]/draft#1 worker#1[1]/draft#1 worker#1[2]/draft#1
        > another process then answer worker#1[2]/ask#1~1=false
        ? worker#1[0]/ask#1~1 "ok?" boolean
        ? worker#1[1]/ask#1~1 "ok?" boolean
        + (2 draft false)
        > another process then answer worker#1[1]/ask#1~1=true
        ? worker#1[0]/ask#1~1 "ok?" boolean
        + (1 draft true)
        > another process then answer worker#1[0]/ask#1~1=false
        = + (0 draft false) | last; ran last#1
    "#]];
    check_with(factory, eager.clone(), flat, expected).await?;
    let expected = expect![[r#"
        > without appends then start
        ? worker#1[0]/sub#1/ask#1~1 "ok?" boolean
        ? worker#1[1]/sub#1/ask#1~1 "ok?" boolean
        ? worker#1[2]/sub#1/ask#1~1 "ok?" boolean
        + plan; ran plan#1 worker#1[0]/in#1 worker#1[0]/sub#1/draft#1 worker#1[1]/in#1 worker#1[1]/sub#1/draft#1 worker#1[2]/in#1 worker#1[2]/sub#1/draft#1
        > another process then answer worker#1[2]/sub#1/ask#1~1=false
        ? worker#1[0]/sub#1/ask#1~1 "ok?" boolean
        ? worker#1[1]/sub#1/ask#1~1 "ok?" boolean
        ran worker#1[2]/out#1
        > another process then answer worker#1[1]/sub#1/ask#1~1=true
        ? worker#1[0]/sub#1/ask#1~1 "ok?" boolean
        ran worker#1[1]/out#1
        > another process then answer worker#1[0]/sub#1/ask#1~1=false
        = + (0 in (0+in draft false) out) | (1 in (1+in draft true) out) | (2 in (2+in draft false) out) | last; ran last#1 worker#1[0]/out#1
    "#]];
    check(factory, deep, expected).await?;
    let expected = expect![[r#"
        > without appends then start
        ? worker#1[0]/sub#1/ask#1~1 "ok?" boolean
        ? worker#1[1]/sub#1/ask#1~1 "ok?" boolean
        ? worker#1[2]/sub#1/ask#1~1 "ok?" boolean
        + plan; ran plan#1 worker#1[0]/in#1 worker#1[0]/sub#1/draft#1 worker#1[1]/in#1 worker#1[1]/sub#1/draft#1 worker#1[2]/in#1 worker#1[2]/sub#1/draft#1
        > another process then answer worker#1[2]/sub#1/ask#1~1=false
        ? worker#1[0]/sub#1/ask#1~1 "ok?" boolean
        ? worker#1[1]/sub#1/ask#1~1 "ok?" boolean
        + (2 in (2+in draft false) out); ran worker#1[2]/out#1
        > another process then answer worker#1[1]/sub#1/ask#1~1=true
        ? worker#1[0]/sub#1/ask#1~1 "ok?" boolean
        + (1 in (1+in draft true) out); ran worker#1[1]/out#1
        > another process then answer worker#1[0]/sub#1/ask#1~1=false
        = + (0 in (0+in draft false) out) | last; ran last#1 worker#1[0]/out#1
    "#]];
    check_with(factory, eager, deep, expected).await
}

/// A question inside that expires ends in its own update.
pub async fn k21_questions_inside_expire(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > without appends then start
        ? worker#1[0]/ask#1~1 "ok?" boolean, expires
        ? worker#1[1]/ask#1~1 "ok?" boolean, expires
        ? worker#1[2]/ask#1~1 "ok?" boolean, expires
        + plan; ran plan#1
        > another process then recover
        = + (0 nobody) | (1 nobody) | (2 nobody) | last; ran last#1
    "#]];
    check(
        factory,
        "plan -> worker*3 -> last; worker/ ask; worker/ ask: pause 30",
        expected,
    )
    .await
}

/// A failure inside fails the run with the address of the task inside, when its siblings have
/// settled; a retry runs only that task.
pub async fn k21_a_retry_runs_only_the_inner_task(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > without appends then start
        ! after 1 steps: task worker#1[0]/two#1 failed: boom (Node; failed)
        + plan; ran plan#1 worker#1[0]/one#1 worker#1[0]/two#1 worker#1[1]/one#1 worker#1[1]/two#1 worker#1[2]/one#1 worker#1[2]/two#1
        > another process then retry
        ! after 1 steps: task worker#1[0]/two#1 failed: boom (Node; failed)
        ran worker#1[0]/two#1
        > another process then mend then retry
        = + (0 one two) | (1 one two) | (2 one two) | last; ran last#1 worker#1[0]/two#1
    "#]];
    check(factory, SCATTER, expected).await
}

/// The process dies at any append inside: finished inner tasks are kept, and the end is the same.
pub async fn k21_a_crash_inside_keeps_inner_tasks(factory: &dyn LogFactory) -> CheckResult {
    for nth in 1..=20 {
        for cut in [AppendFault::DiesBefore, AppendFault::DiesAfter] {
            let mut stage = Stage::of(Fixture::of(factory).await?, "");
            let graph = stage.wire(NESTED)?.build()?;
            let desk = &mut stage.desk;
            desk.log.cut(nth, cut);
            let died = desk.start(&graph).await.is_err();
            let stored = finished_tasks(desk, &graph).await?;
            desk.another_process();
            let calls = stage.calls.clone();
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
    let finished = history.iter().filter_map(|entry| match entry.event() {
        HistoryEvent::Stepped { task, .. } | HistoryEvent::Finished { task, .. } => {
            Some(match &*entry.scope {
                "" => task.to_owned(),
                scope => format!("{scope}/{task}"),
            })
        }
        _ => None,
    });
    Ok(finished.collect())
}

/// A subgraph whose mapping fails, or whose joins are half filled at its end, fails the run with
/// an error that names it.
pub async fn k21_a_mapping_that_fails_is_an_error(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ! the routing after node sub#1 failed: cannot enter (Router; failed)
        [created, started -> sub#1, failed sub#1 (the routing after node sub#1 failed: cannot enter),
         run_failed] idle
        > retry
        ! the routing after node sub#1 failed: cannot enter (Router; failed)
        [resumed sub#1 try 1, failed sub#1 (the routing after node sub#1 failed: cannot enter), run_failed] idle
        > fresh enters then start
        ! the routing after node sub#1 failed: panicked: cannot leave (Router; failed)
        ran sub#1/one#1 sub#1/two#1
        [created, started -> sub#1, entered@sub#1 -> one#1] [stepped@sub#1 one#1 -> two#1 +one]
        [stepped@sub#1 two#1 +two, failed sub#1 (the routing after node sub#1 failed: panicked: cannot leave),
         run_failed] idle
        > mend then retry
        = + left
        [resumed sub#1 try 1, resumed@sub#1, stepped sub#1 +left, run_ended] idle
    "#]];
    let graph = |stage: &Stage| {
        let (broken, enters) = (stage.broken.clone(), stage.is("enters"));
        let leaves = broken.clone();
        let enter = move |_: SubgraphInput<'_, Page>| {
            let may = enters || !broken.is_on();
            may.then(Page::default).ok_or_else(|| "cannot enter".into())
        };
        let leave = move |_: &Page, _: &Page| {
            if leaves.is_on() {
                std::panic::panic_any("cannot leave");
            }
            line("left")
        };
        let inner = stage.wire("one -> two")?.build()?;
        let graph = stage.wire("sub; sub: elsewhere")?;
        graph.subgraph("sub", &inner, enter, leave).build()
    };
    check(factory, graph, expected).await
}

/// Events and history of a subgraph appear under its scope, live and from the log.
pub async fn k21_events_and_history_bear_the_scope(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > live start
        2 started, resumed false
        3 in#1 try 1 done
        - sub#1/one#1 try 1 text "x"
        5 sub#1/one#1 try 1 done
        6 sub#1 try 1 done
        7 out#1 try 1 done
        8 finished
        = + in | (in one) | out; ran in#1 out#1
        [created, started -> in#1, stepped in#1 -> sub#1 +in, entered@sub#1 -> one#1 of in]
        [stepped@sub#1 one#1 +one, stepped sub#1 -> out#1 +(in one)] [stepped out#1 +out, run_ended] idle
        > events 0
        2 started, resumed false
        3 in#1 try 1 done
        5 sub#1/one#1 try 1 done
        6 sub#1 try 1 done
        7 out#1 try 1 done
        8 finished
    "#]];
    let one = async |cx: Context<Page>| {
        let (block, text) = ("b".into(), "x".into());
        cx.emit(EventKind::TextDelta { block, text });
        line("one")
    };
    let graph = |stage: &Stage| {
        let graph = stage.wire("in -> sub -> out; sub: elsewhere")?;
        graph
            .subgraph("sub", &alone("one", one)?, enter, leave)
            .build()
    };
    check(factory, graph, expected).await
}

/// A renamed or removed node inside is refused with its name and scope, and followed if the graph
/// declares the rename; a subgraph that became a node is named too.
pub async fn k21_what_is_gone_inside_is_named(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? sub#1/ask#1~1 "ok?" boolean
        + in; ran in#1
        [created, started -> in#1, stepped in#1 -> sub#1 +in, entered@sub#1 -> ask#1 of in,
         asked@sub#1 sub#1/ask#1~1] waiting
        > another process then program renamed then answer true
        ! the graph no longer has what the thread refers to: node "ask" in sub#1 (GraphChanged; waiting)
        > program flat then answer true
        ! the graph no longer has what the thread refers to: the subgraph of node "sub" (GraphChanged; unfinished)
        > program followed then answer true
        = + (in true) | out; ran out#1
        [resumed, answered@sub#1 sub#1/ask#1~1=true, stepped@sub#1 confirm#1 +true,
         stepped sub#1 -> out#1 +(in true)] [stepped out#1 +out, run_ended] idle
    "#]];
    let graph = |stage: &Stage| {
        let inner = match &*stage.program {
            "flat" => return stage.wire("in -> sub")?.build(),
            "" => stage.wire("ask; ask: pause")?,
            "renamed" => stage.wire("confirm; confirm: pause")?,
            _ => stage
                .wire("confirm; confirm: pause")?
                .renamed("ask", "confirm"),
        };
        let graph = stage.wire("in -> sub -> out; sub: elsewhere")?;
        graph.subgraph("sub", &inner.build()?, enter, leave).build()
    };
    check(factory, graph, expected).await
}

/// An operator can finish a task inside a subgraph; the subgraph continues from there.
pub async fn k21_an_operator_finishes_a_task_inside(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? sub#1/ask#1~1 "ok?" boolean
        + in; ran in#1 sub#1/draft#1
        [created, started -> in#1, stepped in#1 -> sub#1 +in, entered@sub#1 -> draft#1 of in]
        [stepped@sub#1 draft#1 -> ask#1 +draft, asked@sub#1 sub#1/ask#1~1] waiting
        > finish sub#1/ask#1 by hand
        = + (in draft by hand) | out; ran out#1
        [amended@sub#1 ask#1 by Ada +by hand because by hand, closed@sub#1,
         stepped sub#1 -> out#1 +(in draft by hand)] [stepped out#1 +out, run_ended] idle
    "#]];
    check(factory, ASKING, expected).await
}

/// An operator can finish the subgraph itself, with all that is open in it.
pub async fn k21_an_operator_finishes_a_subgraph(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? sub#1/ask#1~1 "ok?" boolean
        + in; ran in#1 sub#1/draft#1
        [created, started -> in#1, stepped in#1 -> sub#1 +in, entered@sub#1 -> draft#1 of in]
        [stepped@sub#1 draft#1 -> ask#1 +draft, asked@sub#1 sub#1/ask#1~1] waiting
        > finish sub#1 by hand
        = + by hand | out; ran out#1
        [amended sub#1 by Ada +by hand because by hand, closed -> out#1]
        [stepped out#1 +out, run_ended] idle
    "#]];
    check(factory, ASKING, expected).await
}

/// Snapshots, forks and compaction keep the open scopes: states, questions and receipts.
pub async fn k21_d18_open_scopes_survive_snapshots(factory: &dyn LogFactory) -> CheckResult {
    let graph = "in -> sub beside; beside: door; sub -> last; sub/ in -> sub -> out
        sub/sub/ acts -> ask; sub/sub/ acts: once mail; sub/sub/ ask: pause";
    // A checkpoint while the scope is open: an amendment, or a branch that ends.
    let lockstep = expect![[r#"
        > begin start
        > written 10 then open then end
        ? sub#1/sub#1/ask#1~1 "ok?" boolean
        + in; ran beside#1 in#1 sub#1/in#1 sub#1/sub#1/acts#1; did sub#1/sub#1/acts#1/mail
        [created, started -> in#1, stepped in#1 -> sub#1 beside#1 +in, entered@sub#1 -> in#1 of in]
        [stepped@sub#1 in#1 -> sub#1 +in, entered@sub#1/sub#1 -> acts#1 of in+in]
        [intended@sub#1/sub#1 acts#1 mail input="to all"] [receipt@sub#1/sub#1 acts#1 mail value="sent"]
        [stepped@sub#1/sub#1 acts#1 -> ask#1 +sent, asked@sub#1/sub#1 sub#1/sub#1/ask#1~1]
        [finished beside#1 +beside] waiting
        > amend noted
        ? sub#1/sub#1/ask#1~1 "ok?" boolean
        + noted
        [amended by Ada +noted because by hand] waiting
        > fork 12 copy
        > compact 12
        = at 12
        > another process then status
        = waiting
        > answer true
        = + (in in (in+in sent true) out) | beside | last; ran last#1 sub#1/out#1
        [answered@sub#1/sub#1 sub#1/sub#1/ask#1~1=true, stepped@sub#1/sub#1 ask#1 +true,
         stepped@sub#1 sub#1 -> out#1 +(in+in sent true)]
        [stepped@sub#1 out#1 +out, finished sub#1 +(in in (in+in sent true) out), closed -> last#1]
        [stepped last#1 +last, run_ended] idle
        > thread copy then status
        = waiting
        + in | noted
        > answer true
        = + (in in (in+in sent true) out) | beside | last; ran last#1 sub#1/out#1
        [answered@sub#1/sub#1 sub#1/sub#1/ask#1~1=true, stepped@sub#1/sub#1 ask#1 +true,
         stepped@sub#1 sub#1 -> out#1 +(in+in sent true)]
        [stepped@sub#1 out#1 +out, finished sub#1 +(in in (in+in sent true) out), closed -> last#1]
        [stepped last#1 +last, run_ended] idle
    "#]];
    check(factory, graph, lockstep).await?;
    let eager = expect![[r#"
        > begin start
        > written 10 then open then end
        ? sub#1/sub#1/ask#1~1 "ok?" boolean
        + in | beside; ran beside#1 in#1 sub#1/in#1 sub#1/sub#1/acts#1; did sub#1/sub#1/acts#1/mail
        [created, started -> in#1, stepped in#1 -> sub#1 beside#1 +in, entered@sub#1 -> in#1 of in]
        [stepped@sub#1 in#1 -> sub#1 +in, entered@sub#1/sub#1 -> acts#1 of in+in]
        [intended@sub#1/sub#1 acts#1 mail input="to all"] [receipt@sub#1/sub#1 acts#1 mail value="sent"]
        [stepped@sub#1/sub#1 acts#1 -> ask#1 +sent, asked@sub#1/sub#1 sub#1/sub#1/ask#1~1]
        [stepped beside#1 +beside] waiting
        > fork 11 copy
        > compact 11
        = at 11
        > another process then status
        = waiting
        > answer true
        = + (in in (in+in sent true) out) | last; ran last#1 sub#1/out#1
        [answered@sub#1/sub#1 sub#1/sub#1/ask#1~1=true, stepped@sub#1/sub#1 ask#1 +true,
         stepped@sub#1 sub#1 -> out#1 +(in+in sent true)]
        [stepped@sub#1 out#1 +out, stepped sub#1 -> last#1 +(in in (in+in sent true) out)]
        [stepped last#1 +last, run_ended] idle
        > thread copy then status
        = waiting
        + in | beside
        > answer true
        = + (in in (in+in sent true) out) | last; ran last#1 sub#1/out#1
        [answered@sub#1/sub#1 sub#1/sub#1/ask#1~1=true, stepped@sub#1/sub#1 ask#1 +true,
         stepped@sub#1 sub#1 -> out#1 +(in+in sent true)]
        [stepped@sub#1 out#1 +out, stepped sub#1 -> last#1 +(in in (in+in sent true) out)]
        [stepped last#1 +last, run_ended] idle
    "#]];
    let options = RunnerOptions::default().schedule(Schedule::Eager);
    check_with(factory, options, graph, eager).await
}

/// An effect inside a subgraph belongs to the task there, and is replayed after a crash.
pub async fn k21_effects_inside_belong_to_their_task(factory: &dyn LogFactory) -> CheckResult {
    let scattered = expect![[r#"
        > without appends then start
        = + plan | (0 sent) | (1 sent) | (2 sent) | last; ran last#1 plan#1 worker#1[0]/acts#1 worker#1[1]/acts#1 worker#1[2]/acts#1; did worker#1[0]/acts#1/mail worker#1[1]/acts#1/mail worker#1[2]/acts#1/mail
    "#]];
    let scatter = "plan -> worker*3 -> last; worker/ acts; worker/ acts: once mail";
    check(factory, scatter, scattered).await?;
    // The step of in, the intent and the receipt are stored; the append of the step inside dies.
    let chained = expect![[r#"
        > die before 4 then start
        ! after 2 steps: the log failed (Store Other; unfinished)
        + in; ran in#1 sub#1/acts#1; did sub#1/acts#1/mail
        [created, started -> in#1, stepped in#1 -> sub#1 +in, entered@sub#1 -> acts#1 of in]
        [intended@sub#1 acts#1 mail input="to all"] [receipt@sub#1 acts#1 mail value="sent"]
        > another process then recover
        = + (in sent) | out; ran out#1 sub#1/acts#1 try 2
        [resumed@sub#1 acts#1 try 2] [stepped@sub#1 acts#1 try 2 +sent, stepped sub#1 -> out#1 +(in sent)]
        [stepped out#1 +out, run_ended] idle
    "#]];
    let chain = "in -> sub -> out; sub/ acts; sub/ acts: once mail";
    check(factory, chain, chained).await
}

/// A failure or question in a subgraph does not affect its siblings' outcomes, which are folded in
/// the order of their paths.
pub async fn k21_a_question_inside_keeps_its_siblings(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        ! after 1 steps: task flaky#1 failed: boom (Node; failed)
        + open; ran beside#1 flaky#1 open#1 sub#1/draft#1
        {created, started -> open#1, stepped open#1 -> sub#1 beside#1 flaky#1 +open,
         asked@sub#1 sub#1/ask#1~1, entered@sub#1 -> draft#1 of open, failed flaky#1 (boom),
         finished beside#1 +beside, stepped@sub#1 draft#1 -> ask#1 +draft, run_failed} idle
        > mend then retry
        ? sub#1/ask#1~1 "ok?" boolean
        ran flaky#1
        {resumed flaky#1 try 1, finished flaky#1 +flaky, resumed@sub#1} waiting
        > answer true
        = + (open draft true) | beside | flaky | last; ran last#1
        {answered@sub#1 sub#1/ask#1~1=true, finished sub#1 +(open draft true), stepped@sub#1 ask#1 +true,
         closed last<sub last<beside last<flaky joined last -> last#1, stepped last#1 +last, run_ended} idle
    "#]];
    check(factory, "open -> sub beside flaky -> last; flaky: fail until mended; sub/ draft -> ask; sub/ ask: pause", expected).await
}
