//! Snapshots, and administration of threads.
use async_trait::async_trait;
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Snapshot, Snapshots, StoreError, StoreErrorKind, ThreadAdmin,
    ThreadFilter, ThreadSummary,
};

use crate::{
    append::{MAX_SEQ, answer, fork},
    log::MySqlLog,
    row::{ReadResult, Row},
    sql::{Script, hex, named},
};

/// Sets `@go` if a snapshot is possible at a position: between the base and the head.
fn reaches(script: &mut Script, seq: Seq) {
    script.add(&format!(
        "SET @go=(@status IS NOT NULL AND {seq}>=@base AND {seq}<=@head)"
    ));
}

/// Ends a transaction that stored a snapshot, or could not.
fn placed(script: &mut Script) {
    script
        .add("COMMIT")
        .add("SELECT @go,(@status IS NOT NULL AND @base>0),@head,@base");
}

fn read_placed(mut row: Row, seq: Seq) -> ReadResult<()> {
    if row.is_true()? {
        return Ok(());
    }
    let (has_base, head, base) = (row.is_true()?, row.number::<Seq>()?, row.number()?);
    if has_base && seq <= head {
        return Err(StoreErrorKind::Compacted { base });
    }
    Err(StoreErrorKind::NotFound)
}

#[async_trait]
impl Snapshots for MySqlLog {
    async fn put(&self, thread: &ThreadId, snapshot: Snapshot) -> Result<(), StoreError> {
        let mut script = Script::lock(thread, self.clock());
        reaches(&mut script, snapshot.seq);
        script.fold(snapshot.seq, &snapshot.body);
        placed(&mut script);
        self.ask(thread, &script, "put a snapshot of", |row| {
            read_placed(row, snapshot.seq)
        })
        .await
    }

    async fn latest_at(&self, thread: &ThreadId, seq: Seq) -> Result<Option<Snapshot>, StoreError> {
        let name = hex(thread.as_str().as_bytes());
        let mut script = Script::default();
        script.add(&format!(
            "SELECT s.seq,s.body FROM fugato_thread t JOIN fugato_snapshot s ON s.thread=t.id \
             AND s.seq=(SELECT MAX(o.seq) FROM fugato_snapshot o WHERE o.thread=t.id AND o.seq<={seq}) \
             WHERE t.name={name} ORDER BY s.part"
        ));
        self.ask_all(thread, &script, "read a snapshot of", |rows| {
            let mut latest: Option<Snapshot> = None;
            for mut row in rows {
                let (seq, piece) = (row.number()?, row.bytes()?);
                match &mut latest {
                    Some(latest) => latest.body.extend(piece),
                    None => latest = Some(Snapshot { seq, body: piece }),
                }
            }
            Ok(latest)
        })
        .await
    }

    async fn delete(&self, thread: &ThreadId, seq: Seq) -> Result<(), StoreError> {
        let mut script = Script::lock(thread, self.clock());
        script
            .add(&format!("SET @go=NOT (@base>0 AND @base={seq})"))
            .add(&format!(
                "DELETE FROM fugato_snapshot WHERE thread=@id AND seq={seq} AND @go"
            ))
            .add("COMMIT")
            .add("SELECT @go");
        self.ask(thread, &script, "delete a snapshot of", |mut row| {
            if row.is_true()? {
                return Ok(());
            }
            let what = format!("the snapshot at {seq} stands for the records before it");
            Err(StoreErrorKind::Invalid(what))
        })
        .await
    }
}

#[async_trait]
impl ThreadAdmin for MySqlLog {
    async fn list(&self, filter: ThreadFilter) -> Result<Vec<ThreadSummary>, StoreError> {
        let mut within = vec!["status IS NOT NULL".to_owned(), named(&filter.prefix)];
        if let Some(after) = &filter.after {
            within.push(format!("name>{}", hex(after.as_str().as_bytes())));
        }
        let within = within.join(" AND ");
        let mut script = Script::default();
        script.add(&format!(
            "SELECT name,head,status,till FROM fugato_thread WHERE {within} \
             ORDER BY name LIMIT {}",
            filter.limit
        ));
        let rows = self.pool().run(&script, "list threads").await?;
        let lines = rows.into_iter().map(|mut row| {
            Ok(ThreadSummary {
                thread: row.thread()?,
                head: row.number()?,
                status: row.status()?,
            })
        });
        let lines = lines.collect::<ReadResult<_>>();
        lines.map_err(|kind| StoreError::new(kind, "list threads"))
    }

    async fn fork(
        &self,
        thread: &ThreadId,
        base: Snapshot,
        commit: &Commit,
    ) -> Result<AppendResult, StoreError> {
        let failed = |kind| StoreError::new(kind, "fork").on(thread);
        commit.check_size().map_err(failed)?;
        commit.check_base(base.seq, base.seq).map_err(failed)?;
        commit.check_end(base.seq, MAX_SEQ).map_err(failed)?;
        let script = fork(thread, &base, commit, self.clock());
        let read = |row| answer(row, commit, base.seq, true, self.clock());
        self.ask(thread, &script, "fork", read).await
    }

    async fn compact(&self, thread: &ThreadId, base: Snapshot) -> Result<(), StoreError> {
        let mut script = Script::lock(thread, self.clock());
        reaches(&mut script, base.seq);
        for table in ["fugato_record", "fugato_snapshot"] {
            script.add(&format!(
                "DELETE FROM {table} WHERE thread=@id AND seq<={} AND @go",
                base.seq
            ));
        }
        script.fold(base.seq, &base.body).add(&format!(
            "UPDATE fugato_thread SET base={} WHERE id=@id AND @go",
            base.seq
        ));
        placed(&mut script);
        let read = |row| read_placed(row, base.seq);
        self.ask(thread, &script, "compact", read).await
    }

    async fn remove(&self, thread: &ThreadId) -> Result<(), StoreError> {
        let mut script = Script::lock(thread, self.clock());
        script
            .add("DELETE FROM fugato_record WHERE thread=@id")
            .add("DELETE FROM fugato_snapshot WHERE thread=@id")
            .add("DELETE FROM fugato_thread WHERE id=@id")
            .add("COMMIT")
            .add("SELECT 1");
        self.ask(thread, &script, "remove", |_| Ok(())).await
    }
}
