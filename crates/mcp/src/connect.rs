use std::{error::Error, io, marker::PhantomData};

use async_trait::async_trait;
use rmcp::{
    RoleClient,
    model::ProtocolVersion,
    service::{ClientLifecycleMode, ClientServiceExt, RunningService},
    transport::IntoTransport,
};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{Era, handler::Handler};

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;
pub(crate) type RunningServer = RunningService<RoleClient, Handler>;

/// A way to connect to a server, also again after it was lost.
#[async_trait]
pub(crate) trait Connect: Send + Sync {
    /// Connects and performs the greeting.
    async fn connect(&self, handler: Handler, era: Era) -> Result<RunningServer, BoxError>;
}

/// Begins the session by the way of the protocol that `era` selects.
pub(crate) async fn greet<T, E, A>(
    transport: T,
    handler: Handler,
    era: Era,
) -> Result<RunningServer, BoxError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: Error + Send + Sync + 'static,
{
    let preferred_versions = vec![ProtocolVersion::LATEST];
    let mode = match era {
        Era::Either => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Era::Handshake => ClientLifecycleMode::Initialize,
        Era::Stateless => ClientLifecycleMode::Discover { preferred_versions },
    };
    Ok(handler.serve_with_lifecycle(transport, mode).await?)
}

/// A connection that a function opens.
pub(crate) struct Custom<F, S> {
    open: F,
    stream: PhantomData<fn() -> S>,
}

impl<F, S> Custom<F, S> {
    pub(crate) fn new(open: F) -> Self {
        Self {
            open,
            stream: PhantomData,
        }
    }
}

#[async_trait]
impl<F, A, S> Connect for Custom<F, S>
where
    F: Fn() -> A + Send + Sync,
    A: Future<Output = io::Result<S>> + Send,
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    async fn connect(&self, handler: Handler, era: Era) -> Result<RunningServer, BoxError> {
        let stream = (self.open)().await?;
        greet(tokio::io::split(stream), handler, era).await
    }
}
