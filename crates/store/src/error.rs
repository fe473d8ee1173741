use std::{error::Error, fmt};

use fugato_state::{Millis, Seq, ThreadId, say};

use crate::{DocKey, Fence, Namespace, Version, busy_text};

/// The error of a request to a store.
#[derive(Debug)]
pub struct StoreError {
    /// The kind of the error.
    pub kind: StoreErrorKind,
    /// The operation, such as `append`.
    pub operation: &'static str,
    /// The thread of the operation, if it has one.
    pub thread: Option<ThreadId>,
    /// The document of the operation, if it has one.
    pub document: Option<(Namespace, DocKey)>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kinds of [`StoreError`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Another writer was first; nothing was written.
    Conflict {
        /// The last position.
        head: Seq,
        /// The fence of the newest lease.
        fence: Fence,
    },
    /// The document has another version; nothing was written.
    Changed {
        /// The stored version; none if there is no document.
        version: Option<Version>,
    },
    /// Another owner holds the lease.
    Busy {
        /// The owner of the lease.
        owner: String,
        /// The time at which the lease ends, in milliseconds of the store's clock.
        until: Millis,
    },
    /// The lease is no longer held.
    LeaseLost,
    /// There is no such thread or position.
    NotFound,
    /// The records were compacted away up to this position.
    Compacted {
        /// The position.
        base: Seq,
    },
    /// A record or commit is larger than allowed, in bytes.
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The allowed size.
        limit: usize,
    },
    /// The request itself is invalid.
    Invalid(String),
    /// The stored data cannot be read: unknown, newer, or damaged.
    Corrupt(String),
    /// The store does not support the operation.
    Unsupported,
    /// The disk or server is full.
    Full,
    /// The store did not answer, or not in time: a retry can help.
    Unavailable,
    /// Any other failure.
    Other,
}

impl StoreError {
    /// Creates an error of this kind.
    pub fn new(kind: StoreErrorKind, operation: &'static str) -> Self {
        Self {
            kind,
            operation,
            thread: None,
            document: None,
            source: None,
        }
    }

    fugato_state::setters! {
        /// Sets the thread.
        pub fn on(thread: &ThreadId) { thread = Some(thread.clone()) }

        /// Sets the document.
        pub fn on_document(space: &Namespace, key: &DocKey) {
            document = Some((space.clone(), key.clone()))
        }

        /// Adds the cause.
        pub fn because(source: impl Into<Box<dyn Error + Send + Sync>>) {
            source = Some(source.into())
        }
    }

    /// Returns true if another writer was first.
    pub fn is_conflict(&self) -> bool {
        matches!(
            self.kind,
            StoreErrorKind::Conflict { .. } | StoreErrorKind::Changed { .. }
        )
    }

    /// Returns true if the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self.kind,
            StoreErrorKind::Unavailable | StoreErrorKind::Full | StoreErrorKind::Busy { .. }
        )
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = self.operation;
        f.write_str(&say!("cannot {operation}", "操作 {operation} 没有成功"))?;
        if let Some(thread) = &self.thread {
            let thread = thread.as_str();
            f.write_str(&say!(" thread {thread:?}", "，对话 {thread:?}"))?;
        }
        if let Some((space, key)) = &self.document {
            let key = key.as_str();
            f.write_str(&say!(
                " document {key:?} of {space}",
                "，{space} 的文档 {key:?}"
            ))?;
        }
        f.write_str(&say!(": ", "："))?;
        match &self.kind {
            StoreErrorKind::Conflict { head, fence } => f.write_str(&say!(
                "another writer was first; its head is {head}, its fence {fence}",
                "别的写入者先写了：位置 {head}，编号 {fence}"
            )),
            StoreErrorKind::Changed { version: Some(_) } => f.write_str(&say!(
                "another version is there by now",
                "已经有了另一个版本"
            )),
            StoreErrorKind::Changed { version: None } => {
                f.write_str(&say!("it is not there", "它不存在"))
            }
            StoreErrorKind::Busy { owner, until } => f.write_str(&busy_text(owner, *until)),
            StoreErrorKind::LeaseLost => {
                f.write_str(&say!("the lease is no longer held", "租约已经失效"))
            }
            StoreErrorKind::NotFound => f.write_str(&say!(
                "there is no such thread or position",
                "没有这个对话或位置"
            )),
            StoreErrorKind::Compacted { base } => f.write_str(&say!(
                "records up to {base} were compacted away",
                "位置 {base} 及以前的记录已经压缩掉了"
            )),
            StoreErrorKind::TooLarge { bytes, limit } => f.write_str(&say!(
                "{bytes} bytes are more than the allowed {limit}",
                "{bytes} 字节超过了上限 {limit}"
            )),
            StoreErrorKind::Invalid(what) => {
                f.write_str(&say!("invalid request: {what}", "请求无效：{what}"))
            }
            StoreErrorKind::Corrupt(what) => {
                f.write_str(&say!("unreadable: {what}", "无法读取：{what}"))
            }
            StoreErrorKind::Unsupported => {
                f.write_str(&say!("this store has nothing for it", "这个存储不支持"))
            }
            StoreErrorKind::Full => f.write_str(&say!("no space is left", "磁盘空间不足")),
            StoreErrorKind::Unavailable => {
                f.write_str(&say!("the store did not answer", "存储没有回应"))
            }
            StoreErrorKind::Other => f.write_str(&say!("the store failed", "存储出错了")),
        }
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
