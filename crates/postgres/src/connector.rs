//! Connections to the server, and their settings.
use std::{pin::Pin, str::FromStr, sync::Arc, time::Duration};

use deadpool_postgres::Connect;
use fugato_store::{StoreError, StoreErrorKind};
use futures::{Stream, future::BoxFuture, stream};
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls, Socket};

use crate::{PostgresOptions, Synchronous};

/// The idle time after which a keepalive is sent.
const KEEPALIVE: Duration = Duration::from_secs(50);

/// The messages that the server sends unasked. Polling the stream drives the connection.
pub(crate) type Messages = Pin<Box<dyn Stream<Item = Result<AsyncMessage, Error>> + Send>>;

/// A factory of connections. Clones make the same.
#[derive(Clone)]
pub(crate) struct Connector {
    pub(crate) config: Config,
    tls: Tls,
    settings: Arc<str>,
}

#[derive(Clone)]
enum Tls {
    Off,
    #[cfg(feature = "tls")]
    On(Box<tokio_postgres_rustls::MakeRustlsConnect>),
}

impl Connector {
    /// Parses the address. An error does not quote it, because it contains a password.
    pub(crate) fn new(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let mut config = Config::from_str(url).map_err(|_| {
            let what = "this is no address of a PostgreSQL database; \
                        postgres://user:password@host/database is";
            StoreError::new(StoreErrorKind::Invalid(what.into()), "open")
        })?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(options.connect_timeout);
        }
        if config.get_application_name().is_none() {
            config.application_name("fugato");
        }
        // A vanished host is detected within minutes and not hours.
        config.keepalives_idle(KEEPALIVE);
        let tls = Tls::new(&config, options)?;
        let settings = settings(options).into();
        Ok(Self {
            config,
            tls,
            settings,
        })
    }

    /// Opens a connection, without the settings.
    pub(crate) async fn connect(&self) -> Result<(Client, Messages), Error> {
        match &self.tls {
            Tls::Off => {
                let (client, connection) = self.config.connect(NoTls).await?;
                Ok((client, messages(connection)))
            }
            #[cfg(feature = "tls")]
            Tls::On(tls) => {
                let (client, connection) = self.config.connect((**tls).clone()).await?;
                Ok((client, messages(connection)))
            }
        }
    }

    async fn for_pool(self) -> Result<(Client, JoinHandle<()>), Error> {
        let (client, messages) = self.connect().await?;
        let driver = tokio::spawn(drive(messages));
        if let Err(error) = client.batch_execute(&self.settings).await {
            driver.abort();
            return Err(error);
        }
        Ok((client, driver))
    }
}

impl Connect for Connector {
    fn connect(&self, _: &Config) -> BoxFuture<'_, Result<(Client, JoinHandle<()>), Error>> {
        Box::pin(self.clone().for_pool())
    }
}

fn messages<T>(mut connection: Connection<Socket, T>) -> Messages
where
    T: tokio_postgres::tls::TlsStream + Unpin + Send + 'static,
{
    Box::pin(stream::poll_fn(move |context| {
        connection.poll_message(context)
    }))
}

/// Drives a connection, and logs notices and its end. Errors of requests are returned to their
/// callers.
pub(crate) async fn drive(mut messages: Messages) {
    use futures::StreamExt;
    while let Some(message) = messages.next().await {
        match message {
            Ok(AsyncMessage::Notice(notice)) => {
                tracing::debug!(%notice, "server notice");
            }
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(%error, "connection closed");
                return;
            }
        }
    }
}

/// Returns the settings of every connection, which override those of server, database, role and
/// address.
fn settings(options: &PostgresOptions) -> String {
    let milliseconds = options.statement_timeout.as_millis().max(1);
    let synchronous = match options.synchronous {
        // A setting that waits for more than the own disk stays as it is.
        Synchronous::Full => {
            "SELECT set_config('synchronous_commit', 'on', false) \
             WHERE current_setting('synchronous_commit') = 'off'"
        }
        Synchronous::Normal => "SET synchronous_commit = off",
    };
    // An empty search path finds only names with a schema. Compare-and-set needs statements that
    // see commits made while they waited. Each statement has one good plan, by an index, which must
    // also be used while the planner takes the tables to be small.
    format!(
        "SET search_path = pg_catalog;
         SET statement_timeout = {milliseconds};
         SET idle_in_transaction_session_timeout = {milliseconds};
         SET default_transaction_isolation = 'read committed';
         SET default_transaction_read_only = off;
         SET plan_cache_mode = force_generic_plan;
         SET enable_seqscan = off;
         SET enable_bitmapscan = off;
         SET enable_hashjoin = off;
         SET enable_mergejoin = off;
         SET jit = off;
         {synchronous}"
    )
}

impl Tls {
    #[cfg(not(feature = "tls"))]
    fn new(config: &Config, _: &PostgresOptions) -> Result<Self, StoreError> {
        if config.get_ssl_mode() == tokio_postgres::config::SslMode::Require {
            let what = "sslmode=require needs the feature `tls` of fugato-postgres";
            return Err(StoreError::new(
                StoreErrorKind::Invalid(what.into()),
                "open",
            ));
        }
        Ok(Self::Off)
    }

    #[cfg(feature = "tls")]
    fn new(config: &Config, options: &PostgresOptions) -> Result<Self, StoreError> {
        use tokio_postgres::config::SslMode;
        if config.get_ssl_mode() == SslMode::Disable {
            return Ok(Self::Off);
        }
        let made = crate::tls::client(options.roots.as_deref()).map_err(|cause| {
            let what = "the certificates cannot be read".into();
            StoreError::new(StoreErrorKind::Invalid(what), "open").because(cause)
        })?;
        Ok(Self::On(Box::new(made)))
    }
}
