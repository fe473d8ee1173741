//! Calendars in `MariaDB` and `PostgreSQL`.
use scheduler::store::open;
use servers::Server;
use tokio::sync::{Mutex, MutexGuard};

use crate::store::scenarios::{NAME, Store};

/// Opens the store of a server that the tests share, one test at a time.
async fn fresh(server: Option<&'static Server>) -> Option<(Store, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::const_new(());
    let alone = ALONE.lock().await;
    let store = open(server?.url()).await.unwrap();
    for calendar in [NAME, "autumn", "other"] {
        store.delete(calendar).await.unwrap();
    }
    Some((store, alone))
}

#[cfg(feature = "mysql")]
mod mariadb {
    crate::store::scenarios::every_scenario!(super::fresh(servers::MariaDb::shared()));
}

#[cfg(feature = "postgres")]
mod postgres {
    crate::store::scenarios::every_scenario!(super::fresh(servers::Postgres::shared()));
}
