//! Tests with a disk that is really full. The test runs itself again as a child that sees a small
//! disk.
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use fugato_sqlite::SqliteLog;
use fugato_state::{Seq, ThreadId};
use fugato_store::{Commit, Expect, Record, Status, StoreErrorKind, ThreadLog};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The variable that names the child's folder.
const FOLDER: &str = "FUGATO_TEST_FULL_DISK";

/// Mounts a small file system that only the child sees and that ends with it.
const SMALL_DISK: &str = r#"mount -t tmpfs -o size=900k none "$1" && exec "$2" "$3" --exact"#;

/// Limits the size of the child's files, where mounting is not allowed. The system reports this
/// with another error, and a signal that must not end the child.
const SMALL_FILES: &str = r#"trap "" XFSZ; ulimit -f 600; exec "$2" "$3" --exact"#;

fn desk() -> ThreadId {
    ThreadId::new("desk").expect("a short name")
}

fn commit(head: Seq) -> Commit {
    Commit {
        expect: Expect { head, fence: 0 },
        nonce: u128::from(head) + 1,
        records: vec![record(head + 1)],
        status: Status::Runnable,
        base: None,
    }
}

fn record(seq: Seq) -> Record {
    Record(format!("{seq} {}", "x".repeat(5_000)).into())
}

fn run(program: &str, arguments: &[&str], script: &str, folder: &Path) -> std::io::Result<Output> {
    let own = env::current_exe()?;
    Command::new(program)
        .args(arguments)
        .args(["sh", "-c", script, "sh"])
        .arg(folder)
        .arg(own)
        .arg("full_disk::d13_a_full_disk_refuses_and_half_writes_nothing")
        .env(FOLDER, folder)
        .output()
}

#[test]
fn d13_a_full_disk_refuses_and_half_writes_nothing() -> Outcome {
    if let Some(folder) = env::var_os(FOLDER) {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        return runtime.block_on(fill(&PathBuf::from(folder)));
    }
    let folder = tempfile::tempdir()?;
    let apart = ["--mount", "--user", "--map-root-user"];
    let allowed = Command::new("unshare")
        .args(apart)
        .args(["sh", "-c", r#"mount -t tmpfs none "$1""#, "sh"])
        .arg(folder.path())
        .output()
        .is_ok_and(|output| output.status.success());
    let output = if allowed {
        run("unshare", &apart, SMALL_DISK, folder.path())?
    } else {
        run("env", &[], SMALL_FILES, folder.path())?
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

/// Writes until nothing fits, reads, makes room, and goes on.
async fn fill(folder: &Path) -> Outcome {
    let path = folder.join("desk.db");
    let ballast = folder.join("ballast");
    fs::write(&ballast, vec![0; 200_000])?;
    let log = SqliteLog::open(&path)?;
    let mut head = 0;
    let full = loop {
        match log.append(&desk(), &commit(head)).await {
            Ok(appended) => head = appended.head,
            Err(error) => break error,
        }
        assert!(head < 1_000, "the disk never becomes full");
    };
    assert!(head > 10, "{head} records fit");
    let known = [StoreErrorKind::Full, StoreErrorKind::Other];
    assert!(known.contains(&full.kind), "{full:?}");
    let expected: Vec<_> = (1..=head).map(|seq| (seq, record(seq))).collect();
    assert_eq!(log.read(&desk(), 1, 1_000).await?, expected);
    log.verify().await?;

    // Opened again, like another process would.
    drop(log);
    let log = SqliteLog::open(&path)?;
    assert_eq!(log.read(&desk(), 1, 1_000).await?, expected);
    fs::remove_file(&ballast)?;
    if full.kind != StoreErrorKind::Full {
        // The size of the file is limited: room elsewhere does not help.
        return Ok(());
    }
    assert_eq!(log.append(&desk(), &commit(head)).await?.head, head + 1);
    log.verify().await?;
    Ok(())
}
