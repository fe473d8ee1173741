//! Small events from one task to another.
use tokio::sync::mpsc;

use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, runtime, timed},
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
