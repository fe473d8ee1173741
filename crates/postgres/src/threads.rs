//! Reading, snapshots, and administration of threads.
use fugato_state::{Seq, ThreadId};
use fugato_store::{Head, Record, Snapshot, StoreErrorKind, ThreadFilter, ThreadSummary};

use crate::{
    connection::Connection,
    database::Database,
    error::{Refusal, RequestError},
    row::{ThreadRow, end_of_prefix, get, name, number, status, stored},
};

/// The most attempts to put a snapshot, if the thread changes between the write and the look-up of
/// the reason.
const ATTEMPTS: usize = 5;

impl Database {
    pub(crate) async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, Refusal> {
        let mut connection = self.connection().await?;
        let from = from.max(1);
        let (first, most) = (stored(from), stored(limit as u64));
        let rows = connection
            .rows(&self.sql.read, &[&thread.as_str(), &first, &most])
            .await?;
        let mut records = Vec::with_capacity(rows.len());
        for row in rows {
            let base = number(get(&row, 0)?)?;
            if from <= base {
                return Err(StoreErrorKind::Compacted { base }.into());
            }
            if let Some(seq) = get::<Option<i64>>(&row, 1)? {
                records.push((number(seq)?, Record(get(&row, 2)?)));
            }
        }
        Ok(records)
    }

    pub(crate) async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, Refusal> {
        let mut connection = self.connection().await?;
        let row = self.look(&mut connection, thread).await?;
        Ok(row.and_then(|row| row.head()))
    }

    pub(crate) async fn put(&self, thread: &ThreadId, fold: &Snapshot) -> Result<(), Refusal> {
        let mut connection = self.connection().await?;
        for _ in 0..ATTEMPTS {
            let (instead, seen) = self.clock.parameters();
            let put = connection
                .maybe(
                    &self.sql.put,
                    &[
                        &instead,
                        &seen,
                        &thread.as_str(),
                        &stored(fold.seq),
                        &fold.body,
                    ],
                )
                .await?;
            if put.is_some() {
                return Ok(());
            }
            let row = self.look(&mut connection, thread).await?;
            reached(row, fold.seq)?;
        }
        Err(Refusal::restless())
    }

    pub(crate) async fn latest_at(
        &self,
        thread: &ThreadId,
        seq: Seq,
    ) -> Result<Option<Snapshot>, Refusal> {
        let mut connection = self.connection().await?;
        let found = connection
            .maybe(&self.sql.latest_at, &[&thread.as_str(), &stored(seq)])
            .await?;
        let Some(row) = found else { return Ok(None) };
        Ok(Some(Snapshot {
            seq: number(get(&row, 0)?)?,
            body: get(&row, 1)?,
        }))
    }

    pub(crate) async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), Refusal> {
        let mut connection = self.connection().await?;
        let kept = connection
            .maybe(&self.sql.delete, &[&thread.as_str(), &stored(seq)])
            .await?;
        match kept.map(|row| get(&row, 0)).transpose()? {
            Some(true) => {
                let what = format!("the snapshot at {seq} stands for the records before it");
                Err(StoreErrorKind::Invalid(what).into())
            }
            Some(false) | None => Ok(()),
        }
    }

    pub(crate) async fn list(&self, filter: &ThreadFilter) -> Result<Vec<ThreadSummary>, Refusal> {
        if filter.prefix.contains('\0') {
            // No name contains it, and the server accepts no text with it.
            return Ok(vec![]);
        }
        let mut connection = self.connection().await?;
        let after = filter.after.as_ref().map(ThreadId::as_str);
        let end = end_of_prefix(&filter.prefix);
        let most = stored(filter.limit as u64);
        let rows = connection
            .rows(&self.sql.list, &[&filter.prefix, &after, &end, &most])
            .await?;
        let mut lines = Vec::with_capacity(rows.len());
        for row in rows {
            let status = status(get(&row, 2)?, get(&row, 3)?)?;
            lines.push(ThreadSummary {
                thread: name(get(&row, 0)?)?,
                head: number(get(&row, 1)?)?,
                status: status.ok_or_else(|| RequestError::Damaged("no status".into()))?,
            });
        }
        Ok(lines)
    }

    /// Compacts a thread, with two statements: the second must see a commit for which the first
    /// waited.
    pub(crate) async fn compact(&self, thread: &ThreadId, base: &Snapshot) -> Result<(), Refusal> {
        let mut connection = self.connection().await?;
        connection.begin().await?;
        let row = self
            .look_with(&mut connection, thread, &self.sql.lock)
            .await?;
        match reached(row, base.seq) {
            Ok(row) => {
                let (seq, sql) = (stored(base.seq), &self.sql.compact);
                connection.rows(sql, &[&row.id, &seq, &base.body]).await?;
                Ok(connection.commit().await?)
            }
            Err(refused) => refuse(&mut connection, refused).await,
        }
    }

    /// Removes a thread, with two statements for the same reason.
    pub(crate) async fn remove(&self, thread: &ThreadId) -> Result<(), Refusal> {
        let mut connection = self.connection().await?;
        connection.begin().await?;
        let gone = connection
            .maybe(&self.sql.remove, &[&thread.as_str()])
            .await?;
        if let Some(row) = gone {
            let id: i64 = get(&row, 0)?;
            connection.rows(&self.sql.remove_belongings, &[&id]).await?;
        }
        Ok(connection.commit().await?)
    }
}

async fn refuse(connection: &mut Connection, why: StoreErrorKind) -> Result<(), Refusal> {
    connection.roll_back().await?;
    Err(why.into())
}

/// Returns the row of a thread that has records and reaches this position; otherwise an error.
fn reached(row: Option<ThreadRow>, seq: Seq) -> Result<ThreadRow, StoreErrorKind> {
    let reaches = |row: &ThreadRow| row.status.is_some() && seq <= row.head;
    let row = row.filter(reaches).ok_or(StoreErrorKind::NotFound)?;
    if seq < row.base {
        return Err(StoreErrorKind::Compacted { base: row.base });
    }
    Ok(row)
}
