//! What a person may set, in `config.toml`. Everything has a default, and what is not known is an
//! error that names what is.
use std::collections::BTreeSet;

use fugato::{llm::ApiKey, mcp::plugin::PluginSettings, openai::OpenAiEmbedder};
use serde::{Deserialize, Serialize};

use crate::agent::Policy;

/// The settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The folder whose files the agent may see; `files` in its own folder if not said.
    pub root: Option<String>,
    /// Which tools may be called.
    pub tools: Tools,
    /// How a photo is taken.
    pub photo: Run,
    /// How the desktop is told something.
    pub notify: Run,
    /// Whether and how the web is asked.
    pub web: WebSettings,
    /// Who turns notes and questions into vectors; without one they are found by words alone.
    pub embedding: Option<Embedding>,
    /// Which plugins run, and what they may do.
    pub plugins: PluginSettings,
    /// When conversations are compacted.
    pub compaction: Policy,
}

/// Which tools may be called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tools {
    /// If set, only these.
    pub allow: Option<BTreeSet<String>>,
    /// Not these.
    pub block: BTreeSet<String>,
    /// These after a person has agreed.
    pub confirm: BTreeSet<String>,
}

impl Default for Tools {
    fn default() -> Self {
        let confirm = ["create_cron_job", "notify", "take_photo"];
        Self {
            allow: None,
            block: BTreeSet::new(),
            confirm: confirm.map(str::to_owned).into(),
        }
    }
}

/// A program and its arguments; none if it is empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Run {
    /// The program, and its arguments with places such as `{file}`.
    pub command: Vec<String>,
}

/// Whether and how the web is asked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebSettings {
    /// The address of a search service; the web is switched off without one.
    pub search: String,
    /// The hosts whose pages may be found.
    pub hosts: Vec<String>,
}

/// A server that speaks the protocol of `/v1/embeddings`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedding {
    /// Its address.
    pub url: String,
    /// The model that it shall use. Another one makes the index anew.
    pub model: String,
    /// The variable with its key, if it wants one.
    #[serde(default)]
    pub key_env: Option<String>,
}

impl Embedding {
    /// A client of that server.
    pub fn embedder(&self) -> OpenAiEmbedder {
        let embedder = OpenAiEmbedder::new(&self.url, &self.model);
        match self.key_env.as_deref().and_then(ApiKey::from_env) {
            Some(key) => embedder.key(key),
            None => embedder,
        }
    }
}
