//! The checks of a server before it is used.
use std::collections::HashMap;

use fugato_store::{StoreError, StoreErrorKind};
use redis::{RedisResult, aio::MultiplexedConnection};

use crate::{
    RedisOptions, ServerDurability,
    connection::evaluate,
    error::store_error,
    reply::{Reply, refused},
    request::Request,
    script,
};

/// The version of the keys and scripts. 1: the first.
const VERSION: u32 = 1;

/// Refuses servers that would lose threads, and returns the durability of this one.
pub(crate) async fn server(
    connection: &mut MultiplexedConnection,
    options: &RedisOptions,
) -> Result<ServerDurability, StoreError> {
    let told: RedisResult<String> = redis::cmd("INFO").query_async(connection).await;
    let told = told.map_err(|error| store_error(error, "ask the server about itself"))?;
    let told = fields(&told);
    suits(&told).map_err(|kind| StoreError::new(kind, "use this server"))?;
    // If `CONFIG` is forbidden, the weakest durability is assumed.
    let mut settings = redis::cmd("CONFIG");
    settings.arg("GET").arg("*appendfsync*");
    let settings: RedisResult<Vec<String>> = settings.query_async(connection).await;
    let settings = match settings {
        Err(error) if error.is_io_error() || error.is_unrecoverable_error() => {
            return Err(store_error(error, "ask the server about itself"));
        }
        settings => settings.ok(),
    };
    let append_only = told.get("aof_enabled") == Some(&"1");
    let durability = ServerDurability::of(append_only, settings.as_deref());
    if durability < options.at_least {
        let least = options.at_least;
        let what = format!("its durability is `{durability}`, and at least `{least}` is asked for");
        return Err(StoreError::new(
            StoreErrorKind::Invalid(what),
            "use this server",
        ));
    }
    version(connection, options).await?;
    Ok(durability)
}

fn fields(told: &str) -> HashMap<&str, &str> {
    told.lines()
        .filter_map(|line| line.split_once(':'))
        .collect()
}

fn suits(told: &HashMap<&str, &str>) -> Result<(), StoreErrorKind> {
    let value = |name| told.get(name).copied().unwrap_or_default();
    if value("cluster_enabled") == "1" {
        let what = "it is part of a cluster, which is not supported";
        return Err(StoreErrorKind::Invalid(what.into()));
    }
    let policy = value("maxmemory_policy");
    if policy == "noeviction" {
        return Ok(());
    }
    let what = format!(
        "its maxmemory-policy is {policy:?}, with which it drops threads when memory is short: \
         set it to \"noeviction\""
    );
    Err(StoreErrorKind::Invalid(what))
}

async fn version(
    connection: &mut MultiplexedConnection,
    options: &RedisOptions,
) -> Result<(), StoreError> {
    let mut request = Request::new(&script::OPEN, options, i64::MIN, "");
    request.arg(VERSION.to_string());
    let answer = evaluate(connection, request.script, &request.command).await;
    let answer = answer.map_err(|error| store_error(error, "open"))?;
    let found = Reply::of(answer)
        .and_then(|mut reply| reply.number::<u32>())
        .map_err(|kind| refused(kind, "open"))?;
    if found == VERSION {
        return Ok(());
    }
    let what = format!("its keys have version {found}, and this program knows {VERSION}");
    Err(StoreError::new(StoreErrorKind::Corrupt(what), "open"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_drops_keys_or_is_one_of_several_is_refused() {
        let told = |text| suits(&fields(text));
        assert_eq!(told("# Memory\r\nmaxmemory_policy:noeviction\r\n"), Ok(()));
        let cluster = told("maxmemory_policy:noeviction\r\ncluster_enabled:1\r\n");
        assert!(matches!(cluster, Err(StoreErrorKind::Invalid(what)) if what.contains("cluster")));
        let drops = told("maxmemory_policy:allkeys-lru\r\ncluster_enabled:0\r\n");
        assert!(
            matches!(drops, Err(StoreErrorKind::Invalid(what)) if what.contains("allkeys-lru"))
        );
    }
}
