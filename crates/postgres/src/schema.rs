//! The tables and their migrations. The README explains the tables.
use fugato_store::{StoreError, StoreErrorKind};
use tokio_postgres::error::SqlState;

use crate::{connection::Connection, error::RequestError, row::get};

/// The statements that lead to each version of the tables from the one before. 1: threads. 2:
/// documents.
const MIGRATIONS: [&str; 2] = [
    "
        CREATE SEQUENCE {s}.clock MINVALUE -9223372036854775808 START -9223372036854775808;
        CREATE SEQUENCE {s}.fence;
        CREATE TABLE {s}.thread (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name text COLLATE \"C\" NOT NULL UNIQUE,
            head bigint NOT NULL DEFAULT 0,
            base bigint NOT NULL DEFAULT 0,
            nonce bytea,
            status smallint,
            until bigint,
            due bigint,
            time bigint NOT NULL,
            fence bigint NOT NULL DEFAULT 0,
            owner text,
            lease_until bigint NOT NULL DEFAULT -9223372036854775808,
            signals text[],
            delivered text[],
            renewed text[]
        ) WITH (fillfactor = 70);
        CREATE INDEX thread_due ON {s}.thread (due, id) WHERE due IS NOT NULL;
        CREATE TABLE {s}.record (
            thread bigint NOT NULL,
            seq bigint NOT NULL,
            body bytea NOT NULL,
            PRIMARY KEY (thread, seq)
        );
        CREATE TABLE {s}.snapshot (
            thread bigint NOT NULL,
            seq bigint NOT NULL,
            body bytea NOT NULL,
            PRIMARY KEY (thread, seq)
        );
    ",
    "
        CREATE SEQUENCE {s}.document_version;
        CREATE TABLE {s}.document (
            space text COLLATE \"C\" NOT NULL,
            key text COLLATE \"C\" NOT NULL,
            value text NOT NULL,
            version bigint NOT NULL,
            written bigint NOT NULL,
            expires bigint,
            PRIMARY KEY (space, key)
        );
        CREATE INDEX document_expires ON {s}.document (expires) WHERE expires IS NOT NULL;
    ",
];

/// The name of a schema.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    name: String,
}

impl Schema {
    /// The greatest length of an identifier, in bytes.
    const MAX_BYTES: usize = 63;

    pub(crate) fn new(name: &str) -> Result<Self, StoreError> {
        let fits = !name.is_empty() && name.len() <= Self::MAX_BYTES && !name.contains('\0');
        if fits && !name.starts_with("pg_") {
            let name = name.to_owned();
            return Ok(Self { name });
        }
        let what = format!(
            "the schema cannot be named {name:?}: 1 to 63 bytes that do not begin with pg_ can"
        );
        Err(StoreError::new(StoreErrorKind::Invalid(what), "open"))
    }

    /// Returns the name as it is, which is also the name of the notification channel.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name in quotes, so that any characters remain one name.
    pub(crate) fn quoted(&self) -> String {
        format!("\"{}\"", self.name.replace('"', "\"\""))
    }

    /// Fills the name of the schema into a statement: at `{s}` as a name, at `{'s}` within the
    /// quotes of a text.
    pub(crate) fn fill(&self, sql: &str) -> String {
        let quoted = self.quoted();
        sql.replace("{'s}", &quoted.replace('\'', "''"))
            .replace("{s}", &quoted)
    }

    /// Creates the tables, or brings them up to date.
    ///
    /// If several processes start at once, one does it and the others wait for it. It happens in
    /// one transaction: if the process dies, the older version stays.
    pub(crate) async fn prepare(&self, connection: &mut Connection) -> Result<(), StoreError> {
        let found = self.version(connection).await;
        if self.is_known(found.map_err(|failed| failed.into_store("open"))?)? {
            return Ok(());
        }
        let migrated = self.migrate(connection).await;
        // Another process may have been first, and may be newer.
        self.is_known(migrated.map_err(|failed| self.explain(failed))?)
            .map(|_| ())
    }

