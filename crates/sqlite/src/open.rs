//! Opening a database, with checks.
//!
//! A file of another origin is never written: its bytes are checked before `SQLite` opens it, and
//! nothing is copied from the write-ahead log into it until all checks have passed.
use std::{
    fs::File,
    io::{ErrorKind, Read},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use fugato_store::{StoreError, StoreErrorKind};
use rusqlite::{Connection, Error, OpenFlags, config::DbConfig};

use crate::{
    checksum,
    error::kind_of,
    options::SqliteOptions,
    row::{number, stored},
    schema::{APPLICATION_ID, TABLES, VERSION, from_version_1, tables},
    wal::{beside, damage, length},
};

/// The greatest number of pages of a database that is read completely when it is opened.
const WHOLLY_CHECKED_PAGES: u64 = 2048;

/// The size of a page in bytes. A commit of a small record writes one page, so larger pages cost
/// more. Smaller pages waste more space, because the rest of a page holds no further record.
const PAGE: i64 = 2048;

/// The pause before the write-ahead log is turned on again, where another process does so.
const PAUSE: Duration = Duration::from_millis(5);

/// The length of the fixed header of a database file, in bytes.
const HEADER: usize = 100;

/// Opens the connection that writes. Creates the tables of a new file, and checks and migrates
/// those of an old one.
pub(crate) fn open_writer(path: &Path, options: &SqliteOptions) -> Result<Connection, StoreError> {
    check_header(path)?;
    if let Some(what) = damage(path, options.synchronous) {
        return Err(StoreError::new(StoreErrorKind::Corrupt(what), "open"));
    }
    let connection = connect(path, options).map_err(|error| refuse(path, error))?;
    prepare(path, &connection, options)?;
    Ok(connection)
}

/// Turns on the write-ahead log. Where two do so at once, SQLite gives up without waiting, so it is
/// tried again for so long.
pub(crate) fn write_ahead(connection: &Connection, wait: Duration) -> Result<(), Error> {
    let began = Instant::now();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(error)
                if kind_of(&error) == StoreErrorKind::Unavailable && began.elapsed() < wait =>
            {
                thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}

/// Opens a connection that only reads.
pub(crate) fn open_reader(path: &Path, options: &SqliteOptions) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    keep_plans(&connection)?;
    connection.busy_timeout(options.busy_timeout)?;
    Ok(connection)
}

/// Keeps one query plan for each statement. Otherwise SQLite plans again whenever other values are
/// bound, which takes longer than executing the statement.
fn keep_plans(connection: &Connection) -> Result<(), Error> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Returns the absolute path, which every message names and every connection uses.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|error| {
        let what = format!("{} is no path of a database", path.display());
        StoreError::new(StoreErrorKind::Invalid(what), "open").because(error)
    })
}

fn connect(path: &Path, options: &SqliteOptions) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    keep_plans(&connection)?;
    connection.busy_timeout(options.busy_timeout)?;
    Ok(connection)
}

fn prepare(
    path: &Path,
    connection: &Connection,
    options: &SqliteOptions,
) -> Result<(), StoreError> {
    let refuse = |error| refuse(path, error);
    if connection.is_readonly("main").map_err(refuse)? {
        let what = format!("{} can only be read; a log must be written", path.display());
        return Err(StoreError::new(StoreErrorKind::Invalid(what), "open"));
    }
    make_tables(connection).map_err(refuse)?;
    if check_tables(path, connection)? != VERSION {
        migrate(connection).map_err(refuse)?;
    }
    configure(connection, options).map_err(refuse)?;
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
        .map_err(refuse)?;
    Ok(())
}

