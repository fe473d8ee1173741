//! Calendars in `MariaDB`.
use std::sync::atomic::{AtomicU32, Ordering};

use mysql_async::{Conn, prelude::Queryable as _};
use scheduler::store::open;
use servers::MariaDb;

use crate::store::scenarios::{Store, every_scenario};

/// Opens a store in a database of its own, on a server that the tests share.
async fn fresh() -> Option<(Store, ())> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let url = MariaDb::shared()?.url();
    let name = format!("schedule_{}", MADE.fetch_add(1, Ordering::Relaxed));
    let mut conn = Conn::from_url(url).await.unwrap();
    conn.query_drop(format!("CREATE DATABASE {name}"))
        .await
        .unwrap();
    conn.disconnect().await.unwrap();
    let (server, _) = url.rsplit_once('/').unwrap();
    Some((open(&format!("{server}/{name}")).await.unwrap(), ()))
}

every_scenario!(fresh());
