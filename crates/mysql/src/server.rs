//! Connecting, and the checks of a server before it is used.
use std::collections::HashMap;

use fugato_store::{StoreError, StoreErrorKind};
use mysql_async::{Conn, Opts, OptsBuilder, prelude::Queryable};

use crate::{
    MySqlOptions, ServerDurability,
    error::{store_error, url_error},
    schema,
    sql::LARGEST_PACKET,
};

/// Parses the address of a database.
pub(crate) fn opts(url: &str, options: &MySqlOptions) -> Result<Opts, StoreError> {
    let opts = Opts::from_url(url).map_err(|_| url_error("open"))?;
    if opts.db_name().is_none_or(str::is_empty) {
        let what = "the URL names no database".to_owned();
        return Err(StoreError::new(StoreErrorKind::Invalid(what), "open"));
    }
    // Connect by the given address, even if the server offers a local socket.
    let builder = OptsBuilder::from_opts(opts.clone()).prefer_socket(false);
    Ok(with_tls(builder, &opts, options).into())
}

#[cfg(feature = "tls")]
fn with_tls(builder: OptsBuilder, opts: &Opts, options: &MySqlOptions) -> OptsBuilder {
    // An error means that the application has set a provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let Some(roots) = &options.roots else {
        return builder;
    };
    let given = opts.ssl_opts().cloned().unwrap_or_default();
    builder.ssl_opts(given.with_root_certs(vec![roots.clone().into()]))
}

#[cfg(not(feature = "tls"))]
fn with_tls(builder: OptsBuilder, _opts: &Opts, _options: &MySqlOptions) -> OptsBuilder {
    builder
}

/// Opens a connection, checks the server, and returns its durability.
pub(crate) async fn connect(
    opts: &Opts,
    options: &MySqlOptions,
) -> Result<(Conn, ServerDurability), StoreError> {
    let failed = |error| store_error(error, "connect");
    let mut conn = Conn::new(opts.clone()).await.map_err(failed)?;
    conn.query_drop(settings_of_a_session(options))
        .await
        .map_err(failed)?;
    let told: Vec<(String, String)> = conn.query(SETTINGS).await.map_err(failed)?;
    let told: HashMap<_, _> = told
        .into_iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .collect();
    let version = conn.server_version();
    let durability =
        suits(&told, version).map_err(|kind| StoreError::new(kind, "use this server"))?;
    if durability < options.at_least {
        let least = options.at_least;
        let what = format!("its durability is `{durability}`, and at least `{least}` is asked for");
        return Err(StoreError::new(
            StoreErrorKind::Invalid(what),
            "use this server",
        ));
    }
    schema::migrate(&mut conn).await?;
    Ok((conn, durability))
}

/// Returns the settings that the statements rely on: time zone, modes and isolation, regardless of
/// the server's. A wait for a lock may take half of a request's timeout.
pub(crate) fn settings_of_a_session(options: &MySqlOptions) -> String {
    let wait = (options.timeout.as_secs() / 2).clamp(1, 1_000);
    format!(
        "SET NAMES utf8mb4;\
         SET SESSION time_zone='+00:00',sql_mode='STRICT_ALL_TABLES',autocommit=1,\
         sql_safe_updates=0,sql_select_limit=DEFAULT,innodb_lock_wait_timeout={wait};\
         SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"
    )
}

const SETTINGS: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('max_allowed_packet',\
    'innodb_flush_log_at_trx_commit','log_bin','sync_binlog','binlog_format','version')";

fn suits(
    told: &HashMap<String, String>,
    version: (u16, u16, u16),
) -> Result<ServerDurability, StoreErrorKind> {
    let value = |name| told.get(name).map(String::as_str).unwrap_or_default();
    let is_maria = value("version").contains("MariaDB");
    // These support `SKIP LOCKED`, and keep auto-increment values over a restart.
    let oldest = if is_maria { (10, 6, 0) } else { (8, 0, 1) };
    if version < oldest {
        let what = format!(
            "it is {}: MySQL 8.0 or MariaDB 10.6 is the oldest that will do",
            value("version")
        );
        return Err(StoreErrorKind::Invalid(what));
    }
    let packet: usize = value("max_allowed_packet").parse().unwrap_or(0);
    if packet < LARGEST_PACKET {
        let what = format!(
            "its max_allowed_packet is {packet} bytes: a commit of 16 MiB is sent in parts of up to \
             {LARGEST_PACKET}, so set it to 4194304 or more"
        );
        return Err(StoreErrorKind::Invalid(what));
    }
    let binary_log = value("log_bin") == "ON";
    if binary_log && value("binlog_format") == "STATEMENT" {
        let what =
            "its binlog_format is STATEMENT, which cannot tell who won: set it to ROW or MIXED";
        return Err(StoreErrorKind::Invalid(what.into()));
    }
    let flush = value("innodb_flush_log_at_trx_commit");
    Ok(ServerDurability::of(
        flush,
        binary_log,
        value("sync_binlog"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        let usual = [
            ("version", "10.11.6-MariaDB"),
            ("max_allowed_packet", "16777216"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("log_bin", "OFF"),
        ];
        let pairs = usual.iter().chain(pairs);
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn refusal(pairs: &[(&str, &str)], version: (u16, u16, u16)) -> String {
        match suits(&told(pairs), version) {
            Err(StoreErrorKind::Invalid(what)) => what,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_server_that_cannot_keep_the_contract_is_refused() {
        assert_eq!(suits(&told(&[]), (10, 11, 6)), Ok(ServerDurability::Disk));
        assert_eq!(
            suits(&told(&[("version", "8.0.36")]), (8, 0, 36)),
            Ok(ServerDurability::Disk)
        );
        assert!(refusal(&[], (10, 5, 9)).contains("10.6"));
        assert!(refusal(&[("version", "5.7.44")], (5, 7, 44)).contains("5.7.44"));
        assert!(refusal(&[("max_allowed_packet", "1048576")], (10, 11, 6)).contains("1048576"));
        let binary = [("log_bin", "ON"), ("binlog_format", "STATEMENT")];
        assert!(refusal(&binary, (10, 11, 6)).contains("binlog_format"));
    }
}
