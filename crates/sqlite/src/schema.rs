//! The tables and their keys. The README explains the tables.
use fugato_state::Seq;

/// The application id of our databases: the letters `fgto`.
pub(crate) const APPLICATION_ID: i32 = 0x6667_746f;

/// The version of the tables.
///
/// - 1: the first.
/// - 2: records of one transaction are contiguous in `record_by_arrival`; `record` became
///   `record_by_thread`, so that a program of version 1 that still has the file open finds nothing
///   instead of a part; documents; check sums.
pub(crate) const VERSION: i32 = 2;

/// The tables and indexes, by name, in the order of creation.
pub(crate) const TABLES: [(&str, &str); 9] = [
    (
        "store",
        "CREATE TABLE store (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            clock INTEGER NOT NULL,
            fence INTEGER NOT NULL
        ) STRICT",
    ),
    (
        "thread",
        "CREATE TABLE thread (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE,
            status INTEGER,
            until INTEGER,
            due INTEGER,
            base INTEGER NOT NULL DEFAULT 0,
            nonce BLOB,
            fence INTEGER NOT NULL DEFAULT 0,
            owner TEXT,
            lease_until INTEGER NOT NULL DEFAULT 0,
            signals TEXT,
            delivered TEXT,
            delivered_with BLOB
        ) STRICT",
    ),
    (
        "thread_due",
        "CREATE INDEX thread_due ON thread (due) WHERE due IS NOT NULL",
    ),
    (
        "record_by_thread",
        "CREATE TABLE record_by_thread (
            at INTEGER PRIMARY KEY,
            time INTEGER,
            nonce BLOB,
            body BLOB NOT NULL,
            sum INTEGER NOT NULL DEFAULT 0
        ) STRICT",
    ),
    (
        "snapshot",
        "CREATE TABLE snapshot (
            at INTEGER PRIMARY KEY,
            body BLOB NOT NULL,
            sum INTEGER NOT NULL DEFAULT 0
        ) STRICT",
    ),
    (
        "record_by_arrival",
        "CREATE TABLE record_by_arrival (
            id INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            time INTEGER,
            nonce BLOB,
            body BLOB NOT NULL,
            sum INTEGER NOT NULL
        ) STRICT",
    ),
    (
        "record_by_arrival_at",
        "CREATE UNIQUE INDEX record_by_arrival_at ON record_by_arrival (at)",
    ),
    (
        "doc",
        "CREATE TABLE doc (
            version INTEGER PRIMARY KEY AUTOINCREMENT,
            space TEXT NOT NULL,
            key TEXT NOT NULL,
            written INTEGER NOT NULL,
            expires INTEGER,
            value TEXT NOT NULL,
            sum INTEGER NOT NULL,
            UNIQUE (space, key)
        ) STRICT",
    ),
    (
        "doc_expires",
        "CREATE INDEX doc_expires ON doc (expires) WHERE expires IS NOT NULL",
    ),
];

/// The number of tables in version 1.
const TABLES_1: usize = 5;

/// Returns the tables of a version, by name.
pub(crate) fn tables(version: i32) -> Vec<(String, String)> {
    let owned = |(name, sql): &(&str, &str)| ((*name).to_owned(), (*sql).to_owned());
    if version != 1 {
        return TABLES.iter().map(owned).collect();
    }
    let old = |text: String| {
        let named = text.replace("record_by_thread", "record");
        named.replace(",\n            sum INTEGER NOT NULL DEFAULT 0", "")
    };
    let tables = TABLES.iter().take(TABLES_1).map(owned);
    tables.map(|(name, sql)| (old(name), old(sql))).collect()
}

/// Returns the statements that migrate tables of version 1 to the current version.
pub(crate) fn from_version_1() -> impl Iterator<Item = &'static str> {
    let altered = [
        "ALTER TABLE record RENAME TO record_by_thread",
        "ALTER TABLE record_by_thread ADD COLUMN sum INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE snapshot ADD COLUMN sum INTEGER NOT NULL DEFAULT 0",
    ];
    altered
        .into_iter()
        .chain(TABLES.iter().skip(TABLES_1).map(|(_, sql)| *sql))
}

/// The number of bits of a key that hold the position within its thread.
const SEQ_BITS: u32 = 32;

/// The last position that a thread can have.
pub(crate) const MAX_SEQ: Seq = (1 << SEQ_BITS) - 1;

/// Returns the key of a record or snapshot: the number of the thread above its position. The
/// records of a thread are thereby contiguous in one b-tree without another index, and a commit
/// writes one page.
pub(crate) fn key(thread: i64, seq: Seq) -> i64 {
    let seq = i64::try_from(seq.min(MAX_SEQ)).unwrap_or(i64::MAX);
    (thread << SEQ_BITS) | seq
}

/// Returns the position in a key.
pub(crate) fn seq_of(key: i64) -> Seq {
    key.unsigned_abs() & MAX_SEQ
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_by_thread_and_then_by_position() {
        let keys = [
            key(1, 0),
            key(1, 1),
            key(1, MAX_SEQ),
            key(2, 0),
            key(i32::MAX.into(), 7),
        ];
        assert!(keys.is_sorted());
        assert_eq!(keys.map(seq_of), [0, 1, MAX_SEQ, 0, 7]);
    }

    #[test]
    fn a_position_past_the_last_stays_in_its_thread() {
        assert_eq!(key(1, u64::MAX), key(1, MAX_SEQ));
    }
}
