//! An engine that goes on with conversations, in programs that are built for it.
use std::net::SocketAddr;

use clap::Args;

#[cfg(not(feature = "restate"))]
pub(crate) use missing::Engine;
#[cfg(feature = "restate")]
pub(crate) use restate::Engine;

/// The engine that decides where and when conversations go on.
#[derive(Debug, Clone, Args)]
#[non_exhaustive]
pub struct EngineFlags {
    /// The Restate server that goes on with conversations which a process left or which sleep, in
    /// place of this process's own worker
    #[arg(long, value_name = "URL")]
    pub restate: Option<String>,

    /// The address at which that server reaches this process. It stays the same from one start to
    /// the next
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:9080",
        requires = "restate"
    )]
    pub restate_listen: SocketAddr,

    /// The administration of that server, which is told that address [default: port 9070 of the
    /// host of --restate]
    #[arg(long, value_name = "URL", requires = "restate")]
    pub restate_admin: Option<String>,
}

#[cfg(feature = "restate")]
mod restate {
    use std::{future::pending, net::SocketAddr, sync::Arc, time::Duration};

    use fugato_graph::{Drive, Runner};
    use fugato_restate::{Restate, RestateOptions};
    use fugato_state::{State, say};
    use tokio::net::TcpListener;

    use super::EngineFlags;
    use crate::{CliError, error::ErrorContext as _};

    /// The pause between two tries to name this process to the server.
    const AGAIN: Duration = Duration::from_secs(1);

    /// A Restate server.
    #[derive(Debug, Clone)]
    pub(crate) struct Engine {
        restate: Restate,
        admin: String,
        listen: SocketAddr,
    }

    impl Engine {
        /// Returns the engine that the flags name, for the threads of this program.
        pub(crate) fn of(flags: &EngineFlags, program: &str) -> Result<Option<Self>, CliError> {
            let Some(ingress) = &flags.restate else {
                return Ok(None);
            };
            let options = RestateOptions::new(ingress).service(program);
            let restate = Restate::new(options).tell(|| "--restate".to_owned())?;
            let admin = flags.restate_admin.clone();
            Ok(Some(Self {
                admin: admin.unwrap_or_else(|| restate.usual_admin()),
                restate,
                listen: flags.restate_listen,
            }))
        }

        /// Returns a runner that leaves to the engine what it does not run itself.
        pub(crate) fn placing<S: State>(&self, runner: Runner<S>) -> Runner<S> {
            self.restate.placing(runner)
        }

        /// Serves the threads of an agent to the engine as long as the process runs.
        pub(crate) async fn place(&self, agent: Arc<dyn Drive>) -> Result<(), CliError> {
            let at = self.listen;
            let listener = TcpListener::bind(at).await;
            let listener = listener.tell(|| {
                say!(
                    "cannot listen on {at} for the Restate server; --restate-listen takes another address",
                    "无法为 Restate 服务器监听 {at}；请用 --restate-listen 换一个地址"
                )
            })?;
            let restate = self.restate.clone();
            tokio::spawn(async move {
                let served = restate.serve(listener, vec![agent], pending::<()>());
                if let Err(error) = served.await {
                    tracing::error!(%error, "threads are not served to restate");
                }
            });
            tokio::spawn(self.clone().register());
            Ok(())
        }

        /// Names this process to the server, as soon as there is one.
        async fn register(self) {
            let (at, admin) = (format!("http://{}", self.listen), self.admin);
            if self.listen.ip().is_unspecified() {
                let port = self.listen.port();
                tracing::warn!(
                    "name this process to restate: restate deployments register http://HOST:{port}"
                );
                return;
            }
            let mut told = false;
            while let Err(error) = self.restate.register(&admin, &at).await {
                if !told {
                    tracing::warn!(%error, %admin, "restate could not be told of this process; it is tried again");
                    told = true;
                }
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

#[cfg(not(feature = "restate"))]
mod missing {
    use std::sync::Arc;

    use fugato_graph::{Drive, Runner};
    use fugato_state::{State, say};

    use super::EngineFlags;
    use crate::CliError;

    /// The engine that this program lacks.
    #[derive(Debug, Clone)]
    pub(crate) enum Engine {}

    impl Engine {
        pub(crate) fn of(flags: &EngineFlags, _: &str) -> Result<Option<Self>, CliError> {
            match &flags.restate {
                None => Ok(None),
                Some(_) => Err(CliError::new(say!(
                    "--restate: this program was built without an engine; build it with `--features restate`",
                    "--restate：这个程序构建时没有包含引擎；请用 `--features restate` 构建"
                ))),
            }
        }

        pub(crate) fn placing<S: State>(&self, _: Runner<S>) -> Runner<S> {
            match *self {}
        }

        #[expect(clippy::unused_async, reason = "the engine that it lacks waits")]
        pub(crate) async fn place(&self, _: Arc<dyn Drive>) -> Result<(), CliError> {
            match *self {}
        }
    }
}
