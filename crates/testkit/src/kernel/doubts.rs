//! Scenarios of actions in doubt: K10.
use std::{sync::Arc, time::Duration};

use expect_test::expect;
use fugato_graph::{
    Answers, BoxError, Context, Effect, HistoryEvent, InDoubt, NodePolicy, Outcome,
};
use fugato_state::{EffectClass, Question};
use fugato_store::LeaseRequest;
use futures::future::{Either, select};
use tokio::sync::Notify;

use super::{
    AppendFault,
    fixture::{Calls, Fixture, Page, finished, kind, line, question},
    script::check,
    world::{MailNode, Stage, between},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

/// A node that acts, between two others.
const MAIL: &str = "a -> send -> b; send: once mail";

/// An action before a crash is never repeated blindly: a person sees its input, and answers that it
/// happened, with its result, or that it did not.
pub async fn k10_d21_a_person_is_asked_about_a_doubt(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > die before 3 then start
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 send#1; did send#1/mail
        [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input="to all"]
        > another process then recover
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","input":"to all","summary":"It was begun, and its end is not known. Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        ran send#1 try 2
        [resumed send#1 try 2] [asked try 2 send#1~1] waiting
        > answer {"happened":"told"}
        = + told | b; ran b#1 send#1 try 2
        [answered send#1~1={"happened":"told"}] [receipt send#1 mail value="told"]
        [stepped send#1 try 2 -> b#1 +told] [stepped b#1 +b, run_ended] idle
        > fresh then die before 3 then start then another process then recover
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 send#1; did send#1/mail
        [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input="to all"]
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","input":"to all","summary":"It was begun, and its end is not known. Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        ran send#1 try 2
        [resumed send#1 try 2] [asked try 2 send#1~1] waiting
        > answer "did_not_happen"
        = + sent | b; ran b#1 send#1 try 2; did send#1/mail
        [answered send#1~1="did_not_happen"]
        [undone send#1 mail because a person said so, intended send#1 mail input="to all"]
        [receipt send#1 mail value="sent"] [stepped send#1 try 2 -> b#1 +sent]
        [stepped b#1 +b, run_ended] idle
    "#]];
    check(factory, MAIL, expected).await
}

/// A node that began an action and is a pause or a subgraph in the next program leaves no doubt
/// behind: a person is asked about it before the new node does anything.
pub async fn k10_a_node_of_another_kind_keeps_the_doubt(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > die before 3 then start then another process then program pause then recover
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 send#1; did send#1/mail
        [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input="to all"]
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","input":"to all","problem":"the program that began it has changed","summary":"It was begun, and its end is not known (the program that began it has changed). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        [resumed send#1 try 2, asked try 2 send#1~1] waiting
        > answer {"happened":"told"}
        ? send#1~2 "ok?" boolean
        [answered send#1~1={"happened":"told"}, receipt send#1 mail value="told", asked try 2 send#1~2] waiting
        > answer true
        = + true | b; ran b#1
        [answered send#1~2=true, stepped send#1 try 2 -> b#1 +true] [stepped b#1 +b, run_ended] idle
        > fresh then program  then die before 3 then start then another process then program inside then recover
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 send#1; did send#1/mail
        [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input="to all"]
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","input":"to all","problem":"the program that began it has changed","summary":"It was begun, and its end is not known (the program that began it has changed). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        [resumed send#1 try 2, asked try 2 send#1~1] waiting
        > answer "did_not_happen"
        = + (a one two) | b; ran b#1 send#1/one#1 send#1/two#1
        [answered send#1~1="did_not_happen", undone send#1 mail because a person said so,
         entered@send#1 -> one#1 of a] [stepped@send#1 one#1 -> two#1 +one]
        [stepped@send#1 two#1 +two, stepped send#1 try 2 -> b#1 +(a one two)]
        [stepped b#1 +b, run_ended] idle
    "#]];
    let words = "a -> send -> b; send: once mail; @pause send: pause; @inside send/ one -> two";
    check(factory, words, expected).await
}

/// An answer that the node cannot use is not taken for the result: the person is asked again, with
/// the reason.
pub async fn k10_an_answer_of_another_type_is_asked_anew(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > die before 3 then start then another process then recover
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 send#1; did send#1/mail
        [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input="to all"]
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","input":"to all","summary":"It was begun, and its end is not known. Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        ran send#1 try 2
        [resumed send#1 try 2] [asked try 2 send#1~1] waiting
        > answer {"happened":7}
        ? send#1~2 in doubt: mail #1: {"in_doubt":"mail","input":"to all","problem":"the input or result of the effect \"mail\" cannot be written or read as JSON: invalid type: integer `7`, expected a string at line 1 column 1","summary":"It was begun, and its end is not known (the input or result of the effect \"mail\" cannot be written or read as JSON: invalid type: integer `7`, expected a string at line 1 column 1). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        ran send#1 try 2
        [answered send#1~1={"happened":7}] [asked try 2 send#1~2] waiting
        > answer {"happened":"told"}
        = + told | b; ran b#1 send#1 try 2
        [answered send#1~2={"happened":"told"}] [receipt send#1 mail value="told"]
        [stepped send#1 try 2 -> b#1 +told] [stepped b#1 +b, run_ended] idle
    "#]];
    check(factory, MAIL, expected).await
}

/// `reconcile` is called before a person is asked, and only in doubt. If it finds nothing, or
/// fails, a person is asked.
pub async fn k10_reconcile_is_asked_first(factory: &dyn LogFactory) -> CheckResult {
    let graph = |stage: &Stage| {
        let (notes, found) = (stage.calls.clone(), stage.program.clone());
        let effect = move || {
            let (notes, found) = (notes.clone(), found.clone());
            Effect::once().reconcile(move || async move {
                notes.note("reconcile");
                match &*found {
                    "happened" => Ok(Some(InDoubt::Happened("found".to_owned()))),
                    "did not" => Ok(Some(InDoubt::DidNotHappen)),
                    "unknown" => Ok(None),
                    "fails" => Err("no connection"),
                    _ => std::panic::panic_any("reconcile panics"),
                }
            })
        };
        between(MailNode::with(&stage.world, effect))
    };
    let expected = expect![[r#"
        > without appends
        > fresh happened then die before 3 then start
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; did send#1/mail
        > another process then recover
        = + found | b; ran reconcile
        > fresh did not then die before 3 then start
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; did send#1/mail
        > another process then recover
        = + sent 1 | b; ran reconcile; did send#1/mail
        > fresh unknown then die before 3 then start
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; did send#1/mail
        > another process then recover
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","input":"to all","summary":"It was begun, and its end is not known. Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        ran reconcile
        > answer {"happened":"told"}
        = + told | b
        > fresh fails then die before 3 then start
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; did send#1/mail
        > another process then recover
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","input":"to all","problem":"looking after it failed: no connection","summary":"It was begun, and its end is not known (looking after it failed: no connection). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        ran reconcile
        > answer {"happened":"told"}
        = + told | b
        > fresh panics then die before 3 then start
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; did send#1/mail
        > another process then recover
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","input":"to all","problem":"looking after it failed: panicked: reconcile panics","summary":"It was begun, and its end is not known (looking after it failed: panicked: reconcile panics). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        ran reconcile
        > answer {"happened":"told"}
        = + told | b
    "#]];
    check(factory, graph, expected).await
}

/// No question is asked before the action can no longer be under way, by the clock of the store.
pub async fn k10_nobody_is_asked_before_its_time(factory: &dyn LogFactory) -> CheckResult {
    let mut desk = Fixture::of(factory).await?;
    let (world, asked) = (Calls::default(), Calls::default());
    let (notes, clock) = (asked.clone(), desk.clock.clone());
    let mails = MailNode::with(&world, move || {
        let (notes, clock) = (notes.clone(), clock.clone());
        Effect::once()
            .timeout(Duration::from_millis(200))
            .reconcile(move || async move {
                notes.note(clock.now().to_string());
                Ok::<_, BoxError>(Some(InDoubt::Happened("found".to_owned())))
            })
    });
    let graph = between(mails)?;
    desk.log.cut(3, AppendFault::DiesBefore);
    kind(desk.start(&graph).await)?;
    let history = desk.opened.clone();
    desk.log = super::RecordingLog::over(history);
    let facts = desk.runner(&graph).history(&desk.thread, 1, 100).await?;
    let intended = facts.iter().find_map(|entry| match entry.event() {
        HistoryEvent::Intended { not_after, .. } => Some(not_after),
        _ => None,
    });
    let not_after = intended.ok_or_else(|| Failure::new("the intent is not stored"))?;
    // The lease is released before its time, and the other process starts at once.
    let head = desk.log_of().head(&desk.thread).await?;
    let fence = head.map_or(0, |head| head.fence);
    let thread = desk.thread.clone();
    desk.log_of()
        .lease(LeaseRequest::Release { thread, fence })
        .await?;
    let early = 100;
    desk.clock.advance(not_after - early - desk.clock.now());
    let began = std::time::Instant::now();
    finished(desk.recover(&graph).await)?;
    let waited = began.elapsed();
    holds(waited >= Duration::from_millis(99), || {
        format!("it was asked after {waited:?}")
    })?;
    same("how often it was asked", asked.count(), 1)?;
    same("how often it was done", world.count(), 1)
}

/// The same doubt after another crash is asked again, under another id: an old answer does not
/// answer it.
pub async fn k10_the_same_doubt_again_is_asked_anew(factory: &dyn LogFactory) -> CheckResult {
    // After the answer "it did not happen", the action is done, and the process dies again
    // before the receipt: the answer is stored, then the new intent, and the receipt is not.
    let expected = expect![[r#"
        > die before 3 then start
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 send#1; did send#1/mail
        [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input="to all"]
        > another process then recover
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","input":"to all","summary":"It was begun, and its end is not known. Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        ran send#1 try 2
        [resumed send#1 try 2] [asked try 2 send#1~1] waiting
        > die before 3 then answer "did_not_happen"
        ! after 1 steps: the log failed (Store Other; unfinished)
        ran send#1 try 2; did send#1/mail
        [answered send#1~1="did_not_happen"]
        [undone send#1 mail because a person said so, intended send#1 mail input="to all"]
        > another process then recover
        ? send#1~2 in doubt: mail #2: {"in_doubt":"mail","input":"to all","summary":"It was begun, and its end is not known. Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        ran send#1 try 3
        [resumed send#1 try 3] [asked try 3 send#1~2] waiting
        > answer send#1~1="did_not_happen"
        ! no open question has the id send#1~1; open are send#1~2 (Answer Unknown; waiting)
        > another process then answer {"happened":"told"}
        = + told | b; ran b#1 send#1 try 3
        [answered send#1~2={"happened":"told"}] [receipt send#1 mail value="told"]
        [stepped send#1 try 3 -> b#1 +told] [stepped b#1 +b, run_ended] idle
    "#]];
    check(factory, MAIL, expected).await
}

/// An answered doubt stays answered if the process dies before the answer was used.
pub async fn k10_an_answer_to_a_doubt_survives_a_crash(factory: &dyn LogFactory) -> CheckResult {
    for nth in 1..=4 {
        let world = Calls::default();
        let mut desk = Fixture::of(factory).await?;
        let graph = between(MailNode::of(&world, EffectClass::Once))?;
        desk.log.cut(3, AppendFault::DiesBefore);
        kind(desk.start(&graph).await)?;
        desk.another_process();
        question(desk.recover(&graph).await)?;
        desk.log.cut(nth, AppendFault::DiesAfter);
        let told = Answers::only(InDoubt::Happened("told"))?;
        desk.resume(&graph, told).await.err();
        desk.another_process();
        desk.recover(&graph).await.ok();
        desk.page(&graph).await?.said(&["a", "told", "b"])?;
        same("what was done", world.count(), 1)?;
    }
    Ok(())
}

/// The ways in which a node ignores an action or its error.
#[derive(Clone, Copy)]
enum Careless {
    Catches,
    Selects,
    TimesOut,
    Spawns,
    Asks,
}

async fn careless(cx: &Context<Page>, how: Careless, world: &Calls) -> Result<(), BoxError> {
    let (begun, left) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (notes, begins, leaves) = (world.clone(), begun.clone(), left.clone());
    let act = move |_| async move {
        notes.note("act");
        begins.notify_one();
        if !matches!(how, Careless::Catches | Careless::Asks) {
            leaves.notified().await;
        }
        Err::<String, _>("the connection was lost")
    };
    let acting = cx.effect("mail", EffectClass::Once, &(), act);
    match how {
        Careless::Catches | Careless::Asks => drop(acting.await),
        Careless::Selects => tokio::select! {
            _ = acting => {}
            () = begun.notified() => {}
        },
        Careless::TimesOut => {
            let polled = select(acting, Box::pin(begun.notified())).await;
            if let Either::Right(((), acting)) = polled {
                drop(tokio::time::timeout(Duration::from_millis(5), acting).await);
            }
        }
        Careless::Spawns => {
            let polled = select(acting, Box::pin(begun.notified())).await;
            drop(polled);
        }
    }
    left.notify_one();
    Ok(())
}

/// A doubt is not lost if a node catches every error, drops the action's future or ends before it:
/// the thread asks, and continues after the answer.
pub async fn k10_no_node_can_lose_a_doubt(factory: &dyn LogFactory) -> CheckResult {
    let acts = |stage: &Stage, how| {
        let notes = stage.world.clone();
        between(move |cx: Context<Page>| {
            let notes = notes.clone();
            async move {
                careless(&cx, how, &notes).await?;
                Ok::<_, BoxError>(match how {
                    Careless::Asks if cx.answer::<bool>("ok")?.is_none() => {
                        Outcome::ask(Question::new::<bool>("ok", "ok?"))
                    }
                    _ => Outcome::done([line("done")]),
                })
            }
        })
    };
    let expected = expect![[r#"
        > without appends then start
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","problem":"the connection was lost","summary":"It was begun, and its end is not known (the connection was lost). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        + a; did act
        > answer {"happened":"told"}
        = + done | b
    "#]];
    check(
        factory,
        |stage: &Stage| acts(stage, Careless::Catches),
        expected,
    )
    .await?;
    for how in [Careless::Selects, Careless::TimesOut, Careless::Spawns] {
        let expected = expect![[r#"
            > without appends then start
            ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","problem":"the task went on without waiting for its result","summary":"It was begun, and its end is not known (the task went on without waiting for its result). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
            + a; did act
            > answer {"happened":"told"}
            = + done | b
        "#]];
        check(factory, |stage: &Stage| acts(stage, how), expected).await?;
    }
    let expected = expect![[r#"
        > without appends then start
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","problem":"the connection was lost","summary":"It was begun, and its end is not known (the connection was lost). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        + a; did act
        > answer {"happened":"told"}
        ? send#1~2 ok: "ok?" boolean
        > answer true
        = + done | b
    "#]];
    check(
        factory,
        |stage: &Stage| acts(stage, Careless::Asks),
        expected,
    )
    .await
}

/// A node that does not wait for a successful action causes no question: the action runs to its
/// end, and its result is then known.
pub async fn k10_an_action_goes_on_without_its_node(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > without appends then start
        = + sent; did act
    "#]];
    let graph = |stage: &Stage| {
        let notes = stage.world.clone();
        let acts = move |cx: Context<Page>| {
            let notes = notes.clone();
            async move {
                let begun = Arc::new(Notify::new());
                let begins = begun.clone();
                let act = move |_| async move {
                    begins.notify_one();
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    notes.note("act");
                    Ok::<_, BoxError>("sent".to_owned())
                };
                let acting = cx.effect("mail", EffectClass::Once, &(), act);
                match cx.attempt() {
                    1 => tokio::select! {
                        _ = acting => Err("nobody waits for so long".into()),
                        () = begun.notified() => Err("the node gives up".into()),
                    },
                    _ => Ok::<_, BoxError>(line(acting.await?)),
                }
            }
        };
        let policy = NodePolicy::default().attempts(2);
        let policy = policy.backoff(Duration::ZERO, Duration::ZERO);
        let graph = stage.wire("send; send: elsewhere")?.node("send", acts);
        graph.policy("send", policy).build()
    };
    check(factory, graph, expected).await
}

/// An action that exceeds its timeout is dropped and in doubt, and so is one that panics or fails,
/// or whose result cannot be stored. It is reconciled at once if it can be, and never repeated.
pub async fn k10_what_ends_badly_is_in_doubt(factory: &dyn LogFactory) -> CheckResult {
    let acts = |stage: &Stage, how, found| {
        let notes = stage.world.clone();
        between(move |cx: Context<Page>| {
            let notes = notes.clone();
            async move {
                let act = move |_| async move {
                    notes.note("act");
                    match how {
                        "late" => std::future::pending().await,
                        "panics" => std::panic::panic_any("the action panics"),
                        _ => Err::<String, _>("the connection was lost"),
                    }
                };
                // On a busy machine, too, it begins before its limit, or ends by itself.
                let limit = if how == "late" { 300 } else { 3_600_000 };
                let mut effect = Effect::once().timeout(Duration::from_millis(limit));
                if found {
                    let found = Some(InDoubt::Happened("found".to_owned()));
                    effect = effect.reconcile(|| async { Ok::<_, BoxError>(found) });
                }
                Ok::<_, BoxError>(line(cx.effect("mail", effect, &(), act).await?))
            }
        })
    };
    let asked = [
        (
            "late",
            expect![[r#"
                > start
                ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","problem":"it did not end within its time limit","summary":"It was begun, and its end is not known (it did not end within its time limit). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
                + a; did act
                [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input=null]
                [asked send#1~1] waiting
                > answer {"happened":"told"}
                = + told | b
                [answered send#1~1={"happened":"told"}] [receipt send#1 mail value="told"]
                [stepped send#1 -> b#1 +told] [stepped b#1 +b, run_ended] idle
            "#]],
        ),
        (
            "panics",
            expect![[r#"
                > start
                ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","problem":"panicked: the action panics","summary":"It was begun, and its end is not known (panicked: the action panics). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
                + a; did act
                [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input=null]
                [asked send#1~1] waiting
                > answer {"happened":"told"}
                = + told | b
                [answered send#1~1={"happened":"told"}] [receipt send#1 mail value="told"]
                [stepped send#1 -> b#1 +told] [stepped b#1 +b, run_ended] idle
            "#]],
        ),
        (
            "fails",
            expect![[r#"
                > start
                ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","problem":"the connection was lost","summary":"It was begun, and its end is not known (the connection was lost). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
                + a; did act
                [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input=null]
                [asked send#1~1] waiting
                > answer {"happened":"told"}
                = + told | b
                [answered send#1~1={"happened":"told"}] [receipt send#1 mail value="told"]
                [stepped send#1 -> b#1 +told] [stepped b#1 +b, run_ended] idle
            "#]],
        ),
    ];
    for (how, asked) in asked {
        check(factory, |stage: &Stage| acts(stage, how, false), asked).await?;
        let reconciled = expect![[r#"
            > start
            = + a | found | b; did act
            [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input=null]
            [receipt send#1 mail value="found"] [stepped send#1 -> b#1 +found] [stepped b#1 +b, run_ended] idle
        "#]];
        check(factory, |stage: &Stage| acts(stage, how, true), reconciled).await?;
    }
    Ok(())
}

/// A doubt about an action of the whole thread outlives the task that started it.
pub async fn k10_no_task_can_lose_a_doubt_of_the_thread(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > without appends then start
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","problem":"the task went on without waiting for its result","summary":"It was begun, and its end is not known (the task went on without waiting for its result). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        + a; did act
        > answer {"happened":"told"}
        = + done | b
    "#]];
    let graph = |stage: &Stage| {
        let notes = stage.world.clone();
        between(move |cx: Context<Page>| {
            let notes = notes.clone();
            async move {
                let begun = Arc::new(Notify::new());
                let begins = begun.clone();
                let act = move |_| async move {
                    notes.note("act");
                    begins.notify_one();
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    Err::<String, _>("the connection was lost")
                };
                let whole = Effect::once().whole_thread();
                tokio::select! {
                    _ = cx.effect("mail", whole, &(), act) => {}
                    () = begun.notified() => {}
                }
                line("done")
            }
        })
    };
    check(factory, graph, expected).await
}

/// A doubt that a person has settled stays settled, although the node does not call the action
/// again.
pub async fn k10_a_settled_doubt_needs_no_further_call(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > without appends then start
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","problem":"the connection was lost","summary":"It was begun, and its end is not known (the connection was lost). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        + a; did act
        > answer {"happened":"told"}
        = + done | b
        > fresh then start
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","problem":"the connection was lost","summary":"It was begun, and its end is not known (the connection was lost). Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        + a; did act
        > answer "did_not_happen"
        = + done | b
    "#]];
    let graph = |stage: &Stage| {
        // This node keeps no record of its first call.
        let (notes, first) = (stage.world.clone(), stage.broken.clone());
        between(move |cx: Context<Page>| {
            let (notes, first) = (notes.clone(), first.clone());
            async move {
                if first.is_on() {
                    first.turn_off();
                    careless(&cx, Careless::Catches, &notes).await?;
                }
                Ok::<_, BoxError>(line("done"))
            }
        })
    };
    check(factory, graph, expected).await
}

/// An operator finishes the task that asks about an action of the whole thread, which stays in
/// doubt: the run does not end well before the action is settled.
pub async fn k10_an_operator_settles_a_doubt_of_the_thread(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > die before 3 then start then another process then recover
        ! after 1 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 send#1; did /mail
        [created, started -> a#1, stepped a#1 -> send#1 +a] [intended mail input="to all"]
        ? send#1~1 in doubt: mail #1: {"in_doubt":"mail","input":"to all","summary":"It was begun, and its end is not known. Look, and say whether it happened.","task":"send#1","title":"Did \"mail\" happen?"} Doubt
        ran send#1 try 2
        [resumed send#1 try 2] [asked try 2 send#1~1] waiting
        > another process then finish send#1 by hand
        ! after 3 steps: the run ended, and nobody knows whether mail happened (InDoubt; failed)
        + by hand | b; ran b#1
        [amended send#1 by Ada +by hand because by hand, closed -> b#1] [stepped b#1 +b, run_failed] idle
        > settle post "did_not_happen"
        ! the effect "post" is not in doubt; in doubt are: mail (NotInDoubt; failed)
        > retry
        ! after 3 steps: the run ended, and nobody knows whether mail happened (InDoubt; failed)
        [resumed, run_failed] idle
        > settle mail "did_not_happen"
        = amended
        [undone mail because Ada said so, amended by Ada because by hand] idle
        > retry
        =
        [resumed, run_ended] idle
    "#]];
    check(factory, "a -> send -> b; send: thread mail", expected).await
}
