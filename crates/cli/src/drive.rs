//! Following a run to its end.
use std::time::Duration;

use fugato_graph::{AnswerError, BoxError, Ended, Run, RunError, RunErrorKind};
use fugato_state::State;
use fugato_stream::EventKind;
use futures::StreamExt as _;
use serde_json::Value;

use crate::Screen;

/// How often a thread that another process holds is tried again, and how long to wait for it:
/// longer than the lease of a process that died.
const TRIES: u32 = 24;
const PAUSE: Duration = Duration::from_millis(250);

/// Waits for another process that holds the thread.
#[derive(Debug, Default)]
pub(crate) struct Patience(u32);

impl Patience {
    /// Waits a little; false when it took too long. That somebody holds it is told once.
    pub(crate) async fn wait(&mut self, error: &RunError, screen: &mut Screen) -> bool {
        self.0 += 1;
        if self.0 > TRIES {
            return false;
        }
        if let (1, RunErrorKind::Busy { owner, .. }) = (self.0, &error.kind) {
            let waiting = screen.lang.pick(
                format!("waiting for {owner} to let go of the conversation"),
                format!("等待 {owner} 释放会话"),
            );
            screen.progress(&waiting);
        }
        tokio::time::sleep(PAUSE).await;
        true
    }
}

/// Shows a run as it goes. One that says nothing is shown by the words that it puts out.
pub(crate) async fn follow<S: State>(
    screen: &mut Screen,
    mut run: Run<S>,
) -> Result<Ended<S>, RunError> {
    let mut spoke = false;
    while let Some(event) = run.next().await {
        // The event of a request that was refused before anything ran bears no run.
        if event.run.0 != 0 {
            spoke |= matches!(event.kind, EventKind::TextDelta { .. });
            screen.event(&event);
        }
    }
    let ended = run.await?;
    if let Ended::Finished {
        output: Some(Value::String(words)),
        ..
    } = &ended
        && !spoke
    {
        screen.line(words);
    }
    Ok(ended)
}

/// The same, and a thread that another process has just left is waited for.
pub(crate) async fn insist<S: State>(
    screen: &mut Screen,
    mut start: impl AsyncFnMut() -> Result<Run<S>, BoxError>,
) -> Result<Ended<S>, BoxError> {
    let mut patience = Patience::default();
    loop {
        match follow(screen, start().await?).await {
            Err(error) if matches!(error.kind, RunErrorKind::Busy { .. }) => {
                if !patience.wait(&error, screen).await {
                    return Err(error.into());
                }
            }
            ended => return Ok(ended?),
        }
    }
}

/// Whether another process was faster: how the thread stands has to be looked at anew.
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