/// Checks the header and the length of an existing file.
fn check_header(path: &Path) -> Result<(), StoreError> {
    let unreadable = |error: std::io::Error| {
        let what = format!("{} cannot be opened", path.display());
        StoreError::new(StoreErrorKind::Invalid(what), "open").because(error)
    };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut header = Vec::with_capacity(HEADER);
    file.by_ref()
        .take(HEADER as u64)
        .read_to_end(&mut header)
        .map_err(unreadable)?;
    if header.is_empty() {
        return Ok(());
    }
    let found = |what: String| corrupt(path, &what);
    if !b"SQLite format 3\0".starts_with(header.get(..16).unwrap_or(&header)) {
        return Err(found(
            "it is not an SQLite database; expected one made by this crate".into(),
        ));
    }
    let (Some(version), Some(application)) = (field(&header, 60), field(&header, 68)) else {
        let size = header.len();
        return Err(found(format!(
            "it ends after {size} bytes, within its header of {HEADER}"
        )));
    };
    if application != APPLICATION_ID {
        return Err(found(format!(
            "its application id is {application:#010x}; expected {APPLICATION_ID:#010x}"
        )));
    }
    check_version(path, version)?;
    check_length(path, &header)
}

/// Reads a number of the header, which is stored in big-endian order.
fn field(header: &[u8], at: usize) -> Option<i32> {
    let bytes = header.get(at..at + 4)?;
    (header.len() == HEADER).then_some(i32::from_be_bytes(bytes.try_into().ok()?))
}

fn check_version(path: &Path, version: i32) -> Result<(), StoreError> {
    if (1..=VERSION).contains(&version) {
        return Ok(());
    }
    let what = format!("its tables have version {version}; versions 1 to {VERSION} are known");
    Err(corrupt(path, &what))
}

/// Creates the tables of an empty file, in one transaction and before there is a write-ahead log. A
/// file therefore has our application id from its first byte on, or is empty.
fn make_tables(connection: &Connection) -> Result<(), Error> {
    if has_tables(connection)? {
        return Ok(());
    }
    connection.pragma_update(None, "page_size", PAGE)?;
    whole(connection, || {
        if has_tables(connection)? {
            return Ok(());
        }
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
        connection.pragma_update(None, "user_version", VERSION)?;
        for (_, sql) in TABLES {
            connection.execute_batch(sql)?;
        }
        let sql = "INSERT INTO store (id, clock, fence) VALUES (1, ?1, 0)";
        connection.execute(sql, [i64::MIN])?;
        Ok(())
    })
}

/// Migrates the tables of an older version to the current one.
fn migrate(connection: &Connection) -> Result<(), Error> {
    whole(connection, || {
        // Another process may have migrated them first.
        if version(connection)? == 1 {
            for sql in from_version_1() {
                connection.execute_batch(sql)?;
            }
            add_sums(connection, "record_by_thread")?;
            add_sums(connection, "snapshot")?;
            connection.pragma_update(None, "user_version", VERSION)?;
        }
        Ok(())
    })
}

fn add_sums(connection: &Connection, table: &str) -> Result<(), Error> {
    let mut rows = connection.prepare(&format!("SELECT at, body FROM {table}"))?;
    let mut update = connection.prepare(&format!("UPDATE {table} SET sum = ?2 WHERE at = ?1"))?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let at = row.get(0)?;
        update.execute((at, checksum::of(at, row.get_ref(1)?.as_blob()?)))?;
    }
    Ok(())
}

/// Runs `work` in one transaction.
fn whole(connection: &Connection, work: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let done = work().and_then(|()| connection.execute_batch("COMMIT"));
    if done.is_err() && !connection.is_autocommit() {
        // The first error is the one to report.
        let _ = connection.execute_batch("ROLLBACK");
    }
    done
}

fn version(connection: &Connection) -> Result<i32, Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn has_tables(connection: &Connection) -> Result<bool, Error> {
    connection.query_row("SELECT count(*) > 0 FROM sqlite_schema", [], |row| {
        row.get(0)
    })
}

