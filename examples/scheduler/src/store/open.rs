//! The choice of a store by its address.
use std::sync::Arc;

use fugato::{cli::without_password, sqlite::SqliteTables};
use mysql_async::Opts;

use super::{ScheduleStore, ScheduleStoreError, mysql::MySql, sql::SqlStore};

const ALLOWED: &str = "allowed are a path, sqlite:PATH and mysql://USER:PASSWORD@HOST/DATABASE";

/// Opens a store: a path or `sqlite:PATH` is an SQLite database, which is made if it is not there;
/// `mysql://` is a MySQL or MariaDB server.
pub async fn open(address: &str) -> Result<Arc<dyn ScheduleStore>, ScheduleStoreError> {
    let unavailable = |source| ScheduleStoreError::Unavailable {
        operation: "be opened",
        source,
    };
    match address.split_once("://") {
        Some(("mysql", _)) => {
            let opts = Opts::from_url(address).map_err(|_| refused(address))?;
            if opts.db_name().is_none_or(str::is_empty) {
                return Err(refused(address));
            }
            let store = SqlStore::over(MySql::new(opts)).await;
            Ok(Arc::new(store.map_err(unavailable)?))
        }
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

fn refused(address: &str) -> ScheduleStoreError {
    ScheduleStoreError::Address {
        given: without_password(address),
        allowed: ALLOWED.to_owned(),
    }
}
