//! A disk that is full, and has room again.
use std::{fs, path::Path, process::Command, time::Duration};

use fugato_graph::{RunErrorKind, Runner};
use fugato_sqlite::{SqliteLog, SqliteOptions};
use fugato_state::ThreadId;
use fugato_store::StoreErrorKind;
use reliability::{
    BoxError,
    chain::{self, Chain, Change, Walk},
    evidence::{Evidence, EvidenceKind},
    serve::options,
    store::Store,
};

/// More steps than there is room for.
const STEPS: u64 = 1000;

fn runner(log: SqliteLog, evidence: &Evidence) -> Result<Runner<Chain>, BoxError> {
    let walk = Walk {
        evidence: Some(evidence.clone()),
        ..Walk::default()
    };
    let runner = Store::Sqlite(log).runner(chain::graph(&walk)?);
    Ok(runner.options(options(Duration::from_millis(200))))
}

/// The thread goes on from where it was when there was no more room.
async fn goes_on(
    full: Runner<Chain>,
    evidence: &Evidence,
    make_room: impl FnOnce() -> Result<Runner<Chain>, BoxError>,
) -> Result<(), BoxError> {
    let thread = ThreadId::new("full")?;
    let ended = full.start(&thread, Change::Wanted(STEPS)).await;
    let kind = ended.as_ref().map_err(|error| &error.kind);
    let is_full = matches!(kind, Err(RunErrorKind::Store(StoreErrorKind::Full)));
    assert!(is_full, "{ended:?}");
    let stored = full.state(&thread).await?.ok_or("it began")?.taken;
    assert!(stored > 0 && stored < STEPS, "{stored} steps");
    // There is still no room, and nothing is worse for having tried.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(full.recover(&thread).await.is_err());
    assert_eq!(full.state(&thread).await?.ok_or("it began")?.taken, stored);
    drop(full);
    let room = make_room()?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let ended = room.recover(&thread).await?;
    let (wanted, taken) = (STEPS, STEPS);
    assert_eq!(ended.state(), &Chain { wanted, taken });
    // Only the step that could not be stored ran more than once.
    let mut began: Vec<_> = evidence
        .lines("full")?
        .into_iter()
        .filter(|line| matches!(line.what, EvidenceKind::Began { .. }))
        .map(|line| line.task)
        .collect();
    let all = began.len();
    began.dedup();
    assert_eq!(began.len() as u64, STEPS);
    assert!(all as u64 <= STEPS + 2, "{all} steps began");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn d13_a_full_database_stops_a_thread_and_room_lets_it_go_on() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("full.db");
    let evidence = Evidence::in_folder(&folder.path().join("evidence"))?;
    let small = SqliteLog::open_with(&path, SqliteOptions::default().max_bytes(120_000))?;
    let room = || runner(SqliteLog::open(&path)?, &evidence);
    goes_on(runner(small, &evidence)?, &evidence, room).await
}

/// A file system of its own that is unmounted when this is dropped.
struct Small(tempfile::TempDir);

impl Small {
    /// None where the user may not mount.
    fn new() -> Result<Option<Self>, BoxError> {
        let folder = tempfile::tempdir()?;
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
            .arg(folder.path());
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        Ok(mounted.then_some(Self(folder)))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(self.path()).status();
        assert!(
            unmounted.is_ok_and(|status| status.success()),
            "it stays mounted"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d13_a_full_disk_stops_a_thread_and_room_lets_it_go_on() -> Result<(), BoxError> {
    let Some(disk) = Small::new()? else {
        eprintln!("only who may mount can try a full disk");
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    let evidence = Evidence::in_folder(folder.path())?;
    let (path, ballast) = (disk.path().join("full.db"), disk.path().join("ballast"));
    fs::write(&ballast, vec![0; 150_000])?;
    let full = runner(SqliteLog::open(&path)?, &evidence)?;
    let room = || {
        fs::remove_file(&ballast)?;
        let options = format!("remount,size=64m,{}", disk.path().display());
        let (options, folder) = options.rsplit_once(',').ok_or("it has a folder")?;
        let remounted = Command::new("mount")
            .args(["-o", options, folder])
            .status()?;
        assert!(remounted.success());
        runner(SqliteLog::open(&path)?, &evidence)
    };
    goes_on(full, &evidence, room).await
}
