//! Previews of a thread under a program: K32.
use expect_test::expect;
use fugato_graph::{Answers, END, Graph, Runner};
use fugato_state::State;
use fugato_store::Head;
use serde::{Deserialize, Serialize};

use super::{
    change::{New, Old, UnversionedState, asking, within},
    fixture::{Change, Fixture, Page, line, question, whole},
    script::{BuildResult, check},
    world::Stage,
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

/// A preview tells what opening then does: a thread goes on, or is refused with the list of what is
/// gone. It holds for the head that it names.
pub async fn k32_a_preview_is_what_opening_does(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > preview
        = no such thread
        > in any order then start
        ? ask#1~1 "ok?" boolean
        + open; ran a#1 b#1 open#1
        {created, started -> open#1, stepped open#1 -> ask#1 a#1 b#1 +open, asked ask#1~1, finished a#1 +a,
         finished b#1 +b} waiting
        > preview
        = at 6 goes on; open ask#1~1
        > another process then program gone then preview
        = at 6 refused without node "ask"
        > recover
        ! the graph no longer has what the thread refers to: node "ask" (GraphChanged; waiting)
        > program followed then preview
        = at 6 goes on; open ask#1~1
        > answer true
        = + true | a | b | meet; ran meet#1
        {resumed, answered ask#1~1=true, finished confirm#1 +true,
         closed meet<confirm meet<b joined meet -> meet#1, stepped meet#1 +meet, run_ended} idle
        > preview
        = at 12 goes on
        > program gone then preview
        = at 12 unreadable: a value cannot be read or written as JSON: the log tells of task confirm#1, which is not open
        unreadable: a value cannot be read or written as JSON: the log tells of task confirm#1, which is not open
    "#]];
    check(factory, asking, expected).await
}

/// A preview needs no lease: a thread can be looked at while another process runs it.
pub async fn k32_a_preview_takes_no_lease(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > begin start
        > reached then preview
        = at 3 goes on
        > open then end
        = + a | held; ran a#1 held#1
        [created, started -> a#1, stepped a#1 -> held#1 +a] [stepped held#1 +held, run_ended] idle
        > preview
        = at 5 goes on
    "#]];
    check(factory, "a -> held; held: door", expected).await?;
    let stage = Stage::of(Fixture::of(factory).await?, "");
    let (desk, graph) = (&stage.desk, asking(&stage)?);
    question(desk.start(&graph).await)?;
    desk.log.forget();
    let before = desk.log_of().head(&desk.thread).await?;
    desk.runner(&graph).preview(&desk.thread).await?;
    let after = desk.log_of().head(&desk.thread).await?;
    let fence = |head: Option<Head>| head.map(|head| (head.seq, head.fence));
    same("head and fence", fence(after), fence(before))?;
    same("appends", desk.log.commits().len(), 0)
}

/// A preview names the approvals that are asked anew, and the questions that this program asks with
/// another schema.
pub async fn k32_a_preview_looks_at_questions(factory: &dyn LogFactory) -> CheckResult {
    let graph = |stage: &Stage| -> BuildResult {
        let more = stage.program.clone();
        let graph = stage.says(&["open", "last"]);
        let approved = |_: &Page, ok: bool| line(ok.to_string());
        let graph = graph.approval("allow", move |_| format!("delete{more}"), approved);
        let graph = if stage.is("") {
            graph.pause(
                "size",
                |_| "how large?",
                |_, size: u8| Change::Count(size.into()),
            )
        } else {
            graph.pause("size", |_| "how large?", |_, size: String| line(size))
        };
        let graph = graph.edge("open", "allow").edge("open", "size");
        graph
            .join(["allow", "size"], "last")
            .edge("last", END)
            .build()
    };
    let expected = expect![[r#"
        > start
        ? allow#1~A "delete" boolean, to approve
        ? size#1~2 "how large?" uint8
        + open; ran open#1
        [created, started -> open#1, stepped open#1 -> allow#1 size#1 +open, asked allow#1~A,
         asked size#1~2] waiting
        > preview
        = at 5 goes on; open allow#1~A, size#1~2
        > another process then program everything then preview
        = at 5 goes on; open allow#1~A, size#1~2; asked anew allow#1~A; with another schema size#1~2
        > answer size#1~2=7
        ? allow#1~B "deleteeverything" boolean, to approve
        ? size#1~4 "how large?" string
        [withdrawn allow#1~A, withdrawn size#1~2, asked allow#1~B,
         asked size#1~4] waiting
        > recover
        ! the thread waits for answers to allow#1~B, size#1~4 (Waiting; waiting)
        > preview
        = at 9 goes on; open allow#1~B, size#1~4
    "#]];
    check(factory, graph, expected).await
}

/// A preview names the effects in doubt.
pub async fn k32_a_preview_names_doubts(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > die before 3 then start then another process then preview
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 send#1; did send#1/mail
        [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input="to all"]
        = at 4 goes on; in doubt send#1: mail
        > recover
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","input":"to all","summary":"It was begun, and its end is not known. Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        ran send#1 try 2
        [resumed send#1 try 2] [asked try 2 send#1~1] waiting
        > preview
        = at 6 goes on; open send#1~1; in doubt send#1: mail
        > answer {"happened":"told"}
        = + told | b; ran b#1 send#1 try 2
        [answered send#1~1={"happened":"told"}] [receipt send#1 mail value="told"]
        [stepped send#1 try 2 -> b#1 +told] [stepped b#1 +b, run_ended] idle
        > preview
        = at 11 goes on
    "#]];
    check(factory, "a -> send -> b; send: once mail", expected).await
}

/// A state of an older version is told as migrating, with both versions, inside of subgraphs too; a
/// log of a newer version cannot be folded.
pub async fn k32_a_preview_tells_a_migration(factory: &dyn LogFactory) -> CheckResult {
    let mut desk = Fixture::of(factory).await?;
    let old = Graph::<Old>::starting_at("ask")
        .pause("ask", |_| "how many?", |_, n: u32| n)
        .edge("ask", END)
        .build()?;
    let new = Graph::<New>::starting_at("ask")
        .pause("ask", |_| "how many?", |_, n: u32| ("pear".to_owned(), n))
        .edge("ask", END)
        .build()?;
    question(desk.runner(&old).start(&desk.thread, 1_u32).await)?;
    desk.another_process();
    check_report(&desk, &desk.runner(&old), "it goes on []").await?;
    let migrates = "it goes on [\"the state from version 1 to 2\"]";
    check_report(&desk, &desk.runner(&new), migrates).await?;
    desk.resume(&new, Answers::only(2)?).await?;
    check_report(&desk, &desk.runner(&new), "it goes on []").await?;
    let newer = "written by state version 2; this program knows versions up to 1";
    check_report(&desk, &desk.runner(&old), newer).await?;
    let mut desk = Fixture::of(factory).await?;
    let (old, new) = within()?;
    question(desk.start(&old).await)?;
    desk.another_process();
    let migrates = "it goes on [\"the state of sub#1 from version 1 to 2\"]";
    check_report(&desk, &desk.runner(&new), migrates).await
}

/// A log that cannot be folded is told with its cause, and with the very error that a request gets.
pub async fn k32_a_preview_tells_what_cannot_be_folded(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let graph = Graph::<Old>::starting_at("ask")
        .pause("ask", |_| "how many?", |_, n: u32| n)
        .edge("ask", END)
        .build()?;
    question(desk.runner(&graph).start(&desk.thread, 1_u32).await)?;
    let graph = Graph::<UnversionedState>::starting_at("ask")
        .pause("ask", |_| "how many?", |_, n: u32| n)
        .edge("ask", END)
        .build()?;
    check_report(&desk, &desk.runner(&graph), "missing field `pears`").await?;
    let refused = desk.resume(&graph, Answers::only(2)?).await.err();
    let refused = refused.map(|error| whole(&error)).unwrap_or_default();
    holds(refused.contains("missing field `pears`"), || refused)?;
    let graph = Graph::<PanickingState>::starting_at("ask")
        .pause("ask", |_| "how many?", |_, n: u32| n)
        .edge("ask", END)
        .build()?;
    check_report(&desk, &desk.runner(&graph), "no apples").await
}

/// [`Old`] whose updates can no longer be applied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct PanickingState {
    apples: u32,
}

impl State for PanickingState {
    type Update = u32;

    fn apply(&mut self, _: u32) {
        std::panic::panic_any("no apples");
    }
}

/// Compares the compatibility of the thread with a program.
async fn check_report<S: State>(desk: &Fixture, runner: &Runner<S>, expected: &str) -> CheckResult {
    let preview = runner.preview(&desk.thread).await?;
    let preview = preview.ok_or_else(|| Failure::new("the thread does not exist"))?;
    same("the head", preview.head, desk.head().await?)?;
    let told = match &preview.error {
        Some(error) => whole(error),
        None => format!("it goes on {:?}", preview.migrated),
    };
    holds(told.contains(expected), || format!("got {told}"))
}
