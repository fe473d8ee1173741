//! The agent and its page over HTTP.
use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use fugato::axum::{AgentRoutes, Asset, Authenticate, Caller, Denied, Page, serve as serve_agent};
use scheduler::served::Served;
use tokio::net::TcpListener;

use super::{args::Args, calendar, desk::Desk, screen::Screen};

/// The calendar that all conversations are about, unless another one is named.
const CALENDAR: &str = "home";

pub(crate) async fn serve(
    args: &Args,
    listen: SocketAddr,
    client_key_env: Option<&str>,
    screen: &mut Screen,
) -> Result<()> {
    let key = client_key(client_key_env)?;
    if !listen.ip().is_loopback() && key.is_none() {
        bail!(
            "{listen} can be reached from other machines: name the variable with a key by --client-key-env, or listen on 127.0.0.1"
        );
    }
    let mut args = args.clone();
    let name = args
        .calendar
        .get_or_insert_with(|| CALENDAR.to_owned())
        .clone();
    let desk = Desk::open(&args).await?;
    let store = calendar::open(&args).await?.store().clone();
    let listener = TcpListener::bind(listen)
        .await
        .with_context(|| format!("cannot listen on {listen}"))?;
    let address = listener.local_addr()?;
    let agent = Served::new(desk.service.clone(), store, name);
    let mut routes = AgentRoutes::new(agent).page(page()).recovers();
    routes = match key {
        Some(key) => routes.authenticate(Keyed(key)),
        // A page of elsewhere could call this machine by a name of its own.
        None => routes.hosts(["localhost", "127.0.0.1", "[::1]"]),
    };
    let told = desk.lang.pick("open ", "请打开 ");
    screen.line(format!("{told}http://{address}/"));
    let left = serve_agent(listener, routes, stopped()).await?;
    if left > 0 {
        screen.progress(&format!(
            "{left} runs were given up; the next start goes on with them"
        ));
    }
    Ok(())
}

/// The page, with the weeks beside the conversation.
fn page() -> Page {
    let script = "text/javascript; charset=utf-8";
    Page::chat()
        .file(
            "/agent.js",
            Asset::new(script, include_bytes!("../../page/agent.js")),
        )
        .file(
            "/weeks.js",
            Asset::new(script, include_bytes!("../../page/weeks.js")),
        )
        .file(
            "/agent.css",
            Asset::new(
                "text/css; charset=utf-8",
                include_bytes!("../../page/agent.css"),
            ),
        )
}

fn client_key(name: Option<&str>) -> Result<Option<String>> {
    let Some(name) = name else { return Ok(None) };
    let key = std::env::var(name).with_context(|| format!("--client-key-env {name}"))?;
    if key.trim().is_empty() {
        bail!("the variable {name} is empty; it must hold the key that clients send");
    }
    Ok(Some(key))
}

/// Ready when the process is asked to end.
async fn stopped() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut asked) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = asked.recv() => {}
                _ = interrupted => {}
            }
            return;
        }
    }
    drop(interrupted.await);
}

/// Lets in whoever sends the key.
struct Keyed(String);

#[async_trait::async_trait]
impl Authenticate for Keyed {
    async fn caller(&self, request: &fugato::axum::Parts) -> Result<Caller, Denied> {
        let sent = request.headers.get("authorization");
        let sent = sent.and_then(|value| value.to_str().ok());
        let sent = sent.and_then(|value| value.strip_prefix("Bearer "));
        match sent {
            Some(sent) if same(sent.as_bytes(), self.0.as_bytes()) => Ok(Caller::default()),
            _ => Err(Denied::unauthorized(
                "send the key of this server: Authorization: Bearer …",
            )),
        }
    }
}

/// Compares in a time that does not tell where two keys differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}
