//! Plugins: foreign programs in folders of their own, with a manifest, granted permissions, and a
//! lock around them.
mod entry;
#[cfg(target_os = "linux")]
mod kernel;
mod lock;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use fugato_tool::{Manifest, ManifestError, Permission};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use lock::{LockError, locked};

use crate::{McpError, McpOptions, McpServer, McpTool, ServerProgram};
use entry::{Entry, NoPython};
use lock::Lock;

/// The time limit for the start of a plugin.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time limit for a call without an answer or progress.
const SILENCE: Duration = Duration::from_secs(60);

/// The plugins of a folder, with their permissions and their lock.
///
/// A plugin is a folder with a `manifest.json` and any executable, `main.py` included, that speaks
/// MCP on its standard input and output.
#[derive(Debug, Clone)]
pub struct Plugins {
    folder: PathBuf,
    settings: PluginSettings,
    root: Option<PathBuf>,
    memory: Option<PathBuf>,
    launcher: Option<PathBuf>,
}

/// An operator's settings for plugins, as a file of settings holds them. By default no permission
/// is granted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PluginSettings {
    /// The plugins that run although they do not start by themselves.
    pub start: BTreeSet<String>,
    /// The permissions of each plugin, by its name. A plugin that wants more does not run.
    pub granted: BTreeMap<String, BTreeSet<Permission>>,
    /// The places that all plugins may read, in addition to the system's programs and their own
    /// folder.
    pub readable: Vec<PathBuf>,
    /// The plugins that run although nothing locks them in.
    pub unlocked: BTreeSet<String>,
    /// The command in front of each plugin's program in the place of our lock, such as a container.
    pub wrap: Vec<String>,
}

/// The result of loading: the plugins that run, and those that do not.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct LoadedPlugins {
    /// Their tools.
    pub tools: Vec<McpTool>,
    /// The names of the tools that need a person's agreement.
    pub dangerous: BTreeSet<String>,
    /// The plugins that do not run, by name, and why.
    pub refused: Vec<(String, PluginError)>,
}

