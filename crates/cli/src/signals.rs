//! The signals that end a process.

/// The exit codes that shells expect of a program that such a signal ended.
const INTERRUPTED: u8 = 130;
#[cfg(unix)]
const TERMINATED: u8 = 143;

/// Hears of the signals that end the process from now on, and not only once somebody waits: one that
/// came before would end it without closing its files. The future returns the exit code of the first.
#[cfg(unix)]
pub(crate) fn ended() -> impl Future<Output = u8> + Send {
    use tokio::signal::unix::{SignalKind, signal};
    let terminated = signal(SignalKind::terminate());
    let interrupted = signal(SignalKind::interrupt());
    let heard = async |signal: std::io::Result<tokio::signal::unix::Signal>| match signal {
        Ok(mut signal) => drop(signal.recv().await),
        // Without the signal nothing ends it.
        Err(_) => std::future::pending().await,
    };
    async move {
        tokio::select! {
            () = heard(terminated) => TERMINATED,
            () = heard(interrupted) => INTERRUPTED,
        }
    }
}

/// Waits for the signal that ends the process, and returns its exit code.
#[cfg(not(unix))]
pub(crate) async fn ended() -> u8 {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without the signal nothing ends it.
        std::future::pending::<()>().await;
    }
    INTERRUPTED
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_signal_is_heard_before_anybody_waits_for_it() {
        let pid = std::process::id().to_string();
        for (signal, code) in [("-TERM", TERMINATED), ("-INT", INTERRUPTED)] {
            let ended = ended();
            let sent = std::process::Command::new("kill")
                .args([signal, &pid])
                .status();
            assert!(sent.unwrap().success());
            assert_eq!(ended.await, code);
        }
    }
}
