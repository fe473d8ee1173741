//! The plugins of a folder, in a program that is built with them.
use std::collections::BTreeSet;

#[cfg(not(feature = "plugins"))]
use fugato::cli::CliError;
use fugato::state::say;
use fugato::{cli::notice, tool::RegistryBuilder};

use crate::{
    agent::{AgentState, Update},
    workspace::Workspace,
};

type Builder = RegistryBuilder<AgentState, Update>;

#[cfg(feature = "plugins")]
pub use fugato::mcp::plugin::{LoadedPlugins, PluginSettings};

/// Loads the plugins of a folder that it grants what they want, and says which do not run.
#[cfg(feature = "plugins")]
pub async fn load(desk: &Workspace) -> LoadedPlugins {
    let loaded = desk.plugins().load().await;
    for (name, why) in &loaded.refused {
        notice(
            &say!("the plugin {name} does not run", "插件 {name} 没有运行"),
            why,
        );
    }
    loaded
}

/// Adds their tools, and returns the names of those that need a person's agreement, and of the others,
/// which are locked in and do no harm.
#[cfg(feature = "plugins")]
pub(crate) fn add_to(builder: Builder, plugins: LoadedPlugins) -> (Builder, [BTreeSet<String>; 2]) {
    let LoadedPlugins {
        tools, dangerous, ..
    } = plugins;
    let names = tools.iter().map(|tool| tool.name().to_owned());
    let harmless = names.filter(|name| !dangerous.contains(name)).collect();
    (builder.tools(tools), [dangerous, harmless])
}

/// The settings of plugins, which another build of this program reads.
#[cfg(not(feature = "plugins"))]
pub type PluginSettings = serde_json::Map<String, serde_json::Value>;

/// No plugins.
#[cfg(not(feature = "plugins"))]
#[derive(Debug, Default, Clone, Copy)]
pub struct LoadedPlugins(());

/// Loads nothing, and says so of each plugin to which the folder grants something.
#[cfg(not(feature = "plugins"))]
pub fn load(desk: &Workspace) -> std::future::Ready<LoadedPlugins> {
    let granted = desk.settings.plugins.get("granted");
    let granted = granted.and_then(serde_json::Value::as_object);
    for name in granted.into_iter().flat_map(serde_json::Map::keys) {
        let lacks = CliError::new(say!(
            "it needs a program that is built with `--features plugins`",
            "需要用 `--features plugins` 构建的程序"
        ));
        notice(
            &say!("the plugin {name} does not run", "插件 {name} 没有运行"),
            &lacks,
        );
    }
    std::future::ready(LoadedPlugins::default())
}

/// Adds nothing.
#[cfg(not(feature = "plugins"))]
pub(crate) fn add_to(builder: Builder, _: LoadedPlugins) -> (Builder, [BTreeSet<String>; 2]) {
    (builder, <[BTreeSet<String>; 2]>::default())
}
