//! Many threads on one file: a writer takes what is waiting into one transaction.
use std::{sync::mpsc, thread::JoinHandle};

use fugato_state::State;
use tokio::sync::oneshot;

use super::{
    rows::{Rows, Sync},
    steps::speakers,
};
use crate::{
    BoxError,
    measure::{Measurement, RoundCost, Setting, rounds, runtime, timed},
    subject::{Approval, Talk},
    workload::{AT_ONCE, GROUPED_TURNS, Workload},
};

struct Row {
    thread: u64,
    seq: u64,
    body: Vec<u8>,
    done: oneshot::Sender<()>,
}

/// A way to the thread that writes. It ends when the last of them is dropped.
#[derive(Clone)]
struct Writer(mpsc::Sender<Row>);

impl Writer {
    fn start(rows: Rows) -> (Self, JoinHandle<()>) {
        let (sender, waiting) = mpsc::channel::<Row>();
        let ended = std::thread::spawn(move || {
            while let Ok(first) = waiting.recv() {
                let batch: Vec<Row> = std::iter::once(first).chain(waiting.try_iter()).collect();
                let written = rows.together(|| {
                    batch
                        .iter()
                        .try_for_each(|row| rows.append(row.thread, row.seq, &row.body))
                });
                if written.is_err() {
                    return;
                }
                for row in batch {
                    // A caller that no longer waits needs no answer.
                    let _ = row.done.send(());
                }
            }
        });
        (Self(sender), ended)
    }

    async fn append(&self, thread: u64, seq: u64, body: Vec<u8>) -> Result<(), BoxError> {
        let (done, written) = oneshot::channel();
        self.0.send(Row {
            thread,
            seq,
            body,
            done,
        })?;
        Ok(written.await?)
    }
}

/// Waits until the thread that writes has closed and removed its database.
fn finish(writer: Writer, ended: JoinHandle<()>) -> Result<(), BoxError> {
    drop(writer);
    ended
        .join()
        .map_err(|_| "the thread that writes panicked".into())
}

pub(super) fn talks(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    rounds(setting, Workload::Grouped.units(size), || {
        let (writer, ended) = Writer::start(Rows::create(&setting.folder, Sync::Full)?);
        let (done, spent) = timed(|| {
            runtime.block_on(at_once(
                (0..size).map(|thread| talk(thread, writer.clone())),
            ))
        });
        done?;
        finish(writer, ended)?;
        Ok(spent)
    })
}

async fn talk(thread: u64, writer: Writer) -> Result<(), BoxError> {
    let nodes = speakers();
    let mut state = Talk::of_turns(GROUPED_TURNS);
    while !state.is_over() {
        for node in &nodes {
            let update = node(&state).await;
            let seq = state.messages.len() as u64 + 1;
            writer
                .append(thread, seq, serde_json::to_vec(&update)?)
                .await?;
            state.apply(update);
        }
    }
    Ok(())
}

pub(super) fn interrupts(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    rounds(setting, size, || {
        let (writer, ended) = Writer::start(Rows::create(&setting.folder, Sync::Full)?);
        let each = |phase: u64| {
            let writer = writer.clone();
            at_once((0..u64::from(AT_ONCE)).map(move |first| {
                let threads = (first..size).step_by(usize::from(AT_ONCE));
                approve(threads, phase, writer.clone())
            }))
        };
        let (done, spent): (Result<(), BoxError>, RoundCost) = timed(|| {
            runtime.block_on(async {
                each(1).await?;
                each(2).await
            })
        });
        done?;
        finish(writer, ended)?;
        Ok(spent)
    })
}

/// Phase 1 asks, phase 2 answers: one row each.
async fn approve(
    threads: impl Iterator<Item = u64> + Send,
    phase: u64,
    writer: Writer,
) -> Result<(), BoxError> {
    for thread in threads {
        let mut state = Approval::default();
        if phase == 2 {
            state.apply(true);
        }
        writer
            .append(thread, phase, serde_json::to_vec(&state)?)
            .await?;
    }
    Ok(())
}

/// Runs futures as tasks of their own and waits for all.
async fn at_once<F>(futures: impl Iterator<Item = F>) -> Result<(), BoxError>
where
    F: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    let tasks: Vec<_> = futures.map(tokio::spawn).collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}
