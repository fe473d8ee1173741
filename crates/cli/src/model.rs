//! The model that the flags name.
use std::{sync::Arc, time::Duration};

use fugato_llm::{
    Allowance, ApiKey, ChatModel, CircuitBreaker, ContextWindow, Fallback, Models, Retry,
    SizeLimit, SpendLimit, Timeout, TracedModel,
};
use fugato_providers::openai::OpenAi;
use fugato_state::say;

use crate::{CliError, Flags, Provider};

/// The longest pause that a server may ask for; after a longer one the call fails at once.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// The pauses of a circuit breaker after failures: the first, and the longest.
const LEFT_ALONE: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(5 * 60)];
/// The number of failures in a row that open a circuit breaker.
const FAILURES: u32 = 3;

/// A model at a server: its requests are cut to the context, its answers are limited, and a breaker
/// pauses it while it fails. Each model has its own breaker, so that the next one gets the refused
/// requests.
type ServerModel = ContextWindow<CircuitBreaker<SizeLimit<Timeout<Arc<dyn ChatModel>>>>>;

/// A server, and the model to ask there.
struct Server<'a> {
    provider: Provider,
    base_url: Option<&'a str>,
    model: Option<&'a str>,
    key_env: Option<&'a str>,
}

/// Opens the models that the flags name, each with the backup if they name one; returns none without
/// a model.
pub(crate) fn open(flags: &Flags) -> Result<Option<Arc<dyn ChatModel>>, CliError> {
    let Some(main) = flags.model.as_deref() else {
        return Ok(None);
    };
    let Some(model) = chain(flags, main)? else {
        return Ok(None);
    };
    let allowed = |answers: u32, bytes| Allowance {
        time: Times::of(flags).answer.saturating_mul(answers),
        bytes,
    };
    let limit = |model: Arc<dyn ChatModel>| -> Arc<dyn ChatModel> {
        let limited = SpendLimit::new(model)
            .stage(allowed(2, 512 << 10))
            .run(allowed(8, 4 << 20));
        Arc::new(limited)
    };
    if flags.also_models.is_empty() {
        return Ok(Some(limit(model)));
    }
    let mut models = Models::new(main, model);
    for name in &flags.also_models {
        if let Some(model) = chain(flags, name)? {
            models = models.with(name, model);
        }
    }
    Ok(Some(limit(Arc::new(models))))
}

/// Opens a model of the server, and the backup behind it.
fn chain(flags: &Flags, model: &str) -> Result<Option<Arc<dyn ChatModel>>, CliError> {
    let main = Server {
        provider: flags.provider,
        base_url: flags.base_url.as_deref(),
        model: Some(model),
        key_env: flags.key_env.as_deref(),
    };
    let backup = Server {
        provider: flags.backup_provider,
        base_url: flags.backup_base_url.as_deref(),
        model: flags.backup_model.as_deref(),
        key_env: flags.backup_key_env.as_deref(),
    };
    let times = Times::of(flags);
    let (main, backup) = (main.open(times)?, backup.open(times)?);
    let chain = match (main, backup) {
        (None, _) => return Ok(None),
        (Some(main), None) => Fallback::new(main),
        (Some(main), Some(backup)) => Fallback::new(main).or(backup),
    };
    Ok(Some(Arc::new(Retry::new(chain).max_pause(MAX_PAUSE))))
}

/// The time limits and the context size that the flags set.
#[derive(Clone, Copy)]
struct Times {
    silence: Duration,
    answer: Duration,
    context: u64,
}

impl Times {
    fn of(flags: &Flags) -> Self {
        Self {
            silence: Duration::from_secs(flags.model_silence),
            answer: Duration::from_secs(flags.model_time),
            context: flags.context,
        }
    }

    fn hold(self, model: Arc<dyn ChatModel>) -> ServerModel {
        let timed = Timeout::new(model).idle(self.silence).total(self.answer);
        let [first, most] = LEFT_ALONE;
        // Two silences in a row are enough, and so is one answer without an end.
        let guarded = CircuitBreaker::new(SizeLimit::new(timed))
            .failures(FAILURES)
            .lost(self.answer.min(self.silence.saturating_mul(3) / 2))
            .open_for(first)
            .open_at_most(most)
            .probes(1)
            .successes(1);
        ContextWindow::new(guarded, self.context)
    }
}

