//! Copies of conversations that outlive the machine, in programs that are built for them.
#[cfg(feature = "ship")]
mod copies;

#[cfg(feature = "ship")]
pub(crate) use copies::{restore, shipped};
#[cfg(not(feature = "ship"))]
pub(crate) use missing::{restore, shipped};

#[cfg(not(feature = "ship"))]
mod missing {
    use fugato_graph::BoxError;
    use fugato_state::{ThreadId, say};

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
        _: Option<ThreadId>,
        _: bool,
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
