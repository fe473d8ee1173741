//! An action begins in time or not at all, and at once if it can. Only a paused clock can be set at every moment between
//! the permission of an action and its beginning.
use std::{
    future::poll_fn,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use fugato_graph::{BoxError, Context, END, Graph, Runner};
use fugato_state::{EffectClass, State, ThreadId};
use fugato_store::{MemoryLog, ThreadLog};
use futures::FutureExt;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Mails(u32);

impl State for Mails {
    type Update = u32;

    fn apply(&mut self, mails: u32) {
        self.0 += mails;
    }
}

fn thread() -> ThreadId {
    ThreadId::new("t").expect("the name keeps the rules")
}

/// Returns true if the log has a fact of this name.
async fn has(log: &MemoryLog, fact: &str) -> bool {
    let records = log.read(&thread(), 1, 1000).await.expect("it is there");
    let name = format!("\"fact\":{{\"{fact}\"");
    let text = |record: &[u8]| String::from_utf8_lossy(record).contains(&name);
    records.iter().any(|(_, record)| text(&record.0))
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
        let graph = Graph::<Mails>::starting_at("send")
            .node("send", move |cx: Context<Mails>| {
                let noted = noted.clone();
                async move {
                    let act = move |_| async move {
                        *noted.lock().expect("nobody panicked") = Some(Instant::now());
                        Ok::<_, BoxError>(())
                    };
                    cx.effect("mail", EffectClass::Once, &"to all", act).await?;
                    Ok::<_, BoxError>(1)
                }
            })
            .edge("send", END);
        let runner = Runner::on_log(graph.build().expect("the graph is sound"), log.clone());
        let (seen, start) = (log.clone(), Instant::now());
        let stands = tokio::spawn(async move {
            while !has(&seen, "intended").await {
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
        let anew = has(&log, "undone").await;
        assert!(!late || anew, "after {moment} turns");
    }
}

/// An executor takes a task that waits for a place behind others, often on another thread.
#[test]
fn an_action_that_waits_for_nothing_gives_its_thread_to_nobody() {
    for class in [EffectClass::Idempotent, EffectClass::Keyed] {
        let graph = Graph::<Mails>::starting_at("send")
            .node("send", move |cx: Context<Mails>| async move {
                for number in 0..3 {
                    let act = |_| async { Ok::<_, BoxError>(()) };
                    cx.effect(format!("mail {number}"), class, &number, act)
                        .await?;
                }
                Ok::<_, BoxError>(3)
            })
            .edge("send", END);
        let runner = Runner::ephemeral(graph.build().expect("the graph is sound"));
        let ended = runner.run(()).now_or_never().expect("it never waits");
        assert_eq!(*ended.expect("it ends").state(), Mails(3));
    }
}
