//! A store of objects that does everything that real ones do and should not.
use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use fugato_commits::{
    CommitLog, CommitLogOptions,
    object_store::{
        CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
        ObjectStore, ObjectStoreExt as _, PutMode, PutMultipartOptions, PutOptions, PutPayload,
        PutResult, Result, memory::InMemory, path::Path,
    },
};
use fugato_testkit::log::TestClock;
use futures::{StreamExt as _, TryStreamExt as _, stream, stream::BoxStream};
use tokio::sync::Notify;

/// The fate of a create in a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mischief {
    None,
    /// It is stored, and the answer is lost.
    AnswerLost,
    /// It is stored, and the client's own repeat meets it.
    MeetsItself,
    /// Nothing is stored, and the answer is that something is there.
    SaysExists,
    /// Nothing is stored, since there were too many requests.
    Throttled,
    /// It takes a while.
    Slow,
    /// It waits for [`Hostile::go_on`].
    Pauses,
    /// It is stored, and the answer waits for [`Hostile::go_on`].
    AnsweredLate,
}

/// Objects in memory. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hostile {
    inner: InMemory,
    plan: Arc<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    next: Mutex<VecDeque<Mischief>>,
    /// True if an object may be created where one is.
    overwrites: AtomicBool,
    /// The number of newest objects that listings do not show yet.
    lag: AtomicUsize,
    /// The milliseconds by which the clock is ahead.
    ahead: AtomicI64,
    /// The number of creates that met an object.
    collisions: AtomicUsize,
    paused: Notify,
    go_on: Notify,
}

impl Hostile {
    /// Plans the fates of the next creates in logs.
    pub(crate) fn next(&self, all: impl IntoIterator<Item = Mischief>) {
        self.queue().extend(all);
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Mischief>> {
        let queue = self.plan.next.lock();
        queue.unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn overwrites(&self) {
        self.plan.overwrites.store(true, Ordering::SeqCst);
    }

    /// Keeps the newest objects out of listings.
    pub(crate) fn lag(&self, objects: usize) {
        self.plan.lag.store(objects, Ordering::SeqCst);
    }

    pub(crate) fn clock_ahead(&self, by: i64) {
        self.plan.ahead.store(by, Ordering::SeqCst);
    }

    /// Returns the number of creates in logs that met an object.
    pub(crate) fn collisions(&self) -> usize {
        self.plan.collisions.load(Ordering::SeqCst)
    }

    /// Waits until a create pauses.
    pub(crate) async fn paused(&self) {
        self.plan.paused.notified().await;
    }

    pub(crate) fn go_on(&self) {
        self.plan.go_on.notify_one();
    }

    /// Returns the names of all objects below a folder.
    pub(crate) async fn names(&self, folder: &str) -> Vec<String> {
        let folder = Path::from(folder);
        let listed = self.inner.list(Some(&folder));
        let metas: Vec<_> = listed.try_collect().await.expect("memory lists");
        metas.into_iter().map(|meta| meta.location.into()).collect()
    }

    /// Returns true if any object holds these bytes.
    pub(crate) async fn holds(&self, bytes: &str) -> bool {
        for name in self.names("").await {
            let found = self.inner.get(&Path::from(name)).await;
            let found = found.expect("it was listed").bytes().await;
            let text = String::from_utf8_lossy(&found.expect("memory reads")).into_owned();
            if text.contains(bytes) {
                return true;
            }
        }
        false
    }

    /// Replaces the content of an object.
    pub(crate) async fn write(&self, name: &str, content: &str) {
        let (name, content) = (Path::from(name), content.to_owned());
        let put = self.inner.put(&name, content.into()).await;
        put.expect("memory writes");
    }

    /// Opens a log on these objects, as another process would.
    pub(crate) async fn open(&self, options: CommitLogOptions) -> CommitLog {
        let log = CommitLog::open(Arc::new(self.clone()), options).await;
        log.expect("the store can be used")
    }

    fn shift(&self, mut meta: ObjectMeta) -> ObjectMeta {
        let ahead = self.plan.ahead.load(Ordering::SeqCst);
        meta.last_modified += Duration::from_millis(ahead.unsigned_abs());
        if ahead < 0 {
            meta.last_modified -= Duration::from_millis(2 * ahead.unsigned_abs());
        }
        meta
    }
}

/// Returns options with a clock that begins at the present time, and that clock.
pub(crate) fn clocked() -> (CommitLogOptions, TestClock) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.expect("it is after 1970").as_millis();
    let clock = TestClock::at(i64::try_from(now).expect("it is before the year 292277026"));
    let shown = clock.clone();
    let options = CommitLogOptions::default().clock(move || shown.now());
    (options, clock)
}

fn generic(what: &'static str) -> Error {
    Error::Generic {
        store: "hostile",
        source: what.into(),
    }
}

fn exists(path: &Path) -> Error {
    Error::AlreadyExists {
        path: path.to_string(),
        source: "409".into(),
    }
}

impl fmt::Display for Hostile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hostile")
    }
}

#[async_trait]
impl ObjectStore for Hostile {
    async fn put_opts(
        &self,
        path: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        if self.plan.overwrites.load(Ordering::SeqCst) {
            options.mode = PutMode::Overwrite;
        }
        let is_commit = options.mode == PutMode::Create && path.as_ref().starts_with("threads/");
        let next = if is_commit {
            self.queue().pop_front()
        } else {
            None
        };
        match next.unwrap_or(Mischief::None) {
            Mischief::SaysExists => return Err(exists(path)),
            Mischief::Throttled => return Err(generic("503 slow down")),
            Mischief::Slow => tokio::time::sleep(Duration::from_millis(30)).await,
            Mischief::Pauses => {
                self.plan.paused.notify_one();
                self.plan.go_on.notified().await;
            }
            _ => {}
        }
        let put = self.inner.put_opts(path, payload, options).await;
        if is_commit && put.is_err() {
            self.plan.collisions.fetch_add(1, Ordering::SeqCst);
        }
        match next {
            Some(Mischief::AnswerLost) => put.and(Err(generic("the connection broke"))),
            Some(Mischief::MeetsItself) => put.and(Err(exists(path))),
            Some(Mischief::AnsweredLate) => {
                self.plan.paused.notify_one();
                self.plan.go_on.notified().await;
                put
            }
            _ => put,
        }
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let mut found = self.inner.get_opts(path, options).await?;
        found.meta = self.shift(found.meta);
        Ok(found)
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    /// Lists without those that are too new, in a shuffled order.
    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (this, prefix) = (self.clone(), prefix.cloned());
        let listed = async move {
            let listed = this.inner.list(prefix.as_ref());
            let mut metas: Vec<_> = listed.try_collect().await?;
            metas.sort_by_key(|meta| meta.last_modified);
            metas.truncate(
                metas
                    .len()
                    .saturating_sub(this.plan.lag.load(Ordering::SeqCst)),
            );
            metas.sort_by_key(|meta| (meta.location.as_ref().len(), meta.e_tag.clone()));
            let metas = metas.into_iter().map(move |meta| Ok(this.shift(meta)));
            Ok::<_, Error>(stream::iter(metas))
        };
        stream::once(listed).try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
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
