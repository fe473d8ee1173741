use async_trait::async_trait;
use futures::{StreamExt as _, stream};
use tokio::time::Instant;
use tracing::{Instrument as _, Span, field::Empty};

use crate::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, FinishReason, ModelError, ResponseFormat, Usage,
};

/// Opens a span for every answer, with the field names of OpenTelemetry for model calls.
///
/// The span is `chat`, shown as `chat {model}`, of the target `fugato.llm`. It lasts from the
/// request to the last delta, or until the answer is dropped, and all inner work happens in it:
/// outside a [`Retry`](crate::Retry) it covers all attempts, inside each one.
///
/// | field | is |
/// |---|---|
/// | `otel.name`, `otel.kind`, `otel.status_code` | the fields from which `tracing-opentelemetry` makes a client span |
/// | `gen_ai.operation.name`, `gen_ai.provider.name`, `gen_ai.request.model` | `chat`, the provider, and the name of the model |
/// | `gen_ai.request.temperature`, `.top_p`, `.max_tokens`, `.seed`, `.stop_sequences` | the sampling parameters that the request sets |
/// | `gen_ai.request.stream`, `gen_ai.output.type` | true; `text` or `json` |
/// | `gen_ai.response.time_to_first_chunk` | seconds |
/// | `gen_ai.response.finish_reasons` | the reason why the model stopped |
/// | `gen_ai.usage.input_tokens`, `.output_tokens`, `.cache_read.input_tokens`, `.reasoning.output_tokens` | the usage |
/// | `error.type` | the kind of the error |
/// | `fugato.stage` | the `stage` of the request's metadata |
/// | `fugato.attempts` | the number of attempts that inner decorators report |
///
/// # Notes
/// - Neither the messages nor the answer are in the span, because they may be private.
/// - OpenTelemetry still develops these names; the table above is what this crate keeps to.
#[derive(Debug, Clone)]
pub struct TracedModel<M> {
    model: M,
    provider: String,
}

impl<M: ChatModel> TracedModel<M> {
    /// Wraps a model. The provider is the service that runs it, such as `openai` or `anthropic`.
    pub fn new(model: M, provider: impl Into<String>) -> Self {
        Self {
            model,
            provider: provider.into(),
        }
    }

    fn span(&self, request: &ChatRequest) -> Span {
        let model = request.model.as_deref().unwrap_or(self.model.name());
        let sampling = &request.sampling;
        let stop = Some(&sampling.stop).filter(|stop| !stop.is_empty());
        tracing::info_span!(
            target: "fugato.llm",
            "chat",
            otel.name = format!("chat {model}"),
            otel.kind = "client",
            otel.status_code = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = self.provider,
            gen_ai.request.model = model,
            gen_ai.request.temperature = sampling.temperature.and_then(decimal),
            gen_ai.request.top_p = sampling.top_p.and_then(decimal),
            gen_ai.request.max_tokens = sampling.max_tokens,
            gen_ai.request.seed = sampling.seed,
            gen_ai.request.stop_sequences = stop.map(|stop| format!("{stop:?}")),
            gen_ai.request.stream = true,
            gen_ai.output.type = output(&request.response_format),
            gen_ai.response.time_to_first_chunk = Empty,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.reasoning.output_tokens = Empty,
            error.type = Empty,
            fugato.stage = request.metadata.get("stage"),
            fugato.attempts = Empty,
        )
    }
}

#[async_trait]
impl<M: ChatModel> ChatModel for TracedModel<M> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let mut trace = Trace::new(self.span(&request));
        let asked = self.model.stream(request).instrument(trace.span.clone());
        let deltas = match asked.await {
            Ok(deltas) => deltas,
            Err(error) => {
                trace.failed(&error);
                return Err(error);
            }
        };
        let traced = stream::unfold((deltas, trace), |(mut deltas, mut trace)| async {
            let next = deltas.next().instrument(trace.span.clone()).await?;
            match &next {
                Ok(delta) => trace.saw(delta),
                Err(error) => trace.failed(error),
            }
            Some((next, (deltas, trace)))
        });
        Ok(traced.fuse().boxed())
    }

    fn name(&self) -> &str {
        self.model.name()
    }
}

/// The span of one answer. It closes with the stream that holds it.
struct Trace {
    span: Span,
    start: Instant,
    begun: bool,
    attempts: u64,
}

impl Trace {
    fn new(span: Span) -> Self {
        Self {
            span,
            start: Instant::now(),
            begun: false,
            attempts: 0,
        }
    }

    fn saw(&mut self, delta: &ChatDelta) {
        match delta {
            ChatDelta::Attempt(_) => {
                self.attempts += 1;
                self.span.record("fugato.attempts", self.attempts);
                return;
            }
            ChatDelta::Usage(usage) => self.cost(usage),
            ChatDelta::Finish(reason) => {
                let reasons = format!("[{:?}]", finish(reason));
                self.span.record("gen_ai.response.finish_reasons", reasons);
            }
            _ => {}
        }
        if !self.begun {
            self.begun = true;
            let seconds = self.start.elapsed().as_secs_f64();
            self.span
                .record("gen_ai.response.time_to_first_chunk", seconds);
        }
    }

    fn cost(&self, usage: &Usage) {
        for (field, tokens) in [
            ("gen_ai.usage.input_tokens", usage.input),
            ("gen_ai.usage.output_tokens", usage.output),
            ("gen_ai.usage.cache_read.input_tokens", usage.cached),
            ("gen_ai.usage.reasoning.output_tokens", usage.reasoning),
        ] {
            self.span.record(field, tokens);
        }
    }

    fn failed(&mut self, error: &ModelError) {
        if !error.attempts.is_empty() {
            let made = self.attempts + error.attempts.len() as u64;
            self.span.record("fugato.attempts", made);
        }
        self.span.record("error.type", error.kind.as_str());
        self.span.record("otel.status_code", "ERROR");
    }
}

/// Converts 0.2 to 0.2, and not to the nearest `f64` of the nearest `f32`.
fn decimal(value: f32) -> Option<f64> {
    value.to_string().parse().ok()
}

fn output(format: &ResponseFormat) -> &'static str {
    match format {
        ResponseFormat::Text => "text",
        ResponseFormat::JsonObject | ResponseFormat::JsonSchema { .. } => "json",
    }
}

fn finish(reason: &FinishReason) -> &str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Filtered => "content_filter",
        FinishReason::Other(reason) => reason,
    }
}
