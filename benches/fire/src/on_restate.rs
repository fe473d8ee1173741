//! Plays a task on Restate, as its documentation shows durable steps: each call is a `ctx.run` of a
//! handler, and who asks for the handler repeats the request under its idempotency key.
use std::time::Duration;

use anyhow::Result;
use fugato::restate::{Restate, RestateOptions};
use restate_sdk::prelude::*;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::{
    player::PlayerEnd,
    world::{Action, Visitor},
};

/// The handler of a task.
struct FireTask(Visitor);

#[restate_sdk::service(
    name = "FireTask",
    invocation_retry_policy(initial_interval = "50ms", factor = 1.0, max_interval = "50ms")
)]
impl FireTask {
    #[handler]
    async fn play(
        &self,
        ctx: Context<'_>,
        actions: Json<Vec<Action>>,
    ) -> Result<Json<Vec<String>>, HandlerError> {
        let mut said = vec![];
        for action in actions.0 {
            let world = self.0.clone();
            let call = || async move {
                let arguments = Value::Object(action.arguments);
                let called =
                    tokio::task::spawn_blocking(move || world.call(&action.name, &arguments));
                let answer = called.await?.map_err(|error| error.to_string())?;
                Ok::<_, HandlerError>(answer.said)
            };
            said.push(ctx.run(call).await?);
        }
        Ok(Json(said))
    }
}

/// Serves the task on a port, and asks for it, until it ends.
pub(crate) async fn play(port: u16, key: &str, place: &Place) -> Result<PlayerEnd> {
    let world = Visitor::new(port)?;
    let task = world.hello()?;
    let listener = TcpListener::bind(("127.0.0.1", place.port)).await?;
    let endpoint = Endpoint::builder().bind(FireTask(world)).build();
    let served =
        HttpServer::new(endpoint).serve_with_cancel(listener, std::future::pending::<()>());
    let asking = async {
        Restate::new(RestateOptions::new(&place.ingress))?
            .register(&place.admin, &format!("http://127.0.0.1:{}", place.port))
            .await?;
        let client = reqwest::Client::builder()
            .timeout(Duration::from_secs(60))
            .build()?;
        client
            .post(format!("{}/FireTask/play", place.ingress))
            .header("idempotency-key", key)
            .json(&task.actions)
            .send()
            .await?
            .error_for_status()?;
        Ok(PlayerEnd::Done)
    };
    tokio::select! {
        () = served => anyhow::bail!("the endpoint has ended"),
        ended = asking => ended,
    }
}

/// The addresses of the server, and the port on which the task is served to it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Place {
    /// The ingress of the server.
    #[arg(long, default_value = "")]
    pub(crate) ingress: String,
    /// The administration of the server.
    #[arg(long, default_value = "")]
    pub(crate) admin: String,
    /// The port.
    #[arg(long, default_value_t = 0)]
    pub(crate) port: u16,
}
