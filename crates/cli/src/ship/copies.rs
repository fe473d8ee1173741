//! Copies of conversations that outlive the machine: shipping, and going on with them.
use std::sync::Arc;

use fugato_commits::{CommitLog, CommitLogOptions, Home, RestorePoint, ShippingLog};
use fugato_graph::BoxError;
use fugato_state::{ThreadId, say};
use fugato_store::{DocStore, DocStoreExt as _, Precondition, StoreError, StoreErrorKind};

use super::{RestoreRequest, home_document};
use crate::{
    CliError, Flags, Terminal,
    error::ErrorContext as _,
    store::{Store, folder_of_commits},
    without_password,
};

/// Returns the store with its copy, if the flags name one.
pub(crate) async fn shipped(flags: &Flags, store: Store) -> Result<Store, BoxError> {
    let Some(address) = address(flags) else {
        return Ok(store);
    };
    let copy = open_copy(&address).await?;
    let home = home(&*store.docs).await?;
    Ok(Store {
        log: Arc::new(ShippingLog::new(store.log, copy, home)),
        docs: store.docs,
    })
}

/// Goes on with copies in a store that lacks them.
pub(crate) async fn restore(
    flags: &Flags,
    store: Store,
    request: RestoreRequest,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let Some(address) = address(flags) else {
        return Err(CliError::new(say!(
            "--ship names the copy to go on with: {ALLOWED}",
            "用 --ship 指定要继续使用的副本：{ALLOWED}"
        ))
        .into());
    };
    let copy = open_copy(&address).await?;
    let home = home(&*store.docs).await?;
    let threads = match &request.name {
        Some(name) => vec![name.clone()],
        None => copy.copies().await?,
    };
    for thread in &threads {
        let owner = copy.home(thread).await?;
        if owner.is_some_and(|owner| owner != home) && !request.lost {
            let name = thread.as_str();
            return Err(CliError::new(say!(
                "the conversation {name:?} belongs to another store; if that one is lost, say so with --lost: it can write nothing more of it then",
                "会话 {name:?} 属于另一个存储；如果那个存储已经丢失，请加上 --lost：之后它不能再写这个会话"
            ))
            .into());
        }
    }
    let restoring = Restoring {
        copy,
        store,
        home,
        request,
    };
    for thread in &threads {
        restoring.go_on(thread, terminal).await?;
    }
    Ok(())
}

/// A copy, and the store in which its threads go on.
struct Restoring {
    copy: CommitLog,
    store: Store,
    home: Home,
    request: RestoreRequest,
}

impl Restoring {
    async fn go_on(&self, thread: &ThreadId, terminal: &mut Terminal) -> Result<(), BoxError> {
        let (name, at, lang) = (thread.as_str(), self.request.at, terminal.lang);
        let is_named = self.request.name.is_some();
        if let Some(to) = self.copy.moved_to(thread).await?
            && !is_named
        {
            terminal.line(lang.pick(
                format!("stays where it moved: {name} ({to})"),
                format!("已移走，留在那里：{name}（{to}）"),
            ));
            return Ok(());
        }
        let point = at.map_or(RestorePoint::Newest, RestorePoint::Time);
        let restored = self.copy.restore(thread, &self.store.log, self.home, point);
        let restored = match restored.await {
            Err(error) if at.is_some() && error.kind == StoreErrorKind::NotFound => {
                if !is_named {
                    terminal.line(lang.pick(
                        format!("had not begun: {name}"),
                        format!("当时还没有开始：{name}"),
                    ));
                    return Ok(());
                }
                return Err(CliError::new(say!(
                    "the copy has no line of {name:?} from that time or before",
                    "副本里没有 {name:?} 在那个时间或之前的记录"
                ))
                .because(error)
                .into());
            }
            restored => restored?,
        };
        let (lines, later) = (restored.head, restored.left_behind);
        if lines > 0 {
            terminal.line(lang.pick(
                format!("goes on here: {name} ({lines} lines)"),
                format!("在此处继续：{name}（{lines} 行）"),
            ));
        }
        if later > 0 && at.is_some() {
            terminal.line(lang.pick(
                format!("  the copy keeps {later} later lines: --ship needs another place"),
                format!("  副本还保留之后的 {later} 行：--ship 需要另一个位置"),
            ));
        } else if later > 0 {
            return Err(CliError::new(say!(
                "the copy of {name:?} was being written and is not whole; it was restored as it was before, and needs another place for --ship",
                "{name:?} 的副本当时还没有写完；已恢复到之前的状态，--ship 需要另一个位置"
            ))
            .into());
        }
        Ok(())
    }
}

/// The copies that can be named.
const ALLOWED: &str = "file:FOLDER, s3://BUCKET/PREFIX";

/// Returns the place of the copy. Each person has one of their own.
fn address(flags: &Flags) -> Option<String> {
    let address = flags.ship.clone()?;
    Some(match &flags.person {
        None => address,
        Some(person) => format!("{}/people/{person}", address.trim_end_matches('/')),
    })
}

/// Opens commits in a folder or a bucket.
pub(crate) async fn open(address: &str) -> Result<CommitLog, BoxError> {
    match folder_of_commits(address) {
        Some(folder) if !folder.as_os_str().is_empty() => {
            Ok(CommitLog::open_folder(folder, CommitLogOptions::default()).await?)
        }
        None if address.starts_with("s3://") => Ok(bucket(address).await??),
        _ => Err(refused(address).into()),
    }
}

/// Opens the copy that `--ship` names.
async fn open_copy(address: &str) -> Result<CommitLog, BoxError> {
    let copy = open(address).await;
    match copy {
        Err(error) if error.is::<StoreError>() => {
            Ok(Err(error).tell(|| format!("--ship {}", without_password(address)))?)
        }
        copy => copy,
    }
}

fn refused(address: &str) -> CliError {
    let shown = without_password(address);
    CliError::new(say!(
        "--ship {shown:?} is no place of a copy: allowed are {ALLOWED}",
        "--ship {shown:?} 不是副本的位置：允许 {ALLOWED}"
    ))
}

#[cfg(feature = "s3")]
async fn bucket(address: &str) -> Result<Result<CommitLog, StoreError>, CliError> {
    Ok(CommitLog::open_bucket(address, [], CommitLogOptions::default()).await)
}

#[cfg(not(feature = "s3"))]
#[expect(clippy::unused_async, reason = "with the feature it asks a server")]
async fn bucket(address: &str) -> Result<Result<CommitLog, StoreError>, CliError> {
    let shown = without_password(address);
    Err(CliError::new(say!(
        "{shown}: this program was built without buckets; build it with `--features s3`, or name file:FOLDER",
        "{shown}：这个程序构建时没有包含对象存储；请用 `--features s3` 构建，或指定 file:FOLDER"
    )))
}

/// Returns the home that a store is, which lies beside its log and goes with it.
async fn home(docs: &dyn DocStore) -> Result<Home, BoxError> {
    let (space, key) = home_document()?;
    let new = Home::random().map_err(|kind| StoreError::new(kind, "ship"))?;
    let text = new.to_string();
    match docs.put_if(&space, &key, text, Precondition::Absent).await {
        Ok(_) => return Ok(new),
        Err(error) if error.is_conflict() => {}
        Err(error) => return Err(error.into()),
    }
    let known: Option<String> = docs.get_as(&space, &key).await?;
    let known = known.and_then(|known| known.parse().ok());
    known.ok_or_else(|| {
        CliError::new(say!(
            "the document store/home of the store is no home",
            "存储的文档 store/home 不是有效的标识"
        ))
        .into()
    })
}
