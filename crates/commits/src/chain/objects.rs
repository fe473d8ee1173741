//! Single objects: created once, read, and removed.
use std::sync::atomic::Ordering;

use fugato_store::StoreErrorKind;
use object_store::{Error, ObjectStoreExt as _, PutMode, PutPayload, path::Path};

use super::{Chain, PAUSE, TRIES};
use crate::{error::Fault, object::Object};

/// An object as it was found.
pub(crate) enum FoundObject {
    Missing,
    /// Its content went with its thread.
    Blank,
    Whole(Box<Object>),
}

impl Chain {
    /// Creates an object. Returns false if another one is there.
    ///
    /// A client that repeats a request meets its own object, and some servers say that there is one
    /// where nothing is. So that answer is a question, which reading settles.
    pub(crate) async fn create(
        &self,
        path: &Path,
        bytes: Vec<u8>,
        id: u128,
    ) -> Result<bool, Fault> {
        let payload = PutPayload::from(bytes);
        for tries in 0..TRIES {
            let put = self
                .store
                .put_opts(path, payload.clone(), PutMode::Create.into());
            match put.await {
                Ok(_) => return Ok(true),
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            match self.get(path).await? {
                FoundObject::Whole(object) => return Ok(object.id == id),
                FoundObject::Blank => return Ok(false),
                FoundObject::Missing => tokio::time::sleep(PAUSE * 2_u32.pow(tries)).await,
            }
        }
        Err(StoreErrorKind::Unavailable.into())
    }

    /// Reads an object.
    pub(crate) async fn get(&self, path: &Path) -> Result<FoundObject, Fault> {
        let bytes = match self.store.get(path).await {
            Ok(found) => found.bytes().await?,
            Err(Error::NotFound { .. }) => return Ok(FoundObject::Missing),
            Err(error) => return Err(error.into()),
        };
        if bytes.is_empty() {
            return Ok(FoundObject::Blank);
        }
        let object = Object::decode(&bytes)?;
        self.seen.fetch_max(object.time, Ordering::Relaxed);
        Ok(FoundObject::Whole(Box::new(object)))
    }

    /// Removes an object that is not needed; one that stays costs a look.
    pub(crate) async fn delete_quietly(&self, path: &Path) {
        if let Err(error) = self.store.delete(path).await
            && !matches!(error, Error::NotFound { .. })
        {
            tracing::debug!(%path, %error, "an object that is not needed stays");
        }
    }
}
