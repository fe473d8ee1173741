#![expect(deprecated, reason = "servers of the older era still log")]

use std::{collections::HashMap, sync::Arc};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
        FormElicitationCapability, Implementation, LoggingMessageNotificationParam,
        ProgressNotificationParam, ProgressToken,
    },
    service::{NotificationContext, RequestContext},
};
use tokio::sync::{Mutex, watch};

use crate::{McpOptions, Progress, question};

/// The client side of the session with a server: its requests to us, and its notifications.
#[derive(Clone)]
pub(crate) struct Handler(Arc<Inner>);

struct Inner {
    server: String,
    options: Arc<McpOptions>,
    /// The calls by their progress tokens.
    calls: Mutex<HashMap<ProgressToken, CallName>>,
    /// Counts the changes of the list of tools.
    changes: watch::Sender<u64>,
}

/// The name of a call, for readers of its progress.
#[derive(Clone)]
pub(crate) struct CallName {
    pub(crate) tool: String,
    pub(crate) call: String,
}

impl Handler {
    pub(crate) fn new(server: &str, options: Arc<McpOptions>, changes: watch::Sender<u64>) -> Self {
        Self(Arc::new(Inner {
            server: server.to_owned(),
            options,
            calls: Mutex::default(),
            changes,
        }))
    }

    pub(crate) fn calls(&self) -> &Mutex<HashMap<ProgressToken, CallName>> {
        &self.0.calls
    }

    pub(crate) fn tools_changed(&self) {
        self.0.changes.send_modify(|count| *count += 1);
    }

    pub(crate) async fn answer(&self, asked: ElicitRequestParams) -> ElicitResult {
        let answers = self.0.options.answers.as_ref();
        question::answered(&self.0.server, asked, answers).await
    }
}

impl ClientHandler for Handler {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.answer(request).await)
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let Some(read) = &self.0.options.progress else {
            return;
        };
        let Some(name) = self.0.calls.lock().await.get(&told.progress_token).cloned() else {
            return;
        };
        read(Progress {
            server: self.0.server.clone(),
            tool: name.tool,
            call: name.call,
            done: told.progress,
            total: told.total,
            message: told.message,
        });
    }

    async fn on_logging_message(
        &self,
        told: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        tracing::debug!(server = %self.0.server, level = ?told.level, data = %told.data, "log message of the server");
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed();
    }

    fn get_info(&self) -> ClientConfig {
        let mut offered = ClientCapabilities::default();
        if self.0.options.answers.is_some() {
            let forms = FormElicitationCapability::new().with_schema_validation(true);
            offered.elicitation = Some(ElicitationCapability::new().with_form(forms));
        }
        ClientConfig::new(
            offered,
            Implementation::new("fugato", env!("CARGO_PKG_VERSION")),
        )
    }
}
