use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use fugato_state::say;

use super::{FetchFailure, Web, WebHit};

/// The error for an address that is not on an allowed host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", say!(
    "{url:?} may not be read: allowed is https on {allowed}",
    "不能读取 {url:?}：只允许 {allowed} 上的 https"
))]
pub struct NotAllowed {
    /// The address.
    pub url: String,
    /// The hosts that are allowed.
    pub allowed: String,
}

/// A [`Web`] that lets through only pages on allowed hosts.
#[derive(derive_more::Debug, Clone)]
pub struct AllowedHosts {
    #[debug(skip)]
    web: Arc<dyn Web>,
    hosts: BTreeSet<String>,
}

impl AllowedHosts {
    /// Allows only these hosts, and no others below them.
    pub fn new<H: Into<String>>(
        web: impl Web + 'static,
        hosts: impl IntoIterator<Item = H>,
    ) -> Self {
        let hosts = hosts
            .into_iter()
            .map(|host| host.into().to_ascii_lowercase());
        Self {
            web: Arc::new(web),
            hosts: hosts.collect(),
        }
    }

    fn check(&self, url: &str) -> Result<(), NotAllowed> {
        match host(url) {
            Some(host) if self.hosts.contains(&host) => Ok(()),
            _ => Err(NotAllowed {
                url: url.to_owned(),
                allowed: self.hosts.iter().cloned().collect::<Vec<_>>().join(", "),
            }),
        }
    }
}

/// Returns the host of an address that is plain enough to be trusted: `https`, no credentials, no
/// port, no character that URL parsers read in different ways.
fn host(url: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_graphic() && c != '\\';
    let rest = url
        .strip_prefix("https://")
        .filter(|_| url.chars().all(plain))?;
    let host = rest.split(['/', '?', '#']).next()?;
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    (!host.is_empty() && host.chars().all(named)).then(|| host.to_ascii_lowercase())
}

#[async_trait]
impl Web for AllowedHosts {
    async fn search(&self, query: &str, limit: usize) -> Result<Vec<WebHit>, FetchFailure> {
        let mut hits = self.web.search(query, limit).await?;
        hits.retain(|hit| self.check(&hit.url).is_ok());
        hits.truncate(limit);
        Ok(hits)
    }

    async fn fetch(&self, url: &str) -> Result<String, FetchFailure> {
        self.check(url)?;
        self.web.fetch(url).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct AllHosts;

    #[async_trait]
    impl Web for AllHosts {
        async fn search(&self, query: &str, _: usize) -> Result<Vec<WebHit>, FetchFailure> {
            let hit = |url: &str| WebHit::new(query, url, "");
            Ok(vec![
                hit("https://en.example.org/a"),
                hit("https://elsewhere.example.org/b"),
            ])
        }

        async fn fetch(&self, url: &str) -> Result<String, FetchFailure> {
            Ok(format!("the text of {url}"))
        }
    }

    #[tokio::test]
    async fn sch_87_only_named_hosts_are_asked() {
        let web = AllowedHosts::new(AllHosts, ["EN.example.org"]);
        let page = web.fetch("https://en.example.org/a?b#c").await.unwrap();
        assert_eq!(page, "the text of https://en.example.org/a?b#c");
        for url in [
            "https://elsewhere.example.org/",
            "http://en.example.org/",
            "https://en.example.org.evil.example/",
            "https://a.en.example.org/",
            "https://en.example.org:8080/",
            "https://en.example.org@evil.example/",
            "https://evil.example\\@en.example.org/",
            "https://en.example.org\t/",
            "https:///",
            "file:///etc/hosts",
            "",
        ] {
            let error = web.fetch(url).await.unwrap_err();
            let expected = NotAllowed {
                url: url.into(),
                allowed: "en.example.org".into(),
            };
            assert_eq!(error.downcast_ref(), Some(&expected), "{url}");
        }
        let hits = web.search("essays", 5).await.unwrap();
        let urls: Vec<_> = hits.iter().map(|hit| hit.url.as_str()).collect();
        assert_eq!(urls, ["https://en.example.org/a"]);
    }
}
