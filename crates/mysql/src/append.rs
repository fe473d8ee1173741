//! The script of a commit, in one transaction.
use fugato_state::{Seq, ThreadId};
use fugato_store::{AppendResult, Commit, Snapshot, Status, StoreErrorKind};

use crate::{
    clock::StoreClock,
    row::{ReadResult, Row},
    sql::{Script, hex, status},
};

/// The last position that a thread can have.
pub(crate) const MAX_SEQ: Seq = i64::MAX.unsigned_abs();

/// Returns the script that appends a commit to a thread. Everything after the lock is conditional
/// on `@go`, so that a conflict needs no second round trip.
pub(crate) fn append(thread: &ThreadId, commit: &Commit, clock: &StoreClock) -> Script {
    let (head, fence) = (commit.expect.head, commit.expect.fence);
    let mut script = Script::lock(thread, clock);
    // Only a commit that expects no thread creates one, and only if it can be written.
    if (head, fence) == (0, 0) && commit.check_base(0, 0).is_ok() {
        script.make(thread);
    }
    let end = head.saturating_add(commit.records.len() as Seq);
    let base = commit.base.as_ref().map_or_else(
        || "TRUE".to_owned(),
        |base| format!("({0}>=@base AND {0}<={end})", base.seq),
    );
    let go = format!("@id IS NOT NULL AND @head={head} AND @fence={fence} AND {base}");
    write(&mut script, commit, head, &go, "@base");
    finish(&mut script);
    script
}

/// Returns the script that creates a thread with a snapshot as its base.
pub(crate) fn fork(
    thread: &ThreadId,
    base: &Snapshot,
    commit: &Commit,
    clock: &StoreClock,
) -> Script {
    let fence = commit.expect.fence;
    let mut script = Script::lock(thread, clock);
    if fence == 0 {
        script.make(thread);
    }
    let go = format!("@id IS NOT NULL AND @status IS NULL AND @fence={fence}");
    write(&mut script, commit, base.seq, &go, &base.seq.to_string());
    script.fold(base.seq, &base.body);
    finish(&mut script);
    script
}

/// Adds the statements that write the commit after `head`.
fn write(script: &mut Script, commit: &Commit, head: Seq, go: &str, base: &str) {
    let nonce = hex(&commit.nonce.to_be_bytes());
    let (code, till) = status(commit.status);
    let due = match commit.status {
        // The thread has been runnable since its status changed, not since its last record.
        Status::Runnable => "IF(@status=0,due,@now)",
        Status::Sleeping { .. } | Status::Waiting { .. } => &till,
        Status::Idle => "NULL",
    };
    let lease = if commit.status.releases() {
        ",owner=NULL,lease=NULL"
    } else {
        ""
    };
    let end = head.saturating_add(commit.records.len() as Seq);
    script
        .add(&format!(
            "SET @again=(@status IS NOT NULL AND @nonce={nonce})"
        ))
        .add(&format!("SET @go=(NOT @again AND {go})"))
        .add(&format!(
            "UPDATE fugato_thread SET head={end},base={base},nonce={nonce},due={due},\
             status={code},till={till},seen=@now,delivered=signals,signals=NULL{lease} \
             WHERE id=@id AND @go"
        ))
        .records(
            head.saturating_add(1),
            commit.records.iter().map(|record| record.0.as_slice()),
        );
    if let Some(base) = &commit.base {
        script.fold(base.seq, &base.body);
    }
}

fn finish(script: &mut Script) {
    script.add("COMMIT").add(
        "SELECT COALESCE(@again,0),COALESCE(@go,0),@now,@head,@fence,@base,\
         IF(@again,@delivered,@signals)",
    );
}

/// Reads the answer to a commit that was to be written after `head`.
pub(crate) fn answer(
    mut row: Row,
    commit: &Commit,
    head: Seq,
    is_fork: bool,
    clock: &StoreClock,
) -> ReadResult<AppendResult> {
    let (again, go) = (row.is_true()?, row.is_true()?);
    let now = clock.see(row.number()?);
    let (found, fence, base) = (row.number()?, row.number()?, row.number()?);
    if again || go {
        let end = head.saturating_add(commit.records.len() as Seq);
        return Ok(AppendResult {
            head: if again { found } else { end },
            now,
            signals: row.signals()?,
        });
    }
    if !is_fork && (found, fence) == (commit.expect.head, commit.expect.fence) {
        commit.check_base(base, found)?;
    }
    Err(StoreErrorKind::Conflict { head: found, fence })
}
