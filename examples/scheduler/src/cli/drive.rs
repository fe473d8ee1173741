//! Following a run to its end.
use std::time::Duration;

use anyhow::Result;
use fugato::graph::{Ended, Run, RunError, RunErrorKind};
use futures::StreamExt as _;
use scheduler::agent::Agent;

use super::screen::Screen;

/// How often a conversation that another process holds is tried again, and how long to wait for it:
/// longer than the lease of a process that died.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);

/// Shows a run as it goes. A conversation that another process has just left is waited for.
pub(crate) async fn follow(
    screen: &mut Screen,
    mut start: impl FnMut() -> Result<Run<Agent>>,
) -> Result<Ended<Agent>> {
    for tried in 0.. {
        let mut run = start()?;
        let mut held = false;
        while let Some(event) = run.next().await {
            // That somebody holds the conversation is told once, below.
            held = held || is_held(&event);
            if !held {
                screen.event(&event);
            }
        }
        match run.await {
            Err(RunError {
                kind: RunErrorKind::Busy { owner, .. },
                ..
            }) if tried < TRIES => {
                if tried == 0 {
                    let waiting = screen.lang.pick(
                        format!("waiting for {owner} to let go of the conversation"),
                        format!("等待 {owner} 释放会话"),
                    );
                    screen.progress(&waiting);
                }
                tokio::time::sleep(PAUSE).await;
            }
            ended => return Ok(ended?),
        }
    }
    anyhow::bail!("the conversation is held by another process")
}

/// The event of a request that was refused before anything ran bears no run.
fn is_held(event: &fugato::stream::Event) -> bool {
    event.run.0 == 0
}
