//! Small events from one task to another.
use tokio::sync::{broadcast, mpsc};

use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, runtime, timed},
    workload::{EVENTS_READ, Workload},
};

/// How many events wait for the reader at most, and are taken at once.
const WAITING: usize = 1024;

pub(super) fn events(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    rounds(setting, size, || {
        let (seen, spent) = timed(|| {
            runtime.block_on(async {
                let (sender, mut receiver) = mpsc::channel(WAITING);
                let producer = tokio::spawn(async move {
                    for _ in 0..size {
                        if sender.send(String::from("word ")).await.is_err() {
                            return;
                        }
                    }
                });
                let (mut seen, mut some) = (0, vec![]);
                while receiver.recv_many(&mut some, WAITING).await > 0 {
                    seen += some.drain(..).map(|text| text.len() as u64).sum::<u64>();
                }
                producer.await?;
                Ok::<_, BoxError>(seen)
            })
        });
        assert_eq!(seen?, 5 * size, "all events arrive");
        Ok(spent)
    })
}

/// The same event for each of so many readers.
pub(super) fn readers(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    rounds(setting, Workload::Readers.units(size), || {
        let (seen, spent) = timed(|| {
            runtime.block_on(async {
                // Nobody falls behind so far that the channel drops an event.
                let (sender, _) = broadcast::channel(usize::try_from(EVENTS_READ)?);
                let readers = (0..size).map(|_| {
                    let mut heard = sender.subscribe();
                    tokio::spawn(async move {
                        let mut seen = 0;
                        while let Ok(text) = heard.recv().await {
                            let text: std::sync::Arc<str> = text;
                            seen += text.len() as u64;
                        }
                        seen
                    })
                });
                let readers: Vec<_> = readers.collect();
                for _ in 0..EVENTS_READ {
                    sender.send("word ".into())?;
                }
                drop(sender);
                let mut seen = 0;
                for reader in readers {
                    seen += reader.await?;
                }
                Ok::<_, BoxError>(seen)
            })
        });
        let expected = 5 * Workload::Readers.units(size);
        assert_eq!(seen?, expected, "all events arrive");
        Ok(spent)
    })
}
