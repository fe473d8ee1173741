//! Copies of conversations that outlive the machine, in programs that are built for them.
#[cfg(feature = "ship")]
mod copies;

#[cfg(feature = "ship")]
pub(crate) use copies::{open, restore, shipped};
#[cfg(not(feature = "ship"))]
pub(crate) use missing::{restore, shipped};

use fugato_graph::BoxError;
use fugato_state::{Millis, ThreadId};
use fugato_store::{DocKey, DocStore, Namespace};

/// A request to go on with a copy.
#[cfg_attr(
    not(feature = "ship"),
    expect(dead_code, reason = "without copies it is only refused")
)]
pub(crate) struct RestoreRequest {
    /// The thread; none for all.
    pub(crate) name: Option<ThreadId>,
    /// True if the store that was shipped is lost.
    pub(crate) lost: bool,
    /// The time as of which it goes on; none for the newest line.
    pub(crate) at: Option<Millis>,
}

/// Returns the document that says which home a store is: it lies beside the log and goes with it.
fn home_document() -> Result<(Namespace, DocKey), BoxError> {
    Ok((Namespace::new(["store"])?, DocKey::new("home")?))
}

/// Returns true if a store was ever shipped.
pub(crate) async fn was_shipped(docs: &dyn DocStore) -> Result<bool, BoxError> {
    let (space, key) = home_document()?;
    Ok(docs.get(&space, &key).await?.is_some())
}

#[cfg(not(feature = "ship"))]
mod missing {
    use fugato_graph::BoxError;
    use fugato_state::say;

    use super::RestoreRequest;
    use crate::{CliError, Flags, Terminal, store::Store};

    pub(crate) async fn shipped(flags: &Flags, store: Store) -> Result<Store, BoxError> {
        match &flags.ship {
            None => Ok(store),
            Some(_) => Err(refused()),
        }
    }

    pub(crate) async fn restore(
        _: &Flags,
        _: Store,
        _: RestoreRequest,
        _: &mut Terminal,
    ) -> Result<(), BoxError> {
        Err(refused())
    }

    fn refused() -> BoxError {
        CliError::new(say!(
            "--ship: this program was built without copies; build it with `--features ship`",
            "--ship：这个程序构建时没有包含副本；请用 `--features ship` 构建"
        ))
        .into()
    }
}
