use std::{error::Error, sync::Arc};

use async_trait::async_trait;
use fugato_state::ToolCall;
use fugato_tool::Visibility;

/// The host of served tools: the state that they read, and the store of their updates.
///
/// # Contract
/// - `view` is asked for each list and each call, and what it says holds for that one.
/// - `commit` gets the updates of a call that ended well, once, if there are any. If it fails, the
///   client is told that the call failed.
#[async_trait]
pub trait ToolHost<S, U>: Send + Sync {
    /// Returns the state for the tools, and the visible tools.
    async fn view(&self) -> Result<View<S>, Box<dyn Error + Send + Sync>>;

    /// Stores the updates of a call.
    async fn commit(
        &self,
        call: &ToolCall,
        updates: Vec<U>,
    ) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// The view of one call or list.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct View<S> {
    /// The state.
    pub state: Arc<S>,
    /// The visible tools.
    pub visibility: Visibility,
}

impl<S> View<S> {
    /// Creates a view of this state, with the tools that are in no domain.
    pub fn new(state: impl Into<Arc<S>>) -> Self {
        Self {
            state: state.into(),
            visibility: Visibility::new(),
        }
    }

    fugato_state::setters! {
        /// Sets the visible tools.
        pub fn visibility(visibility: Visibility) { visibility = visibility }
    }
}

/// The host of tools that read no state and ask for no changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stateless {
    visibility: Visibility,
}

impl Stateless {
    /// Shows the tools that are in no domain.
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows these tools.
    pub fn showing(visibility: Visibility) -> Self {
        Self { visibility }
    }
}

#[async_trait]
impl ToolHost<(), ()> for Stateless {
    async fn view(&self) -> Result<View<()>, Box<dyn Error + Send + Sync>> {
        Ok(View::new(()).visibility(self.visibility.clone()))
    }

    async fn commit(&self, _: &ToolCall, _: Vec<()>) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}

const _: Option<&dyn ToolHost<(), ()>> = None;
