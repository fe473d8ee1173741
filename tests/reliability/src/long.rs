//! Runs that are long, and processes that have much to remember.
use std::{fs, path::Path, time::Instant};

use fugato_graph::{Durability, RunnerOptions};
use fugato_state::ThreadId;

use crate::{
    TrialResult,
    chain::{self, Change, Walk},
    store::{Store, path_spec},
};

/// How much memory this process has, in KiB.
pub fn resident() -> TrialResult<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("the system does not tell")?.parse()?)
}

/// What a long run took.
#[derive(Debug, Clone, PartialEq, derive_more::Display)]
#[display(
    "{steps} steps in {seconds:.1} s; {early} KiB of memory after a tenth, {most} KiB at most; \
     {bytes} bytes stored, opened again in {opened:.1} ms"
)]
#[non_exhaustive]
pub struct Long {
    /// Steps that were taken.
    pub steps: u64,
    /// Memory after the first tenth of them, in KiB.
    pub early: u64,
    /// The most memory after that, in KiB.
    pub most: u64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// How large the file is, in bytes.
    pub bytes: u64,
    /// How long it took to open the thread again, in milliseconds.
    pub opened: f64,
}

/// Takes so many steps in one run, in batches.
pub async fn long(folder: &Path, steps: u64) -> TrialResult<Long> {
    let path = folder.join("long.db");
    let store = Store::open(&path_spec(&path)).await?;
    let batched = Durability::Batched {
        max_records: 1000,
        max_delay: std::time::Duration::from_millis(100),
    };
    let options = RunnerOptions::default()
        .durability(batched)
        .step_limit(u64::MAX);
    let runner = store
        .runner(chain::graph(&Walk::default())?)
        .options(options);
    let thread = ThreadId::new("long")?;
    let begin = Instant::now();
    let run = runner.start(&thread, Change::Wanted(steps));
    let mut end = Box::pin(run.into_future());
    let (mut early, mut most) = (0, 0);
    let ended = loop {
        let look = tokio::time::sleep(std::time::Duration::from_millis(20));
        tokio::select! {
            ended = &mut end => break ended?,
            () = look => {
                let head = store.log().head(&thread).await?.map_or(0, |head| head.seq);
                if head < steps / 10 {
                    early = resident()?;
                } else {
                    most = resident()?.max(most);
                }
            }
        }
    };
    let seconds = begin.elapsed().as_secs_f64();
    let open = Instant::now();
    let state = runner.state(&thread).await?;
    let opened = open.elapsed().as_secs_f64() * 1000.0;
    if state.as_deref() != Some(ended.state()) {
        return Err("the log tells another state than the run".into());
    }
    Ok(Long {
        steps: ended.state().taken,
        early,
        most,
        seconds,
        bytes: fs::metadata(&path)?.len(),
        opened,
    })
}
