//! A collection of a `CalDAV` server (RFC 4791): it is read whole, and written under conditions.
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, StatusCode, Url, header, redirect::Policy};

use crate::calendar::Lang;

/// The longest time of an exchange.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest answer that is read, in bytes.
const LARGEST: usize = 16 << 20;
/// The most elements of an answer, each of which takes memory beside its text.
const ELEMENTS: u32 = 400_000;

const QUERY: &str = r#"<?xml version="1.0" encoding="utf-8"?><c:calendar-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:prop><d:getetag/><c:calendar-data/></d:prop><c:filter><c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT"/></c:comp-filter></c:filter></c:calendar-query>"#;
const TOKEN: &str = r#"<?xml version="1.0" encoding="utf-8"?><d:propfind xmlns:d="DAV:"><d:prop><d:sync-token/></d:prop></d:propfind>"#;

/// A calendar collection that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CalDavError {
    /// The address is none.
    #[error(
        "--caldav {0:?} is no collection: allowed is https://host/path/ without a password in it, and http:// on this machine"
    )]
    Address(String),
    /// The password file cannot be read.
    #[error("the file of CALDAV_PASSWORD_FILE cannot be read")]
    Password(#[source] std::io::Error),
    /// The server did not answer in time, or not at all.
    #[error("the calendar server cannot be reached")]
    Unreachable(#[source] reqwest::Error),
    /// The server refuses.
    #[error("the calendar server answers {0}")]
    Status(StatusCode),
    /// The answer is not one.
    #[error("the calendar server gives an answer that cannot be read: {0}")]
    Answer(String),
    /// The answer is too large.
    #[error("the calendar server gives more than {LARGEST} bytes")]
    TooLarge,
}

impl CalDavError {
    /// Returns the error in words of a person.
    pub fn say(&self, lang: Lang) -> String {
        let zh = match self {
            Self::Unreachable(_) => "日历服务器没有回应".to_owned(),
            Self::Status(status) if status.as_u16() == 401 || status.as_u16() == 403 => {
                "日历服务器拒绝访问：请检查 CALDAV_USER 和 CALDAV_PASSWORD".to_owned()
            }
            Self::Status(status) => format!("日历服务器返回 {status}"),
            Self::Answer(_) => "日历服务器的回答无法读取".to_owned(),
            Self::TooLarge => format!("日历服务器的回答超过 {LARGEST} 字节"),
            Self::Address(_) | Self::Password(_) => self.to_string(),
        };
        let en = match self {
            Self::Status(status) if status.as_u16() == 401 || status.as_u16() == 403 => {
                "the calendar server refuses: check CALDAV_USER and CALDAV_PASSWORD".to_owned()
            }
            other => other.to_string(),
        };
        lang.pick(en, zh)
    }
}

/// A resource of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    /// The path on the server.
    pub(super) href: String,
    /// The version.
    pub(super) etag: String,
    /// The iCalendar text.
    pub(super) text: String,
}

/// The end of a conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WriteOutcome {
    /// It is done; the new version, where the server tells it.
    Done(Option<String>),
    /// The resource is not as it was expected, and was not touched.
    Changed,
}

#[derive(derive_more::Debug, Clone)]
#[debug("Collection {{ url: {url} }}")]
pub(super) struct Collection {
    url: Url,
    http: Client,
    login: Option<(String, String)>,
}

