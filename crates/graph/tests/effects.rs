//! Effects, retries, subgraphs and other parts of a run, in their simplest form.
use std::{
    future::poll_fn,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    task::Poll,
    time::Duration,
};

use fugato_graph::{
    Answers, BoxError, BudgetUnit, Context, Durability, END, Effect, EffectClass, Graph, InDoubt,
    NodePolicy, NotExecuted, Reconciliation, RunErrorKind, RunResult, Runner, RunnerOptions,
    Schedule, StateEdit, Worker,
};
use fugato_state::{State, ThreadId};
use fugato_store::{MemoryLog, Record, ThreadLog};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Lines(Vec<String>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Say(String);

impl State for Lines {
    type Update = Say;

    fn apply(&mut self, Say(line): Say) {
        self.0.push(line);
    }
}

fn say(line: impl Into<String>) -> Say {
    Say(line.into())
}

fn thread() -> ThreadId {
    ThreadId::new("t").expect("the name keeps the rules")
}

type Count = Arc<AtomicU32>;

fn once(count: &Count) -> Graph<Lines> {
    let count = count.clone();
    Graph::<Lines>::starting_at("a")
        .node("a", async |_: Context<Lines>| say("a"))
        .node("send", move |cx: Context<Lines>| {
            let count = count.clone();
            async move {
                let sent: String = cx
                    .effect(
                        "mail",
                        EffectClass::Once,
                        &"to all",
                        move |key| async move {
                            count.fetch_add(1, Ordering::SeqCst);
                            Ok::<_, BoxError>(key)
                        },
                    )
                    .await?;
                Ok::<_, BoxError>(say(sent))
            }
        })
        .edge("a", "send")
        .edge("send", END)
        .build()
        .expect("the graph is sound")
}

async fn facts(log: &MemoryLog) -> Vec<String> {
    let records = log
        .read(&thread(), 1, 1000)
        .await
        .expect("the log is there");
    let name = |(_, record): &(u64, Record)| {
        let body = record.0.get(1..).expect("a body");
        let value: serde_json::Value = serde_json::from_slice(body).expect("JSON");
        let fact = value.get("fact").and_then(|fact| fact.as_object());
        let scope = value.get("scope").and_then(|scope| scope.as_str());
        let scope = scope.unwrap_or_default();
        let name = fact.and_then(|fact| fact.keys().next()).expect("a name");
        match scope {
            "" => name.clone(),
            scope => format!("{name}@{scope}"),
        }
    };
    records.iter().map(name).collect()
}

#[tokio::test]
async fn k10_once_is_intended_and_receipted() -> Result<(), BoxError> {
    let (log, count) = (Arc::new(MemoryLog::default()), Count::default());
    let runner = Runner::new(once(&count), log.clone());
    let ended = runner.start(&thread(), ()).await?;
    // Between them is the number of the thread's incarnation.
    let key = ended
        .state()
        .0
        .get(1)
        .and_then(|key| key.strip_prefix("t@"));
    let key = key.and_then(|key| key.split_once('/'));
    assert_eq!(key.map(|(_, action)| action), Some("send#1/mail"));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    assert_eq!(
        facts(&log).await,
        [
            "created",
            "started",
            "stepped",
            "intended",
            "receipt",
            "stepped",
            "run_ended"
        ]
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn k10_in_doubt_asks_a_person_or_reconcile() -> Result<(), BoxError> {
    for reconcile in [false, true] {
        let (log, count) = (Arc::new(MemoryLog::default()), Count::default());
        let tries = count.clone();
        let graph = Graph::<Lines>::starting_at("send")
            .node("send", move |cx: Context<Lines>| {
                let count = tries.clone();
                async move {
                    let mut effect = Effect::once();
                    if reconcile {
                        effect = effect.reconcile(|| async {
                            Ok::<_, BoxError>(Reconciliation::Happened("found".to_owned()))
                        });
                    }
                    let sent: Result<String, _> = cx
                        .effect("mail", effect, &(), move |_| async move {
                            count.fetch_add(1, Ordering::SeqCst);
                            Err::<String, BoxError>("the connection was lost".into())
                        })
                        .await;
                    // A catch-all cannot swallow the question.
                    say(sent.unwrap_or_else(|error| error.to_string()))
                }
            })
            .edge("send", END)
            .build()?;
        let runner = Runner::new(graph, log.clone());
        let ended = runner.start(&thread(), ()).await?;
        if reconcile {
            assert_eq!(ended.state().0, ["found"]);
        } else {
            assert_eq!(ended.interrupts().len(), 1, "{ended:?}");
            let answer = InDoubt::Happened("told".into());
            let ended = runner.resume(&thread(), Answers::only(answer)?).await?;
            assert_eq!(ended.state().0, ["told"]);
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn k19_retries_wait_and_time_out() -> Result<(), BoxError> {
    let (log, count) = (Arc::new(MemoryLog::default()), Count::default());
    let tries = count.clone();
    let graph = Graph::<Lines>::starting_at("flaky")
        .node("flaky", move |_: Context<Lines>| {
            let tries = tries.fetch_add(1, Ordering::SeqCst);
            async move {
                match tries {
                    0 => Err(BoxError::from("boom")),
                    1 => std::future::pending().await,
                    _ => Ok(say("at last")),
                }
            }
        })
        .policy(
            "flaky",
            NodePolicy::default()
                .attempts(3)
                .timeout(Duration::from_secs(1)),
        )
        .edge("flaky", END)
        .build()?;
    let ended = Runner::new(graph, log.clone()).start(&thread(), ()).await?;
    assert_eq!(ended.state().0, ["at last"]);
    assert_eq!(
        facts(&log).await,
        [
            "created",
            "started",
            "failed",
            "failed",
            "stepped",
            "run_ended"
        ]
    );
    Ok(())
}

fn inner() -> Result<Graph<Lines>, BoxError> {
    Ok(Graph::<Lines>::starting_at("one")
        .node("one", async |cx: Context<Lines>| {
            say(format!("one of {}", cx.task()))
        })
        .node("two", async |_: Context<Lines>| say("two"))
        .pause("ask", |_| "ok?", |_, ok: bool| say(format!("ok: {ok}")))
        .edge("one", "two")
        .branch("two", ["ask", END], |lines| {
            if lines.0.first().is_some_and(|line| line == "2") {
                "ask"
            } else {
                END
            }
        })
        .edge("ask", END)
        .build()?)
}

fn nested() -> Result<Graph<Lines>, BoxError> {
    Ok(Graph::<Lines>::starting_at("plan")
        .node("plan", async |_: Context<Lines>| ())
        .subgraph(
            "worker",
            &inner()?,
            |at| Ok::<_, BoxError>(Lines(vec![at.item::<u32>()?.to_string()])),
            |_, inner: &Lines| say(inner.0.join(", ")),
        )
        .scatter("plan", "worker", |_| 1..=3)
        .edge("worker", END)
        .build()?)
}

#[tokio::test]
async fn k21_subgraphs_have_their_own_scope() -> Result<(), BoxError> {
    for schedule in [Schedule::Lockstep, Schedule::Eager] {
        let log = Arc::new(MemoryLog::default());
        let options = RunnerOptions::default().schedule(schedule);
        let runner = Runner::new(nested()?, log.clone()).options(options.clone());
        let ended = runner.start(&thread(), ()).await?;
        let asking: Vec<_> = ended.interrupts().iter().map(|i| i.task.as_str()).collect();
        assert_eq!(asking, ["worker#1[1]/ask#1"]);
        // Another process answers.
        let runner = Runner::new(nested()?, log.clone()).options(options);
        let ended = runner.resume(&thread(), Answers::only(true)?).await?;
        let mut lines = ended.state().0.clone();
        lines.sort();
        assert_eq!(
            lines,
            [
                "1, one of worker#1[0]/one#1, two",
                "2, one of worker#1[1]/one#1, two, ok: true",
                "3, one of worker#1[2]/one#1, two",
            ]
        );
        let again = runner.state(&thread()).await?.expect("it exists");
        assert_eq!(*again, *ended.state());
    }
    Ok(())
}

#[tokio::test]
async fn k15_batches_are_stored_together() -> Result<(), BoxError> {
    let batched = Durability::Batched {
        max_records: 100,
        max_delay: Duration::from_secs(1),
    };
    for durability in [Durability::Strict, batched, Durability::AtPause] {
        let count = Count::default();
        let options = RunnerOptions::default().durability(durability);
        let log = Arc::new(MemoryLog::default());
        let runner = Runner::new(once(&count), log.clone()).options(options);
        let ended = runner.start(&thread(), ()).await?;
        assert_eq!(ended.state().0.len(), 2);
        assert_eq!(facts(&log).await.len(), 7);
    }
    Ok(())
}

#[tokio::test]
async fn k19_a_run_is_cancelled() -> Result<(), BoxError> {
    let graph = Graph::<Lines>::starting_at("plan")
        .node("plan", async |_: Context<Lines>| ())
        .node("quick", async |_: Context<Lines>| say("quick"))
        .node("slow", async |_: Context<Lines>| {
            std::future::pending::<()>().await;
        })
        .edge("plan", "quick")
        .edge("plan", "slow")
        .edge("quick", END)
        .edge("slow", END)
        .build()?;
    let log = Arc::new(MemoryLog::default());
    let runner = Runner::new(graph, log.clone());
    let run = runner.start(&thread(), ());
    let end = tokio::spawn(run.into_future());
    while facts(&log).await.len() < 4 {
        tokio::task::yield_now().await;
    }
    runner.cancel(&thread(), "Ada", "enough").await?;
    let error = end.await?.expect_err("it was cancelled");
    assert!(
        matches!(error.kind, RunErrorKind::Cancelled { .. }),
        "{error:?}"
    );
    assert_eq!(
        runner.state(&thread()).await?.expect("it exists").0,
        ["quick"]
    );
    Ok(())
}

#[tokio::test]
async fn k12_a_repeated_request_is_told_its_end() -> Result<(), BoxError> {
    let (log, count) = (Arc::new(MemoryLog::default()), Count::default());
    let runner = Runner::new(once(&count), log.clone());
    for _ in 0..3 {
        let ended = runner.start_keyed(&thread(), "order-7", say("in")).await?;
        assert!(matches!(ended, RunResult::Finished { .. }));
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let other = runner.start_keyed(&thread(), "order-7", say("other")).await;
    let kind = other.expect_err("another input").kind;
    assert!(
        matches!(kind, RunErrorKind::RequestChanged { .. }),
        "{kind:?}"
    );
    Ok(())
}

#[tokio::test]
async fn k18_an_operator_amends_and_finishes() -> Result<(), BoxError> {
    let graph = Graph::<Lines>::starting_at("ask")
        .pause("ask", |_| "ok?", |_, ok: bool| say(format!("ok: {ok}")))
        .edge("ask", END)
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    runner.start(&thread(), ()).await?;
    let noted = StateEdit::new([say("noted")], "Ada", "it was forgotten");
    let ended = runner.amend(&thread(), noted).await?;
    assert_eq!(ended.interrupts().len(), 1);
    let done = StateEdit::new([say("done")], "Ada", "by hand").finishing("ask#1");
    let ended = runner.amend(&thread(), done).await?;
    assert!(matches!(ended, RunResult::Finished { .. }), "{ended:?}");
    assert_eq!(ended.state().0, ["noted", "done"]);
    Ok(())
}

#[tokio::test]
async fn k19_a_budget_has_its_own_error() -> Result<(), BoxError> {
    let graph = Graph::<Lines>::starting_at("loop")
        .node("loop", async |cx: Context<Lines>| {
            cx.spend(BudgetUnit::Tokens, 40);
        })
        .edge("loop", "loop")
        .build();
    let graph = match graph {
        Ok(graph) => graph,
        Err(error) => return Err(error.into()),
    };
    let options = RunnerOptions::default().budget(BudgetUnit::Tokens, 100);
    let runner = Runner::new(graph, Arc::new(MemoryLog::default())).options(options);
    let error = runner.start(&thread(), ()).await.expect_err("it loops");
    let budget = RunErrorKind::Budget {
        meter: BudgetUnit::Tokens,
        limit: 100,
    };
    assert_eq!((error.kind, error.step), (budget, 3));
    Ok(())
}

#[tokio::test]
async fn k10_what_was_not_done_is_tried_again() -> Result<(), BoxError> {
    let (log, count) = (Arc::new(MemoryLog::default()), Count::default());
    let tries = count.clone();
    let graph = Graph::<Lines>::starting_at("send")
        .node("send", move |cx: Context<Lines>| {
            let count = tries.clone();
            async move {
                let sent: u32 = cx
                    .effect("mail", EffectClass::Once, &(), move |_| async move {
                        match count.fetch_add(1, Ordering::SeqCst) {
                            0 => Err(BoxError::from(NotExecuted::because("refused"))),
                            n => Ok(n),
                        }
                    })
                    .await?;
                Ok::<_, BoxError>(say(sent.to_string()))
            }
        })
        .policy(
            "send",
            NodePolicy::default()
                .attempts(2)
                .backoff(Duration::ZERO, Duration::ZERO),
        )
        .edge("send", END)
        .build()?;
    let ended = Runner::new(graph, log.clone()).start(&thread(), ()).await?;
    assert_eq!(ended.state().0, ["1"]);
    Ok(())
}

#[tokio::test]
async fn k4_a_run_that_is_handed_over_counts_no_attempt() -> Result<(), BoxError> {
    let count = Count::default();
    let log = Arc::new(MemoryLog::default());
    let runner = Runner::new(once(&count), log.clone());
    runner.submit(&thread(), ()).await?;
    assert_eq!(count.load(Ordering::SeqCst), 0);
    let (done, stop) = tokio::sync::oneshot::channel::<()>();
    let watched = log.clone();
    tokio::spawn(async move {
        while !facts(&watched).await.contains(&"run_ended".to_owned()) {
            tokio::task::yield_now().await;
        }
        let _ = done.send(());
    });
    let stop = async { stop.await.unwrap_or_default() };
    let worked = Worker::new(runner).run_until(stop).await;
    assert_eq!(
        (worked.rested, worked.failed, worked.handed_over),
        (1, 0, 0)
    );
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let expected = [
        "created",
        "started",
        "handed_over",
        "resumed",
        "stepped",
        "intended",
        "receipt",
        "stepped",
        "run_ended",
    ];
    assert_eq!(facts(&log).await, expected);
    let resumed = log.read(&thread(), 4, 1).await?;
    let resumed = resumed
        .iter()
        .map(|(_, record)| record.0.as_slice())
        .collect::<Vec<_>>()
        .concat();
    let resumed = String::from_utf8_lossy(&resumed).into_owned();
    assert!(resumed.contains("\"tasks\":[]"), "{resumed}");
    Ok(())
}

/// An operator finishes the task that asks, and its action stays in doubt: the run does not end
/// well before the action is settled.
#[tokio::test(start_paused = true)]
async fn k10_an_operator_settles_a_doubt_of_the_whole_thread() -> Result<(), BoxError> {
    let graph = Graph::<Lines>::starting_at("send")
        .node("send", async |cx: Context<Lines>| {
            let mail = Effect::once().whole_thread();
            let sent: Result<String, _> = cx
                .effect("mail", mail, &(), |_| async { Err(BoxError::from("cut")) })
                .await;
            say(sent.unwrap_or_else(|error| error.to_string()))
        })
        .edge("send", END)
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let ended = runner.start(&thread(), ()).await?;
    assert_eq!(ended.interrupts().len(), 1);

    let by_hand = StateEdit::new([say("by hand")], "Ada", "it hung").finishing("send#1");
    let error = runner
        .amend(&thread(), by_hand)
        .await
        .expect_err("mail is in doubt");
    let effects = vec!["mail".to_owned()];
    assert_eq!(
        error.kind,
        RunErrorKind::InDoubt {
            effects: effects.clone()
        }
    );

    let settling =
        |key: &str| StateEdit::new([], "Ada", "asked").settling(key, InDoubt::DidNotHappen);
    let error = runner
        .amend(&thread(), settling("post"))
        .await
        .expect_err("no such doubt");
    let (key, in_doubt) = ("post".into(), effects);
    assert_eq!(error.kind, RunErrorKind::NotInDoubt { key, in_doubt });

    runner.amend(&thread(), settling("mail")).await?;
    let ended = runner.retry(&thread()).await?;
    assert!(matches!(ended, RunResult::Finished { .. }), "{ended:?}");
    assert_eq!(ended.state().0, ["by hand"]);
    Ok(())
}

#[tokio::test]
async fn k11_a_copy_of_a_context_is_the_same_attempt_of_the_same_task() {
    let sent = Count::default();
    let counted = sent.clone();
    let graph = Graph::<Lines>::starting_at("send")
        .node("send", move |cx: Context<Lines>| {
            let count = counted.clone();
            async move {
                let copy = cx.clone();
                assert_eq!((cx.task(), cx.attempt()), (copy.task(), copy.attempt()));
                assert_eq!(*copy.snapshot(), *cx.state());
                let mut keys = vec![];
                for cx in [cx, copy] {
                    let count = count.clone();
                    let mail = cx.effect("mail", EffectClass::Once, &1, move |key| async move {
                        count.fetch_add(1, Ordering::SeqCst);
                        Ok::<_, BoxError>(key)
                    });
                    keys.push(say(mail.await?));
                }
                Ok::<_, BoxError>(keys)
            }
        })
        .edge("send", END)
        .build()
        .expect("the graph is whole");
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let ended = runner.start(&thread(), vec![]).await.expect("it ends well");
    let Lines(keys) = ended.state();
    assert_eq!((keys.len(), keys[0] == keys[1]), (2, true));
    assert_eq!(sent.load(Ordering::SeqCst), 1);
}

/// The intent of the action is stored when its node drops it, and nothing has begun.
#[tokio::test(start_paused = true)]
async fn k10_an_effect_that_its_node_drops_before_it_began_is_waited_for_by_nobody() {
    let count = Count::default();
    let acted = count.clone();
    let graph = Graph::<Lines>::starting_at("send")
        .node("send", move |cx: Context<Lines>| {
            let count = count.clone();
            async move {
                let act = move |_| async move {
                    count.fetch_add(1, Ordering::SeqCst);
                    Ok::<_, BoxError>(())
                };
                let sent = cx.effect("mail", EffectClass::Once, &"to all", act);
                tokio::select! {
                    biased;
                    () = tokio::task::yield_now() => say("given up"),
                    _ = sent => say("sent"),
                }
            }
        })
        .edge("send", END);
    let log = Arc::new(MemoryLog::default());
    let runner = Runner::on_log(graph.build().expect("the graph is sound"), log.clone());
    let run = runner.start(&thread(), None).into_future();
    let ended = tokio::time::timeout(Duration::from_secs(60), run).await;
    let ended = ended.expect("it ends").expect("nothing failed");
    assert_eq!(ended.state(), &Lines(vec!["given up".to_owned()]));
    assert_eq!(acted.load(Ordering::SeqCst), 0);
    let told = [
        "created",
        "started",
        "intended",
        "undone",
        "stepped",
        "run_ended",
    ];
    assert_eq!(facts(&log).await, told);
}

/// Yields to the tasks that are ready now, and not to later ones.
async fn turn() {
    let mut is_first = true;
    let wait = move |cx: &mut std::task::Context<'_>| {
        cx.waker().wake_by_ref();
        if std::mem::take(&mut is_first) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    };
    poll_fn(wait).await;
}

/// Between the permission and its use the process may be suspended, and another process may have
/// reconciled the action and done it meanwhile.
#[tokio::test(start_paused = true)]
async fn k10_an_action_begins_in_time_or_not_at_all() {
    const STILL: Duration = Duration::from_secs(3600);
    for moment in 0..40 {
        let (log, begun) = (Arc::new(MemoryLog::default()), Arc::new(Mutex::new(None)));
        let noted = begun.clone();
        let graph = Graph::<Lines>::starting_at("send")
            .node("send", move |cx: Context<Lines>| {
                let noted = noted.clone();
                async move {
                    let act = move |_| async move {
                        *noted.lock().expect("nobody panicked") = Some(Instant::now());
                        Ok::<_, BoxError>(())
                    };
                    cx.effect("mail", EffectClass::Once, &"to all", act).await?;
                    Ok::<_, BoxError>(say("sent"))
                }
            })
            .edge("send", END);
        let runner = Runner::on_log(graph.build().expect("the graph is sound"), log.clone());
        let (seen, start) = (log.clone(), Instant::now());
        let stands = tokio::spawn(async move {
            while !facts(&seen).await.contains(&"intended".to_owned()) {
                turn().await;
            }
            for _ in 0..moment {
                turn().await;
            }
            tokio::time::advance(STILL).await;
        });
        // An action whose time was over has failed.
        drop(runner.start(&thread(), None).await);
        stands.await.expect("it does not panic");
        let begun = begun.lock().expect("nobody panicked").take();
        let late = begun.is_some_and(|begun| begun - start >= STILL);
        let told = facts(&log).await;
        let anew = told.contains(&"undone".to_owned());
        assert!(!late || anew, "after {moment} turns: {told:?}");
    }
}

/// Without time, the action would be over before it begins, at every attempt.
#[tokio::test(start_paused = true)]
async fn k10_an_action_without_time_is_an_error() {
    let send = async |cx: Context<Lines>| {
        let once = Effect::once().timeout(Duration::ZERO);
        let act = |_| async { Ok::<_, BoxError>(()) };
        let patience = async {
            for _ in 0..1000 {
                turn().await;
            }
        };
        tokio::select! {
            sent = cx.effect("mail", once, &"to all", act) => sent?,
            () = patience => {}
        }
        Ok::<_, BoxError>(say("sent"))
    };
    let graph = Graph::<Lines>::starting_at("send").node("send", send);
    let graph = graph.edge("send", END).build();
    let log = Arc::new(MemoryLog::default());
    let runner = Runner::on_log(graph.expect("the graph is sound"), log.clone());
    let ended = runner.start(&thread(), None).await;
    let task = "send#1".to_owned();
    assert_eq!(
        ended.expect_err("nothing was sent").kind,
        RunErrorKind::Node { task }
    );
    let told = facts(&log).await;
    assert!(!told.contains(&"intended".to_owned()), "{told:?}");
}
