//! Tables of a program's own, in a file or at a server.
use std::path::PathBuf;

use fugato_graph::BoxError;
use fugato_sqlite::SqliteTables;
use fugato_state::say;
use fugato_store::{QueryRows, Statement};

use crate::{error::make_folder, without_password};

/// Tables of a program's own: in a file, or on a server that a feature has added.
///
/// Statements are in the words that databases share, with `?` for each value. `TEXT` is a text of any
/// length, and one in a key has a length, such as `VARCHAR(190)`.
#[derive(Debug)]
pub struct Tables(Kind);

#[derive(Debug)]
enum Kind {
    Sqlite(SqliteTables),
    #[cfg(feature = "mysql")]
    MySql(Box<fugato_mysql::MySqlTables>),
    #[cfg(feature = "postgres")]
    Postgres(Box<fugato_postgres::PostgresTables>),
}

/// The reasons why tables cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TablesError {
    /// The address names no database.
    #[error("{}", say!(
        "{given:?} is no address of tables; allowed are {allowed}",
        "{given:?} 不是表的地址；允许 {allowed}"
    ))]
    Address {
        /// The address, without its password.
        given: String,
        /// The allowed forms of an address.
        allowed: String,
    },
    /// The database cannot be opened.
    #[error("{}", say!("the tables {given:?} cannot be opened", "无法打开表 {given:?}"))]
    Unavailable {
        /// The address, without its password.
        given: String,
        /// The error of the database.
        #[source]
        source: BoxError,
    },
}

impl Tables {
    /// Opens the tables at an address: a path or `sqlite:PATH` is an SQLite database, which is
    /// created with its folder if it does not exist; `mysql://` and `postgres://` are servers, to
    /// which the first use connects.
    pub async fn open(address: &str) -> Result<Self, TablesError> {
        let given = without_password(address);
        match address.split_once("://") {
            #[cfg(feature = "mysql")]
            Some(("mysql", _)) => match fugato_mysql::MySqlTables::new(address) {
                Ok(tables) => Ok(Self(Kind::MySql(Box::new(tables)))),
                Err(_) => Err(refused(given)),
            },
            #[cfg(feature = "postgres")]
            Some(("postgres" | "postgresql", _)) => {
                match fugato_postgres::PostgresTables::new(address) {
                    Ok(tables) => Ok(Self(Kind::Postgres(Box::new(tables)))),
                    Err(_) => Err(refused(given)),
                }
            }
            // An address with secrets, such as a list of settings, is no name of a file.
            None if !address.is_empty() && given == address => {
                let path = address.strip_prefix("sqlite:").unwrap_or(address);
                let path = PathBuf::from(path);
                let opened = tokio::task::spawn_blocking(|| in_file(path)).await;
                let opened = opened.map_err(BoxError::from).and_then(|it| it);
                let unavailable = |source| TablesError::Unavailable { given, source };
                Ok(Self(Kind::Sqlite(opened.map_err(unavailable)?)))
            }
            _ => Err(refused(given)),
        }
    }

    /// Reads all queries from one consistent snapshot.
    ///
    /// # Errors
    /// The error of the database.
    pub async fn read(&self, queries: Vec<Statement>) -> Result<Vec<QueryRows>, BoxError> {
        Ok(match &self.0 {
            Kind::Sqlite(tables) => tables.read(queries).await?,
            #[cfg(feature = "mysql")]
            Kind::MySql(tables) => tables.read(queries).await?,
            #[cfg(feature = "postgres")]
            Kind::Postgres(tables) => tables.read(queries).await?,
        })
    }

    /// Reads, decides and writes in one transaction, one writer after the other: writers of the
    /// same tables wait for each other under the number `lock`. An error of `decide` rolls
    /// everything back, and so does a decision without statements. A transaction that conflicts
    /// with others is repeated, and so is `decide`.
    ///
    /// # Errors
    /// The outer error: nothing was written, or it is unknown if the commit happened. The inner
    /// error is that of `decide`.
    #[cfg_attr(
        not(any(feature = "mysql", feature = "postgres")),
        expect(unused_variables, reason = "a file has a lock of its own")
    )]
    pub async fn write<T, E>(
        &self,
        lock: i64,
        queries: Vec<Statement>,
        decide: impl Fn(Vec<QueryRows>) -> Result<(Vec<Statement>, T), E> + Send + Sync + 'static,
    ) -> Result<Result<T, E>, BoxError>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        Ok(match &self.0 {
            Kind::Sqlite(tables) => tables.write(vec![], queries, decide).await?,
            #[cfg(feature = "mysql")]
            Kind::MySql(tables) => tables.write(lock, queries, decide).await?,
            #[cfg(feature = "postgres")]
            Kind::Postgres(tables) => {
                let lock = Statement::new("SELECT pg_advisory_xact_lock(?)", [lock.into()]);
                tables.write(vec![lock], queries, decide).await?
            }
        })
    }
}

fn in_file(path: PathBuf) -> Result<SqliteTables, BoxError> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    Ok(SqliteTables::open(path)?)
}

fn refused(given: String) -> TablesError {
    let server = |name, is_there| {
        let address = format!("{name}://USER:PASSWORD@HOST/DATABASE");
        if is_there {
            address
        } else {
            say!(
                "{address} (of a program that is built with `--features {name}`)",
                "{address}（程序要用 `--features {name}` 构建）"
            )
        }
    };
    let mysql = server("mysql", cfg!(feature = "mysql"));
    let postgres = server("postgres", cfg!(feature = "postgres"));
    let allowed = say!(
        "a path, sqlite:PATH, {mysql}, {postgres}",
        "路径、sqlite:PATH、{mysql}、{postgres}"
    );
    TablesError::Address { given, allowed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_that_is_refused_shows_no_password() {
        let cases = [
            ("", ""),
            ("mssql://ann:secret@host/db", "mssql://…@host/db"),
            ("mysql://host/db?password=secret", "mysql://host/db?…"),
            ("mysql://ann@host/db?password=se@secret", "mysql://…"),
            ("mysql://ann:a?secret@host/db", "mysql://…"),
            ("host=db password=secret", "…=…"),
            ("password = secret", "…=…"),
        ];
        for (given, shown) in cases {
            let said = Tables::open(given).await.unwrap_err().to_string();
            let expected = format!("{shown:?} is no address of tables; allowed are a path");
            assert!(said.starts_with(&expected), "{said}");
        }
        assert!(!std::path::Path::new("host=db password=secret").exists());
    }

    #[tokio::test]
    async fn what_is_written_is_found_again_in_the_file() -> Result<(), BoxError> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("new/own.db").display().to_string();
        let table = Statement::new("CREATE TABLE kept (n BIGINT)", []);
        let one = Statement::new("INSERT INTO kept (n) VALUES (?)", [1.into()]);
        let tables = Tables::open(&path).await?;
        let made = move |_| Ok::<_, &str>((vec![table.clone(), one.clone()], "made"));
        let made = tables.write(7, vec![], made);
        assert_eq!(made.await?, Ok("made"));
        let query = || vec![Statement::new("SELECT n FROM kept", [])];
        let seen = tables.write(7, query(), Err::<(_, ()), _>);
        let expected = vec![vec![vec![1.into()]]];
        assert_eq!(seen.await?, Err(expected.clone()));
        let again = Tables::open(&format!("sqlite:{path}")).await?;
        assert_eq!(again.read(query()).await?, expected);
        Ok(())
    }
}
