//! The log of threads, in a file or at a server.
use std::{path::Path, sync::Arc};

use fugato_graph::BoxError;
use fugato_sqlite::SqliteLog;
use fugato_state::say;
use fugato_store::{DocStore, MemoryDocs, MemoryLog, ThreadStore};

use crate::{
    CliError,
    error::{ErrorContext as _, make_folder},
};

/// A log of any kind, and the store of documents that goes with it.
pub(crate) struct Store {
    pub(crate) log: Arc<dyn ThreadStore>,
    pub(crate) docs: Arc<dyn DocStore>,
}

impl Store {
    /// Creates a store that ends with the process.
    pub(crate) fn in_memory() -> Self {
        Self {
            log: Arc::new(MemoryLog::default()),
            docs: Arc::new(MemoryDocs::default()),
        }
    }

    pub(crate) fn in_file(path: &Path) -> Result<Self, BoxError> {
        if let Some(folder) = path.parent() {
            make_folder(folder)?;
        }
        let log = SqliteLog::open(path).tell(|| format!("--store {}", path.display()))?;
        Ok(Self {
            docs: Arc::new(log.docs()),
            log: Arc::new(log),
        })
    }
}

/// Opens the log at an address. A missing file is created only with `new`; otherwise the result is
/// none.
pub(crate) async fn open(
    address: &str,
    folder: &Path,
    new: bool,
) -> Result<Option<Store>, BoxError> {
    if let Some(path) = file(address)? {
        if !new && !path.exists() {
            return Ok(None);
        }
        return Store::in_file(path).map(Some);
    }
    let commits = folder_of_commits(address);
    if commits.is_some_and(|path| path.as_os_str().is_empty()) {
        return Err(refused(address).into());
    }
    if !new && commits.is_some_and(|path| !path.exists()) {
        return Ok(None);
    }
    let (scheme, _) = address.split_once(':').ok_or_else(|| refused(address))?;
    match connect(scheme, address, folder).await {
        None => Err(refused(address).into()),
        Some(store) => {
            let store = store.tell(|| format!("--store {}", without_password(address)))?;
            Ok(Some(store))
        }
    }
}

/// Returns the folder of commits at an address; none if it names something else.
pub(crate) fn folder_of_commits(address: &str) -> Option<&Path> {
    let path = address.strip_prefix("file:")?;
    // A URL of a file has an empty host.
    Some(Path::new(path.strip_prefix("//").unwrap_or(path)))
}

/// Returns the file of the log at an address; none for a server's, or a folder of commits.
pub(crate) fn file(address: &str) -> Result<Option<&Path>, CliError> {
    if address.contains("://") || folder_of_commits(address).is_some() {
        return Ok(None);
    }
    let path = address.strip_prefix("sqlite:").unwrap_or(address);
    if path.is_empty() || has_settings(address) {
        return Err(refused(address));
    }
    Ok(Some(Path::new(path)))
}

fn refused(address: &str) -> CliError {
    CliError::new(say!(
        "--store {:?} is no log: allowed are {}",
        "--store {:?} 不是日志；允许 {}",
        without_password(address),
        allowed()
    ))
}

/// Connects to the log of a server; returns none for an unknown scheme.
#[cfg_attr(
    not(any(
        feature = "mysql",
        feature = "postgres",
        feature = "redis",
        feature = "ship"
    )),
    expect(
        unused_variables,
        clippy::unused_async,
        reason = "without servers there is nothing to connect to"
    )
)]
#[cfg_attr(
    all(
        feature = "postgres",
        not(any(feature = "mysql", feature = "redis", feature = "ship"))
    ),
    expect(unused_variables, reason = "this server keeps documents, too")
)]
async fn connect(scheme: &str, address: &str, folder: &Path) -> Option<Result<Store, BoxError>> {
    match scheme {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Some(postgres(address).await),
        // These logs keep no documents, which go into the folder.
        #[cfg(feature = "redis")]
        "redis" | "rediss" => Some(match fugato_redis::RedisLog::connect(address).await {
            Ok(log) => beside(Arc::new(log), folder),
            Err(error) => Err(error.into()),
        }),
        #[cfg(feature = "mysql")]
        "mysql" => Some(match fugato_mysql::MySqlLog::connect(address).await {
            Ok(log) => beside(Arc::new(log), folder),
            Err(error) => Err(error.into()),
        }),
        #[cfg(feature = "ship")]
        "file" | "s3" => Some(match crate::ship::open(address).await {
            Ok(log) => beside(Arc::new(log), folder),
            Err(error) => Err(error),
        }),
        _ => None,
    }
}

