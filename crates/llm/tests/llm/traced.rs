//! The span of an answer, as a subscriber sees it.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use fugato_llm::{
    ChatDelta, ChatModel as _, ChatModelExt as _, ChatRequest, FinishReason, ModelError,
    ModelErrorKind, ResponseFormat, Retry, TracedModel, Usage,
};
use fugato_state::Message;
use fugato_testkit::{Scripted, ScriptedReply};
use futures::StreamExt as _;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

type Fields = BTreeMap<String, String>;

/// The recorded spans: the fields of each, and the number of its open handles.
#[derive(Clone, Default)]
struct Spans {
    next: Arc<AtomicU64>,
    kept: Arc<Mutex<BTreeMap<u64, (Fields, usize)>>>,
}

struct Fill<'a>(&'a mut Fields);

impl Visit for Fill<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == "fugato.llm"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let mut fields = Fields::new();
        span.record(&mut Fill(&mut fields));
        self.kept
            .lock()
            .expect("no test panics with it")
            .insert(id, (fields, 1));
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        if let Some((fields, _)) = self
            .kept
            .lock()
            .expect("no test panics with it")
            .get_mut(&span.into_u64())
        {
            values.record(&mut Fill(fields));
        }
    }

    fn clone_span(&self, span: &Id) -> Id {
        if let Some((_, holders)) = self
            .kept
            .lock()
            .expect("no test panics with it")
            .get_mut(&span.into_u64())
        {
            *holders += 1;
        }
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let mut kept = self.kept.lock().expect("no test panics with it");
        let Some((_, holders)) = kept.get_mut(&span.into_u64()) else {
            return false;
        };
        *holders -= 1;
        *holders == 0
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn fields(fields: &[(&str, &str)]) -> Fields {
    let owned = fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    owned.collect()
}

#[tokio::test(start_paused = true)]
async fn l16_a_span_tells_what_was_asked_and_what_it_cost() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let down = ModelError::new(ModelErrorKind::Unavailable, "secret words of a server");
    let reply = ScriptedReply::deltas([
        ChatDelta::reasoning("hm"),
        ChatDelta::text("private"),
        ChatDelta::Finish(FinishReason::Stop),
        ChatDelta::Usage(Usage::new(9, 3).cached(4).reasoning(2)),
    ]);
    let script = Scripted::new([ScriptedReply::error(down), reply]).named("small");
    let model = TracedModel::new(Retry::new(script), "some");
    let mut request = ChatRequest::new([Message::user("private")])
        .temperature(0.2)
        .max_tokens(800)
        .response_format(ResponseFormat::JsonObject)
        .metadata("stage", "plan");
    request.sampling.stop = vec!["END".into()];
    model.complete(request).await.unwrap();
    let expected = fields(&[
        ("otel.name", "chat small"),
        ("otel.kind", "client"),
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "some"),
        ("gen_ai.request.model", "small"),
        ("gen_ai.request.temperature", "0.2"),
        ("gen_ai.request.max_tokens", "800"),
        ("gen_ai.request.stop_sequences", "[\"END\"]"),
        ("gen_ai.request.stream", "true"),
        ("gen_ai.output.type", "json"),
        ("gen_ai.response.time_to_first_chunk", "0.5"),
        ("gen_ai.response.finish_reasons", "[\"stop\"]"),
        ("gen_ai.usage.input_tokens", "9"),
        ("gen_ai.usage.output_tokens", "3"),
        ("gen_ai.usage.cache_read.input_tokens", "4"),
        ("gen_ai.usage.reasoning.output_tokens", "2"),
        ("fugato.stage", "plan"),
        ("fugato.attempts", "2"),
    ]);
    let kept: Vec<_> = spans
        .kept
        .lock()
        .expect("no test panics with it")
        .values()
        .cloned()
        .collect();
    assert_eq!(kept, [(expected, 0)]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_an_error_of_its_span_and_a_dropped_answer_ends_it() {
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let cut = ScriptedReply::chunks(["a"]).then_error(ModelError::new(ModelErrorKind::CutOff, ""));
    let slow = ScriptedReply::chunks(["a", "b"]).paced(Duration::from_secs(1));
    let model = TracedModel::new(Scripted::new([cut, slow]), "some");
    assert!(model.complete(ChatRequest::default()).await.is_err());
    let mut deltas = model.stream(ChatRequest::default()).await.unwrap();
    assert!(deltas.next().await.is_some());
    let common = |first: &str, more: &[(&str, &str)]| {
        let mut all = fields(&[
            ("otel.name", "chat scripted"),
            ("otel.kind", "client"),
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "some"),
            ("gen_ai.request.model", "scripted"),
            ("gen_ai.request.stream", "true"),
            ("gen_ai.output.type", "text"),
            ("gen_ai.response.time_to_first_chunk", first),
        ]);
        all.extend(fields(more));
        all
    };
    let failed = common(
        "0.0",
        &[("error.type", "cut_off"), ("otel.status_code", "ERROR")],
    );
    let kept = || {
        spans
            .kept
            .lock()
            .unwrap()
            .values()
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(), [(failed.clone(), 0), (common("1.0", &[]), 1)]);
    drop(deltas);
    assert_eq!(kept(), [(failed, 0), (common("1.0", &[]), 0)]);
}
