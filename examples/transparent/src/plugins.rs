//! The plugins of a folder, in a program that is built with them.
use std::collections::BTreeSet;

use fugato::tool::RegistryBuilder;

use crate::{
    agent::{AgentState, Update},
    workspace::Workspace,
};

type Builder = RegistryBuilder<AgentState, Update>;

#[cfg(feature = "plugins")]
pub use fugato::mcp::plugin::{LoadedPlugins, PluginSettings};

/// Loads the plugins of a folder that it grants what they want.
#[cfg(feature = "plugins")]
pub async fn load(desk: &Workspace) -> LoadedPlugins {
    desk.plugins().load().await
}

/// Adds their tools, and returns the names of those that need a person's agreement.
#[cfg(feature = "plugins")]
pub(crate) fn add_to(builder: Builder, plugins: LoadedPlugins) -> (Builder, BTreeSet<String>) {
    (builder.tools(plugins.tools), plugins.dangerous)
}

/// The settings of plugins, which another build of this program reads.
#[cfg(not(feature = "plugins"))]
pub type PluginSettings = serde_json::Map<String, serde_json::Value>;

/// No plugins.
#[cfg(not(feature = "plugins"))]
#[derive(Debug, Default, Clone, Copy)]
pub struct LoadedPlugins(());

/// Loads nothing, and says so if the folder grants something to a plugin.
#[cfg(not(feature = "plugins"))]
pub fn load(desk: &Workspace) -> std::future::Ready<LoadedPlugins> {
    if !desk.settings.plugins.is_empty() {
        tracing::warn!(
            "the plugins of this folder do not run: they need a program that is built with \
             `--features plugins`"
        );
    }
    std::future::ready(LoadedPlugins::default())
}

/// Adds nothing.
#[cfg(not(feature = "plugins"))]
pub(crate) fn add_to(builder: Builder, _: LoadedPlugins) -> (Builder, BTreeSet<String>) {
    (builder, BTreeSet::new())
}
