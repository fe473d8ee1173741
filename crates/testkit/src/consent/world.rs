//! The program under test, as a simulation sees it.
use std::{fmt, future::poll_fn, sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato_graph::BoxError;
use futures::{FutureExt as _, future::BoxFuture};
use http::{Request, Response};
use http_body::Body;
use http_body_util::BodyExt as _;
use serde_json::Value;
use tower_service::Service;

/// A program that asks before it writes, together with everything outside of it.
///
/// # Contract
/// - All state of the program that a crash would lose is made in [`restart`](Self::restart), and
///   all tasks that it spawns are spawned on the runtime that calls this. The store and what is
///   written outlive it.
/// - The store is opened by [`WorldStore::restart`](super::WorldStore::restart), so that the leases
///   of the program before are over.
/// - [`writes`](Self::writes) names each attempt once: one that is tried again under the same key
///   is the same attempt, as in [`KeyedWrites`](super::KeyedWrites).
/// - A card and the write that it leads to have the same content.
#[async_trait]
pub trait ConsentWorld: Send + Sync {
    /// Opens the program, at first and after each crash of the one before.
    async fn restart(&self) -> Result<TestEndpoints, BoxError>;

    /// Returns a request as this caller sends it, such as with a header that names the caller.
    async fn signed(&self, _caller: &str, request: TestRequest) -> TestRequest {
        request
    }

    /// Returns the contents of all writes so far, in the form of [`content`](Self::content).
    async fn writes(&self) -> Vec<Value>;

    /// Returns what a card asks to write, from its prompt; none if it is not about a write.
    fn content(&self, prompt: &Value) -> Option<Value>;

    /// Returns words that lead to a card, some of them to two in a row.
    fn requests(&self) -> Vec<String>;

    /// Returns words that change what an open card asks about.
    fn edits(&self) -> Vec<String> {
        vec![]
    }

    /// Returns what a button sends to the generic endpoints.
    fn button(&self, agrees: bool) -> Value {
        agrees.into()
    }

    /// Returns the callers, at least one.
    fn callers(&self) -> Vec<String> {
        vec!["ann".into(), "bob".into()]
    }

    /// Returns true if a thread belongs to who began it, and nobody else may answer its cards.
    fn separates_callers(&self) -> bool {
        false
    }

    /// Returns requests that say these words at endpoints of the program's own.
    fn own_words(&self, _: &ConsentWords) -> Vec<TestRequest> {
        vec![]
    }

    /// Returns requests that answer a card at endpoints of the program's own.
    fn own_answers(&self, _: &ConsentAnswer) -> Vec<TestRequest> {
        vec![]
    }

    /// Returns how long a turn is, of which a program has up to 200 before it dies or the next
    /// request comes. One that is another process needs time. By default the turns are those of the
    /// scheduler or, for a store in a file, short waits for the disk.
    fn turn(&self) -> Option<Duration> {
        None
    }

    /// Returns the contents that the log records as agreed to beforehand, by a flag or a policy:
    /// one for each write that they permit.
    async fn standing(&self) -> Vec<Value> {
        vec![]
    }
}

const _: Option<&dyn ConsentWorld> = None;

/// The endpoints of a program that is open. It ends when they are dropped.
#[derive(Clone)]
pub struct TestEndpoints(
    Arc<dyn Fn(TestRequest) -> BoxFuture<'static, TestResponse> + Send + Sync>,
);

impl TestEndpoints {
    /// Creates endpoints that this function answers for.
    pub fn new<F: Future<Output = TestResponse> + Send + 'static>(
        answer: impl Fn(TestRequest) -> F + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(move |request| answer(request).boxed()))
    }

    /// Creates the endpoints of a service, such as the router of a program.
    pub fn of<S, B>(service: S) -> Self
    where
        S: Service<Request<String>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: fmt::Debug,
        S::Future: Send,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: fmt::Debug,
    {
        Self::new(move |request| request.call(service.clone()))
    }

    /// Sends a request, and reads the whole response.
    pub async fn send(&self, request: TestRequest) -> TestResponse {
        (self.0)(request).await
    }
}

impl fmt::Debug for TestEndpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoints").finish_non_exhaustive()
    }
}

/// An HTTP request.
#[derive(Debug, Clone, PartialEq)]
pub struct TestRequest {
    /// The method.
    pub method: &'static str,
    /// The path.
    pub path: String,
    /// Headers beside `content-type`.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Value,
}

impl TestRequest {
    /// Returns a request that sends this body.
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        Self::new("POST", path, body)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Sends it to a service, such as the router of a program, and reads the whole response.
    ///
    /// # Panics
    /// When the request is no HTTP, or the service fails.
    pub async fn call<S, B>(self, mut service: S) -> TestResponse
    where
        S: Service<Request<String>, Response = Response<B>>,
        S::Error: fmt::Debug,
        B: Body,
        B::Error: fmt::Debug,
    {
        let built = Request::builder().method(self.method).uri(&self.path);
        let headers = self.headers.iter();
        let built = headers.fold(built, |built, (name, value)| built.header(*name, value));
        let built = built.header("content-type", "application/json");
        let request = built.body(self.body.to_string()).expect("it is HTTP");
        poll_fn(|cx| service.poll_ready(cx))
            .await
            .expect("it serves");
        let (head, body) = service.call(request).await.expect("it serves").into_parts();
        let body = body.collect().await.expect("a whole body").to_bytes();
        TestResponse {
            status: head.status.as_u16(),
            body: String::from_utf8_lossy(&body).into_owned(),
        }
    }

    /// Returns a request with this method and body.
    pub fn new(method: &'static str, path: impl Into<String>, body: Value) -> Self {
        let headers = vec![("accept", "text/event-stream".to_owned())];
        Self {
            method,
            path: path.into(),
            headers,
            body,
        }
    }
}

/// An HTTP response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestResponse {
    /// The status.
    pub status: u16,
    /// The whole body.
    pub body: String,
}

impl TestResponse {
    /// Returns the body as JSON; as a JSON string if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| self.body.clone().into())
    }
}

/// Words for a thread.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ConsentWords {
    /// The thread.
    pub thread: String,
    /// The words.
    pub text: String,
    /// The id of the card that they are typed under.
    pub card: Option<String>,
    /// The client's own name for the request.
    pub key: Option<String>,
}

/// A button of a card that is pressed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ConsentAnswer {
    /// The thread.
    pub thread: String,
    /// The id of the card.
    pub id: String,
    /// The digest that the card showed.
    pub digest: Option<String>,
    /// True if the person agrees.
    pub agrees: bool,
}
