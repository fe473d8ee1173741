//! Small events from a node to a reader.
use std::sync::Arc;

use fugato_graph::{Context, END, Graph, Runner};
use fugato_state::ThreadId;
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use futures::StreamExt;

use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, runtime, timed},
    subject::Still,
};

pub(super) fn events(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let graph = Graph::<Still>::starting_at("talk")
        .node("talk", move |cx: Context<Still>| async move {
            for _ in 0..size {
                cx.emit(EventKind::TextDelta {
                    block: "b".into(),
                    text: "word ".into(),
                });
            }
        })
        .edge("talk", END)
        .build()?;
    let thread = ThreadId::new("thread-1")?;
    rounds(setting, size, || {
        let runner = Runner::new(graph.clone(), Arc::new(MemoryLog::default()));
        let (seen, spent) = timed(|| {
            runtime.block_on(async {
                let (mut run, mut seen) = (runner.start(&thread, None), 0);
                while let Some(event) = run.next().await {
                    if let EventKind::TextDelta { text, .. } = event.kind {
                        seen += text.len() as u64;
                    }
                }
                seen
            })
        });
        assert_eq!(seen, 5 * size, "all text arrives");
        Ok(spent)
    })
}