impl Server<'_> {
    fn open(&self, times: Times) -> Result<Option<TracedModel<ServerModel>>, CliError> {
        let (Some(base_url), Some(model)) = (self.base_url, self.model) else {
            return Ok(None);
        };
        let provider = match self.provider {
            Provider::Openai => "openai",
            Provider::Anthropic => "anthropic",
        };
        let model = times.hold(self.client(base_url, model)?);
        Ok(Some(TracedModel::new(model, provider)))
    }

    fn client(&self, base_url: &str, model: &str) -> Result<Arc<dyn ChatModel>, CliError> {
        match self.provider {
            Provider::Openai => {
                let client = OpenAi::new(base_url, model);
                Ok(match self.key("OPENAI_API_KEY", base_url)? {
                    Some(key) => Arc::new(client.key(key)),
                    None => Arc::new(client),
                })
            }
            #[cfg(feature = "anthropic")]
            Provider::Anthropic => {
                let client = fugato_providers::anthropic::Anthropic::new(model).base_url(base_url);
                Ok(match self.key("ANTHROPIC_API_KEY", base_url)? {
                    Some(key) => Arc::new(client.key(key)),
                    None => Arc::new(client),
                })
            }
            #[cfg(not(feature = "anthropic"))]
            Provider::Anthropic => Err(CliError::new(say!(
                "this program speaks chat completions only: --provider openai is allowed",
                "这个程序只支持 chat completions：可以用 --provider openai"
            ))),
        }
    }

    /// Returns the key of the server. One's own server may need none; a variable that is named must
    /// be set.
    fn key(&self, default: &str, server: &str) -> Result<Option<ApiKey>, CliError> {
        let key = ApiKey::from_env(self.key_env.unwrap_or(default));
        match (key, self.key_env) {
            (None, Some(name)) => Err(CliError::new(say!(
                "the variable {name} is empty; it must hold the key of {}",
                "环境变量 {name} 是空的；应为 {} 的密钥",
                crate::without_password(server)
            ))),
            (key, _) => Ok(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use fugato_llm::{
        ChatModelExt as _, ChatRequest,
        ModelErrorKind::{Skipped, TimedOut},
    };
    use fugato_state::Message;
    use fugato_testkit::{FaultyServer, ServerFault};

    use super::*;

    #[derive(Parser)]
    struct Args {
        #[command(flatten)]
        flags: Flags,
    }

    fn model(line: &str) -> Result<Option<Arc<dyn ChatModel>>, CliError> {
        open(&Args::parse_from(line.split(' ')).flags)
    }

    #[test]
    fn a_model_is_opened_only_if_one_is_named() {
        assert!(model("x").unwrap().is_none());
        let main = "x --base-url http://127.0.0.1:1 --model a";
        assert!(model(main).unwrap().is_some());
        let backup = format!("{main} --backup-base-url http://127.0.0.1:2 --backup-model b");
        assert!(model(&backup).unwrap().is_some());
        let alone = "x --backup-base-url http://127.0.0.1:2 --backup-model b";
        assert!(Args::try_parse_from(alone.split(' ')).is_err());
    }

    #[test]
    fn trn_17_each_model_has_its_own_breaker() {
        let main = FaultyServer::start(ServerFault::Hangs);
        let backup = FaultyServer::start(ServerFault::LongText(9));
        let line = format!(
            "x --base-url {} --model a --backup-base-url {} --backup-model b --model-silence 1",
            main.url(),
            backup.url()
        );
        let chain = model(&line).unwrap().unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let kinds = [TimedOut, TimedOut, Skipped, Skipped].map(|kind| {
            let asked = chain.complete(ChatRequest::new([Message::user("Hello")]));
            let answer = runtime.block_on(asked).unwrap();
            let failure = answer.attempts[0].failure.clone().unwrap();
            assert_eq!(answer.attempts[1].model, "b");
            (failure.kind, kind)
        });
        assert!(
            kinds.iter().all(|(seen, wanted)| seen == wanted),
            "{kinds:?}"
        );
        assert_eq!((main.requests(), backup.requests()), (2, 4));
    }

    #[test]
    fn a_key_that_is_named_must_be_there() {
        let missing = "x --base-url http://127.0.0.1:1 --model a --key-env NO_SUCH_VARIABLE_HERE";
        assert_eq!(
            model(missing).err().unwrap().to_string(),
            "the variable NO_SUCH_VARIABLE_HERE is empty; it must hold the key of http://127.0.0.1:1"
        );
        let secret = missing.replace("http://", "http://me:secret@");
        assert_eq!(
            model(&secret).err().unwrap().to_string(),
            "the variable NO_SUCH_VARIABLE_HERE is empty; it must hold the key of http://…@127.0.0.1:1"
        );
    }
}