impl Collection {
    pub(super) fn new(url: &str, login: Option<(String, String)>) -> Result<Self, CalDavError> {
        let bad =
            || CalDavError::Address(url.split('@').next_back().unwrap_or_default().to_owned());
        let mut parsed = Url::parse(url).map_err(|_| bad())?;
        let here = parsed
            .host_str()
            .is_some_and(|host| matches!(host, "localhost" | "127.0.0.1" | "[::1]"));
        let safe = parsed.scheme() == "https" || parsed.scheme() == "http" && here;
        if !safe || parsed.password().is_some() || !parsed.username().is_empty() {
            return Err(bad());
        }
        if !parsed.path().ends_with('/') {
            let path = format!("{}/", parsed.path());
            parsed.set_path(&path);
        }
        // An error means that the application has set a provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let same_host = Policy::custom(|attempt| {
            let first = attempt.previous().first();
            let is_there = first.is_some_and(|first| first.origin() == attempt.url().origin());
            if !is_there || attempt.previous().len() > 5 {
                attempt.error("a redirection to another host, or too many")
            } else {
                attempt.follow()
            }
        });
        let client = Client::builder().timeout(PATIENCE).redirect(same_host);
        Ok(Self {
            http: client.build().map_err(CalDavError::Unreachable)?,
            url: parsed,
            login,
        })
    }

    /// Returns the path of a resource of this name in the collection.
    pub(super) fn href(&self, name: &str) -> String {
        format!("{}{name}", self.url.path())
    }

    /// Returns what changes with every change of the collection, where the server has that.
    pub(super) async fn token(&self) -> Result<Option<String>, CalDavError> {
        let request = self
            .request("PROPFIND", self.url.clone())
            .header("depth", "0");
        let (_, text) = self.ask(request.body(TOKEN)).await?;
        let document = parsed(&text)?;
        let mut nodes = document.descendants();
        let token = nodes.find(|node| node.has_tag_name(("DAV:", "sync-token")));
        Ok(token.and_then(|node| Some(node.text()?.trim().to_owned())))
    }

    /// Returns all events of the collection.
    pub(super) async fn all(&self) -> Result<Vec<Resource>, CalDavError> {
        let request = self
            .request("REPORT", self.url.clone())
            .header("depth", "1");
        let (_, text) = self.ask(request.body(QUERY)).await?;
        let document = parsed(&text)?;
        if !document
            .root_element()
            .has_tag_name(("DAV:", "multistatus"))
        {
            return Err(CalDavError::Answer("it is no multistatus".into()));
        }
        let responses = document.descendants();
        let responses = responses.filter(|node| node.has_tag_name(("DAV:", "response")));
        let resource = |response: roxmltree::Node<'_, '_>| {
            let text = |name: (&str, &str)| {
                let mut below = response.descendants();
                below.find(|node| node.has_tag_name(name))?.text()
            };
            Some(Resource {
                href: text(("DAV:", "href"))?.trim().to_owned(),
                etag: text(("DAV:", "getetag"))?.trim().to_owned(),
                text: text(("urn:ietf:params:xml:ns:caldav", "calendar-data"))?.to_owned(),
            })
        };
        Ok(responses.filter_map(resource).collect())
    }

    /// Returns a resource; none if there is none.
    pub(super) async fn get(&self, href: &str) -> Result<Option<Resource>, CalDavError> {
        let request = self.request("GET", self.at(href)?);
        match self.ask(request).await {
            Ok((etag, text)) => Ok(Some(Resource {
                href: href.to_owned(),
                etag: etag.unwrap_or_default(),
                text,
            })),
            Err(CalDavError::Status(StatusCode::NOT_FOUND | StatusCode::GONE)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a resource that has this version; none if there must be none.
    pub(super) async fn put(
        &self,
        href: &str,
        etag: Option<&str>,
        text: &str,
    ) -> Result<WriteOutcome, CalDavError> {
        let request = self.request("PUT", self.at(href)?);
        let request = request.header(header::CONTENT_TYPE, "text/calendar; charset=utf-8");
        let request = match etag {
            Some(etag) => request.header(header::IF_MATCH, etag),
            None => request.header(header::IF_NONE_MATCH, "*"),
        };
        self.written(request.body(text.to_owned())).await
    }

    /// Deletes a resource that has this version.
    pub(super) async fn delete(&self, href: &str, etag: &str) -> Result<WriteOutcome, CalDavError> {
        let request = self.request("DELETE", self.at(href)?);
        self.written(request.header(header::IF_MATCH, etag)).await
    }

    async fn written(&self, request: RequestBuilder) -> Result<WriteOutcome, CalDavError> {
        match self.ask(request).await {
            Ok((etag, _)) => Ok(WriteOutcome::Done(etag)),
            Err(CalDavError::Status(
                StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT | StatusCode::NOT_FOUND,
            )) => Ok(WriteOutcome::Changed),
            Err(error) => Err(error),
        }
    }

    /// Returns the address of a path, which the server must not choose to be elsewhere.
    fn at(&self, href: &str) -> Result<Url, CalDavError> {
        let url = self.url.join(href).ok();
        let here = url.filter(|url| url.origin() == self.url.origin());
        here.ok_or_else(|| CalDavError::Answer("a resource lies on another host".into()))
    }

    fn request(&self, method: &str, url: Url) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap_or_default();
        let request = self.http.request(method, url);
        let request = request.header(header::CONTENT_TYPE, "application/xml; charset=utf-8");
        match &self.login {
            Some((user, password)) => request.basic_auth(user, Some(password)),
            None => request,
        }
    }

    /// Returns the version and the text of a successful answer.
    async fn ask(&self, request: RequestBuilder) -> Result<(Option<String>, String), CalDavError> {
        let sent = request.send().await;
        let mut response = sent.map_err(|error| CalDavError::Unreachable(error.without_url()))?;
        if !response.status().is_success() {
            return Err(CalDavError::Status(response.status()));
        }
        let etag = response.headers().get(header::ETAG);
        let etag = etag.and_then(|etag| Some(etag.to_str().ok()?.to_owned()));
        let mut bytes = vec![];
        let broken = |error: reqwest::Error| CalDavError::Unreachable(error.without_url());
        while let Some(piece) = response.chunk().await.map_err(broken)? {
            if bytes.len() + piece.len() > LARGEST {
                return Err(CalDavError::TooLarge);
            }
            bytes.extend_from_slice(&piece);
        }
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| CalDavError::Answer("it is not UTF-8".into()))?;
        Ok((etag, text))
    }
}

/// Reads an answer. Document types, which could make much of little, are refused.
fn parsed(text: &str) -> Result<roxmltree::Document<'_>, CalDavError> {
    let options = roxmltree::ParsingOptions {
        nodes_limit: ELEMENTS,
        ..roxmltree::ParsingOptions::default()
    };
    roxmltree::Document::parse_with_options(text, options)
        .map_err(|error| CalDavError::Answer(error.to_string()))
}
