//! The tables and their migrations.
use fugato_store::{StoreError, StoreErrorKind};
use mysql_async::{Conn, Error, prelude::Queryable};

use crate::error::store_error;

/// The version of the tables. 1: the first.
const VERSION: u32 = 1;

/// The time to wait for another process that creates the tables, in seconds.
const PATIENCE: u32 = 60;

/// The statements that lead from each version to the next. Creating a table commits implicitly, so
/// each step may find the tables of an interrupted one.
const STEPS: [&[&str]; VERSION as usize] = [&[
    "CREATE TABLE IF NOT EXISTS fugato_thread (
        id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
        name VARBINARY(200) NOT NULL,
        status TINYINT UNSIGNED,
        till BIGINT,
        due BIGINT,
        base BIGINT UNSIGNED NOT NULL DEFAULT 0,
        head BIGINT UNSIGNED NOT NULL DEFAULT 0,
        nonce BINARY(16),
        fence BIGINT UNSIGNED NOT NULL DEFAULT 0,
        owner MEDIUMBLOB,
        lease BIGINT,
        seen BIGINT,
        signals LONGBLOB,
        delivered LONGBLOB,
        UNIQUE KEY by_name (name),
        KEY by_due (due)
    ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "CREATE TABLE IF NOT EXISTS fugato_record (
        thread BIGINT UNSIGNED NOT NULL,
        seq BIGINT UNSIGNED NOT NULL,
        body MEDIUMBLOB NOT NULL,
        PRIMARY KEY (thread, seq)
    ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "CREATE TABLE IF NOT EXISTS fugato_snapshot (
        thread BIGINT UNSIGNED NOT NULL,
        seq BIGINT UNSIGNED NOT NULL,
        part INT UNSIGNED NOT NULL,
        body MEDIUMBLOB NOT NULL,
        PRIMARY KEY (thread, seq, part)
    ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
]];

/// Creates or updates the tables. If several processes start at once, one does it while the others
/// wait.
pub(crate) async fn migrate(conn: &mut Conn) -> Result<(), StoreError> {
    let found = version(conn).await?;
    if found == VERSION {
        return Ok(());
    }
    known(found)?;
    let lock = "CONCAT('fugato.',MD5(DATABASE()))";
    let get = format!("SELECT GET_LOCK({lock},{PATIENCE})");
    let got: Option<Option<i64>> = conn.query_first(get).await.map_err(failed)?;
    if got.flatten() != Some(1) {
        let error = StoreError::new(StoreErrorKind::Unavailable, "make the tables");
        return Err(error.because(SchemaLocked));
    }
    let made = steps(conn).await;
    let freed = conn.query_drop(format!("DO RELEASE_LOCK({lock})")).await;
    made.and(freed.map_err(failed))
}

/// The error that another process is creating the tables.
#[derive(Debug, thiserror::Error)]
#[error("another process has been making the tables for {PATIENCE} seconds")]
struct SchemaLocked;

fn failed(error: Error) -> StoreError {
    store_error(error, "make the tables")
}

fn known(found: u32) -> Result<(), StoreError> {
    if found <= VERSION {
        return Ok(());
    }
    let what = format!("its tables have version {found}, and this program knows {VERSION}");
    Err(StoreError::new(StoreErrorKind::Corrupt(what), "open"))
}

async fn version(conn: &mut Conn) -> Result<u32, StoreError> {
    let there = "SELECT COUNT(*) FROM information_schema.tables
                 WHERE table_schema=DATABASE() AND table_name='fugato_version'";
    let there: Option<u64> = conn.query_first(there).await.map_err(failed)?;
    if there != Some(1) {
        return Ok(0);
    }
    let version = "SELECT CAST(COALESCE(MAX(version),0) AS UNSIGNED) FROM fugato_version";
    let version: Option<u32> = conn.query_first(version).await.map_err(failed)?;
    Ok(version.unwrap_or(0))
}

async fn steps(conn: &mut Conn) -> Result<(), StoreError> {
    let begin =
        "CREATE TABLE IF NOT EXISTS fugato_version (version INT UNSIGNED NOT NULL PRIMARY KEY)
                 ENGINE=InnoDB";
    conn.query_drop(begin).await.map_err(failed)?;
    // Another process may have been first.
    let found = version(conn).await?;
    known(found)?;
    for (step, to) in STEPS.iter().zip(1..) {
        if to <= found {
            continue;
        }
        for statement in *step {
            conn.query_drop(*statement).await.map_err(failed)?;
        }
        let done = format!("INSERT INTO fugato_version (version) VALUES ({to})");
        conn.query_drop(done).await.map_err(failed)?;
    }
    Ok(())
}
