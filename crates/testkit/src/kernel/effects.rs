//! Scenarios of effects and their receipts: K10 and K11.
use std::{sync::Arc, time::Duration};

use fugato_graph::{
    Answers, BoxError, Context, Durability, END, Effect, EffectClass, EffectError, Graph,
    NodePolicy, NotExecuted, Outcome, RunErrorKind, RunnerOptions,
};
use fugato_state::Question;
use fugato_store::{LeaseRequest, StoreErrorKind};
use tokio::sync::Barrier;

use super::{
    AppendFault,
    fixture::{Calls, Fixture, Page, finished, kind, line, question, thread, whole},
    world::{MailNode, WiringExt, between, texts},
};
use crate::log::{Failure, LogFactory, Verdict, holds, same};

/// The classes whose receipts are stored.
const KEPT: [EffectClass; 3] = [
    EffectClass::Idempotent,
    EffectClass::Keyed,
    EffectClass::Once,
];

/// A pure action is not recorded, and may be repeated.
pub async fn k10_pure_writes_nothing(factory: &dyn LogFactory) -> Verdict {
    let mut desk = Fixture::of(factory).await?;
    let world = Calls::default();
    let graph = between(MailNode::of(&world, EffectClass::Pure))?;
    desk.log.cut(2, AppendFault::DiesBefore);
    kind(desk.start(&graph).await)?;
    desk.another_process();
    finished(desk.recover(&graph).await)?;
    desk.appended(
        "a pure effect",
        &["resumed", "stepped", "stepped run_ended"],
    )?;
    same("how often it was done", world.take().len(), 2)
}

/// The receipt of a repeatable action is stored with the next append.
pub async fn k10_a_receipt_rides_in_the_next_append(factory: &dyn LogFactory) -> Verdict {
    for class in [EffectClass::Idempotent, EffectClass::Keyed] {
        let desk = Fixture::of(factory).await?;
        let graph = between(MailNode::of(&Calls::default(), class))?;
        finished(desk.start(&graph).await)?;
        let expected = [
            "created started stepped",
            "receipt stepped",
            "stepped run_ended",
        ];
        desk.appended("an effect that may be repeated", &expected)?;
    }
    Ok(())
}

/// An intent is durable before the action, its receipt immediately after: two commits, and no more.
pub async fn k10_once_costs_two_commits(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let graph = between(MailNode::of(&Calls::default(), EffectClass::Once))?;
    finished(desk.start(&graph).await)?;
    let expected = [
        "created started stepped",
        "intended",
        "receipt",
        "stepped",
        "stepped run_ended",
    ];
    desk.appended("an effect that must not be done twice", &expected)
}

