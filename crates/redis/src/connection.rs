//! One connection that all callers share, and its replacement when it breaks.
use std::{fmt, future::Future, sync::PoisonError, time::Duration};

use fugato_store::{StoreError, StoreErrorKind};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ErrorKind, RedisError, ServerErrorKind, Value,
    aio::MultiplexedConnection,
};
use tokio::sync::Mutex;

use crate::{Durability, RedisOptions, check, error::store_error, script::Script};

/// A server and the connection to it. Requests of many callers travel on it one behind the other,
/// and a caller that no longer waits harms none of them.
pub(crate) struct Connection {
    client: Client,
    options: RedisOptions,
    slot: Mutex<Slot>,
    durability: std::sync::Mutex<Durability>,
}

#[derive(Default)]
struct Slot {
    /// How many connections there have been.
    number: u64,
    /// The newest, unless it is known to be broken.
    live: Option<MultiplexedConnection>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The rest of the address may hold a password.
        let address = self.client.get_connection_info().addr().to_string();
        f.debug_struct("Connection")
            .field("address", &address)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects for the first time.
    pub(crate) async fn open(url: &str, options: RedisOptions) -> Result<Self, StoreError> {
        options
            .check()
            .map_err(|kind| StoreError::new(kind, "open"))?;
        // What does not parse may hold a password, so that it is not repeated.
        prepare_tls();
        let client = Client::open(url).map_err(|error| store_error(error, "open"))?;
        let connection = Self {
            client,
            options,
            slot: Mutex::default(),
            durability: std::sync::Mutex::new(Durability::Memory),
        };
        let open = async { connection.live().await.map(drop) };
        connection.in_time("open", open).await?;
        Ok(connection)
    }

    pub(crate) fn options(&self) -> &RedisOptions {
        &self.options
    }

    /// What the server of the newest connection promises.
    pub(crate) fn durability(&self) -> Durability {
        *self
            .durability
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out a script. Whether it was done is unknown if the connection breaks meanwhile.
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

    /// Lets the next caller connect anew. Those who still wait on the old connection go on waiting.
    fn forget(&self, number: u64) {
        // Whoever holds the lock is connecting already.
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
            error.because(Late(self.options.timeout))
        };
        let done = tokio::time::timeout(self.options.timeout, work).await;
        done.map_err(late)?
    }

    /// The connection, or a new one: one caller connects while the others wait.
    async fn live(&self) -> Result<(u64, MultiplexedConnection), StoreError> {
        let mut slot = self.slot.lock().await;
        if let Some(live) = &slot.live {
            return Ok((slot.number, live.clone()));
        }
        // Requests have a time of their own, and connecting is a part of them.
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

/// Runs a script, which the server may not know yet or no more.
pub(crate) async fn evaluate(
    connection: &mut MultiplexedConnection,
    script: &Script,
    command: &Cmd,
) -> Result<Value, RedisError> {
    let answer = command.query_async(connection).await;
    match answer {
        Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
            let mut load = redis::cmd("SCRIPT");
            load.arg("LOAD").arg(script.code);
            let _: Value = load.query_async(connection).await?;
            command.query_async(connection).await
        }
        other => other,
    }
}

/// Chooses who does the arithmetic of TLS, unless the program has chosen.
fn prepare_tls() {
    #[cfg(feature = "tls")]
    {
        // An error says that the program has chosen.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
}

/// A request took longer than it may.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
struct Late(Duration);