/// Checks the tables, which the header of the file cannot show because the newest pages may still
/// be in the write-ahead log. Returns the version of the tables.
fn check_tables(path: &Path, connection: &Connection) -> Result<i32, StoreError> {
    let refuse = |error| refuse(path, error);
    let version = version(connection).map_err(refuse)?;
    check_version(path, version)?;
    for (name, sql) in tables(version) {
        let query = "SELECT sql FROM sqlite_schema WHERE name = ?1";
        let found: Result<String, _> = connection.query_row(query, [&name], |row| row.get(0));
        match found {
            Ok(found) if bare(&found) == bare(&sql) => {}
            Ok(found) => {
                return Err(corrupt(
                    path,
                    &format!("{name} is {found:?}; expected {sql:?}"),
                ));
            }
            Err(Error::QueryReturnedNoRows) => {
                return Err(corrupt(path, &format!("{name} is missing")));
            }
            Err(error) => return Err(refuse(error)),
        }
    }
    check_pages(path, connection)?;
    Ok(version)
}

/// Returns a statement without spaces and quotes, for comparison. SQLite quotes the name of a
/// renamed table, and chooses the line breaks of added columns.
fn bare(sql: &str) -> String {
    sql.replace(|c: char| c.is_whitespace() || c == '"', "")
}

/// Checks every page of a small file, and of a file whose last pages are still in the write-ahead
/// log.
fn check_pages(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let pragma = |name| {
        let found = connection.pragma_query_value(None, name, |row| number(row.get(0)?));
        found.map_err(|error| refuse(path, error))
    };
    let (pages, size) = (pragma("page_count")?, pragma("page_size")?);
    if pages <= WHOLLY_CHECKED_PAGES || length(path) < pages.saturating_mul(size) {
        check_whole(path, connection)?;
    }
    Ok(())
}

/// Checks that a file without a write-ahead log or journal is complete.
fn check_length(path: &Path, header: &[u8]) -> Result<(), StoreError> {
    let has = |suffix| length(&beside(path, suffix)) > 0;
    if has("-wal") || has("-journal") {
        return Ok(());
    }
    let page = match header.get(16..18) {
        Some(&[0, 1]) => 65_536,
        Some(&[high, low]) => u64::from(u16::from_be_bytes([high, low])),
        _ => 0,
    };
    let pages = field(header, 28).map_or(0, i32::cast_unsigned).into();
    let held = length(path).checked_div(page).unwrap_or(0);
    if held < pages {
        let what = format!("it holds {held} of its {pages} pages: it lost its end");
        return Err(corrupt(path, &what));
    }
    Ok(())
}

/// Checks the integrity of every page.
pub(crate) fn check_whole(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let found: Result<String, _> =
        connection.pragma_query_value(None, "integrity_check", |row| row.get(0));
    match found {
        Ok(found) if found == "ok" => Ok(()),
        Ok(found) => Err(corrupt(path, &found)),
        Err(error) => Err(refuse(path, error)),
    }
}

fn configure(connection: &Connection, options: &SqliteOptions) -> Result<(), Error> {
    write_ahead(connection, options.busy_timeout)?;
    connection.pragma_update_and_check(
        None,
        "wal_autocheckpoint",
        options.wal_pages,
        |_| Ok(()),
    )?;
    if let Some(bytes) = options.max_bytes {
        let page: u64 =
            connection.pragma_query_value(None, "page_size", |row| number(row.get(0)?))?;
        let pages = bytes
            .div_ceil(page.max(1))
            .clamp(1, u64::from(u32::MAX) - 1);
        connection.pragma_update_and_check(None, "max_page_count", stored(pages), |_| Ok(()))?;
    }
    Ok(())
}

fn corrupt(path: &Path, what: &str) -> StoreError {
    let what = format!("{}: {what}", path.display());
    StoreError::new(StoreErrorKind::Corrupt(what), "open")
}

fn refuse(path: &Path, error: Error) -> StoreError {
    let kind = match kind_of(&error) {
        StoreErrorKind::Corrupt(what) => {
            StoreErrorKind::Corrupt(format!("{}: {what}", path.display()))
        }
        StoreErrorKind::Other => {
            StoreErrorKind::Invalid(format!("{} cannot be opened: {error}", path.display()))
        }
        kind => kind,
    };
    StoreError::new(kind, "open").because(error)
}