/// In every durability mode all earlier records are stored before an action, unless the action is
/// pure.
pub async fn k10_every_class_but_pure_is_a_barrier(factory: &dyn LogFactory) -> Verdict {
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
pub async fn k10_a_receipt_is_replayed_by_a_retry(factory: &dyn LogFactory) -> Verdict {
    for class in KEPT {
        let desk = Fixture::of(factory).await?;
        let world = Calls::default();
        let mails = MailNode::of(&world, class);
        let acts = move |cx: Context<Page>| {
            let mails = mails.clone();
            async move {
                let sent = mails.send(&cx, "mail").await?;
                match cx.attempt() {
                    1 => Err("boom".into()),
                    _ => Ok::<_, BoxError>(line(sent)),
                }
            }
        };
        let build = |attempts| {
            let policy = NodePolicy::default().attempts(attempts);
            let policy = policy.backoff(Duration::ZERO, Duration::ZERO);
            let graph = Graph::<Page>::starting_at("send").node("send", acts.clone());
            graph.policy("send", policy).edge("send", END).build()
        };
        finished(desk.runner(&build(2)?).start(&desk.thread, ()).await)?.said(&["sent 1"])?;
        same("what was done", world.count(), 1)?;
        // A single attempt fails; an operator's retry starts with attempt 1 again, and fails
        // too.
        for _ in 0..2 {
            let runner = desk.runner(&build(1)?);
            let run = match world.count() {
                1 => runner.start(&desk.thread, ()),
                _ => runner.retry(&desk.thread),
            };
            kind(run.await)?;
            same("what was done", world.count(), 2)?;
        }
    }
    Ok(())
}

/// A receipt is replayed when the node is called again with an answer.
pub async fn k10_a_receipt_is_replayed_after_a_question(factory: &dyn LogFactory) -> Verdict {
    for class in KEPT {
        let mut desk = Fixture::of(factory).await?;
        let world = Calls::default();
        let mails = MailNode::of(&world, class);
        let acts = move |cx: Context<Page>| {
            let mails = mails.clone();
            async move {
                let sent = mails.send(&cx, "mail").await?;
                Ok::<_, BoxError>(match cx.answer::<bool>("ok")? {
                    Some(ok) => Outcome::done([line(format!("{sent} {ok}"))]),
                    None => Outcome::ask(Question::new::<bool>("ok", "ok?")),
                })
            }
        };
        let graph = between(acts)?;
        question(desk.start(&graph).await)?;
        desk.another_process();
        let ended = desk.resume(&graph, Answers::only(true)?);
        let said = finished(ended.await)?.lines;
        same("what was said", said, texts(&["a", "sent 1 true", "b"]))?;
        same("what was done", world.count(), 1)?;
    }
    Ok(())
}

/// A stored receipt is replayed after a crash. An action without a stored receipt has a repeatable
/// class, and is repeated under the same idempotency key.
pub async fn k10_a_receipt_is_replayed_after_a_crash(factory: &dyn LogFactory) -> Verdict {
    for class in KEPT {
        let mut desk = Fixture::of(factory).await?;
        let world = Calls::default();
        let mails = MailNode::of(&world, class);
        let acts = move |cx: Context<Page>| {
            let mails = mails.clone();
            async move {
                let first = mails.send(&cx, "first").await?;
                let second = mails.send(&cx, "second").await?;
                Ok::<_, BoxError>(line(format!("{first}, {second}")))
            }
        };
        let graph = between(acts)?;
        // The append of the step with both receipts dies.
        let dies = if class == EffectClass::Once { 6 } else { 3 };
        desk.log.cut(dies, AppendFault::DiesBefore);
        kind(desk.start(&graph).await)?;
        same("done before the crash", world.take().len(), 2)?;
        desk.another_process();
        finished(desk.recover(&graph).await)?;
        let again = world.take();
        let expected: &[&str] = if class == EffectClass::Once {
            &[]
        } else {
            &["second"]
        };
        let keys = again.iter().filter_map(|key| key.rsplit('/').next());
        same("done again", keys.collect::<Vec<_>>(), expected.to_vec())?;
    }
    Ok(())
}

/// An action's idempotency key is the same in every attempt, before and after a crash. It differs
/// in another thread, also in one with the name of a removed thread.
pub async fn k10_keyed_has_the_same_key_in_every_attempt(factory: &dyn LogFactory) -> Verdict {
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
pub async fn k10_actions_of_one_node_run_at_the_same_time(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let (world, meet) = (Calls::default(), Arc::new(Barrier::new(2)));
    let (notes, meets) = (world.clone(), meet);
    let acts = move |cx: Context<Page>| {
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
    };
    finished(desk.runner(&between(acts)?).start(&desk.thread, ()).await)?.said(&[
        "a",
        "one, two, two",
        "b",
    ])?;
    world.ran(&["one", "two"])
}

/// The tasks of a scatter act separately, unless the key belongs to the whole thread.
pub async fn k10_a_key_belongs_to_its_task_or_to_the_thread(factory: &dyn LogFactory) -> Verdict {
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
pub async fn k11_d12_another_input_is_an_error(factory: &dyn LogFactory) -> Verdict {
    for class in KEPT {
        let mut desk = Fixture::of(factory).await?;
        let world = Calls::default();
        let (first, mut second) = (MailNode::of(&world, class), MailNode::of(&world, class));
        second.text = "to nobody";
        let acts = move |cx: Context<Page>| {
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
        };
        let graph = between(acts)?;
        let last = if class == EffectClass::Once { 6 } else { 4 };
        desk.log.cut(last, AppendFault::DiesBefore);
        kind(desk.start(&graph).await)?;
        desk.another_process();
        finished(desk.recover(&graph).await)?.said(&["a", "true", "b"])?;
        same("what was done", world.take().len(), 1)?;
    }
    Ok(())
}

/// The error for another input reaches the caller of the run, with both digests.
pub async fn k11_the_error_names_both_inputs(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let acts = async |cx: Context<Page>| {
        for input in ["one", "two"] {
            let act = |_| async { Ok::<_, BoxError>(()) };
            cx.effect("mail", EffectClass::Once, &input, act).await?;
        }
        Ok::<_, BoxError>(())
    };
    let failed = desk.runner(&between(acts)?).start(&desk.thread, ()).await;
    let text = failed.err().map(|error| whole(&error)).unwrap_or_default();
    let named = text.contains("the effect \"mail\" was done with another input: its digest was");
    holds(named, || format!("the error was {text:?}"))
}

/// A fork inherits the receipts up to its position, and no later ones.
pub async fn k11_a_fork_inherits_receipts_up_to_its_position(factory: &dyn LogFactory) -> Verdict {
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
pub async fn k10_the_lease_outlives_the_action(factory: &dyn LogFactory) -> Verdict {
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
pub async fn k10_what_did_not_happen_may_be_tried_again(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let (world, fails) = (Calls::default(), super::fixture::Switch::on());
    let (notes, refuses) = (world.clone(), fails.clone());
    let acts = move |cx: Context<Page>| {
        let (notes, refuses) = (notes.clone(), refuses.clone());
        async move {
            let act = move |key| async move {
                notes.note(key);
                if refuses.is_on() {
                    Err(NotExecuted::because("connection refused"))
                } else {
                    Ok("sent".to_owned())
                }
            };
            Ok::<_, BoxError>(line(cx.effect("mail", EffectClass::Once, &(), act).await?))
        }
    };
    let graph = between(acts.clone())?;
    let failed = kind(desk.start(&graph).await)?;
    let task = "send#1".to_owned();
    same("the error", failed, RunErrorKind::Node { task })?;
    let expected = [
        "created started stepped",
        "intended",
        "undone",
        "failed run_failed",
    ];
    let shape = desk.log.shape();
    holds(shape.join(" ") == expected.join(" "), || {
        format!("appended {shape:?}")
    })?;
    fails.turn_off();
    finished(desk.runner(&graph).retry(&desk.thread).await)?.said(&["a", "sent", "b"])?;
    same("tries", world.take().len(), 2)?;
    fails.turn_on();
    let policy = NodePolicy::default().attempts(2).retry_if(move |_| {
        fails.turn_off();
        true
    });
    let graph = Graph::<Page>::starting_at("send")
        .node("send", acts)
        .policy("send", policy.backoff(Duration::ZERO, Duration::ZERO))
        .edge("send", END)
        .build()?;
    let retried = desk.runner(&graph).start(&thread("policy"), ()).await;
    finished(retried)?.said(&["sent"])?;
    same("tries by the policy", world.take().len(), 2)
}

/// Without time, an action would be over before it begins, at every attempt: it is an error.
pub async fn k10_an_action_without_time_is_an_error(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let (world, timeout) = (Calls::default(), Duration::ZERO);
    let mails = MailNode::with(&world, move || Effect::once().timeout(timeout));
    let failed = kind(desk.start(&between(mails)?).await)?;
    let task = "send#1".to_owned();
    same("the error", failed, RunErrorKind::Node { task })?;
    let expected = ["created started stepped", "failed run_failed"];
    desk.appended("without an intent", &expected)?;
    world.ran(&[])
}

/// An effect that its node drops before it began never begins, and nobody waits for it: its intent
/// is stored, and taken back.
pub async fn k10_an_effect_that_its_node_drops_before_it_began_is_waited_for_by_nobody(
    factory: &dyn LogFactory,
) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let world = Calls::default();
    let mails = MailNode::of(&world, EffectClass::Once);
    let acts = move |cx: Context<Page>| {
        let mails = mails.clone();
        async move {
            tokio::select! {
                biased;
                () = tokio::task::yield_now() => line("given up"),
                _ = mails.send(&cx, "mail") => line("sent"),
            }
        }
    };
    let run = desk.runner(&between(acts)?).start(&desk.thread, ());
    let ended = tokio::time::timeout(Duration::from_secs(20), run.into_future()).await;
    let ended = ended.map_err(|late| Failure::new(late.to_string()))?;
    finished(ended)?.said(&["a", "given up", "b"])?;
    let facts = "created started stepped intended undone stepped stepped run_ended";
    same("what is stored", &*desk.log.shape().join(" "), facts)?;
    world.ran(&[])
}
