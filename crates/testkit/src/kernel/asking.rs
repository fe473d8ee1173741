//! Scenarios of questions to people: K7 to K9.
use std::time::Duration;

use expect_test::expect;
use fugato_graph::{Context, END, Graph, Outcome};
use fugato_state::Question;

use super::{
    fixture::{Calls, Change, Page, line},
    script::{BuildResult, check},
    world::{Stage, WiringExt},
};
use crate::log::{CheckResult, LogFactory};

type Silence = Box<dyn Fn(&Page) -> Vec<Change> + Send + Sync>;

/// Builds open, then the pauses size and colour at once, and a node in parallel.
fn two_pauses(stage: &Stage) -> BuildResult {
    let size = |_: &Page, size: u8| line(format!("size {size}"));
    let colour = |_: &Page, colour: Option<String>| line(format!("colour {colour:?}"));
    let graph = stage.says(&["open", "work", "last"]);
    let graph = graph.pause("size", |_| "how large?", size);
    let graph = graph.pause("colour", |_| "which colour?", colour);
    let graph = graph.fork("open", &["size", "colour", "work"], "last");
    graph.edge("last", END).build()
}

/// Several questions can be open at once, each with its own id, its prompt, and the schema of its
/// answer. An answer without an id needs exactly one open question.
pub async fn k7_several_questions_are_open_at_once(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? size#1~1 "how large?" uint8
        ? colour#1~2 "which colour?" string|null
        + open; ran open#1 work#1
        [created, started -> open#1, stepped open#1 -> size#1 colour#1 work#1 +open, asked size#1~1,
         asked colour#1~2] [finished work#1 +work] waiting
        > status
        = waiting
        > answer 3
        ! a bare answer needs exactly one open question; open are size#1~1, colour#1~2 (Answer Bare; waiting)
        > start
        ! the thread waits for answers to size#1~1, colour#1~2 (Waiting; waiting)
        > answer size#1~1=3
        ? colour#1~2 "which colour?" string|null
        [answered size#1~1=3, finished size#1 +size 3] waiting
        > answer "red"
        = + size 3 | colour Some("red") | work | last; ran last#1
        [answered colour#1~2="red", finished colour#1 +colour Some("red"),
         closed last<size last<colour last<work joined last -> last#1]
        [stepped last#1 +last, run_ended] idle
    "#]];
    check(factory, two_pauses, expected).await
}

/// An id is never used again in its thread: not in later steps or runs, and not after expiry.
pub async fn k7_d19_ids_are_never_used_again(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? ask#1~1 "more?" boolean
        [created, started -> ask#1, asked ask#1~1] waiting
        > another process then answer true
        ? ask#2~2 "more?" boolean
        route ask
        [answered ask#1~1=true, stepped ask#1 -> ask#2 {"route":"ask"}, asked ask#2~2] waiting
        > another process then answer true
        ? ask#3~3 "more?" boolean
        [answered ask#2~2=true, stepped ask#2 -> ask#3 {"route":"ask"}, asked ask#3~3] waiting
        > another process then answer false
        = route END
        [answered ask#3~3=false, stepped ask#3 {"route":"END"}, run_ended] idle
        > start
        ? ask#4~4 "more?" boolean
        [started -> ask#4, asked ask#4~4] waiting
    "#]];
    let more = |_: &Page, more: bool| Change::Route(if more { "ask" } else { END }.into());
    let graph = |_: &Stage| {
        Graph::<Page>::starting_at("ask")
            .pause("ask", |_| "more?", more)
            .branch("ask", ["ask", END], |page| page.route.clone())
            .build()
    };
    check(factory, graph, expected).await
}

/// Any node can ask midway, and several questions at once: its memo stays, and when all questions
/// are answered it is called again. Asking is a value, never an error, so that no catch-all can
/// swallow a question.
pub async fn k7_d5_d25_a_node_asks_midway(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? book#1~1 from: "from when?" uint32
        ? book#1~2 to: "until when?" uint32
        ran book#1
        [created, started -> book#1, asked memo=17 book#1~1 book#1~2] waiting
        > another process then answer book#1~2=9
        ? book#1~1 from: "from when?" uint32
        [answered book#1~2=9] waiting
        > another process then answer 4
        = + memo 17: from 4 to 9; ran book#1
        [answered book#1~1=4] [stepped book#1 +memo 17: from 4 to 9, run_ended] idle
        > start
        ? book#2~3 from: "from when?" uint32
        ? book#2~4 to: "until when?" uint32
        ran book#2
        [started -> book#2, asked memo=17 book#2~3 book#2~4] waiting
        > answer book#2~4=9; book#2~3=4
        = + memo 17: from 4 to 9; ran book#2
        [answered book#2~4=9 book#2~3=4] [stepped book#2 +memo 17: from 4 to 9, run_ended] idle
    "#]];
    check(factory, |stage: &Stage| midway(&stage.calls), expected).await
}

/// An answer goes to the question of its name, also if its task asks another one after it: the
/// other has an id of its own, and the earlier answer does not answer it.
pub async fn k7_d3_an_answer_goes_to_the_question_of_its_name(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? act#1~1 delete?: "delete?" boolean
        [created, started -> act#1, asked memo=true act#1~1] waiting
        > answer true
        ? act#1~2 send mail?: "send mail?" boolean
        [answered act#1~1=true] [asked memo=true act#1~2] waiting
        > answer act#1~1=true
        ! no open question has the id act#1~1; open are act#1~2 (Answer Unknown; waiting)
        > answer false
        = + Some(true), send false
        [answered act#1~2=false] [stepped act#1 +Some(true), send false, run_ended] idle
    "#]];
    let act = async |cx: Context<Page>| {
        let skipped = cx.memo::<bool>()?.is_some();
        let delete = cx.answer::<bool>("delete?")?;
        if let Some(send) = cx.answer::<bool>("send mail?")? {
            return Ok(Outcome::done([line(format!("{delete:?}, send {send}"))]));
        }
        let asks = match (skipped, delete) {
            (false, None) => "delete?",
            (true, Some(true)) => "send mail?",
            other => std::panic::panic_any(format!("it was told {other:?}")),
        };
        Ok(Outcome::ask(Question::new::<bool>(asks, asks)).remember(true)?)
    };
    let graph = |_: &Stage| {
        Graph::starting_at("act")
            .node("act", act)
            .edge("act", END)
            .build()
    };
    check(factory, graph, expected).await
}

pub(super) fn midway(calls: &Calls) -> BuildResult {
    let calls = calls.clone();
    Graph::<Page>::starting_at("book")
        .node("book", move |cx: Context<Page>| {
            calls.note(cx.task());
            // A wrapper that turns every error into a text.
            let booked = book(&cx).unwrap_or_else(|error| Outcome::done([line(error.to_string())]));
            std::future::ready(booked)
        })
        .edge("book", END)
        .build()
}

fn book(cx: &Context<Page>) -> Result<Outcome<Change>, serde_json::Error> {
    if let (Some(from), Some(to)) = (cx.answer::<u32>("from")?, cx.answer::<u32>("to")?) {
        let memo = cx.memo::<u32>()?.unwrap_or_default();
        let said = format!("memo {memo}: from {from} to {to}");
        return Ok(Outcome::done([line(said)]));
    }
    let questions = vec![
        Question::new::<u32>("from", "from when?"),
        Question::new::<u32>("to", "until when?"),
    ];
    let memo = None;
    Outcome::Ask { memo, questions }.remember(17)
}

/// A node that asks nothing, or two questions under one key, fails; its thread can go on.
pub async fn k7_a_malformed_question_is_an_error(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ! task ask#1 asks badly: it asks without a question: it asks without a question (Question; failed)
        [created, started -> ask#1,
         failed ask#1 (task ask#1 asks badly: it asks without a question: it asks without a question),
         run_failed] idle
        > program the same key twice then start
        ! task ask#2 asks badly: it asks two questions with the key "a": it asks two questions with the key "a" (Question; failed)
        [started -> ask#2,
         failed ask#2 (task ask#2 asks badly: it asks two questions with the key "a": it asks two questions with the key "a"),
         run_failed] idle
    "#]];
    let graph = |stage: &Stage| {
        let questions = if stage.is("") {
            vec![]
        } else {
            ["1", "2"].map(|it| Question::new::<u8>("a", it)).to_vec()
        };
        let asks = move |_: Context<Page>| {
            let (memo, questions) = (None, questions.clone());
            std::future::ready(Outcome::<Change>::Ask { memo, questions })
        };
        Graph::starting_at("ask")
            .node("ask", asks)
            .edge("ask", END)
            .build()
    };
    check(factory, graph, expected).await
}

/// A wrong answer is refused with a typed error, and nothing changes. Where the schema allows null,
/// null is an answer.
pub async fn k8_d4_a_wrong_answer_changes_nothing(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? size#1~1 "how large?" uint8
        ? colour#1~2 "which colour?" string|null
        + open; ran open#1 work#1
        [created, started -> open#1, stepped open#1 -> size#1 colour#1 work#1 +open, asked size#1~1,
         asked colour#1~2] [finished work#1 +work] waiting
        > answer size#1~1=3
        ? colour#1~2 "which colour?" string|null
        [answered size#1~1=3, finished size#1 +size 3] waiting
        > answer nobody=1
        ! no open question has the id nobody; open are colour#1~2 (Answer Unknown; waiting)
        > answer size#1~1=3
        ! no open question has the id size#1~1; open are colour#1~2 (Answer Unknown; waiting)
        > answer colour#1~2="red"; colour#1~2="blue"
        ! no open question has the id colour#1~2; open are colour#1~2 (Answer Unknown; waiting)
        > answer colour#1~2="red"; nobody=1
        ! no open question has the id nobody; open are colour#1~2 (Answer Unknown; waiting)
        > answer 7
        ! the answer to colour#1~2 does not fit: the value: 7 is not of types "string", "null" (Answer Schema; waiting)
        > resume
        ! the thread waits for answers to colour#1~2 (Waiting; waiting)
        > answer null
        = + size 3 | colour None | work | last; ran last#1
        [answered colour#1~2=null, finished colour#1 +colour None,
         closed last<size last<colour last<work joined last -> last#1]
        [stepped last#1 +last, run_ended] idle
        > answer 1
        ! no question is open (Answer NothingAsked; idle)
        > thread nobody then answer 1
        ! no question is open (Answer NothingAsked; new)
    "#]];
    check(factory, two_pauses, expected).await
}

/// An approval whose digest no longer matches is refused, and one that matches is not. An outdated
/// prompt cannot be approved: the question is asked again in its present form.
pub async fn k8_an_approval_of_something_else_is_refused(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start delete 3 files
        ? confirm#1~A "[\"delete 3 files\"]" boolean, to approve
        + delete 3 files
        [created, started -> confirm#1 +delete 3 files, asked confirm#1~A] waiting
        > answer confirm#1~A=true @0123
        ! what confirm#1~A asks to approve has changed: it has digest <digest 1>, the answer 0123 (Answer Digest; waiting)
        > answer confirm#1~A=true @shown
        = + approved true
        [answered confirm#1~A=true, stepped confirm#1 +approved true, run_ended] idle
        > start delete 3 files
        ? confirm#2~B "[\"delete 3 files\", \"approved true\", \"delete 3 files\"]" boolean, to approve
        + delete 3 files
        [started -> confirm#2 +delete 3 files, asked confirm#2~B] waiting
        > program and more then answer confirm#2~B=true
        ? confirm#2~C "[\"delete 3 files\", \"approved true\", \"delete 3 files\"]and more" boolean, to approve
        [withdrawn confirm#2~B, asked confirm#2~C] waiting
        > answer confirm#2~C=true
        = + approved true
        [answered confirm#2~C=true, stepped confirm#2 +approved true, run_ended] idle
    "#]];
    let graph = |stage: &Stage| {
        let more = stage.program.clone();
        let shown = move |page: &Page| format!("{:?}{more}", page.lines);
        let approved = |_: &Page, ok: bool| line(format!("approved {ok}"));
        let graph = Graph::starting_at("confirm").approval("confirm", shown, approved);
        graph.edge("confirm", END).build()
    };
    check(factory, graph, expected).await
}

/// An expired question ends in its update, or is asked again under a new id: the thread can go on.
pub async fn k8_an_expired_question_is_no_dead_end(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > fresh silence then start
        ? ask#1~1 "well?" boolean, expires
        [created, started -> ask#1, asked ask#1~1] waiting for a time
        > recover
        ! the thread waits for answers to ask#1~1 (Waiting; waiting)
        > another process then answer true
        ! the question ask#1~1 has expired (Answer Expired; waiting)
        > resume
        = + silence
        [expired ask#1~1, stepped ask#1 +silence, run_ended] idle
        > fresh then start
        ? ask#1~1 "well?" boolean, expires
        [created, started -> ask#1, asked ask#1~1] waiting for a time
        > another process then answer true
        ! the question ask#1~1 has expired (Answer Expired; waiting)
        > resume
        ? ask#1~2 "well?" boolean, expires
        [expired ask#1~1, asked ask#1~2] waiting for a time
        > answer true
        = + true
        [answered ask#1~2=true, stepped ask#1 +true, run_ended] idle
    "#]];
    let graph = |stage: &Stage| {
        let silence = || -> Silence { Box::new(|_| vec![line("silence")]) };
        let silence = stage.is("silence").then(silence);
        let said = |_: &Page, ok: bool| line(ok.to_string());
        let five = Duration::from_secs(5);
        let graph = Graph::starting_at("ask").pause_for("ask", five, |_| "well?", said, silence);
        graph.edge("ask", END).build()
    };
    check(factory, graph, expected).await
}

/// Answering one question touches only its own task: no finished task runs again, and the other
/// questions stay open.
pub async fn k9_d6_d17_an_answer_touches_only_its_task(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ? size#1~1 "how large?" uint8
        ? colour#1~2 "which colour?" string|null
        + open; ran open#1 work#1
        [created, started -> open#1, stepped open#1 -> size#1 colour#1 work#1 +open, asked size#1~1,
         asked colour#1~2] [finished work#1 +work] waiting
        > another process then answer colour#1~2="red"
        ? size#1~1 "how large?" uint8
        [answered colour#1~2="red", finished colour#1 +colour Some("red")] waiting
        > answer 1
        = + size 1 | colour Some("red") | work | last; ran last#1
        [answered size#1~1=1, finished size#1 +size 1,
         closed last<size last<colour last<work joined last -> last#1]
        [stepped last#1 +last, run_ended] idle
    "#]];
    check(factory, two_pauses, expected).await
}
