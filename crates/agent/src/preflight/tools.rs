use std::collections::BTreeMap;

use async_trait::async_trait;
use fugato_graph::BoxError;
use fugato_state::ToolCall;
use fugato_tool::{Access, Registry, ToolContext, Visibility};
use serde_json::Value;

use super::FactSource;

/// A source of facts that calls tools that read. A tool that writes is refused, whatever was
/// declared.
#[derive(derive_more::Debug)]
#[debug("ToolFacts {{ calls: {calls:?}, .. }}")]
pub struct ToolFacts<U = ()> {
    registry: Registry<(), U>,
    visibility: Visibility,
    calls: BTreeMap<String, (String, Value)>,
}

impl<U> ToolFacts<U> {
    /// Creates a source with tools of this registry, as far as they are visible.
    pub fn new(registry: Registry<(), U>, visibility: Visibility) -> Self {
        Self {
            registry,
            visibility,
            calls: BTreeMap::new(),
        }
    }

    fugato_state::setters! {
        /// Sets the call that looks up a kind.
        pub fn by(kind: impl Into<String>, tool: impl Into<String>, arguments: Value) {
            calls.insert(kind.into(), (tool.into(), arguments))
        }
    }
}

#[async_trait]
impl<U: Send + Sync + 'static> FactSource for ToolFacts<U> {
    async fn fetch(&self, kind: &str) -> Result<Value, BoxError> {
        let call = self.calls.get(kind);
        let (tool, arguments) = call.ok_or_else(|| format!("no tool looks up {kind:?}"))?;
        let access = self.registry.spec(tool).map(|spec| spec.access);
        if access.is_some_and(|access| access != Access::Read) {
            return Err(format!("the tool {tool:?} does more than read").into());
        }
        let call = ToolCall::new(format!("fact:{kind}"), tool, arguments.clone());
        let context = ToolContext::without_state().visibility(&self.visibility);
        let result = self.registry.call(&call, context).await;
        match (result.is_ok(), result.data) {
            (false, _) => Err(result.text.into()),
            (true, Value::Null) => Ok(Value::String(result.text)),
            (true, data) => Ok(data),
        }
    }
}
