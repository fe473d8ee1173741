//! Scenarios of effects and their receipts: K10 and K11.
use std::{sync::Arc, time::Duration};

use expect_test::expect;
use fugato_graph::{
    BoxError, Context, Durability, END, Effect, EffectError, Graph, NodePolicy, RunnerOptions,
};
use fugato_state::EffectClass;
use fugato_store::{LeaseRequest, StoreErrorKind};
use tokio::sync::Barrier;

use super::{
    AppendFault,
    fixture::{Calls, Fixture, Page, finished, kind, line, thread},
    script::check,
    world::{MailNode, Stage, WiringExt, between, texts},
};
use crate::log::{CheckResult, Failure, LogFactory, holds, same};

/// The classes whose receipts are stored.
const KEPT: [EffectClass; 3] = [
    EffectClass::Idempotent,
    EffectClass::Keyed,
    EffectClass::Once,
];

/// A pure action is not recorded, and may be repeated.
pub async fn k10_pure_writes_nothing(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > die before 2 then start
        ! after 2 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 send#1; did unkeyed
        [created, started -> a#1, stepped a#1 -> send#1 +a]
        > another process then recover
        = + sent | b; ran b#1 send#1 try 2; did unkeyed
        [resumed send#1 try 2] [stepped send#1 try 2 -> b#1 +sent] [stepped b#1 +b, run_ended] idle
    "#]];
    check(factory, "a -> send -> b; send: pure mail", expected).await
}

/// The receipt of a repeatable action is stored with the next append.
pub async fn k10_a_receipt_rides_in_the_next_append(factory: &dyn LogFactory) -> CheckResult {
    for class in ["idempotent", "keyed"] {
        let expected = expect![[r#"
            > start
            = + a | sent | b; ran a#1 b#1 send#1; did send#1/mail
            [created, started -> a#1, stepped a#1 -> send#1 +a]
            [receipt send#1 mail value="sent", stepped send#1 -> b#1 +sent] [stepped b#1 +b, run_ended] idle
        "#]];
        check(
            factory,
            &*format!("a -> send -> b; send: {class} mail"),
            expected,
        )
        .await?;
    }
    Ok(())
}

/// An intent is durable before the action, its receipt immediately after: two commits, and no more.
pub async fn k10_once_costs_two_commits(factory: &dyn LogFactory) -> CheckResult {
    super::append_of_an_effect(factory).await
}

/// In every durability mode all earlier records are stored before an action, unless the action is
/// pure.
pub async fn k10_every_class_but_pure_is_a_barrier(factory: &dyn LogFactory) -> CheckResult {
    for durability in [Durability::Strict, batched(), Durability::AtPause] {
        for class in [EffectClass::Pure].into_iter().chain(KEPT) {
            let desk = Fixture::of(factory).await?;
            let (log, name) = (desk.opened.log.clone(), desk.thread.clone());
            let acts = move |cx: Context<Page>| {
                let (log, name) = (log.clone(), name.clone());
                async move {
                    let act = move |_| async move {
                        let records = log.read(&name, 1, 100).await?;
                        let text = records.iter().map(|(_, record)| record.0.clone());
                        let text = String::from_utf8(text.collect::<Vec<_>>().concat())?;
                        let intended = text.contains("intended");
                        Ok::<_, BoxError>(format!("{} {intended}", text.contains("stepped")))
                    };
                    Ok::<_, BoxError>(line(cx.effect("look", class, &(), act).await?))
                }
            };
            let graph = between(acts)?;
            let options = RunnerOptions::default().durability(durability);
            let runner = desk.runner_with(&graph, options);
            let page = finished(runner.start(&desk.thread, ()).await)?;
            let stored = class != EffectClass::Pure || durability == Durability::Strict;
            let expected = format!("{stored} {}", class == EffectClass::Once);
            let what = format!("{class:?} {durability:?}");
            same(&what, page.lines, texts(&["a", &expected, "b"]))?;
        }
    }
    Ok(())
}

fn batched() -> Durability {
    Durability::Batched {
        max_records: 1_000,
        max_delay: Duration::from_secs(3),
    }
}

/// A receipt is replayed when a policy or an operator retries the node.
pub async fn k10_a_receipt_is_replayed_by_a_retry(factory: &dyn LogFactory) -> CheckResult {
    for class in ["idempotent", "keyed", "once"] {
        let expected = expect![[r#"
            > without appends then start
            = + sent; ran send#1 send#1 try 2; did send#1/mail
            > program single then start
            ! task send#2 failed: boom (Node; failed)
            ran send#2; did send#2/mail
            > retry
            ! task send#2 failed: boom (Node; failed)
            ran send#2
        "#]];
        check(factory, &*format!("send; send: {class} mail, fail on try 1, tries 2; @single send: {class} mail, fail on try 1"), expected).await?;
    }
    Ok(())
}

/// A receipt is replayed when the node is called again with an answer.
pub async fn k10_a_receipt_is_replayed_after_a_question(factory: &dyn LogFactory) -> CheckResult {
    for class in ["idempotent", "keyed", "once"] {
        let expected = expect![[r#"
            > without appends then start
            ? send#1~1 ok: "ok?" boolean
            + a; ran a#1 send#1; did send#1/mail
            > another process then answer true
            = + sent true | b; ran b#1 send#1
        "#]];
        check(
            factory,
            &*format!("a -> send -> b; send: {class} mail, ask ok"),
            expected,
        )
        .await?;
    }
    Ok(())
}

/// A stored receipt is replayed after a crash. An action without a stored receipt has a repeatable
/// class, and is repeated under the same idempotency key.
pub async fn k10_a_receipt_is_replayed_after_a_crash(factory: &dyn LogFactory) -> CheckResult {
    // The append of the step with both receipts dies.
    for class in ["idempotent", "keyed"] {
        let expected = expect![[r#"
            > die before 3 then start
            ! after 2 steps: the log failed (Store Other; unfinished)
            + a; ran a#1 send#1; did send#1/first send#1/second
            [created, started -> a#1, stepped a#1 -> send#1 +a] [receipt send#1 first value="sent"]
            > another process then recover
            = + sent sent | b; ran b#1 send#1 try 2; did send#1/second
            [resumed send#1 try 2] [receipt send#1 second value="sent", stepped send#1 try 2 -> b#1 +sent sent]
            [stepped b#1 +b, run_ended] idle
        "#]];
        let graph = format!("a -> send -> b; send: {class} first, {class} second");
        check(factory, &*graph, expected).await?;
    }
    let expected = expect![[r#"
        > die before 6 then start
        ! after 2 steps: the log failed (Store Other; unfinished)
        + a; ran a#1 send#1; did send#1/first send#1/second
        [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 first input="to all"]
        [receipt send#1 first value="sent"] [intended send#1 second input="to all"]
        [receipt send#1 second value="sent"]
        > another process then recover
        = + sent sent | b; ran b#1 send#1 try 2
        [resumed send#1 try 2] [stepped send#1 try 2 -> b#1 +sent sent] [stepped b#1 +b, run_ended] idle
    "#]];
    check(
        factory,
        "a -> send -> b; send: once first, once second",
        expected,
    )
    .await
}

/// An action's idempotency key is the same in every attempt, before and after a crash. It differs
/// in another thread, also in one with the name of a removed thread.
pub async fn k10_keyed_has_the_same_key_in_every_attempt(factory: &dyn LogFactory) -> CheckResult {
    let mut desk = Fixture::of(factory).await?;
    let world = Calls::default();
    let (keys, fails) = (world.clone(), Calls::default());
    let acts = move |cx: Context<Page>| {
        let (keys, fails) = (keys.clone(), fails.clone());
        async move {
            let act = move |key: String| async move {
                keys.note(key);
                fails.note("try");
                if fails.count() < 4 {
                    Err("boom")
                } else {
                    Ok("sent".to_owned())
                }
            };
            let sent = cx.effect("mail", EffectClass::Keyed, &(), act).await?;
            Ok::<_, BoxError>(line(sent))
        }
    };
    let policy = NodePolicy::default().attempts(2);
    let graph = Graph::<Page>::starting_at("send")
        .node("send", acts)
        .policy("send", policy.backoff(Duration::ZERO, Duration::ZERO))
        .edge("send", END)
        .build()?;
    desk.log.cut(2, AppendFault::DiesBefore);
    kind(desk.start(&graph).await)?;
    desk.another_process();
    let begun = desk.head().await? > 0;
    holds(begun, || "the start is stored before the action".into())?;
    kind(desk.recover(&graph).await)?;
    finished(desk.runner(&graph).retry(&desk.thread).await)?;
    let mut seen = world.take();
    seen.dedup();
    same("keys of one action", seen.len(), 1)?;
    // Between them is the number of the thread's incarnation.
    let named = |key: &String| key.starts_with("desk@") && key.ends_with("/send#1/mail");
    holds(seen.iter().all(named), || format!("the key is {seen:?}"))?;
    finished(desk.runner(&graph).start(&thread("other"), ()).await)?;
    if let Some(admin) = &desk.opened.admin {
        admin.remove(&desk.thread).await?;
        finished(desk.start(&graph).await)?;
    }
    seen.extend(world.take());
    let all = seen.len();
    seen.sort();
    seen.dedup();
    same("keys of other threads", seen.len(), all)
}

/// Actions of one node run at the same time under different keys. Under one key the action is done
/// once, and every caller gets its result. A copy of the context is the same attempt of the same
/// task.
pub async fn k10_actions_of_one_node_run_at_the_same_time(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        = + a | one, two, two | b; did one two
        {created, started -> a#1, stepped a#1 -> send#1 +a, intended send#1 one input=null,
         intended send#1 two input=null, receipt send#1 one value="one", receipt send#1 two value="two",
         stepped send#1 -> b#1 +one, two, two, stepped b#1 +b, run_ended} idle
    "#]];
    let meets = Arc::new(Barrier::new(2));
    let graph = |stage: &Stage| {
        let (notes, meets) = (stage.world.clone(), meets.clone());
        between(move |cx: Context<Page>| {
            let (notes, meets) = (notes.clone(), meets.clone());
            async move {
                let act = |name: &'static str| {
                    let (notes, meets) = (notes.clone(), meets.clone());
                    move |_| async move {
                        notes.note(name);
                        meets.wait().await;
                        Ok::<_, BoxError>(name.to_owned())
                    }
                };
                let class = || EffectClass::Once;
                let copy = cx.clone();
                let of = |cx: &Context<Page>| (cx.task(), cx.attempt(), cx.snapshot());
                same("a copy", of(&copy), of(&cx))?;
                let (one, two, again) = tokio::try_join!(
                    cx.effect("one", class(), &(), act("one")),
                    cx.effect("two", class(), &(), act("two")),
                    copy.effect("two", class(), &(), act("two again")),
                )?;
                Ok::<_, BoxError>(line(format!("{one}, {two}, {again}")))
            }
        })
    };
    check(factory, graph, expected).await
}

/// The tasks of a scatter act separately, unless the key belongs to the whole thread.
pub async fn k10_a_key_belongs_to_its_task_or_to_the_thread(
    factory: &dyn LogFactory,
) -> CheckResult {
    for class in KEPT {
        for whole in [false, true] {
            let desk = Fixture::of(factory).await?;
            let world = Calls::default();
            let effect = move || {
                if whole {
                    Effect::from(class).whole_thread()
                } else {
                    class.into()
                }
            };
            let graph = Graph::<Page>::starting_at("plan")
                .node("plan", async |_: Context<Page>| ())
                .node("worker", MailNode::with(&world, effect))
                .node("again", MailNode::with(&world, effect))
                .scatter("plan", "worker", |_| 0..3)
                .way(&["worker", "again", END])
                .build()?;
            finished(desk.start(&graph).await)?;
            let mut done = world.take();
            let times = done.len();
            done.dedup();
            let what = format!("{class:?}, by the whole thread: {whole}");
            match (class, whole) {
                (EffectClass::Once, true) => same(&what, (times, done.len()), (1, 1))?,
                // A repeatable action may be started by several tasks at the same time, under
                // one key.
                (_, true) => same(&what, done.len(), 1)?,
                (_, false) => same(&what, (times, done.len()), (4, 4))?,
            }
        }
    }
    Ok(())
}

/// The same key with another input is an error, and never an old result: at once, in a retry, and
/// after a crash. No action is done.
pub async fn k11_d12_another_input_is_an_error(factory: &dyn LogFactory) -> CheckResult {
    let graph = |stage: &Stage, class: EffectClass| {
        let (first, mut second) = (stage.mails(class), stage.mails(class));
        second.text = "to nobody";
        between(move |cx: Context<Page>| {
            let (first, second) = (first.clone(), second.clone());
            async move {
                if cx.attempt() == 1 {
                    first.send(&cx, "mail").await?;
                }
                let error = second.send(&cx, "mail").await.err();
                let error = error.as_ref().and_then(|error| error.downcast_ref());
                let changed = matches!(error, Some(EffectError::InputChanged { .. }));
                // A barrier, so that the receipt is stored before the crash.
                let act = |_| async { Ok::<_, BoxError>("on".to_owned()) };
                cx.effect("on", EffectClass::Once, &(), act).await?;
                Ok::<_, BoxError>(line(changed.to_string()))
            }
        })
    };
    for class in [EffectClass::Idempotent, EffectClass::Keyed] {
        let expected = expect![[r#"
            > die before 4 then start
            ! after 2 steps: the log failed (Store Other; unfinished)
            + a; did send#1/mail
            [created, started -> a#1, stepped a#1 -> send#1 +a]
            [receipt send#1 mail value="sent 1", intended send#1 on input=null] [receipt send#1 on value="on"]
            > another process then recover
            = + true | b
            [resumed send#1 try 2] [stepped send#1 try 2 -> b#1 +true] [stepped b#1 +b, run_ended] idle
        "#]];
        check(factory, |stage: &Stage| graph(stage, class), expected).await?;
    }
    let expected = expect![[r#"
        > die before 6 then start
        ! after 2 steps: the log failed (Store Other; unfinished)
        + a; did send#1/mail
        [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input="to all"]
        [receipt send#1 mail value="sent 1"] [intended send#1 on input=null] [receipt send#1 on value="on"]
        > another process then recover
        = + true | b
        [resumed send#1 try 2] [stepped send#1 try 2 -> b#1 +true] [stepped b#1 +b, run_ended] idle
    "#]];
    check(
        factory,
        |stage: &Stage| graph(stage, EffectClass::Once),
        expected,
    )
    .await
}

/// The error for another input reaches the caller of the run, with both digests.
pub async fn k11_the_error_names_both_inputs(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ! after 1 steps: task send#1 failed: the effect "mail" was done with another input: its digest was <digest 1>, now it is <digest 2> (Node; failed)
        + a
        [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input="one"]
        [receipt send#1 mail value=null]
        [failed send#1 (the effect "mail" was done with another input: its digest was <digest 1>, now it is <digest 2>),
         run_failed] idle
    "#]];
    let acts = async |cx: Context<Page>| {
        for input in ["one", "two"] {
            let act = |_| async { Ok::<_, BoxError>(()) };
            cx.effect("mail", EffectClass::Once, &input, act).await?;
        }
        Ok::<_, BoxError>(())
    };
    check(factory, |_: &Stage| between(acts), expected).await
}

/// A fork inherits the receipts up to its position, and no later ones.
pub async fn k11_a_fork_inherits_receipts_up_to_its_position(
    factory: &dyn LogFactory,
) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    if desk.opened.admin.is_none() {
        return Ok(());
    }
    for class in KEPT {
        let (source, world) = (thread(&format!("{class:?}")), Calls::default());
        let mails = MailNode::with(&world, move || Effect::from(class).whole_thread());
        let graph = Graph::<Page>::starting_at("a")
            .node("a", async |_: Context<Page>| line("a"))
            .node("send", mails.clone())
            .node("again", mails)
            .way(&["a", "send", "again", END])
            .build()?;
        let runner = desk.runner(&graph);
        finished(runner.start(&source, ()).await)?;
        same("done by the thread", world.take().len(), 1)?;
        let history = runner.history(&source, 1, 100).await?;
        let checkpoints = history.iter().filter(|entry| entry.is_checkpoint());
        let at: Vec<_> = checkpoints.map(|entry| entry.seq).collect();
        // The start, a, send and again.
        for (seq, times) in at.into_iter().zip([1, 1, 0, 0]) {
            let copy = thread(&format!("{class:?} {seq}"));
            runner.fork(&source, seq, &copy).await?;
            finished(runner.recover(&copy).await)?;
            let what = format!("{class:?}: done by a fork at {seq}");
            same(&what, world.take().len(), times)?;
        }
    }
    Ok(())
}

/// An action of class `Once` starts only if the lease outlasts its timeout.
pub async fn k10_the_lease_outlives_the_action(factory: &dyn LogFactory) -> CheckResult {
    let desk = Fixture::of(factory).await?;
    let (log, name, clock) = (
        desk.opened.log.clone(),
        desk.thread.clone(),
        desk.clock.clone(),
    );
    let acts = move |cx: Context<Page>| {
        let (log, name, clock) = (log.clone(), name.clone(), clock.clone());
        async move {
            let act = move |_| async move {
                // Renewals run meanwhile, every 10 ms, and must not shorten the lease.
                tokio::time::sleep(Duration::from_millis(25)).await;
                let thread = name;
                let (owner, ttl) = ("somebody else".into(), 1_000);
                let wanted = LeaseRequest::Acquire { thread, owner, ttl };
                let refused = log.lease(wanted).await.err().map(|error| error.kind);
                Ok::<_, BoxError>(match refused {
                    Some(StoreErrorKind::Busy { until, .. }) => until - clock.now(),
                    _ => 0,
                })
            };
            let minute = Effect::once().timeout(Duration::from_secs(60));
            let left = cx.effect("look", minute, &(), act).await?;
            // The store's clock is stopped, and this machine's is not.
            Ok::<_, BoxError>(line((left >= 30_000).to_string()))
        }
    };
    let options = RunnerOptions::default().lease(Duration::from_millis(30));
    let runner = desk.runner_with(&between(acts)?, options);
    let page = finished(runner.start(&desk.thread, ()).await)?;
    same("whether it lasts", page.lines, texts(&["a", "true", "b"]))
}

/// An action that certainly did not happen is recorded as not done, fails its node, and can be
/// retried, by a policy or an operator.
pub async fn k10_what_did_not_happen_may_be_tried_again(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ! after 1 steps: task send#1 failed: the effect "mail" failed: it did not happen: connection refused (Node; failed)
        + a; did send#1/mail
        [created, started -> a#1, stepped a#1 -> send#1 +a] [intended send#1 mail input=null]
        [undone send#1 mail because it did not happen: connection refused,
         failed send#1 (the effect "mail" failed: it did not happen: connection refused), run_failed] idle
        > mend then retry
        = + sent | b; did send#1/mail
        [resumed send#1 try 1] [intended send#1 mail input=null] [receipt send#1 mail value="sent"]
        [stepped send#1 -> b#1 +sent] [stepped b#1 +b, run_ended] idle
        > break then thread another then program with a policy then start
        = + sent; did send#1/mail send#1/mail
        [created, started -> send#1, intended send#1 mail input=null]
        [undone send#1 mail because it did not happen: connection refused,
         failed send#1 (the effect "mail" failed: it did not happen: connection refused) again later] sleeping
        [intended send#1 mail input=null] [receipt send#1 mail value="sent"]
        [stepped send#1 try 2 +sent, run_ended] idle
    "#]];
    let graph = |stage: &Stage| {
        let (notes, refuses) = (stage.world.clone(), stage.broken.clone());
        let acts = move |cx: Context<Page>| {
            let (notes, refuses) = (notes.clone(), refuses.clone());
            async move {
                let act = move |key| async move {
                    notes.note(key);
                    if refuses.is_on() {
                        Err(EffectError::not_executed("connection refused"))
                    } else {
                        Ok("sent".to_owned())
                    }
                };
                Ok::<_, BoxError>(line(cx.effect("mail", EffectClass::Once, &(), act).await?))
            }
        };
        if stage.is("") {
            return between(acts);
        }
        let broken = stage.broken.clone();
        let policy = NodePolicy::default().attempts(2).retry_if(move |_| {
            broken.turn_off();
            true
        });
        let policy = policy.backoff(Duration::ZERO, Duration::ZERO);
        let graph = Graph::<Page>::starting_at("send").node("send", acts);
        graph.policy("send", policy).edge("send", END).build()
    };
    check(factory, graph, expected).await
}

/// Without time, an action would be over before it begins, at every attempt: it is an error.
pub async fn k10_an_action_without_time_is_an_error(factory: &dyn LogFactory) -> CheckResult {
    let expected = expect![[r#"
        > start
        ! after 1 steps: task send#1 failed: the effect "mail" failed: it did not happen: its timeout is 0 s, in which nothing can be done (Node; failed)
        + a
        [created, started -> a#1, stepped a#1 -> send#1 +a]
        [failed send#1 (the effect "mail" failed: it did not happen: its timeout is 0 s, in which nothing can be done),
         run_failed] idle
    "#]];
    let effect = || Effect::once().timeout(Duration::ZERO);
    let graph = |stage: &Stage| between(MailNode::with(&stage.world, effect));
    check(factory, graph, expected).await
}

/// An effect that its node drops before it began never begins, and nobody waits for it: its intent
/// is stored, and taken back.
pub async fn k10_an_effect_that_its_node_drops_before_it_began_is_waited_for_by_nobody(
    factory: &dyn LogFactory,
) -> CheckResult {
    let expected = expect![[r#"
        > in any order then start
        = + a | given up | b
        {created, started -> a#1, stepped a#1 -> send#1 +a, intended send#1 mail input="to all",
         undone send#1 mail because it was given up before it began, stepped send#1 -> b#1 +given up,
         stepped b#1 +b, run_ended} idle
    "#]];
    let graph = |stage: &Stage| {
        let mails = stage.mails(EffectClass::Once);
        between(move |cx: Context<Page>| {
            let mails = mails.clone();
            async move {
                tokio::select! {
                    biased;
                    () = tokio::task::yield_now() => line("given up"),
                    _ = mails.send(&cx, "mail") => line("sent"),
                }
            }
        })
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), check(factory, graph, expected));
    ended.await.map_err(|late| Failure::new(late.to_string()))?
}
