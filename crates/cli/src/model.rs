//! The model that the flags name.
use std::{sync::Arc, time::Duration};

use fugato_llm::{ApiKey, ChatModel, Fallback, Retry, Timeout, Traced};
use fugato_openai::OpenAi;

use crate::{Flags, Provider, Told};

/// How long a model may be silent.
const IDLE: Duration = Duration::from_secs(90);

/// A model at a server: what is asked of it is limited and traced.
type Client = Traced<Timeout<Arc<dyn ChatModel>>>;

/// A server, and the model to ask there.
struct Server<'a> {
    provider: Provider,
    base_url: Option<&'a str>,
    model: Option<&'a str>,
    key_env: Option<&'a str>,
}

/// The model that the flags name, with a backup behind it if they name one; none if they name
/// none.
pub(crate) fn open(flags: &Flags) -> Result<Option<Arc<dyn ChatModel>>, Told> {
    let main = Server {
        provider: flags.provider,
        base_url: flags.base_url.as_deref(),
        model: flags.model.as_deref(),
        key_env: flags.key_env.as_deref(),
    };
    let backup = Server {
        provider: flags.backup_provider,
        base_url: flags.backup_base_url.as_deref(),
        model: flags.backup_model.as_deref(),
        key_env: flags.backup_key_env.as_deref(),
    };
    let (main, backup) = (main.open()?, backup.open()?);
    Ok(match (main, backup) {
        (None, _) => None,
        (Some(main), None) => Some(Arc::new(Retry::new(main))),
        (Some(main), Some(backup)) => Some(Arc::new(Retry::new(Fallback::new(main).or(backup)))),
    })
}

impl Server<'_> {
    fn open(&self) -> Result<Option<Client>, Told> {
        let (Some(base_url), Some(model)) = (self.base_url, self.model) else {
            return Ok(None);
        };
        let provider = match self.provider {
            Provider::Openai => "openai",
            Provider::Anthropic => "anthropic",
        };
        let model = Timeout::new(self.client(base_url, model)?).idle(IDLE);
        Ok(Some(Traced::new(model, provider)))
    }

    fn client(&self, base_url: &str, model: &str) -> Result<Arc<dyn ChatModel>, Told> {
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
                let client = fugato_anthropic::Anthropic::new(model).base_url(base_url);
                Ok(match self.key("ANTHROPIC_API_KEY", base_url)? {
                    Some(key) => Arc::new(client.key(key)),
                    None => Arc::new(client),
                })
            }
            #[cfg(not(feature = "anthropic"))]
            Provider::Anthropic => Err(Told::new(
                "this program speaks chat completions only: --provider openai is allowed",
            )),
        }
    }

    /// A server of one's own may need no key; one that is named must be there.
    fn key(&self, default: &str, server: &str) -> Result<Option<ApiKey>, Told> {
        let key = ApiKey::from_env(self.key_env.unwrap_or(default));
        match (key, self.key_env) {
            (None, Some(name)) => Err(Told::new(format!(
                "the variable {name} is empty; it must hold the key of {}",
                crate::without_password(server)
            ))),
            (key, _) => Ok(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Args {
        #[command(flatten)]
        flags: Flags,
    }

    fn model(line: &str) -> Result<Option<Arc<dyn ChatModel>>, Told> {
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
