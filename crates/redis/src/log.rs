use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use async_trait::async_trait;
use fugato_state::{Millis, Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, Lease, LeaseOutcome, LeaseRequest, Record, StoreError,
    StoreErrorKind, ThreadLog,
};

use crate::{
    RedisOptions, ServerDurability,
    connection::Connection,
    reply::{ReadResult, Refusal, Reply, refused},
    request::{MAX_SEQ, Request},
    script::{self, Script},
};

/// The logs of many threads on one Redis server. Clones share the connection.
///
/// Every request is one script, which the server executes atomically, in one round trip. The
/// durability of an acknowledged commit depends on the settings of the server: see
/// [`durability`](Self::durability).
///
/// A request whose future is dropped may have been carried out or not, and other requests are not
/// affected. The connection belongs to the tokio runtime on which it was made.
#[derive(derive_more::Debug, Clone)]
#[debug("RedisLog {{ connection: {:?}, .. }}", self.shared.connection)]
pub struct RedisLog {
    shared: Arc<LogInner>,
}

struct LogInner {
    connection: Connection,
    /// The newest time that the server returned: even if it loses that, time does not run backwards
    /// here.
    seen: AtomicI64,
}

impl RedisLog {
    /// Connects to a server: `redis://user:password@host:port/database`, or `rediss://` with the
    /// feature `tls`.
    ///
    /// # Errors
    /// `Invalid` for a URL that cannot be used, a wrong password, a server that is part of a
    /// cluster, and one that would evict threads when memory is short. `Corrupt` if the stored keys
    /// have a newer version. `Unavailable` if the server does not answer in time. No message
    /// contains the password.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::connect_with(url, RedisOptions::default()).await
    }

    /// Connects with options; see [`connect`](Self::connect).
    pub async fn connect_with(url: &str, options: RedisOptions) -> Result<Self, StoreError> {
        let shared = LogInner {
            connection: Connection::open(url, options).await?,
            seen: AtomicI64::new(Millis::MIN),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Returns the durability of acknowledged commits, by the settings that the server reported
    /// when the newest connection was made.
    pub fn durability(&self) -> ServerDurability {
        self.shared.connection.durability()
    }

    pub(crate) fn request(&self, script: &'static Script, thread: &str) -> Request {
        let seen = self.shared.seen.load(Ordering::Relaxed);
        Request::new(script, self.shared.connection.options(), seen, thread)
    }

    pub(crate) async fn run(
        &self,
        request: &Request,
        operation: &'static str,
    ) -> Result<ReadResult<Reply>, StoreError> {
        let answer = self
            .shared
            .connection
            .run(request.script, &request.command, operation)
            .await?;
        Ok(Reply::of(answer))
    }

    /// Runs a request on a thread, and reads the answer.
    pub(crate) async fn with<T>(
        &self,
        thread: &ThreadId,
        request: &Request,
        operation: &'static str,
        read: impl FnOnce(Reply) -> ReadResult<T>,
    ) -> Result<T, StoreError> {
        let ran = self.run(request, operation).await;
        let done = ran.and_then(|reply| {
            let read = reply.and_then(read);
            read.map_err(|refusal| refused(refusal, operation))
        });
        done.map_err(|error| error.on(thread))
    }

    fn see(&self, now: Millis) -> Millis {
        self.shared.seen.fetch_max(now, Ordering::Relaxed);
        now
    }

    pub(crate) fn read_appended(&self, mut reply: Reply) -> ReadResult<AppendResult> {
        Ok(AppendResult {
            now: self.see(reply.number()?),
            head: reply.number()?,
            signals: reply.signals()?,
        })
    }

    fn read_leases(&self, mut reply: Reply) -> ReadResult<LeaseOutcome> {
        let lease = |mut lease: Reply| {
            Ok(Lease {
                thread: lease.thread()?,
                fence: lease.number()?,
                head: lease.number()?,
                until: lease.number()?,
                now: self.see(lease.number()?),
            })
        };
        let leases = reply.lists()?.into_iter().map(lease);
        Ok(LeaseOutcome::Granted(leases.collect::<ReadResult<_>>()?))
    }
}

#[async_trait]
impl ThreadLog for RedisLog {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        let failed = |kind| StoreError::new(kind, "append").on(thread);
        commit.check_size().map_err(failed)?;
        let head = commit.expect.head;
        // A writer that expects a head past the last position gets a conflict anyway.
        if head <= MAX_SEQ {
            commit.check_end(head, MAX_SEQ).map_err(failed)?;
        }
        let mut request = self.request(&script::APPEND, thread.as_str());
        request.commit(commit, None);
        let read = |reply: ReadResult<Reply>| {
            let appended = reply.and_then(|reply| self.read_appended(reply));
            appended.map_err(|refusal| match refusal {
                Refusal::Base { compacted, head } => {
                    let wrong = commit.check_base(compacted, head).err();
                    wrong.map_or(refusal, Refusal::Kind)
                }
                other => other,
            })
        };
        let ran = self.run(&request, "append").await;
        let appended = ran.and_then(|reply| read(reply).map_err(|why| refused(why, "append")));
        appended.map_err(|error| error.on(thread))
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        let from = from.max(1);
        let mut request = self.request(&script::READ, thread.as_str());
        // There are no records past the last position.
        let (first, most) = (from.min(MAX_SEQ + 1), limit.min(1 << 31));
        request.arg(first).arg(most);
        self.with(thread, &request, "read", |mut reply| {
            let records = reply.texts()?.into_iter().map(Record);
            Ok((from..).zip(records).collect())
        })
        .await
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        let request = self.request(&script::HEAD, thread.as_str());
        let ran = self.run(&request, "read the head of").await;
        let head = ran.and_then(|reply| {
            let head = reply.and_then(|mut reply| {
                let now = self.see(reply.number()?);
                Ok(Head {
                    now,
                    seq: reply.number()?,
                    base: reply.number()?,
                    fence: reply.number()?,
                    nonce: reply.nonce()?,
                    status: reply.status()?,
                    leased_until: reply.maybe_number()?.filter(|until| *until > now),
                })
            });
            found(head, "read the head of")
        });
        head.map_err(|error| error.on(thread))
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        match request {
            LeaseRequest::Acquire { thread, owner, ttl } => {
                let mut request = self.request(&script::ACQUIRE, thread.as_str());
                request.arg(owner).time_to_live(ttl);
                let read = |reply| self.read_leases(reply);
                self.with(&thread, &request, "lease", read).await
            }
            LeaseRequest::Claim(claim) => {
                let mut request = self.request(&script::CLAIM, "");
                request.arg(claim.n.min(1 << 31)).arg(claim.owner);
                request.time_to_live(claim.ttl).arg(claim.prefix);
                for thread in &claim.except {
                    request.arg(thread.as_str());
                }
                let reply = self.run(&request, "claim").await?;
                let leases = reply.and_then(|reply| self.read_leases(reply));
                leases.map_err(|refusal| refused(refusal, "claim"))
            }
            LeaseRequest::Renew { thread, fence, ttl } => {
                let mut request = self.request(&script::RENEW, thread.as_str());
                request.arg(fence).time_to_live(ttl);
                self.with(&thread, &request, "renew", |mut reply| {
                    self.see(reply.number()?);
                    let (until, signals) = (reply.number()?, reply.signals()?);
                    Ok(LeaseOutcome::Renewed { until, signals })
                })
                .await
            }
            LeaseRequest::Release { thread, fence } => {
                let mut request = self.request(&script::RELEASE, thread.as_str());
                request.arg(fence);
                let done = |_| Ok(LeaseOutcome::Done);
                self.with(&thread, &request, "release", done).await
            }
            LeaseRequest::Signal { thread, signal } => {
                let line = serde_json::to_string(&signal).map_err(|error| {
                    let what = StoreErrorKind::Invalid("it cannot be written".into());
                    StoreError::new(what, "signal").on(&thread).because(error)
                })?;
                let mut request = self.request(&script::SIGNAL, thread.as_str());
                request.arg(line);
                let done = |_| Ok(LeaseOutcome::Done);
                self.with(&thread, &request, "signal", done).await
            }
        }
    }
}

/// Reads an optional answer: a missing value is no error.
pub(crate) fn found<T>(
    read: ReadResult<T>,
    operation: &'static str,
) -> Result<Option<T>, StoreError> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(Refusal::Nothing) => Ok(None),
        Err(refusal) => Err(refused(refusal, operation)),
    }
}
