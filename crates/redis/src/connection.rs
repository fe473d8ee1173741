//! One connection that all callers share, and its replacement when it breaks.
use std::{future::Future, sync::PoisonError, time::Duration};

use fugato_store::{StoreError, StoreErrorKind};
use redis::{
    Arg, AsyncConnectionConfig, Client, Cmd, ErrorKind, RedisError, ServerErrorKind, Value,
    aio::MultiplexedConnection,
};
use tokio::sync::Mutex;

use crate::{RedisOptions, ServerDurability, check, error::store_error, script::Script};

/// A server and the connection to it. Requests of many callers are pipelined on it, and a cancelled
/// caller does not affect the others.
#[derive(derive_more::Debug)]
#[debug("Connection {{ address: {:?}, .. }}", self.client.get_connection_info().addr().to_string())]
pub(crate) struct Connection {
    client: Client,
    options: RedisOptions,
    slot: Mutex<Slot>,
    durability: std::sync::Mutex<ServerDurability>,
}

#[derive(Default)]
struct Slot {
    /// The number of connections so far.
    number: u64,
    /// The newest connection, unless it is known to be broken.
    live: Option<MultiplexedConnection>,
}

impl Connection {
    /// Connects for the first time.
    pub(crate) async fn open(url: &str, options: RedisOptions) -> Result<Self, StoreError> {
        options
            .check()
            .map_err(|kind| StoreError::new(kind, "open"))?;
        // The parse error does not quote the URL, which may contain a password.
        let client = client(url, &options).map_err(|error| store_error(error, "open"))?;
        let connection = Self {
            client,
            options,
            slot: Mutex::default(),
            durability: std::sync::Mutex::new(ServerDurability::Memory),
        };
        let open = async { connection.live().await.map(drop) };
        connection.in_time("open", open).await?;
        Ok(connection)
    }

    pub(crate) fn options(&self) -> &RedisOptions {
        &self.options
    }

    /// Returns the durability of the server of the newest connection.
    pub(crate) fn durability(&self) -> ServerDurability {
        *self
            .durability
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a script. If the connection breaks meanwhile, the outcome is unknown.
    pub(crate) async fn run(
        &self,
        script: &Script,
        command: &Cmd,
        operation: &'static str,
    ) -> Result<Value, StoreError> {
        let mut used = None;
        let run = async {
            let (number, mut connection) = self.live().await?;
            used = Some(number);
            let answer = evaluate(&mut connection, script, command).await;
            answer.map_err(|error| store_error(error, operation))
        };
        let answer = self.in_time(operation, run).await;
        if let (Err(error), Some(number)) = (&answer, used)
            && error.kind == StoreErrorKind::Unavailable
        {
            self.forget(number);
        }
        answer
    }

    /// Makes the next caller reconnect. Callers that wait on the old connection go on waiting.
    fn forget(&self, number: u64) {
        // If the lock is held, its holder is connecting already.
        if let Ok(mut slot) = self.slot.try_lock()
            && slot.number == number
        {
            slot.live = None;
        }
    }

    async fn in_time<T>(
        &self,
        operation: &'static str,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let late = |_| {
            let error = StoreError::new(StoreErrorKind::Unavailable, operation);
            error.because(RequestTimeout(self.options.timeout))
        };
        let done = tokio::time::timeout(self.options.timeout, work).await;
        done.map_err(late)?
    }

    /// Returns the connection, or opens a new one: one caller connects while the others wait.
    async fn live(&self) -> Result<(u64, MultiplexedConnection), StoreError> {
        let mut slot = self.slot.lock().await;
        if let Some(live) = &slot.live {
            return Ok((slot.number, live.clone()));
        }
        // Requests have their own timeout, which includes connecting.
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        let connecting = self
            .client
            .get_multiplexed_async_connection_with_config(&config);
        let mut live = connecting
            .await
            .map_err(|error| store_error(error, "connect"))?;
        let durability = check::server(&mut live, &self.options).await?;
        *self
            .durability
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = durability;
        slot.number += 1;
        slot.live = Some(live.clone());
        Ok((slot.number, live))
    }
}

/// Runs a script by its hash, or by its code if the server does not know the hash: loading it first
/// would be in vain on a server that forgets again in between.
pub(crate) async fn evaluate(
    connection: &mut MultiplexedConnection,
    script: &Script,
    command: &Cmd,
) -> Result<Value, RedisError> {
    match command.query_async(connection).await {
        Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
            let mut by_code = redis::cmd("EVAL");
            by_code.arg(script.code);
            for arg in command.args_iter().skip(2) {
                if let Arg::Simple(bytes) = arg {
                    by_code.arg(bytes);
                }
            }
            by_code.query_async(connection).await
        }
        other => other,
    }
}

#[cfg(feature = "tls")]
fn client(url: &str, options: &RedisOptions) -> redis::RedisResult<Client> {
    // An error means that the application has set a provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Some(roots) = &options.roots else {
        return Client::open(url);
    };
    let certificates = redis::TlsCertificates {
        client_tls: None,
        root_cert: Some(roots.clone()),
    };
    Client::build_with_tls(url, certificates)
}

#[cfg(not(feature = "tls"))]
fn client(url: &str, _options: &RedisOptions) -> redis::RedisResult<Client> {
    Client::open(url)
}

/// The error of a request that timed out.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
struct RequestTimeout(Duration);
