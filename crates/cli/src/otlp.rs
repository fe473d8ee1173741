//! Export of spans to a collector, over HTTP.
use fugato_graph::BoxError;
use fugato_state::say;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tracing_subscriber::{Layer, Registry, filter::filter_fn};

use crate::CliError;

/// The variable that names the collector for every program that sends spans.
pub(crate) const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The exporter of the process's spans.
#[derive(Debug)]
pub(crate) struct Spans(SdkTracerProvider);

impl Spans {
    /// Creates an exporter to the collector at this address, with the program as the service.
    pub(crate) fn to(url: &str, program: &str) -> Result<Self, CliError> {
        if !(url.starts_with("http://") || url.starts_with("https://")) {
            return Err(CliError::new(say!(
                "--otlp {url:?} is no address of a collector; such are http://localhost:4318",
                "--otlp {url:?} 不是收集器的地址；例如 http://localhost:4318"
            )));
        }
        let failed = |error: BoxError| {
            let message = say!(
                "no spans can be sent to {}",
                "无法向 {} 发送跟踪数据",
                crate::without_password(url)
            );
            CliError::new(message).because(error)
        };
        // An error means that the application has set a provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{}/v1/traces", url.trim_end_matches('/')))
            .build()
            .map_err(|error| failed(error.into()))?;
        let mut resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name(program.to_owned());
        }
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(resource.build());
        Ok(Self(provider.build()))
    }

    /// Returns the layer that exports fugato's own spans: no log lines, which may hold private
    /// words, and no spans of the libraries that send them.
    pub(crate) fn layer(&self) -> Box<dyn Layer<Registry> + Send + Sync> {
        let ours = filter_fn(|meta| meta.is_span() && meta.target().starts_with("fugato"));
        let tracer = self.0.tracer("fugato");
        let spans = tracing_opentelemetry::layer().with_tracer(tracer);
        spans.with_filter(ours).boxed()
    }

    /// Sends the spans that are left, and closes the exporter.
    pub(crate) fn end(&self) -> Result<(), CliError> {
        let sent = self.0.shutdown();
        sent.map_err(|error| {
            CliError::new(say!(
                "the last spans could not be sent",
                "最后的跟踪数据没能发出"
            ))
            .because(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_how_it_is_reached() {
        let refused = Spans::to("localhost:4318", "parrot").expect_err("no scheme");
        assert_eq!(
            refused.to_string(),
            "--otlp \"localhost:4318\" is no address of a collector; such are http://localhost:4318"
        );
    }
}
