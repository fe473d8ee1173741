//! The signals that end a process.

/// The exit codes that shells expect of a program that such a signal ended.
const INTERRUPTED: u8 = 130;
#[cfg(unix)]
const TERMINATED: u8 = 143;

/// Waits for the signal to end the process, and returns its exit code.
pub(crate) async fn ended() -> u8 {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut asked) = signal(SignalKind::terminate()) {
            return tokio::select! {
                _ = asked.recv() => TERMINATED,
                _ = interrupted => INTERRUPTED,
            };
        }
    }
    if interrupted.await.is_err() {
        // Without the signal nothing ends it.
        std::future::pending::<()>().await;
    }
    INTERRUPTED
}
