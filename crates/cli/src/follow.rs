//! Following a run to its end.
use std::time::Duration;

use fugato_graph::{AnswerError, BoxError, Run, RunError, RunErrorKind, RunResult};
use fugato_state::State;
use fugato_store::is_move;
use fugato_stream::EventKind;
use futures::StreamExt as _;
use serde_json::Value;

use crate::Terminal;

/// The number of attempts on a thread that another process holds, and the pause between two:
/// together longer than the lease of a process that died.
const TRIES: u32 = 24;
const PAUSE: Duration = Duration::from_millis(250);

/// A bounded wait for another process that holds the thread.
#[derive(Debug, Default)]
pub(crate) struct LeaseWait(u32);

impl LeaseWait {
    /// Waits for one pause; returns false after the last attempt. The first wait prints the holder.
    pub(crate) async fn wait(&mut self, error: &RunError, terminal: &mut Terminal) -> bool {
        self.0 += 1;
        let never = matches!(&error.kind, RunErrorKind::Busy { owner, .. } if is_move(owner));
        if self.0 > TRIES || never {
            return false;
        }
        if let (1, RunErrorKind::Busy { owner, .. }) = (self.0, &error.kind) {
            let waiting = terminal.lang.pick(
                format!("waiting for {owner} to let go of the conversation"),
                format!("等待 {owner} 释放会话"),
            );
            terminal.progress(&waiting);
        }
        tokio::time::sleep(PAUSE).await;
        true
    }
}

/// Shows a run as it goes. A run that streams no text is shown by its output, if that is a text.
pub(crate) async fn follow<S: State>(
    terminal: &mut Terminal,
    mut run: Run<S>,
) -> Result<RunResult<S>, RunError> {
    let mut spoke = false;
    while let Some(event) = run.next().await {
        // The event of a request that was refused before anything ran bears no run.
        if event.run.0 != 0 {
            spoke |= matches!(event.kind, EventKind::TextDelta { .. });
            match &event.kind {
                EventKind::TextDelta { text, .. } if terminal.typing => {
                    terminal.type_out(text).await;
                }
                _ => terminal.event(&event),
            }
        }
    }
    let ended = run.await?;
    if let RunResult::Finished {
        output: Some(Value::String(words)),
        ..
    } = &ended
        && !spoke
    {
        if terminal.typing {
            terminal.type_out(words).await;
            terminal.line("");
        } else {
            terminal.line(words);
        }
    }
    Ok(ended)
}

/// Does the same, and waits for a thread that another process has just left.
pub(crate) async fn insist<S: State>(
    terminal: &mut Terminal,
    mut start: impl AsyncFnMut() -> Result<Run<S>, BoxError>,
) -> Result<RunResult<S>, BoxError> {
    let mut lease_wait = LeaseWait::default();
    loop {
        match follow(terminal, start().await?).await {
            Err(error) if matches!(error.kind, RunErrorKind::Busy { .. }) => {
                if !lease_wait.wait(&error, terminal).await {
                    return Err(error.into());
                }
            }
            ended => return Ok(ended?),
        }
    }
}

/// Returns true if another process was faster, so that the thread's status must be read again.
pub(crate) fn is_overtaken(error: &RunError) -> bool {
    matches!(
        error.kind,
        RunErrorKind::Busy { .. }
            | RunErrorKind::Waiting { .. }
            | RunErrorKind::Unfinished
            | RunErrorKind::NothingToDo
            | RunErrorKind::Answer(AnswerError::Unknown { .. } | AnswerError::NothingAsked)
    )
}