#[cfg(feature = "postgres")]
async fn postgres(address: &str) -> Result<Store, BoxError> {
    let log = fugato_postgres::PostgresLog::connect(address).await?;
    Ok(Store {
        docs: Arc::new(log.docs()),
        log: Arc::new(log),
    })
}

#[cfg(any(feature = "mysql", feature = "redis", feature = "ship"))]
fn beside(log: Arc<dyn ThreadStore>, folder: &Path) -> Result<Store, BoxError> {
    let Store { docs, .. } = Store::in_file(&folder.join("docs.db"))?;
    Ok(Store { log, docs })
}

fn allowed() -> String {
    let others = [
        ("postgres://…", "postgres", cfg!(feature = "postgres")),
        ("redis://…", "redis", cfg!(feature = "redis")),
        ("mysql://…", "mysql", cfg!(feature = "mysql")),
        ("file:FOLDER", "ship", cfg!(feature = "ship")),
        ("s3://BUCKET/PREFIX", "s3", cfg!(feature = "s3")),
    ];
    let others = others.map(|(address, feature, has)| {
        let lacks = say!(
            " (of a program that is built with `--features {feature}`)",
            "（程序要用 `--features {feature}` 构建）"
        );
        format!("{address}{}", if has { "" } else { &lacks })
    });
    say!(
        "a path, sqlite:PATH, {}",
        "路径、sqlite:PATH、{}",
        others.join(", ")
    )
}

/// Returns an address without its secrets: the user before the host and the query are left out, and
/// a list of settings as libpq knows it is left out as a whole. A path is returned as it is.
pub fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        let shown = if has_settings(address) {
            "…=…"
        } else {
            address
        };
        return shown.to_owned();
    };
    // A password may contain any character, so the last `@` ends it.
    let (user, place) = match rest.rsplit_once('@') {
        // Here the user and the query cannot be told apart.
        Some((user, _)) if user.contains(['?', '#']) => return format!("{scheme}://…"),
        Some((_, place)) => ("…@", place),
        None => ("", rest),
    };
    match place.split_once(['?', '#']) {
        Some((place, _)) => format!("{scheme}://{user}{place}?…"),
        None => format!("{scheme}://{user}{place}"),
    }
}

/// The settings by which libpq finds a server.
const SETTINGS: [&str; 8] = [
    "host", "hostaddr", "port", "user", "password", "passfile", "dbname", "service",
];

fn has_settings(address: &str) -> bool {
    let mut names = address
        .rsplit_once('=')
        .into_iter()
        .flat_map(|(names, _)| names.split('='))
        .filter_map(|before| before.split_whitespace().next_back());
    names.any(|name| SETTINGS.contains(&name.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_no_log_is_refused_without_its_password() {
        for (address, shown) in [
            ("ftp://me:secret@host/x", "ftp://…@host/x"),
            ("host=db password=secret", "…=…"),
            ("", ""),
            ("sqlite:", "sqlite:"),
            ("file:", "file:"),
        ] {
            let refused = open(address, Path::new("."), true).await;
            let error = refused.err().unwrap().to_string();
            let expected = format!("--store {shown:?} is no log: allowed are a path");
            assert!(error.starts_with(&expected), "{error}");
            assert!(!Path::new(address).exists());
        }
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_opened_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let address = folder.path().display().to_string();
        let refused = open(&address, folder.path(), true).await;
        let error = refused.err().unwrap().to_string();
        assert_eq!(error, format!("--store {address}"));
    }

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        for (address, shown) in [
            ("deep/threads.db", "deep/threads.db"),
            ("a=b/threads.db", "a=b/threads.db"),
            ("host=db password=secret", "…=…"),
            ("dbname = x password = secret", "…=…"),
            ("redis://host:1/0", "redis://host:1/0"),
            ("mysql://me:se@cret@host/x", "mysql://…@host/x"),
            ("postgres://host/x?password=secret", "postgres://host/x?…"),
            ("postgres://host/x?password=se@cret", "postgres://…"),
            (
                "http://me:secret@host/v1?key=secret#a",
                "http://…@host/v1?…",
            ),
        ] {
            assert_eq!(without_password(address), shown);
        }
    }

    #[tokio::test]
    async fn a_file_is_made_only_for_a_new_thread() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/threads.db");
        let address = path.display().to_string();
        assert!(
            open(&address, folder.path(), false)
                .await
                .unwrap()
                .is_none()
        );
        assert!(!path.exists());
        let sqlite = format!("sqlite:{address}");
        assert!(open(&sqlite, folder.path(), true).await.unwrap().is_some());
        assert!(
            open(&address, folder.path(), false)
                .await
                .unwrap()
                .is_some()
        );
    }
}
