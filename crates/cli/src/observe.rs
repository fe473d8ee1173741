//! Traces of the process for an operator.
use fugato_state::say;
use tracing_subscriber::{
    Layer, Registry, filter::Targets, fmt, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use crate::{CliError, Flags, error::ErrorContext as _};

/// A layer that receives traces.
type Watcher = Box<dyn Layer<Registry> + Send + Sync>;

/// The guard of active tracing, to be ended with the process.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct IdleTasks {
    #[cfg(feature = "otlp")]
    spans: Option<crate::otlp::Spans>,
}

impl IdleTasks {
    /// Sends the spans that are left.
    #[cfg_attr(
        not(feature = "otlp"),
        expect(
            clippy::unused_self,
            clippy::unnecessary_wraps,
            reason = "without spans nothing is left to send"
        )
    )]
    pub(crate) fn end(&self) -> Result<(), CliError> {
        #[cfg(feature = "otlp")]
        if let Some(spans) = &self.spans {
            return spans.end();
        }
        Ok(())
    }
}

/// Writes the lines that the flags ask for to standard error, as long as the process lives, and
/// sends spans to the collector that they name. A server has no person in front of it who reads its
/// errors, so it writes warnings by default.
pub(crate) fn begin(program: &str, flags: &Flags, serves: bool) -> Result<IdleTasks, CliError> {
    let mut watchers: Vec<Watcher> = vec![];
    if let Some(filter) = wanted(flags.trace.as_deref(), serves) {
        watchers.push(lines(filter)?);
    }
    let watched = spans(program, flags, &mut watchers)?;
    if !watchers.is_empty() {
        let all = tracing_subscriber::registry().with(watchers);
        all.try_init().tell(|| {
            say!(
                "--trace and --otlp: this process is watched already",
                "--trace 和 --otlp：这个进程已经在跟踪了"
            )
        })?;
    }
    Ok(watched)
}

fn lines(filter: &str) -> Result<Watcher, CliError> {
    let wanted: Targets = filter.parse().tell(|| {
        say!(
            "--trace {filter:?} is no filter; such are info, or warn,fugato_graph=debug",
            "--trace {filter:?} 不是过滤条件；例如 info，或 warn,fugato_graph=debug"
        )
    })?;
    let lines = fmt::layer().with_ansi(false).with_writer(std::io::stderr);
    Ok(lines.with_filter(wanted).boxed())
}

#[cfg(feature = "otlp")]
fn spans(program: &str, flags: &Flags, watchers: &mut Vec<Watcher>) -> Result<IdleTasks, CliError> {
    let named = std::env::var(crate::otlp::ENDPOINT).ok();
    let url = flags.otlp.clone().or(named).filter(|url| !url.is_empty());
    let spans = url
        .map(|url| crate::otlp::Spans::to(&url, program))
        .transpose()?;
    watchers.extend(spans.as_ref().map(crate::otlp::Spans::layer));
    Ok(IdleTasks { spans })
}

#[cfg(not(feature = "otlp"))]
fn spans(_: &str, flags: &Flags, _: &mut Vec<Watcher>) -> Result<IdleTasks, CliError> {
    match &flags.otlp {
        None => Ok(IdleTasks::default()),
        Some(_) => Err(CliError::new(say!(
            "--otlp: this program sends no spans; build it with the feature `otlp` of fugato",
            "--otlp：这个程序不发送跟踪数据；请用 fugato 的 otlp 功能构建"
        ))),
    }
}

fn wanted(said: Option<&str>, serves: bool) -> Option<&str> {
    said.or(serves.then_some("warn"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(feature = "otlp"))]
    #[test]
    fn who_cannot_send_spans_says_so() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            flags: Flags,
        }
        let line = ["x", "--otlp", "http://localhost:4318"];
        let flags = <Line as clap::Parser>::parse_from(line).flags;
        let refused = begin("x", &flags, false).expect_err("it has no spans");
        assert!(refused.to_string().contains("the feature `otlp`"));
    }

    #[test]
    fn a_server_tells_what_goes_wrong_unless_told_otherwise() {
        assert_eq!(wanted(None, true), Some("warn"));
        assert_eq!(wanted(Some("off"), true), Some("off"));
        assert_eq!(wanted(None, false), None);
    }
}