/// The reasons why a plugin does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PluginError {
    /// Its manifest cannot be found.
    #[error("its manifest.json cannot be read")]
    NoManifest(#[source] io::Error),
    /// Its manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Its name differs from that of its folder.
    #[error("its folder is called {folder:?}, and its manifest {manifest:?}")]
    OtherName {
        /// The name of the folder.
        folder: String,
        /// The name in the manifest.
        manifest: String,
    },
    /// It wants more than it was granted.
    #[error("it wants {}, and was not granted that", names(missing))]
    Ungranted {
        /// The permissions that are missing.
        missing: Vec<Permission>,
    },
    /// There is no Python to run it.
    #[error(transparent)]
    NoPython(#[from] NoPython),
    /// Nothing here can lock it in.
    #[error("it cannot be locked in here, and nobody has said that it may run unlocked")]
    Unlockable(#[from] LockError),
    /// It does not start, or does not speak MCP.
    #[error(transparent)]
    Server(#[from] McpError),
}

fn names(permissions: &[Permission]) -> String {
    serde_json::to_string(permissions).unwrap_or_default()
}

impl Plugins {
    /// Creates the plugins of the folders in this folder, without any permission.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            settings: PluginSettings::default(),
            root: None,
            memory: None,
            launcher: None,
        }
    }

    fugato_state::setters! {
        /// Replaces the operator's settings.
        pub fn settings(settings: PluginSettings) { settings = settings }

        /// Sets the permissions of each plugin, by its name. A plugin that wants more does not run.
        pub fn granted(granted: BTreeMap<String, BTreeSet<Permission>>) {
            settings.granted = granted
        }

        /// Adds plugins to be started although they do not start by themselves.
        pub fn start(names: impl IntoIterator<Item = String>) { settings.start.extend(names) }

        /// Sets the folder in which plugins with `write-file` may read and write: `PLUGIN_ROOT`.
        pub fn root(root: impl Into<PathBuf>) { root = Some(root.into()) }

        /// Sets the folder in which plugins with `read-memory` may read: `PLUGIN_MEMORY`.
        pub fn memory(memory: impl Into<PathBuf>) { memory = Some(memory.into()) }

        /// Adds places that all plugins may read, such as the folder of their interpreter.
        pub fn readable(places: impl IntoIterator<Item = PathBuf>) {
            settings.readable.extend(places)
        }

        /// Adds plugins that run although nothing locks them in: they can reach what this process
        /// can.
        pub fn unlocked(names: impl IntoIterator<Item = String>) { settings.unlocked.extend(names) }

        /// Sets a command in front of each plugin's program, such as a container. It replaces our
        /// lock.
        pub fn wrapped(command: impl IntoIterator<Item = String>) {
            settings.wrap = command.into_iter().collect()
        }

        /// Sets the program that locks plugins in: one whose `main` begins with [`locked`]. By
        /// default it is the current program.
        pub fn launcher(program: impl Into<PathBuf>) { launcher = Some(program.into()) }
    }

    /// Starts the plugins. One that cannot be used is left out, and does not affect the others.
    pub async fn load(&self) -> LoadedPlugins {
        let mut loaded = LoadedPlugins::default();
        for folder in self.folders() {
            let name = folder.file_name().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            match self.plugin(&folder, &name).await {
                Ok(None) => {}
                Ok(Some((tools, dangerous))) => {
                    let names = tools.iter().map(|tool| tool.name().to_owned());
                    loaded.dangerous.extend(names.filter(|_| dangerous));
                    loaded.tools.extend(tools);
                }
                Err(why) => {
                    let told = told(&why);
                    tracing::warn!(plugin = name, why = told, "plugin not started");
                    loaded.refused.push((name, why));
                }
            }
        }
        loaded
    }

    fn folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut folders: Vec<_> = entries
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect();
        folders.sort();
        folders
    }

    /// Starts a plugin, and returns its tools, and true if they need a person's agreement; none if
    /// it is not to be started.
    async fn plugin(
        &self,
        folder: &Path,
        name: &str,
    ) -> Result<Option<(Vec<McpTool>, bool)>, PluginError> {
        let text = fs::read_to_string(folder.join("manifest.json"));
        let manifest = Manifest::read(&text.map_err(PluginError::NoManifest)?)?;
        if manifest.name != name {
            let (folder, manifest) = (name.to_owned(), manifest.name);
            return Err(PluginError::OtherName { folder, manifest });
        }
        if !manifest.auto_start && !self.settings.start.contains(name) {
            return Ok(None);
        }
        let granted = self.settings.granted.get(name).cloned().unwrap_or_default();
        let missing = manifest.ungranted(&granted);
        if !missing.is_empty() {
            return Err(PluginError::Ungranted { missing });
        }
        let mut options = McpOptions::new()
            .only(manifest.provides.clone())
            .connect_timeout(PATIENCE)
            .timeout(SILENCE);
        if manifest.dangerous {
            options = options.distrust_hints();
        }
        let program = self.program(folder, &manifest).await?;
        let tools = McpServer::stdio(name, program, options).tools().await?;
        Ok(Some((tools.into_iter().collect(), manifest.dangerous)))
    }

    /// Returns the program of a plugin: in its own folder, with only the environment that programs
    /// need to run, and with the paths of the places that it may use.
    async fn program(
        &self,
        folder: &Path,
        manifest: &Manifest,
    ) -> Result<ServerProgram, PluginError> {
        let folder = absolute(folder);
        let entry = Entry::find(&folder, &manifest.entry).await?;
        let may = |permission| manifest.permissions.contains(&permission);
        let root = self.root.as_deref().filter(|_| may(Permission::WriteFile));
        let memory = self
            .memory
            .as_deref()
            .filter(|_| may(Permission::ReadMemory));
        let (root, memory) = (root.map(absolute), memory.map(absolute));
        let free =
            !self.settings.wrap.is_empty() || self.settings.unlocked.contains(&manifest.name);
        let mut words = if free {
            self.settings.wrap.clone()
        } else {
            let mut lock = Lock {
                reads: [
                    entry.reads(),
                    self.settings.readable.clone(),
                    vec![folder.clone()],
                ]
                .concat(),
                writes: root.iter().cloned().collect(),
                runs: entry.runs(),
                network: may(Permission::NetworkCall),
                commands: may(Permission::ExecuteCommand),
                listens: may(Permission::ListenMic),
            };
            lock.reads.extend(memory.clone());
            lock.words(self.launcher.as_deref())?
        };
        words.extend(entry.words());
        let config = Value::Object(manifest.config.clone()).to_string();
        let mut words = words.into_iter();
        let mut program = ServerProgram::new(words.next().unwrap_or_default())
            .args(words)
            .dir(folder)
            .env("PLUGIN_CONFIG", config);
        for (name, place) in [("PLUGIN_ROOT", root), ("PLUGIN_MEMORY", memory)] {
            if let Some(place) = place {
                program = program.env(name, place);
            }
        }
        Ok(program)
    }
}

fn absolute(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Formats an error with its causes.
fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
