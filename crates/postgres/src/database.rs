//! An open database: its connections, statements and clock.
use std::sync::{Arc, atomic::AtomicU32};

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use fugato_state::ThreadId;
use fugato_store::{StoreError, StoreErrorKind};

use crate::{
    PostgresOptions, Synchronous,
    clock::StoreClock,
    connection::Connection,
    connector::Connector,
    docs::DocSql,
    error::RequestError,
    row::{ThreadRow, get},
    schema::Schema,
    sql::Sql,
};

/// The oldest server version that supports the statements.
const OLDEST: i32 = 120_000;

#[derive(derive_more::Debug)]
#[debug(
    "Database {{ options: {options:?}, clock: {clock:?}, pool: {:?}, .. }}",
    self.pool.status()
)]
pub(crate) struct Database {
    pool: Pool,
    pub(crate) connector: Connector,
    pub(crate) schema: Schema,
    pub(crate) sql: Sql,
    pub(crate) doc_sql: DocSql,
    pub(crate) writes: AtomicU32,
    pub(crate) clock: StoreClock,
    options: PostgresOptions,
}

impl Database {
    /// Connects, checks the server, and creates or migrates the tables.
    pub(crate) async fn open(url: &str, options: PostgresOptions) -> Result<Arc<Self>, StoreError> {
        let schema = Schema::new(&options.schema)?;
        let connector = Connector::new(url, &options)?;
        let manager = Manager::from_connect(
            connector.config.clone(),
            connector.clone(),
            ManagerConfig {
                recycling_method: RecyclingMethod::Fast,
            },
        );
        let pool = Pool::builder(manager)
            .runtime(Runtime::Tokio1)
            .max_size(options.pool_size)
            .wait_timeout(Some(options.pool_timeout))
            .create_timeout(Some(options.connect_timeout))
            .recycle_timeout(Some(options.connect_timeout))
            .build()
            .map_err(|error| StoreError::new(StoreErrorKind::Other, "open").because(error))?;
        let database = Self {
            pool,
            connector,
            sql: Sql::new(&schema, options.synchronous),
            doc_sql: DocSql::new(&schema),
            writes: AtomicU32::new(0),
            schema,
            clock: StoreClock::new(options.clock.clone()),
            options,
        };
        let connected = database.connection().await;
        let mut connection = connected.map_err(|failed| failed.into_store("open"))?;
        database.check_server(&mut connection).await?;
        database.schema.prepare(&mut connection).await?;
        drop(connection);
        Ok(Arc::new(database))
    }

    /// Takes a connection from the pool; fails with the reason if there is none.
    pub(crate) async fn connection(&self) -> Result<Connection, RequestError> {
        let options = &self.options;
        let got = self.pool.get().await.map_err(|error| {
            let (wait, connect) = (options.pool_timeout, options.connect_timeout);
            RequestError::of_pool(error, options.pool_size, wait, connect)
        })?;
        Ok(Connection::new(got, options.statement_timeout))
    }

    /// Reads the row of a thread.
    pub(crate) async fn look(
        &self,
        connection: &mut Connection,
        name: &ThreadId,
    ) -> Result<Option<ThreadRow>, RequestError> {
        self.look_with(connection, name, &self.sql.look).await
    }

    pub(crate) async fn look_with(
        &self,
        connection: &mut Connection,
        name: &ThreadId,
        sql: &str,
    ) -> Result<Option<ThreadRow>, RequestError> {
        let (instead, seen) = self.clock.parameters();
        let found = connection
            .maybe(sql, &[&instead, &seen, &name.as_str()])
            .await?;
        let Some(row) = found else { return Ok(None) };
        let mut found = ThreadRow::from_row(&row)?;
        found.now = self.clock.saw(found.now);
        Ok(Some(found))
    }

    async fn check_server(&self, connection: &mut Connection) -> Result<(), StoreError> {
        let asked = connection
            .row(
                "SELECT current_setting('server_version_num')::integer,
                    current_setting('server_encoding'), current_setting('fsync'),
                    current_setting('full_page_writes'), pg_is_in_recovery()",
                &[],
            )
            .await;
        let told = asked.and_then(|row| {
            let texts = [get::<String>(&row, 1)?, get(&row, 2)?, get(&row, 3)?];
            Ok((get::<i32>(&row, 0)?, texts, get::<bool>(&row, 4)?))
        });
        let (version, [encoding, fsync, pages], standby) =
            told.map_err(|failed| failed.into_store("open"))?;
        let full = self.options.synchronous == Synchronous::Full;
        let wrong = if version < OLDEST {
            format!("the server has version {version}; {OLDEST} and newer are supported")
        } else if encoding != "UTF8" {
            format!("the encoding of the database is {encoding}; it must be UTF8")
        } else if standby {
            "the server is a standby, which can only be read; a log must be written".to_owned()
        } else if full && (fsync != "on" || pages != "on") {
            format!(
                "the server runs with fsync={fsync} and full_page_writes={pages}, so that an \
                 acknowledged commit may be lost; switch both on, or ask for Synchronous::Normal"
            )
        } else {
            return Ok(());
        };
        Err(StoreError::new(StoreErrorKind::Invalid(wrong), "open"))
    }
}