    /// Returns true if tables of this version need no migration; an error if they are too new.
    fn is_known(&self, found: usize) -> Result<bool, StoreError> {
        let known = MIGRATIONS.len();
        if found <= known {
            return Ok(found == known);
        }
        let schema = &self.name;
        let what = format!(
            "the tables in schema {schema:?} have version {found}; versions 1 to {known} are known"
        );
        Err(StoreError::new(StoreErrorKind::Corrupt(what), "open"))
    }

    /// Returns the version of the tables, 0 if there are none.
    async fn version(&self, connection: &mut Connection) -> Result<usize, RequestError> {
        // Not by `to_regclass`, which may answer from before the wait for another process.
        let table = "SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = $1 AND c.relname = 'version'";
        if connection.rows(table, &[&self.name]).await?.is_empty() {
            return Ok(0);
        }
        let sql = self.fill("SELECT max(version) FROM {s}.version");
        let version: Option<i32> = get(&connection.row(&sql, &[]).await?, 0)?;
        Ok(usize::try_from(version.unwrap_or(0)).unwrap_or(usize::MAX))
    }

    /// Carries out the missing migrations, and returns the resulting version.
    async fn migrate(&self, connection: &mut Connection) -> Result<usize, RequestError> {
        connection.begin().await?;
        // The first number is the letters `fgto`, the second a hash of the name.
        let lock = "SELECT pg_advisory_xact_lock(1718056047, hashtext($1))";
        connection.rows(lock, &[&self.name]).await?;
        let found = self.version(connection).await?;
        let missing = MIGRATIONS.get(found..).unwrap_or_default();
        if missing.is_empty() {
            connection.roll_back().await?;
            return Ok(found);
        }
        let there = "SELECT FROM pg_namespace WHERE nspname = $1";
        if connection.rows(there, &[&self.name]).await?.is_empty() {
            connection.batch(&self.fill("CREATE SCHEMA {s}")).await?;
        }
        let versions = "CREATE TABLE IF NOT EXISTS {s}.version (version integer PRIMARY KEY)";
        connection.batch(&self.fill(versions)).await?;
        for (number, migration) in (found + 1..).zip(missing) {
            connection.batch(&self.fill(migration)).await?;
            let number = i32::try_from(number).unwrap_or(i32::MAX);
            let note = self.fill("INSERT INTO {s}.version (version) VALUES ($1)");
            connection.rows(&note, &[&number]).await?;
        }
        connection.commit().await?;
        Ok(MIGRATIONS.len())
    }

    fn explain(&self, failed: RequestError) -> StoreError {
        let schema = &self.name;
        let what = match failed.code() {
            Some(&SqlState::DUPLICATE_TABLE) => {
                format!("schema {schema:?} holds tables that this store did not make")
            }
            Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                format!("this user may not make tables in schema {schema:?}")
            }
            _ => return failed.into_store("open"),
        };
        failed.into_kind(StoreErrorKind::Invalid(what), "open")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_remains_one_name() -> Result<(), StoreError> {
        let schema = Schema::new("it's \"x\"; DROP")?;
        let filled = schema.fill("SELECT setval('{'s}.clock', 1) FROM {s}.thread");
        let expected =
            r#"SELECT setval('"it''s ""x""; DROP".clock', 1) FROM "it's ""x""; DROP".thread"#;
        assert_eq!(filled, expected);
        Ok(())
    }

    #[test]
    fn names_that_no_schema_can_have_are_refused() {
        for name in ["", "pg_mine", "a\0b", &"x".repeat(64)] {
            let refused = Schema::new(name).map(|_| ()).map_err(|error| error.kind);
            assert!(matches!(refused, Err(StoreErrorKind::Invalid(_))), "{name}");
        }
    }
}
