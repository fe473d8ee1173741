//! The stores that are tried, by name.
use std::{fmt, path::Path, sync::Arc};

use fugato_graph::{Graph, Runner};
use fugato_mysql::MySqlLog;
use fugato_postgres::{PostgresLog, PostgresOptions};
use fugato_redis::{RedisLog, RedisOptions};
use fugato_sqlite::SqliteLog;
use fugato_state::State;
use fugato_store::{ThreadAdmin, ThreadLog};
use servers::{MariaDb, Postgres, Redis, Server};

use crate::{BoxError, TrialResult};

/// A store that is open.
#[derive(Debug, Clone)]
pub enum Store {
    /// A file.
    Sqlite(SqliteLog),
    /// A schema of a server.
    Postgres(PostgresLog),
    /// A prefix of a server.
    Redis(RedisLog),
    /// A database of a server.
    Mysql(MySqlLog),
}

/// The kinds of stores that outlive a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// A file in a folder of its own.
    Sqlite,
    /// A server of its own.
    Postgres,
    /// A server of its own, with `appendfsync always`.
    Redis,
    /// A server of its own: MariaDB.
    Mysql,
}

/// A store with what it lies on. It is gone when this is dropped.
pub struct Place {
    /// How a process opens it.
    pub spec: String,
    /// The server, if there is one.
    pub server: Option<Server>,
    /// A folder for evidence, and for what has no server.
    pub folder: tempfile::TempDir,
}

impl Place {
    /// A new, empty store; none if its server is not installed.
    pub fn new(kind: Kind) -> TrialResult<Option<Self>> {
        let folder = tempfile::tempdir()?;
        let server = match kind {
            Kind::Sqlite => None,
            Kind::Postgres => Some(Postgres::start()),
            Kind::Redis => Some(Redis::start()),
            Kind::Mysql => Some(MariaDb::start()),
        };
        let spec = match &server {
            None => path_spec(&folder.path().join("threads.db")),
            Some(Some(server)) => server.url().to_owned(),
            Some(None) => return Ok(None),
        };
        let server = server.flatten();
        Ok(Some(Self {
            spec,
            server,
            folder,
        }))
    }

    /// Kills the server, if there is one, and starts it again.
    pub fn restart(&self) {
        if let Some(server) = &self.server {
            server.kill9();
            server.restart();
        }
    }

    /// Opens the store.
    pub async fn open(&self) -> TrialResult<Store> {
        Store::open(&self.spec).await
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Place")
            .field("server", &self.server)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// How a file is named.
pub fn path_spec(path: &Path) -> String {
    format!("sqlite:{}", path.display())
}

impl Store {
    /// Opens `sqlite:<path>`, `postgres://…`, `redis://…` or `mysql://…`.
    pub async fn open(spec: &str) -> TrialResult<Self> {
        Self::open_with(spec, 10).await
    }

    /// Opens a store with so many connections, if it has connections.
    pub async fn open_with(spec: &str, connections: usize) -> TrialResult<Self> {
        match spec.split_once(':') {
            Some(("sqlite", path)) => Ok(Self::Sqlite(SqliteLog::open(path)?)),
            Some(("postgres", _)) => {
                let options = PostgresOptions::default().pool_size(connections);
                let log = PostgresLog::connect_with(spec, options).await?;
                Ok(Self::Postgres(log))
            }
            Some(("redis", _)) => {
                let options = RedisOptions::default();
                Ok(Self::Redis(RedisLog::connect_with(spec, options).await?))
            }
            Some(("mysql", _)) => Ok(Self::Mysql(MySqlLog::connect(spec).await?)),
            _ => Err(BoxError::from("a store begins with its kind and a colon")),
        }
    }

    /// A runner over the store.
    pub fn runner<S: State>(&self, graph: Graph<S>) -> Runner<S> {
        match self {
            Self::Sqlite(log) => Runner::new(graph, Arc::new(log.clone())),
            Self::Postgres(log) => Runner::new(graph, Arc::new(log.clone())),
            Self::Redis(log) => Runner::new(graph, Arc::new(log.clone())),
            Self::Mysql(log) => Runner::new(graph, Arc::new(log.clone())),
        }
    }

    /// The logs.
    pub fn log(&self) -> &dyn ThreadLog {
        match self {
            Self::Sqlite(log) => log,
            Self::Postgres(log) => log,
            Self::Redis(log) => log,
            Self::Mysql(log) => log,
        }
    }

    /// The list of threads.
    pub fn admin(&self) -> &dyn ThreadAdmin {
        match self {
            Self::Sqlite(log) => log,
            Self::Postgres(log) => log,
            Self::Redis(log) => log,
            Self::Mysql(log) => log,
        }
    }
}
