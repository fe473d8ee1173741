use async_trait::async_trait;
use fugato_tool::{Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec};
use serde_json::{Map, Value};

use crate::{Hints, McpServer, call, content};

/// A tool of a server. It returns no updates: its effects happen at the server.
#[derive(derive_more::Debug, Clone)]
#[debug(
    "McpTool {{ server: {:?}, original: {original:?}, spec: {spec:?}, .. }}",
    self.server.name()
)]
pub struct McpTool {
    server: McpServer,
    original: String,
    spec: ToolSpec,
    hints: Hints,
}

impl McpTool {
    pub(crate) fn new(server: McpServer, original: String, spec: ToolSpec, hints: Hints) -> Self {
        Self {
            server,
            original,
            spec,
            hints,
        }
    }

    /// Returns the name here.
    pub fn name(&self) -> &str {
        &self.spec.name
    }

    /// Returns the name that the server gave it.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// Returns the server's hints; the worst ones if hints are not trusted.
    pub fn hints(&self) -> Hints {
        self.hints
    }

    async fn ask(
        &self,
        call_id: &str,
        key: Option<&str>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolFailure> {
        let call = call::Call {
            tool: &self.original,
            id: call_id,
            key,
            repeatable: call::is_repeatable(self.spec.effect),
        };
        let result = call::call(&self.server.link, &call, arguments).await?;
        content::read(result, &self.server.link.options)
    }
}

#[async_trait]
impl<S: Sync, U> Tool<S, U> for McpTool {
    type Input = Map<String, Value>;

    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(
        &self,
        cx: ToolContext<'_, S>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput<U>, ToolFailure> {
        let done = self.ask(cx.call_id(), cx.key(), arguments).await?;
        let output = ToolOutput::new(done.text).data(done.data);
        Ok(done.issues.into_iter().fold(output, ToolOutput::issue))
    }
}
