//! Small events from a node to a reader.
use std::sync::Arc;

use fugato_graph::{BuildError, Context, END, Graph, Runner};
use fugato_state::ThreadId;
use fugato_store::MemoryLog;
use fugato_stream::{Event, EventKind};
use futures::{Stream, StreamExt};

use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, runtime, timed},
    subject::Still,
    workload::{EVENTS_READ, Workload},
};

/// The length of a word.
const WORD: u64 = 5;

/// A node that says so many words.
fn talk(words: u64) -> Result<Graph<Still>, BuildError> {
    Graph::<Still>::starting_at("talk")
        .node("talk", move |cx: Context<Still>| async move {
            for _ in 0..words {
                cx.emit(EventKind::TextDelta {
                    block: "b".into(),
                    text: "word ".into(),
                });
            }
        })
        .edge("talk", END)
        .build()
}

/// Reads events until so many words have come, and returns the length of the text in them.
async fn read(mut events: impl Stream<Item = Event> + Unpin, words: u64) -> u64 {
    let mut seen = 0;
    while seen < WORD * words
        && let Some(event) = events.next().await
    {
        if let EventKind::TextDelta { text, .. } = event.kind {
            seen += text.len() as u64;
        }
    }
    seen
}

pub(super) fn events(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, graph) = (runtime()?, talk(size)?);
    let thread = ThreadId::new("thread-1")?;
    rounds(setting, size, || {
        let runner = Runner::new(graph.clone(), Arc::new(MemoryLog::default()));
        let (seen, spent) =
            timed(|| runtime.block_on(async { read(runner.start(&thread, None), size).await }));
        assert_eq!(seen, WORD * size, "all text arrives");
        Ok(spent)
    })
}

/// The events of one run, for so many readers.
pub(super) fn readers(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, graph) = (runtime()?, talk(EVENTS_READ)?);
    let thread = ThreadId::new("thread-1")?;
    rounds(setting, Workload::Readers.units(size), || {
        let runner = Runner::new(graph.clone(), Arc::new(MemoryLog::default()));
        let (seen, spent) = timed(|| {
            runtime.block_on(async {
                let readers = (0..size).map(|_| {
                    let followed = runner.follow(&thread, 0);
                    tokio::spawn(read(followed, EVENTS_READ))
                });
                let readers: Vec<_> = readers.collect();
                runner.start(&thread, None).await?;
                let mut seen = 0;
                for reader in readers {
                    seen += reader.await?;
                }
                Ok::<_, BoxError>(seen)
            })
        });
        let expected = WORD * Workload::Readers.units(size);
        assert_eq!(seen?, expected, "all text arrives, with every reader");
        Ok(spent)
    })
}
