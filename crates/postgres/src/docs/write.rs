//! Writing batches.
use std::collections::HashMap;

use fugato_store::{DocWrite, Precondition, Version};
use tokio_postgres::error::SqlState;

use super::{PostgresDocs, RefusedBatch, changed};
use crate::{
    connection::Connection,
    error::{Refusal, RequestError},
    row::{get, number, stored},
};

/// The most attempts of a batch, if others get in between the write and the look-up of the failed
/// condition, or after a deadlock with a removal.
const ATTEMPTS: usize = 8;

/// The written documents, with their versions.
type WrittenDocs = HashMap<(String, String), Version>;

/// The columns of a batch.
#[derive(Default)]
struct Columns<'a> {
    spaces: Vec<&'a str>,
    keys: Vec<&'a str>,
    values: Vec<Option<&'a str>>,
    ttls: Vec<Option<i64>>,
    done: Vec<i16>,
    versions: Vec<Option<i64>>,
}

impl<'a> Columns<'a> {
    fn of(batch: &'a [DocWrite], texts: &'a [Option<String>]) -> Self {
        let mut columns = Self::default();
        for (write, text) in batch.iter().zip(texts) {
            let (done, version) = match (text.is_some(), write.expect) {
                (true, Precondition::Any) => (0, None),
                (true, Precondition::Absent) => (1, None),
                (true, Precondition::Version(version)) => (2, Some(stored(version.0))),
                (false, Precondition::Any) => (3, None),
                (false, Precondition::Version(version)) => (4, Some(stored(version.0))),
                (false, Precondition::Absent) => (5, None),
            };
            columns.spaces.push(write.space.as_str());
            columns.keys.push(write.key.as_str());
            columns.values.push(text.as_deref());
            columns.ttls.push(write.ttl);
            columns.done.push(done);
            columns.versions.push(version);
        }
        columns
    }
}

impl PostgresDocs {
    pub(super) async fn write_all<'a>(
        &self,
        batch: &'a [DocWrite],
        texts: &[Option<String>],
    ) -> Result<Vec<Option<Version>>, RefusedBatch<'a>> {
        let columns = Columns::of(batch, texts);
        let connected = self.database.connection().await;
        let mut connection = connected.map_err(|failed| (failed.into(), None))?;
        for _ in 0..ATTEMPTS {
            match self.try_write(&mut connection, &columns).await {
                Ok(Some(mut written)) => {
                    self.sweep_at_times(connection);
                    let version = |write: &DocWrite| {
                        let key = (
                            write.space.as_str().to_owned(),
                            write.key.as_str().to_owned(),
                        );
                        write.value.as_ref().and(written.remove(&key))
                    };
                    return Ok(batch.iter().map(version).collect());
                }
                Ok(None) => self.judge(&mut connection, batch, &columns).await?,
                // Nothing was written, and the other transaction has ended by now.
                Err(failed) if failed.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED) => {
                    let ended = connection.roll_back().await;
                    ended.map_err(|failed| (failed.into(), None))?;
                }
                Err(failed) => return Err((failed.into(), None)),
            }
        }
        Err((Refusal::restless(), None))
    }

    /// Writes the batch; `None` if a condition does not hold and nothing was written.
    async fn try_write(
        &self,
        connection: &mut Connection,
        columns: &Columns<'_>,
    ) -> Result<Option<WrittenDocs>, RequestError> {
        // A single write is atomic without a transaction.
        let several = columns.keys.len() > 1;
        if several {
            connection.begin().await?;
            let lock = &self.database.doc_sql.lock;
            connection.rows(lock, &[&columns.spaces]).await?;
        }
        let (instead, seen) = self.database.clock.parameters();
        let rows = connection
            .rows(
                &self.database.doc_sql.write,
                &[
                    &instead,
                    &seen,
                    &columns.spaces,
                    &columns.keys,
                    &columns.values,
                    &columns.ttls,
                    &columns.done,
                    &columns.versions,
                ],
            )
            .await?;
        let mut written = WrittenDocs::with_capacity(rows.len());
        for row in &rows {
            written.insert((get(row, 0)?, get(row, 1)?), Version(number(get(row, 2)?)?));
        }
        let wrote = |place: usize| {
            let key = columns.spaces.get(place).zip(columns.keys.get(place));
            key.is_some_and(|(space, key)| {
                written.contains_key(&((*space).to_owned(), (*key).to_owned()))
            })
        };
        // Deleting a missing document is no failure.
        let places = columns.done.iter().enumerate();
        let missing = places.filter(|(place, done)| **done != 3 && !wrote(*place));
        let holds = missing.count() == 0;
        match (several, holds) {
            (true, true) => connection.commit().await?,
            (true, false) => connection.roll_back().await?,
            (false, _) => {}
        }
        Ok(holds.then_some(written))
    }

    /// Returns the error of the condition that does not hold. If all hold, others got in between.
    async fn judge<'a>(
        &self,
        connection: &mut Connection,
        batch: &'a [DocWrite],
        columns: &Columns<'_>,
    ) -> Result<(), RefusedBatch<'a>> {
        let there = self.look(connection, columns).await;
        let there = there.map_err(|failed| (failed.into(), None))?;
        for (place, write) in batch.iter().enumerate() {
            let found = there.get(&place).copied();
            let checked = write.expect.check(found);
            checked.map_err(|kind| changed(kind, write))?;
        }
        Ok(())
    }

    async fn look(
        &self,
        connection: &mut Connection,
        columns: &Columns<'_>,
    ) -> Result<HashMap<usize, Version>, RequestError> {
        let (instead, seen) = self.database.clock.parameters();
        let look = &self.database.doc_sql.look;
        let rows = connection
            .rows(look, &[&instead, &seen, &columns.spaces, &columns.keys])
            .await?;
        let mut there = HashMap::with_capacity(rows.len());
        for row in &rows {
            let place = number(get(row, 0)?)?.saturating_sub(1);
            let place = usize::try_from(place).unwrap_or(usize::MAX);
            there.insert(place, Version(number(get(row, 1)?)?));
        }
        Ok(there)
    }
}
