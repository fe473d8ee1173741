//! Helpers for tests that disturb a server.
#![allow(
    dead_code,
    reason = "each test program uses some of it, and none all of it"
)]
use std::{
    error::Error,
    sync::atomic::{AtomicU32, Ordering},
};

use fugato_postgres::{PostgresLog, PostgresOptions};
use fugato_state::{Seq, ThreadId};
use fugato_store::{Commit, Expect, Fence, Record, Status, StoreError, StoreErrorKind};
use servers::Server;
use tokio_postgres::{Client, NoTls};

pub(crate) type TestResult = Result<(), Box<dyn Error>>;

/// Returns the name of a schema that no other test uses.
pub(crate) fn fresh() -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    format!("disturbed {}", MADE.fetch_add(1, Ordering::Relaxed))
}

pub(crate) async fn connect(server: &Server, schema: &str) -> Result<PostgresLog, StoreError> {
    let options = PostgresOptions::default().schema(schema).pool_size(8);
    PostgresLog::connect_with(server.url(), options).await
}

pub(crate) fn name(thread: &str) -> ThreadId {
    ThreadId::new(thread).expect("a short name")
}

/// Returns a commit of one record, with a nonce that only its author uses at this head.
pub(crate) fn commit(head: Seq, fence: Fence, text: &str) -> Commit {
    let author = text
        .bytes()
        .fold(7_u128, |sum, byte| sum.wrapping_mul(31) + u128::from(byte));
    Commit {
        expect: Expect { head, fence },
        nonce: author << 64 | u128::from(head),
        records: vec![Record(text.as_bytes().to_vec())],
        status: Status::Runnable,
        base: None,
    }
}

/// Returns the kind of the error, if there is one.
pub(crate) fn why<T>(outcome: Result<T, StoreError>) -> Option<StoreErrorKind> {
    outcome.err().map(|error| error.kind)
}

/// Opens a connection that bypasses the store.
pub(crate) async fn poke(server: &Server) -> Result<Poke, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(server.url(), NoTls).await?;
    tokio::spawn(connection);
    Ok(Poke { client })
}

pub(crate) struct Poke {
    pub(crate) client: Client,
}

impl Poke {
    /// Locks the rows of all threads until it is released.
    pub(crate) async fn hold(&mut self, schema: &str) -> Result<Hold<'_>, tokio_postgres::Error> {
        let transaction = self.client.transaction().await?;
        let sql = format!("SELECT FROM \"{schema}\".thread FOR UPDATE");
        transaction.batch_execute(&sql).await?;
        Ok(Hold { transaction })
    }

    pub(crate) async fn wait_for_records(
        &mut self,
        schema: &str,
        more: i64,
    ) -> Result<(), tokio_postgres::Error> {
        let sql = format!("SELECT count(*) FROM \"{schema}\".record");
        let first: i64 = self.client.query_one(&sql, &[]).await?.get(0);
        while self.client.query_one(&sql, &[]).await?.get::<_, i64>(0) < first + more {}
        Ok(())
    }
}

pub(crate) struct Hold<'a> {
    transaction: tokio_postgres::Transaction<'a>,
}

impl Hold<'_> {
    /// Waits until a process of the server waits for the lock, and returns those that do.
    pub(crate) async fn who_waits(&self, schema: &str) -> Result<Vec<i32>, tokio_postgres::Error> {
        let sql = "SELECT pid FROM pg_stat_activity, pg_stat_clear_snapshot()
            WHERE wait_event_type = 'Lock' AND position($1 in query) > 0
                AND pid <> pg_backend_pid()";
        loop {
            let rows = self.transaction.query(sql, &[&schema]).await?;
            if !rows.is_empty() {
                return rows.iter().map(|row| row.try_get(0)).collect();
            }
        }
    }

    /// Ends the connections of the waiting processes, and returns their number.
    pub(crate) async fn end_who_waits(&self, schema: &str) -> Result<usize, tokio_postgres::Error> {
        let waiting = self.who_waits(schema).await?;
        for process in &waiting {
            let sql = "SELECT pg_terminate_backend($1)";
            self.transaction.query_one(sql, &[process]).await?;
        }
        Ok(waiting.len())
    }

    pub(crate) async fn let_go(self) -> Result<(), tokio_postgres::Error> {
        self.transaction.rollback().await
    }
}
