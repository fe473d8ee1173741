//! Polling that may compute for long, while other tasks of the runtime go on.
use std::{future::poll_fn, pin::pin};

use tokio::runtime::{Handle, RuntimeFlavor};

/// Polls a future so that the worker hands its other tasks over meanwhile, if `hands_over` is true and
/// the runtime has a thread to hand them to.
pub(crate) async fn in_place<F: Future>(hands_over: bool, work: F) -> F::Output {
    let flavor = Handle::try_current().map(|handle| handle.runtime_flavor());
    let hands_over = hands_over && matches!(flavor, Ok(RuntimeFlavor::MultiThread));
    let mut work = pin!(work);
    poll_fn(move |cx| {
        if hands_over {
            tokio::task::block_in_place(|| work.as_mut().poll(cx))
        } else {
            work.as_mut().poll(cx)
        }
    })
    .await
}
