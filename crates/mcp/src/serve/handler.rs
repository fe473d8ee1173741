use std::{borrow::Cow, sync::Arc};

use fugato_state::{EffectClass, ToolCall, ToolStatus, say};
use fugato_tool::{Access, AdmittedCall, Refusal, ToolContext, ToolFailure, ToolResult, Verdict};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
        CompleteRequestParams, CompleteResult, ContentBlock, ListPromptsRequestMethod,
        ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
        ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, MetaObject,
        PaginatedRequestParams, ServerConfig, ServerNotification, SubscriptionFilter, Tool,
        ToolListChangedNotification,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};
use serde_json::{Map, Value, json};

use super::{
    MOST_CALLS, ToolServer, View,
    confirm::{AskOutcome, confirm, seal},
};
use crate::{
    Hints, IDEMPOTENCY_KEY,
    content::{ISSUES, STATUS},
};

/// The most times that a person is asked about one call, as what it is about changes.
const MOST_ASKED: usize = 3;

impl<S, U> ServerHandler for ToolServer<S, U>
where
    S: Send + Sync + 'static,
    U: Send + 'static,
{
    fn get_info(&self) -> ServerConfig {
        self.config.clone()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let view = self.view().await?;
        Ok(ListToolsResult::with_all_items(self.offered(&view)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Ok(_room) = self.room.try_acquire() else {
            let why = format!("{MOST_CALLS} calls are under way, and no more may be");
            return Err(ErrorData::invalid_request(why, None));
        };
        let arguments = request.arguments.clone().unwrap_or_default();
        let call = ToolCall::new(
            context.id.to_string(),
            &*request.name,
            Value::Object(arguments),
        );
        let mut agreed = None;
        // A person takes their time: what was agreed to is judged again, by what holds by then.
        for _ in 0..MOST_ASKED {
            let view = self.view().await?;
            let admitted = match self.registry.admit(&call, &view.visibility) {
                Ok(admitted) => admitted,
                Err(refusal @ Refusal::Unknown { .. }) => {
                    return Err(ErrorData::invalid_params(refusal.to_string(), None));
                }
                Err(refusal) => return Ok(answer(ToolResult::<U>::from(refusal)).into()),
            };
            let card = match admitted.judged(&*self.gates, &*view.state) {
                Verdict::Allow => return self.carried_out(admitted, view, &context).await,
                Verdict::Block(reason) => return Ok(blocked(reason).into()),
                Verdict::NeedConfirm(card) => card,
            };
            if agreed == Some(seal(&card)) {
                let admitted = admitted.agreed(&card);
                return self.carried_out(admitted, view, &context).await;
            }
            let asked = tokio::select! {
                () = context.ct.cancelled() => return Err(taken_back()),
                asked = confirm(&card, &request, &context, &self.used) => asked,
            };
            match asked {
                AskOutcome::Agreed => agreed = Some(seal(&card)),
                AskOutcome::NotAgreed => {
                    return Ok(blocked(say!(
                        "the person did not agree, so nothing was done",
                        "用户没有同意，所以什么都没做"
                    ))
                    .into());
                }
                AskOutcome::Later(question) => return Ok(question.into()),
                AskOutcome::Unable => {
                    return Ok(blocked(say!(
                        "a person has to agree to `{}`, and this client cannot ask one",
                        "`{}` 需要用户同意，而这个客户端无法询问",
                        card.call.name
                    ))
                    .into());
                }
            }
        }
        Ok(blocked(say!(
            "what the call is about changed each time before it was agreed to, so nothing was done",
            "每次还没同意，这次调用涉及的内容就变了，所以什么都没做"
        ))
        .into())
    }

    // Capabilities that are not offered are an unknown method rather than an empty list.
    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                ended = changes.changed() => {
                    let told = ToolListChangedNotification::default();
                    let told = ServerNotification::ToolListChangedNotification(told);
                    if ended.is_err() || context.sink().send(told).await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut changes = self.changes.subscribe();
        let peer = context.peer;
        self.teller.set(tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                if peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        }));
    }
}

impl<S, U> ToolServer<S, U>
where
    S: Send + Sync + 'static,
    U: Send + 'static,
{
    async fn view(&self) -> Result<View<S>, ErrorData> {
        self.host.view().await.map_err(|error| {
            tracing::warn!(%error, "state of the host unavailable");
            ErrorData::internal_error("the state that the tools read is not available", None)
        })
    }

    fn offered(&self, view: &View<S>) -> Vec<Tool> {
        let schemas = self.registry.schemas(&view.visibility);
        let specs = self.registry.visible(&view.visibility);
        let pairs = schemas.into_iter().zip(specs);
        pairs
            .map(|(schema, spec)| {
                let parameters = match Value::from(schema.parameters) {
                    Value::Object(parameters) => parameters,
                    _ => Map::new(),
                };
                Tool::new(
                    schema.name,
                    Cow::from(schema.description),
                    Arc::new(parameters),
                )
                .with_annotations(Hints::of_spec(spec))
            })
            .collect()
    }

    /// Executes the call and commits its updates. A client's cancellation stops a read and a pure
    /// call; any other call runs to its end.
    async fn carried_out(
        &self,
        admitted: AdmittedCall<S, U>,
        view: View<S>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if context.ct.is_cancelled() {
            return Err(taken_back());
        }
        let key = context.meta.get(IDEMPOTENCY_KEY).and_then(Value::as_str);
        let spec = admitted.spec();
        let stoppable = spec.access == Access::Read || spec.effect == EffectClass::Pure;
        let call = admitted.call().clone();
        let mut cx = ToolContext::new(&*view.state).visibility(&view.visibility);
        if let Some(key) = key {
            cx = cx.idempotency_key(key);
        }
        let mut result = tokio::select! {
            () = context.ct.cancelled(), if stoppable => {
                return Err(taken_back());
            }
            result = admitted.run(cx) => result,
        };
        let updates = std::mem::take(&mut result.updates);
        if updates.is_empty() {
            return Ok(answer(result).into());
        }
        if let Err(error) = self.host.commit(&call, updates).await {
            let failure = ToolFailure::failed(say!(
                "what the call changes could not be stored",
                "无法保存这次调用的改动"
            ));
            return Ok(answer(ToolResult::<U>::from(failure.because(error))).into());
        }
        if self.view().await?.visibility != view.visibility {
            self.changed();
        }
        Ok(answer(result).into())
    }
}

fn taken_back() -> ErrorData {
    ErrorData::internal_error("the call was taken back", None)
}

fn blocked(reason: String) -> CallToolResult {
    answer(ToolResult::<()>::from(ToolFailure::blocked(reason)))
}

fn answer<U>(result: ToolResult<U>) -> CallToolResult {
    let content = vec![ContentBlock::text(result.text)];
    let mut answer = match result.status {
        ToolStatus::Ok => CallToolResult::success(content),
        _ => CallToolResult::error(content),
    };
    // Older clients accept only an object as structured value.
    answer.structured_content = Some(result.data).filter(Value::is_object);
    let mut meta = MetaObject::new();
    meta.insert(STATUS.to_owned(), json!(result.status));
    if !result.issues.is_empty() {
        meta.insert(ISSUES.to_owned(), json!(result.issues));
    }
    answer.meta = Some(meta);
    answer
}
