//! Commits: compare-and-set, repetition, forks.
use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{AppendResult, Commit, Snapshot, StoreErrorKind};
use tokio_postgres::Row;

use crate::{
    connection::Connection,
    database::Database,
    error::{Refusal, RequestError},
    row::{ThreadRow, get, number, signals, status_columns, stored},
    wake,
};

/// The most attempts of a commit, if the thread is created and removed by others between the
/// statements.
const ATTEMPTS: usize = 5;

/// The verdict on a commit that did not match its thread.
enum Verdict {
    /// The commit is stored already.
    Repeats(AppendResult),
    Refused(StoreErrorKind),
    /// The commit matches now.
    Again,
}

/// A commit with the parameters of its statement.
struct Write<'a> {
    sql: &'a str,
    /// The position before its first record.
    first: Seq,
    snapshots: Vec<&'a Snapshot>,
    /// The error of the commit, even if the thread is as it expects.
    wrong: Option<StoreErrorKind>,
}

impl Database {
    pub(crate) async fn append(
        &self,
        name: &ThreadId,
        commit: &Commit,
    ) -> Result<AppendResult, Refusal> {
        let expect = commit.expect;
        let creates = (expect.head, expect.fence) == (0, 0);
        let write = Write {
            sql: if creates {
                &self.sql.create
            } else {
                &self.sql.append
            },
            first: expect.head,
            snapshots: commit.base.iter().collect(),
            // The statement checks the base of an existing thread.
            wrong: commit.check_base(0, expect.head).err(),
        };
        self.commit(name, commit, &write, |row| {
            let (head, fence, base) = row.map_or((0, 0, 0), |row| (row.head, row.fence, row.base));
            if (expect.head, expect.fence) != (head, fence) {
                return Verdict::Refused(StoreErrorKind::Conflict { head, fence });
            }
            match commit.check_base(base, head) {
                Err(wrong) => Verdict::Refused(wrong),
                Ok(()) => Verdict::Again,
            }
        })
        .await
    }

    pub(crate) async fn fork(
        &self,
        name: &ThreadId,
        base: &Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, Refusal> {
        let own = commit.base.iter();
        let later = own.clone().any(|own| own.seq == base.seq);
        let snapshots = own.chain((!later).then_some(base)).collect();
        let room = i64::MAX as u64 - Commit::MAX_COMMIT as u64;
        let too_far = (base.seq > room)
            .then(|| StoreErrorKind::Invalid(format!("no log reaches position {}", base.seq)));
        let write = Write {
            sql: if commit.expect.fence == 0 {
                &self.sql.create
            } else {
                &self.sql.adopt
            },
            first: base.seq,
            snapshots,
            wrong: too_far.or_else(|| commit.check_base(base.seq, base.seq).err()),
        };
        self.commit(name, commit, &write, |row| {
            let (head, fence) = row.map_or((0, 0), |row| (row.head, row.fence));
            let there = row.is_some_and(|row| row.status.is_some());
            if there || commit.expect.fence != fence {
                return Verdict::Refused(StoreErrorKind::Conflict { head, fence });
            }
            match &write.wrong {
                Some(wrong) => Verdict::Refused(wrong.clone()),
                None => Verdict::Again,
            }
        })
        .await
    }

    /// Runs one statement if the thread is as expected; otherwise reads the thread to find out why.
    async fn commit(
        &self,
        name: &ThreadId,
        commit: &Commit,
        write: &Write<'_>,
        judge: impl Fn(Option<&ThreadRow>) -> Verdict,
    ) -> Result<AppendResult, Refusal> {
        commit.check_size()?;
        let mut connection = self.connection().await?;
        for _ in 0..ATTEMPTS {
            if write.wrong.is_none()
                && let Some(row) = self.write(&mut connection, name, commit, write).await?
            {
                let (appended, wakes) = self.appended(&row)?;
                if let Some(due) = wakes {
                    self.tell(connection, wake::due(due));
                }
                return Ok(appended);
            }
            let row = self.look(&mut connection, name).await?;
            let verdict = match &row {
                Some(row) if row.status.is_some() && row.nonce == Some(commit.nonce) => {
                    Verdict::Repeats(repeated(row))
                }
                row => judge(row.as_ref()),
            };
            match verdict {
                Verdict::Repeats(appended) => return Ok(appended),
                Verdict::Refused(kind) => return Err(kind.into()),
                Verdict::Again => {}
            }
        }
        Err(Refusal::restless())
    }

    async fn write(
        &self,
        connection: &mut Connection,
        name: &ThreadId,
        commit: &Commit,
        write: &Write<'_>,
    ) -> Result<Option<Row>, RequestError> {
        let (instead, seen) = self.clock.parameters();
        let bodies: Vec<&[u8]> = commit.records.iter().map(|record| &*record.0).collect();
        let (status, until) = status_columns(commit.status);
        let folds: Vec<i64> = write
            .snapshots
            .iter()
            .map(|fold| stored(fold.seq))
            .collect();
        let folded: Vec<&[u8]> = write.snapshots.iter().map(|fold| &*fold.body).collect();
        let nonce = commit.nonce.to_be_bytes();
        connection
            .maybe(
                write.sql,
                &[
                    &instead,
                    &seen,
                    &name.as_str(),
                    &stored(write.first),
                    &stored(commit.expect.fence),
                    &nonce.as_slice(),
                    &bodies,
                    &status,
                    &until,
                    &folds,
                    &folded,
                ],
            )
            .await
    }

    /// Returns the answer, and the time from which others can claim the thread, if they can now.
    fn appended(&self, row: &Row) -> Result<(AppendResult, Option<Millis>), RequestError> {
        let appended = AppendResult {
            head: number(get(row, 0)?)?,
            now: self.clock.saw(get(row, 1)?),
            signals: signals(get(row, 2)?)?,
        };
        Ok((appended, get(row, 3)?))
    }
}

/// Returns the answer to a repeated commit.
fn repeated(row: &ThreadRow) -> AppendResult {
    AppendResult {
        head: row.head,
        now: row.now,
        signals: row.delivered.clone(),
    }
}
