//! The agent and its page over HTTP.
use std::net::SocketAddr;

use async_trait::async_trait;
use fugato_axum::{AccessDenied, AgentRoutes, AllowAll, Authenticate, Caller, Page, Parts};
use fugato_graph::BoxError;
use futures::FutureExt as _;
use tokio::net::TcpListener;

use crate::{CliError, IntoService, Terminal, error::ErrorContext as _, signals::ended};

/// The address and the key of a server.
pub(crate) struct ServeOptions {
    listen: SocketAddr,
    key: Option<String>,
}

impl ServeOptions {
    /// Checks the address: beyond this machine a key is required.
    pub(crate) fn new(listen: SocketAddr, client_key_env: Option<&str>) -> Result<Self, CliError> {
        let key = client_key(client_key_env)?;
        if !listen.ip().is_loopback() && key.is_none() {
            return Err(CliError::new(format!(
                "{listen} can be reached from other machines: name the variable with a key by --client-key-env, or listen on 127.0.0.1"
            )));
        }
        Ok(Self { listen, key })
    }

    /// Serves until the process gets a signal to end.
    pub(crate) async fn serve(
        self,
        wired: impl IntoService,
        page: Page,
        terminal: &mut Terminal,
    ) -> Result<(), BoxError> {
        let listen = self.listen;
        let listener = TcpListener::bind(listen).await;
        let listener = listener.tell(|| format!("cannot listen on {listen}"))?;
        let address = listener.local_addr()?;
        let (agent, paths) = wired.parts();
        let routes = AgentRoutes::new(agent).page(page).beside(paths).recovers();
        let routes = match self.key {
            Some(key) => routes.authenticate(KeyAuth(key)),
            // A foreign page can make its own name resolve to this machine.
            None => routes
                .authenticate(AllowAll)
                .hosts(["localhost", "127.0.0.1", "[::1]"]),
        };
        let told = terminal.lang.pick("open ", "请打开 ");
        terminal.line(format!("{told}http://{address}/"));
        let left = fugato_axum::serve(listener, routes, ended().map(drop)).await?;
        if left > 0 {
            terminal.progress(&format!(
                "{left} runs were given up; the next start goes on with them"
            ));
        }
        Ok(())
    }
}

fn client_key(name: Option<&str>) -> Result<Option<String>, CliError> {
    let Some(name) = name else { return Ok(None) };
    let key = std::env::var(name).tell(|| format!("--client-key-env {name}"))?;
    if key.trim().is_empty() {
        return Err(CliError::new(format!(
            "the variable {name} is empty; it must hold the key that clients send"
        )));
    }
    Ok(Some(key))
}

/// The authentication by one key.
struct KeyAuth(String);

#[async_trait]
impl Authenticate for KeyAuth {
    async fn caller(&self, request: &Parts) -> Result<Caller, AccessDenied> {
        let sent = request.headers.get("authorization");
        let sent = sent.and_then(|value| value.to_str().ok());
        let sent = sent.and_then(|value| value.strip_prefix("Bearer "));
        match sent {
            Some(sent) if same(sent.as_bytes(), self.0.as_bytes()) => Ok(Caller::default()),
            _ => Err(AccessDenied::unauthorized(
                "send the key of this server: Authorization: Bearer …",
            )),
        }
    }
}

/// Compares two keys in a time that does not depend on the position of a difference.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_let_in_by_a_key_only() {
        let beyond: SocketAddr = "0.0.0.0:80".parse().unwrap();
        let refused = ServeOptions::new(beyond, None).err().unwrap().to_string();
        assert!(refused.contains("--client-key-env"), "{refused}");
        let missing = ServeOptions::new(beyond, Some("NO_SUCH_VARIABLE_HERE"));
        assert_eq!(
            missing.err().unwrap().to_string(),
            "--client-key-env NO_SUCH_VARIABLE_HERE"
        );
        assert!(ServeOptions::new("127.0.0.1:0".parse().unwrap(), None).is_ok());
    }

    #[test]
    fn keys_are_compared_as_a_whole() {
        assert!(same(b"abc", b"abc"));
        assert!(!same(b"abc", b"abd"));
        assert!(!same(b"abc", b"ab"));
    }
}
