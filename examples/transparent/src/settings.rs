//! The settings in `config.toml`. Everything has a default, and an unknown key is an error that
//! lists the known ones.
use std::collections::BTreeSet;

use fugato::{llm::ApiKey, openai::OpenAiEmbedder};
use serde::{Deserialize, Serialize};
use smart_default::SmartDefault;

use crate::{agent::HistoryPolicy, plugins::PluginSettings};

/// The settings.
#[derive(SmartDefault, Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The folder of the files that the agent may see; `files` in its own folder by default.
    pub root: Option<String>,
    /// The tools that may be called.
    pub tools: ToolSettings,
    /// The command that takes a photo.
    pub photo: ProgramSettings,
    /// The command that shows a notification on the desktop.
    pub notify: ProgramSettings,
    /// The access to the web.
    pub web: WebSettings,
    /// The server for embeddings of notes and questions.
    pub embedding: Option<Embedding>,
    /// Where there is no such server: true to find notes by their spelling, too, and not by words
    /// alone.
    #[default(true)]
    pub spelling: bool,
    /// The plugins that run, and their grants.
    pub plugins: PluginSettings,
    /// The policy by which conversations are compacted.
    pub compaction: HistoryPolicy,
}

/// The tools that may be called.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    /// If set, only these tools are allowed.
    pub allow: Option<BTreeSet<String>>,
    /// The tools that are blocked.
    pub block: BTreeSet<String>,
    /// The tools that need a confirmation, beside those that act.
    pub confirm: BTreeSet<String>,
    /// The tools that act without one.
    pub unasked: BTreeSet<String>,
}

/// A command; empty for none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProgramSettings {
    /// The program, and its arguments with placeholders such as `{file}`.
    pub command: Vec<String>,
}

/// The access to the web.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebSettings {
    /// The URL of a search service; empty to switch the web off.
    pub search: String,
    /// The hosts whose pages may be found.
    pub hosts: Vec<String>,
}

/// A server that speaks the protocol of `/v1/embeddings`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedding {
    /// The URL of the server.
    pub url: String,
    /// The name of the model. A change rebuilds the index.
    pub model: String,
    /// The environment variable with its key, if it needs one.
    #[serde(default)]
    pub key_env: Option<String>,
}

impl Embedding {
    /// Returns a client of that server.
    pub fn embedder(&self) -> OpenAiEmbedder {
        let embedder = OpenAiEmbedder::new(&self.url, &self.model);
        match self.key_env.as_deref().and_then(ApiKey::from_env) {
            Some(key) => embedder.key(key),
            None => embedder,
        }
    }
}
