//! A process that dies at one of its requests, whether to its store or to objects.
use std::{
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use fugato_commits::object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, memory::InMemory,
    path::Path,
};
use fugato_store::{Intercept, StoreCall, StoreError, StoreErrorKind};
use futures::{StreamExt as _, TryStreamExt as _, stream, stream::BoxStream};

/// The life of a process. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Life(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    requests: usize,
    /// The request at which it dies, and whether that is carried out.
    end: Option<(usize, bool)>,
    dead: bool,
}

impl Life {
    pub(crate) fn ending_at(request: usize, carried_out: bool) -> Self {
        let life = Self::default();
        life.inner().end = Some((request, carried_out));
        life
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.inner().dead
    }

    async fn pass<T, E>(
        &self,
        act: impl Future<Output = Result<T, E>> + Send,
        dead: E,
    ) -> Result<T, E> {
        let end = {
            let mut inner = self.inner();
            let request = inner.requests;
            inner.requests += 1;
            let end = inner.end.filter(|(at, _)| *at <= request);
            if inner.dead {
                return Err(dead);
            }
            inner.dead = end.is_some();
            end
        };
        match end {
            None => act.await,
            Some((_, false)) => Err(dead),
            Some((_, true)) => act.await.and(Err(dead)),
        }
    }
}

impl Intercept for Life {
    async fn around<T: Send>(
        &self,
        _: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let dead = StoreError::new(StoreErrorKind::Unavailable, "live");
        self.pass(act, dead).await
    }
}

/// Objects as a process sees them.
#[derive(Debug, Clone)]
pub(crate) struct MortalObjects {
    pub(crate) inner: InMemory,
    pub(crate) life: Life,
}

fn dead() -> Error {
    Error::Generic {
        store: "mortal",
        source: "the process is dead".into(),
    }
}

impl fmt::Display for MortalObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mortal")
    }
}

#[async_trait]
impl ObjectStore for MortalObjects {
    async fn put_opts(
        &self,
        path: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let put = self.inner.put_opts(path, payload, options);
        self.life.pass(put, dead()).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let get = self.inner.get_opts(path, options);
        self.life.pass(get, dead()).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let this = self.clone();
        let deleted = paths.then(move |path| {
            let this = this.clone();
            async move {
                let one = stream::once(async move { path }).boxed();
                let delete = async {
                    let deleted: Vec<_> = this.inner.delete_stream(one).try_collect().await?;
                    deleted.into_iter().next().ok_or_else(dead)
                };
                this.life.pass(delete, dead()).await
            }
        });
        deleted.boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (this, prefix) = (self.clone(), prefix.cloned());
        let listed = async move {
            let all = this.inner.list(prefix.as_ref()).try_collect::<Vec<_>>();
            let all = this.life.pass(all, dead()).await?;
            Ok::<_, Error>(stream::iter(all.into_iter().map(Ok)))
        };
        stream::once(listed).try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let list = self.inner.list_with_delimiter(prefix);
        self.life.pass(list, dead()).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, options).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
