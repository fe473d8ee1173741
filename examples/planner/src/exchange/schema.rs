use std::collections::BTreeMap;

use fugato::{sqlite::rusqlite::Transaction, words::Amount};
use serde::Deserialize;

use super::{ExchangeError, Kind};

/// Version 1: the first one.
const VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE marks (name TEXT PRIMARY KEY, at INTEGER NOT NULL);
    CREATE TABLE configs (
        kind TEXT NOT NULL, name TEXT NOT NULL, note TEXT NOT NULL, enabled INTEGER NOT NULL,
        PRIMARY KEY (kind, name)
    );
    CREATE TABLE traders (
        name TEXT PRIMARY KEY, model TEXT NOT NULL, exchange TEXT NOT NULL, strategy TEXT NOT NULL,
        made_by TEXT UNIQUE, at INTEGER NOT NULL
    );
    CREATE TABLE balances (
        asset TEXT PRIMARY KEY,
        free INTEGER NOT NULL CHECK (free >= 0),
        held INTEGER NOT NULL CHECK (held >= 0)
    );
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY, made_by TEXT NOT NULL UNIQUE, symbol TEXT NOT NULL,
        side TEXT NOT NULL, price INTEGER, quantity INTEGER NOT NULL, filled INTEGER NOT NULL,
        cost INTEGER NOT NULL, status TEXT NOT NULL, at INTEGER NOT NULL
    );
    CREATE TABLE trades (
        id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL, symbol TEXT NOT NULL,
        side TEXT NOT NULL, price INTEGER NOT NULL, quantity INTEGER NOT NULL, at INTEGER NOT NULL
    );
";

/// The initial content of a new desk.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct InitialData {
    balances: BTreeMap<String, Amount>,
    models: BTreeMap<String, Entry>,
    exchanges: BTreeMap<String, Entry>,
    strategies: BTreeMap<String, Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(default)]
    note: String,
    #[serde(default = "yes")]
    enabled: bool,
}

fn yes() -> bool {
    true
}

/// Makes the tables and fills them, unless they are there.
pub(super) fn prepare(transaction: &Transaction<'_>, beginning: &str) -> Result<(), ExchangeError> {
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version == VERSION {
        return Ok(());
    }
    if version != 0 {
        let why = format!("the desk has version {version}; this program knows version {VERSION}");
        return super::refused(why);
    }
    transaction.execute_batch(TABLES)?;
    let beginning: InitialData = toml::from_str(beginning)?;
    for (asset, free) in beginning.balances {
        let free = free.millionths();
        transaction.execute("INSERT INTO balances VALUES (?1, ?2, 0)", (asset, free))?;
    }
    let all = [
        (Kind::Model, beginning.models),
        (Kind::Exchange, beginning.exchanges),
        (Kind::Strategy, beginning.strategies),
    ];
    for (kind, entries) in all {
        for (name, entry) in entries {
            let row = (kind.as_str(), name, entry.note, entry.enabled);
            transaction.execute("INSERT INTO configs VALUES (?1, ?2, ?3, ?4)", row)?;
        }
    }
    transaction.pragma_update(None, "user_version", VERSION)?;
    Ok(())
}
