//! Many workers at once, and a join.
use std::sync::Arc;

use fugato_state::State;
use futures::future::BoxFuture;

use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, runtime, timed},
    subject::{Tally, TallyUpdate},
};

/// How many workers one task of the runtime looks after.
const CHUNK: u8 = 16;

type Worker = Box<dyn Fn(u64) -> BoxFuture<'static, TallyUpdate> + Send + Sync>;

pub(super) fn fan_out(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let worker: Arc<Worker> = Arc::new(Box::new(|item| {
        Box::pin(async move { TallyUpdate::Square(item * item) })
    }));
    rounds(setting, size, || {
        let mut state = Tally {
            items: size,
            ..Tally::default()
        };
        let (done, spent) = timed(|| runtime.block_on(share_out(&mut state, &worker)));
        done?;
        assert_eq!(
            state.squares.len() as u64,
            size,
            "each worker leaves one square"
        );
        Ok(spent)
    })
}

async fn share_out(state: &mut Tally, worker: &Arc<Worker>) -> Result<(), BoxError> {
    let chunks = (0..state.items).step_by(usize::from(CHUNK)).map(|first| {
        let (worker, end) = (worker.clone(), state.items.min(first + u64::from(CHUNK)));
        tokio::spawn(async move {
            let mut updates = vec![];
            for item in first..end {
                updates.push(worker(item).await);
            }
            updates
        })
    });
    let chunks: Vec<_> = chunks.collect();
    for chunk in chunks {
        for update in chunk.await? {
            state.apply(update);
        }
    }
    let sum = state.squares.iter().sum();
    state.apply(TallyUpdate::Sum(sum));
    Ok(())
}
