mod reply;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use fugato_llm::{ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind};

pub use reply::ScriptedReply;

/// A model that answers from a script, and keeps what it was asked.
///
/// Each call takes the next reply. When none is left it fails with an error that says so, and
/// which call it was: a test that asks more often than it was written for must not pass.
/// Clones share the script.
///
/// ```
/// use fugato_llm::{ChatModelExt as _, ChatRequest};
/// use fugato_state::Message;
/// use fugato_testkit::{ScriptedReply, Scripted};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let model = Scripted::new([ScriptedReply::text("Good morning")]);
/// let request = ChatRequest::new([Message::user("Hello")]);
/// let response = model.complete(request.clone()).await?;
/// assert_eq!(response.message.content, "Good morning");
/// assert_eq!(model.requests(), [request.clone()]);
///
/// let error = model.complete(request).await.unwrap_err();
/// assert_eq!(error.context, "call 2 of a script with 1 reply");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Scripted {
    name: Arc<str>,
    script: Arc<Mutex<Script>>,
}

#[derive(Debug)]
struct Script {
    length: usize,
    left: VecDeque<ScriptedReply>,
    requests: Vec<ChatRequest>,
}

impl Scripted {
    /// Creates a model that gives these replies, one a call.
    pub fn new<R: Into<ScriptedReply>>(replies: impl IntoIterator<Item = R>) -> Self {
        let left: VecDeque<_> = replies.into_iter().map(Into::into).collect();
        let script = Script {
            length: left.len(),
            left,
            requests: vec![],
        };
        Self {
            name: "scripted".into(),
            script: Arc::new(Mutex::new(script)),
        }
    }

    fugato_state::setters! {
        /// Names it, so that traces can tell it from others.
        pub fn named(name: impl Into<Arc<str>>) { name = name.into() }
    }

    /// Appends a reply to the script.
    pub fn push(&self, reply: impl Into<ScriptedReply>) {
        self.with(|script| {
            script.left.push_back(reply.into());
            script.length += 1;
        });
    }

    /// Returns the requests so far, oldest first.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.with(|script| script.requests.clone())
    }

    /// Returns the number of replies that are left.
    pub fn left(&self) -> usize {
        self.with(|script| script.left.len())
    }

    fn with<T>(&self, f: impl FnOnce(&mut Script) -> T) -> T {
        f(&mut self.script.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl ChatModel for Scripted {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let reply = self.with(|script| {
            script.requests.push(request);
            script
                .left
                .pop_front()
                .ok_or((script.requests.len(), script.length))
        });
        match reply {
            Ok(reply) => reply.play().await,
            Err((call, length)) => {
                let replies = if length == 1 { "reply" } else { "replies" };
                let context = format!("call {call} of a script with {length} {replies}");
                Err(ModelError::new(ModelErrorKind::Other, context))
            }
        }
    }

    fn name(&self) -> &str {
        &self.name
    }
}
