//! Files of a page, served from memory.
use std::{
    borrow::Cow,
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
};

use axum::{
    Router,
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
    routing::get,
};

/// A page that is served with the agent: a few files, embedded in the program.
///
/// ```
/// use fugato_axum::{Asset, Page};
///
/// let page = Page::new()
///     .file("/", Asset::new("text/html; charset=utf-8", b"<!doctype html><script src=app.js></script>"))
///     .file("/app.js", Asset::script(b"console.log('up')"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Page {
    files: BTreeMap<String, Asset>,
    policy: Option<String>,
}

/// The default `Content-Security-Policy`: only resources of the page's own server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// A file of a page.
#[derive(derive_more::Debug, Clone)]
#[debug(
    "Asset {{ kind: {kind:?}, bytes: {:?}, gzip: {:?}, .. }}",
    self.plain.len(),
    self.gzip.is_some()
)]
pub struct Asset {
    kind: &'static str,
    plain: Bytes,
    gzip: Option<Bytes>,
    tag: String,
}

impl Page {
    /// A page without files.
    pub fn new() -> Self {
        Self::default()
    }

    fugato_state::setters! {
        /// Adds a file under a path, which begins with a slash.
        pub fn file(path: impl Into<String>, asset: Asset) { files.insert(path.into(), asset) }

        /// Replaces the page's `Content-Security-Policy`. The default allows only resources of the
        /// page's own server.
        pub fn policy(policy: impl Into<String>) { policy = Some(policy.into()) }
    }

    pub(crate) fn routes<S: Clone + Send + Sync + 'static>(self) -> Router<S> {
        let policy = self.policy.as_deref().unwrap_or(POLICY);
        let policy = HeaderValue::from_str(policy);
        let policy = policy.unwrap_or(HeaderValue::from_static(POLICY));
        let files = self.files.into_iter();
        files.fold(Router::new(), |routes, (path, asset)| {
            let policy = policy.clone();
            let serve = async move |headers: HeaderMap| asset.serve(&headers, policy);
            routes.route(&path, get(serve))
        })
    }
}

impl Asset {
    /// A file of this media type.
    pub fn new(kind: &'static str, bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        let bytes = bytes.into();
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        Self {
            kind,
            plain: match bytes {
                Cow::Borrowed(bytes) => Bytes::from_static(bytes),
                Cow::Owned(bytes) => bytes.into(),
            },
            gzip: None,
            tag: format!("\"{:016x}\"", hasher.finish()),
        }
    }

    /// A script of the page.
    pub fn script(bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        Self::new("text/javascript; charset=utf-8", bytes)
    }

    /// A style sheet of the page.
    pub fn style(bytes: impl Into<Cow<'static, [u8]>>) -> Self {
        Self::new("text/css; charset=utf-8", bytes)
    }

    fugato_state::setters! {
        /// Adds a gzip-compressed copy, for clients that accept it.
        pub fn gzip(bytes: &'static [u8]) { gzip = Some(Bytes::from_static(bytes)) }
    }

    fn serve(&self, headers: &HeaderMap, policy: HeaderValue) -> Response {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let known = text(header::IF_NONE_MATCH).is_some_and(|tags| {
            tags.split(',')
                .any(|tag| tag.trim().trim_start_matches("W/") == self.tag)
        });
        let encodings = text(header::ACCEPT_ENCODING).unwrap_or_default();
        let gzip = self.gzip.as_ref().filter(|_| takes_gzip(encodings));
        let body = gzip.unwrap_or(&self.plain).clone();
        let mut response = Response::new(if known {
            Body::empty()
        } else {
            Body::from(body)
        });
        let fixed = [
            (header::CONTENT_TYPE, self.kind),
            (header::CACHE_CONTROL, "no-cache"),
            (header::VARY, "accept-encoding"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
        ];
        let answer = response.headers_mut();
        for (name, value) in fixed {
            answer.insert(name, HeaderValue::from_static(value));
        }
        answer.insert(header::CONTENT_SECURITY_POLICY, policy);
        if let Ok(tag) = HeaderValue::from_str(&self.tag) {
            answer.insert(header::ETAG, tag);
        }
        if gzip.is_some() && !known {
            answer.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        response
    }
}

/// Returns true if the `Accept-Encoding` header accepts gzip with a weight above 0.
fn takes_gzip(encodings: &str) -> bool {
    encodings.split(',').any(|encoding| {
        let (name, weight) = encoding.split_once(';').unwrap_or((encoding, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        name.trim().eq_ignore_ascii_case("gzip") && weight.parse::<f32>().is_ok_and(|it| it > 0.0)
    })
}
