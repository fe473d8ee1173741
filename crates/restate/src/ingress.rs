//! The words that this side says to a Restate server, over HTTP.
use std::time::Duration;

use fugato_state::{ThreadId, say};
use reqwest::{Client, Url};
use serde_json::json;

/// The longest wait for an answer of the server.
const PATIENCE: Duration = Duration::from_secs(30);

/// An error of the engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestateError {
    /// An address is none of HTTP.
    #[error("{}", say!(
        "{address:?} is no address of a Restate server: http://HOST:PORT is allowed",
        "{address:?} 不是 Restate 服务器的地址：应为 http://HOST:PORT"
    ))]
    Address {
        /// The address.
        address: String,
    },
    /// A name is none of a service.
    #[error("{}", say!(
        "{name:?} is no name of a service: letters, digits, `.`, `_` and `-` are allowed, and a letter begins it",
        "{name:?} 不是服务名：只能有字母、数字、`.`、`_` 和 `-`，并以字母开头"
    ))]
    Service {
        /// The name.
        name: String,
    },
    /// No agent was given.
    #[error("{}", say!("no agent was given to serve", "没有给出要服务的智能体"))]
    NoAgent,
    /// Threads would be those of two agents.
    #[error("{}", say!(
        "the prefixes {one:?} and {two:?} share threads: none may begin with another",
        "前缀 {one:?} 和 {two:?} 有共同的线程：任何一个都不能以另一个开头"
    ))]
    Shared {
        /// The prefix of one agent.
        one: String,
        /// The prefix of another.
        two: String,
    },
    /// The server cannot be reached.
    #[error("{}", say!("the Restate server cannot be reached", "连接不到 Restate 服务器"))]
    Unreachable(#[from] reqwest::Error),
    /// The server refuses a request.
    #[error("{}", say!(
        "the Restate server refuses it ({status}): {said}",
        "Restate 服务器拒绝了（{status}）：{said}"
    ))]
    Refused {
        /// The status of its answer.
        status: u16,
        /// The answer.
        said: String,
    },
}

/// The way to the ingress of a server.
#[derive(Debug, Clone)]
pub(crate) struct Ingress {
    client: Client,
    url: Url,
    service: String,
}

impl Ingress {
    pub(crate) fn new(address: &str, service: &str) -> Result<Self, RestateError> {
        // Where another crate has given the client TLS, it does not start without this.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(PATIENCE).build()?;
        let url = at(address, &[])?;
        let service = service.to_owned();
        Ok(Self {
            client,
            url,
            service,
        })
    }

    /// Returns the address of another port of the server.
    pub(crate) fn beside(&self, port: u16) -> String {
        let mut url = self.url.clone();
        url.set_path("/");
        // An address of HTTP has a host, and so can have a port.
        let _ = url.set_port(Some(port));
        url.to_string()
    }

    /// Orders a drive of a thread, and does not wait for it. Returns when the server has stored it.
    pub(crate) async fn wake(&self, thread: &ThreadId) -> Result<(), RestateError> {
        let path = [self.service.as_str(), thread.as_str(), "drive", "send"];
        let url = below(self.url.clone(), &path);
        // No drive was ordered for a time before all others.
        done(self.client.post(url).json(&0).send().await?).await
    }

    /// Names an endpoint to the administration of the server.
    pub(crate) async fn register(&self, admin: &str, endpoint: &str) -> Result<(), RestateError> {
        let url = at(admin, &["deployments"])?;
        let uri = at(endpoint, &[])?;
        let body = json!({ "uri": uri.as_str(), "force": true });
        done(self.client.post(url).json(&body).send().await?).await
    }
}

fn at(address: &str, path: &[&str]) -> Result<Url, RestateError> {
    let url = Url::parse(address)
        .ok()
        .filter(|url| url.scheme() == "http");
    let url = url.ok_or_else(|| RestateError::Address {
        address: address.to_owned(),
    })?;
    Ok(below(url, path))
}

/// Adds segments to a path. Whatever a segment contains, it stays one.
fn below(mut url: Url, path: &[&str]) -> Url {
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

async fn done(answer: reqwest::Response) -> Result<(), RestateError> {
    let status = answer.status();
    if status.is_success() {
        return Ok(());
    }
    let said = answer.text().await.unwrap_or_default();
    let status = status.as_u16();
    Err(RestateError::Refused { status, said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_segment_whatever_it_contains() {
        let url = at(
            "http://127.0.0.1:8080",
            &["FugatoThread", "a/b ?#%日", "drive"],
        );
        let url = url.map(|url| url.to_string()).unwrap_or_default();
        let expected = "http://127.0.0.1:8080/FugatoThread/a%2Fb%20%3F%23%25%E6%97%A5/drive";
        assert_eq!(url, expected);
    }

    #[test]
    fn an_address_that_is_none_is_named() {
        for address in ["localhost:8080", "https://x", ""] {
            let refused = at(address, &[]);
            assert!(
                matches!(refused, Err(RestateError::Address { address: named }) if named == address)
            );
        }
    }
}
