//! The choice of a store by its address.
use std::sync::Arc;

use super::{ScheduleStore, ScheduleStoreError, sql::SqlStore};
use fugato::{BoxError, cli::without_password, sqlite::SqliteTables};

const ALLOWED: &str = if cfg!(feature = "mysql") {
    "allowed are a path, sqlite:PATH and mysql://USER:PASSWORD@HOST/DATABASE"
} else {
    "allowed are a path, sqlite:PATH and mysql://USER:PASSWORD@HOST/DATABASE, which needs a program \
     that is built with `--features mysql`"
};

/// Opens a store: a path or `sqlite:PATH` is an SQLite database, which is made if it is not there;
/// `mysql://` is a MySQL or MariaDB server.
pub async fn open(address: &str) -> Result<Arc<dyn ScheduleStore>, ScheduleStoreError> {
    match address.split_once("://") {
        #[cfg(feature = "mysql")]
        Some(("mysql", _)) => mysql(address).await,
        // An address with a secret, such as a list of settings, is not a file name.
        None if !address.is_empty() && without_password(address) == address => {
            let path = address
                .strip_prefix("sqlite:")
                .unwrap_or(address)
                .to_owned();
            let opened = async {
                let tables = tokio::task::spawn_blocking(|| SqliteTables::open(path));
                SqlStore::over(tables.await??).await
            };
            Ok(Arc::new(opened.await.map_err(unavailable)?))
        }
        _ => Err(refused(address)),
    }
}

fn unavailable(source: BoxError) -> ScheduleStoreError {
    ScheduleStoreError::Unavailable {
        operation: "be opened",
        source,
    }
}

#[cfg(feature = "mysql")]
async fn mysql(address: &str) -> Result<Arc<dyn ScheduleStore>, ScheduleStoreError> {
    let opts = mysql_async::Opts::from_url(address).map_err(|_| refused(address))?;
    if opts.db_name().is_none_or(str::is_empty) {
        return Err(refused(address));
    }
    let store = SqlStore::over(super::mysql::MySql::new(opts)).await;
    Ok(Arc::new(store.map_err(unavailable)?))
}

fn refused(address: &str) -> ScheduleStoreError {
    ScheduleStoreError::Address {
        given: without_password(address),
        allowed: ALLOWED.to_owned(),
    }
}
