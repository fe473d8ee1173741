use std::sync::Arc;

use fugato_state::Millis;
use fugato_store::{StoreError, StoreErrorKind, system_clock};
use object_store::{
    Error, ObjectStore, ObjectStoreExt as _, PutMode, local::LocalFileSystem, memory::InMemory,
    path::Path,
};

use crate::{
    CommitLog, CommitLogOptions,
    chain::{Chain, random},
    error::Fault,
    object::VERSION,
    options::millis,
};

impl CommitLog {
    /// Opens a folder, which is created if it is missing. It must be on a file system with hard
    /// links. A commit is on the disk before it is acknowledged.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub async fn open_folder(
        path: impl AsRef<std::path::Path>,
        options: CommitLogOptions,
    ) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let folder = std::fs::create_dir_all(path)
            .map_err(|error| {
                let what = format!("the folder {} cannot be created", path.display());
                StoreError::new(StoreErrorKind::Invalid(what), "open").because(error)
            })
            .and_then(|()| {
                let folder = LocalFileSystem::new_with_prefix(path);
                folder.map_err(|error| Fault::from(error).during("open"))
            })?;
        let folder = folder.with_fsync(true).with_automatic_cleanup(true);
        Self::open(Arc::new(folder), options).await
    }

    /// Opens a new store in memory, for tests.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub async fn open_memory(options: CommitLogOptions) -> Result<Self, StoreError> {
        Self::open(Arc::new(InMemory::new()), options).await
    }

    /// Opens any store of objects.
    ///
    /// Two objects are written: one whose name is created twice, and one that says which version of
    /// the format is here.
    ///
    /// # Errors
    /// `Invalid` for a store that lets an object be created where one is, or whose clock is further
    /// from this machine's than `max_skew`. `Corrupt` if the objects have another version.
    pub async fn open(
        store: Arc<dyn ObjectStore>,
        options: CommitLogOptions,
    ) -> Result<Self, StoreError> {
        let open = async {
            let offset = probe(store.as_ref(), &options).await?;
            let chain = Chain::new(store, options, offset);
            check_version(chain.store.as_ref()).await?;
            Ok::<_, Fault>(chain)
        };
        let chain = open.await.map_err(|fault| fault.during("open"))?;
        Ok(Self {
            chain: Arc::new(chain),
        })
    }
}

/// Checks that an object is created once, and returns how far the clock of this machine is ahead of
/// the store's.
async fn probe(store: &dyn ObjectStore, options: &CommitLogOptions) -> Result<Millis, Fault> {
    let path = Path::from(format!("probe/{:032x}", random()?));
    let before = system_clock();
    store
        .put_opts(&path, "first".into(), PutMode::Create.into())
        .await?;
    let after = system_clock();
    let again = store
        .put_opts(&path, "second".into(), PutMode::Create.into())
        .await;
    let found = store.get(&path).await?;
    let modified = found.meta.last_modified.timestamp_millis();
    let is_first = found.bytes().await? == "first";
    // One that stays behind harms nobody.
    let _ = store.delete(&path).await;
    match again {
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) if is_first => {}
        Err(error) if is_first => return Err(error.into()),
        _ => {
            let what = "the store lets an object be created where one is, so that of two writers \
                        both would win";
            return Err(StoreErrorKind::Invalid(what.into()).into());
        }
    }
    if options.clock.is_some() {
        return Ok(0);
    }
    let offset = offset(before, after, modified);
    let most = millis(options.max_skew);
    if offset.abs() > most {
        let what = format!(
            "the clock of this machine differs from the store's by {offset} ms; at most {most} ms \
             are allowed"
        );
        return Err(StoreErrorKind::Invalid(what).into());
    }
    Ok(offset)
}

/// Returns the difference of two clocks that is nearest to none, for an object that was written
/// between two times of the one and has a time of the other. Over HTTP that is in whole seconds.
fn offset(before: Millis, after: Millis, modified: Millis) -> Millis {
    let end = if modified % 1_000 == 0 {
        modified.saturating_add(999)
    } else {
        modified
    };
    0.clamp(before.saturating_sub(end), after.saturating_sub(modified))
}

async fn check_version(store: &dyn ObjectStore) -> Result<(), Fault> {
    let path = Path::from("format");
    let version = VERSION.to_string();
    let put = store
        .put_opts(&path, version.clone().into(), PutMode::Create.into())
        .await;
    match put {
        Ok(_) => return Ok(()),
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let found = store.get(&path).await?.bytes().await?;
    if found == version.as_bytes() {
        return Ok(());
    }
    let found = String::from_utf8_lossy(&found);
    let what = format!("the objects have version {found}; known is {VERSION}");
    Err(StoreErrorKind::Corrupt(what).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_opened_with_fsync() {
        let folder = tempfile::tempdir().unwrap();
        let open = CommitLog::open_folder(folder.path(), CommitLogOptions::default());
        let log = futures::executor::block_on(open).unwrap();
        let settings = format!("{:?}", log.chain.store);
        assert!(settings.contains("fsync: true"), "{settings}");
    }

    #[test]
    fn clocks_are_compared_with_the_doubt_that_there_is() {
        for (before, after, modified, expected) in [
            (5_100, 5_200, 5_150, 0),
            (5_100, 5_200, 5_300, -100),
            (5_100, 5_200, 4_900, 200),
            // Anything from 5.000 to 5.999 seconds.
            (5_100, 5_200, 5_000, 0),
            (8_100, 8_200, 5_000, 2_101),
            (1_100, 1_200, 5_000, -3_800),
        ] {
            assert_eq!(offset(before, after, modified), expected);
        }
    }
}
