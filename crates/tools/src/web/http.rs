use std::time::Duration;

use async_trait::async_trait;
use fugato_state::say;
use futures::StreamExt as _;
use reqwest::{Client, Response, Url, header, redirect::Policy};
use serde::Deserialize;
use thiserror::Error;

use super::{FetchFailure, Web, WebHit};
use crate::html;

/// The time limit for a service or a page.
const PATIENCE: Duration = Duration::from_secs(20);
/// The largest answer that is read, in bytes.
const MOST_BYTES: usize = 2 * 1024 * 1024;
/// The number of redirections that are followed.
const MOST_REDIRECTIONS: usize = 5;

/// A search service and pages, over HTTP.
///
/// A search is `GET url?q=…&format=json`, and the service answers `{"results": [{"title", "url",
/// "content"}]}`, as `SearXNG` does.
///
/// It fetches any address, so it is best put into an [`AllowedHosts`](super::AllowedHosts).
///
/// ```
/// use fugato_tools::web::{AllowedHosts, HttpWeb};
///
/// let web = HttpWeb::new("http://localhost:8888/search")?;
/// let web = AllowedHosts::new(web, ["en.wikipedia.org"]);
/// # Ok::<(), fugato_tools::web::BadSearchUrl>(())
/// ```
#[derive(derive_more::Debug, Clone)]
#[debug("HttpWeb {{ search: {:?}, .. }}", self.search.as_str())]
pub struct HttpWeb {
    search: Url,
    http: Client,
}

/// The error for an unusable address of a search service.
#[derive(Debug, Error)]
#[error("{url:?} is no address of a search service: one such as http://localhost:8888/search is")]
pub struct BadSearchUrl {
    /// The given address.
    pub url: String,
    #[source]
    source: Option<FetchFailure>,
}

#[derive(Debug, Error)]
enum Failure {
    #[error("{}", say!("the web could not be reached", "无法连接网络"))]
    Unreached(#[from] reqwest::Error),
    #[error("{}", say!("the server answered with status {_0}", "服务器返回状态 {_0}"))]
    Status(u16),
    #[error("{}", say!(
        "what the server sent is {_0:?}, and only text can be read",
        "服务器返回的是 {_0:?}，只能读取文本"
    ))]
    Kind(String),
    #[error("{}", say!(
        "the search service did not answer in the JSON that is expected",
        "搜索服务没有返回预期的 JSON"
    ))]
    Json(#[source] serde_json::Error),
    #[error("{}", say!("{_0:?} is no address of a page", "{_0:?} 不是网页地址"))]
    Address(String),
}

impl HttpWeb {
    /// Creates a web with the search service at this address.
    pub fn new(search: &str) -> Result<Self, BadSearchUrl> {
        let bad = |source: Option<FetchFailure>| BadSearchUrl {
            url: search.to_owned(),
            source,
        };
        let url = Url::parse(search).map_err(|error| bad(Some(error.into())))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(None));
        }
        #[cfg(feature = "tls")]
        {
            // An error means that the application has set a provider.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let http = Client::builder()
            .timeout(PATIENCE)
            .user_agent(concat!("fugato/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::custom(|attempt| {
                let first = attempt.previous().first();
                let same = first.is_some_and(|first| first.origin() == attempt.url().origin());
                if !same {
                    attempt.error("a redirection to another host")
                } else if attempt.previous().len() > MOST_REDIRECTIONS {
                    attempt.error("too many redirections")
                } else {
                    attempt.follow()
                }
            }))
            .build()
            .map_err(|error| bad(Some(error.into())))?;
        Ok(Self { search: url, http })
    }

    async fn get(&self, url: Url) -> Result<(Response, String), Failure> {
        let response = self.http.get(url).send().await?;
        if !response.status().is_success() {
            return Err(Failure::Status(response.status().as_u16()));
        }
        let kind = response.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.to_ascii_lowercase();
        Ok((response, kind))
    }
}

/// Reads the beginning of an answer, up to the limit.
async fn body(response: Response) -> Result<Vec<u8>, Failure> {
    let mut pieces = response.bytes_stream();
    let mut bytes = vec![];
    while let Some(piece) = pieces.next().await {
        bytes.extend_from_slice(&piece?);
        if bytes.len() >= MOST_BYTES {
            bytes.truncate(MOST_BYTES);
            break;
        }
    }
    Ok(bytes)
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    results: Vec<WebHit>,
}

#[async_trait]
impl Web for HttpWeb {
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<WebHit>, FetchFailure> {
        let mut url = self.search.clone();
        url.query_pairs_mut()
            .append_pair("q", query)
            .append_pair("format", "json");
        let (response, _) = self.get(url).await?;
        let bytes = body(response).await?;
        let answer: Answer = serde_json::from_slice(&bytes).map_err(Failure::Json)?;
        Ok(answer.results.into_iter().take(limit).collect())
    }

    async fn fetch(&self, url: &str) -> Result<String, FetchFailure> {
        let parsed = Url::parse(url).map_err(|_| Failure::Address(url.to_owned()))?;
        let (response, kind) = self.get(parsed).await?;
        let is = |kinds: &[&str]| kinds.iter().any(|known| kind.starts_with(known));
        if !is(&["text/", "application/json", "application/xhtml"]) {
            return Err(Failure::Kind(kind).into());
        }
        let text = String::from_utf8_lossy(&body(response).await?).into_owned();
        Ok(if is(&["text/html", "application/xhtml"]) {
            html::text(&text)
        } else {
            text
        })
    }
}
