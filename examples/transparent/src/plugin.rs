//! Plugins: programs of their own in `plugins/<name>/`, spoken to by MCP over their standard input
//! and output.
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use fugato::{
    McpOptions, McpServer,
    mcp::{McpTool, Program},
    tool::{Manifest, Permission},
};

use crate::{desk::Desk, log_key};

/// How long a plugin may take to start.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a call of it may be silent.
const SILENCE: Duration = Duration::from_mins(1);

/// The plugins that run.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Their tools.
    pub tools: Vec<McpTool>,
    /// The names of those that a person has to agree to.
    pub dangerous: BTreeSet<String>,
    /// The plugins that do not run, and why.
    pub refused: Vec<(String, String)>,
}

/// Starts the plugins of a folder. One that cannot be used is left out, and spoils none of the
/// others.
pub async fn load(desk: &Desk) -> Loaded {
    let mut loaded = Loaded::default();
    for folder in folders(&desk.dir().join("plugins")) {
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        match plugin(desk, &folder, &name).await {
            Ok(None) => {}
            Ok(Some((tools, dangerous))) => {
                if dangerous {
                    loaded
                        .dangerous
                        .extend(tools.iter().map(|tool| tool.name().to_owned()));
                }
                loaded.tools.extend(tools);
            }
            Err(why) => {
                tracing::warn!(plugin = name, why, "{}", log_key::A_PLUGIN_DOES_NOT_RUN);
                loaded.refused.push((name, why));
            }
        }
    }
    loaded
}

fn folders(within: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(within).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// The tools of a plugin, and whether a person has to agree to them; none if it is not to run.
async fn plugin(
    desk: &Desk,
    folder: &Path,
    name: &str,
) -> Result<Option<(Vec<McpTool>, bool)>, String> {
    let settings = &desk.settings.plugins;
    let text = fs::read_to_string(folder.join("manifest.json"));
    let text = text.map_err(|error| format!("manifest.json cannot be read: {error}"))?;
    let manifest = Manifest::read(&text).map_err(|error| told(&error))?;
    if manifest.name != name {
        return Err(format!(
            "its folder is called {name:?}, and its manifest {:?}",
            manifest.name
        ));
    }
    if !manifest.auto_start && !settings.start.contains(name) {
        return Ok(None);
    }
    let granted = settings.granted.get(name).cloned().unwrap_or_default();
    let missing = manifest.ungranted(&granted);
    if !missing.is_empty() {
        let missing = serde_json::to_string(&missing).unwrap_or_default();
        return Err(format!(
            "it wants {missing}, which config.toml does not grant: [plugins.granted] {name} = {missing}"
        ));
    }
    let program = program(desk, folder, &manifest);
    let mut options = McpOptions::new()
        .only(manifest.provides.clone())
        .connect_timeout(PATIENCE)
        .timeout(SILENCE);
    if manifest.dangerous {
        options = options.distrust_hints();
    }
    let server = McpServer::stdio(name, program, options);
    let tools = server.tools().await.map_err(|error| told(&error))?;
    Ok(Some((tools.into_iter().collect(), manifest.dangerous)))
}

fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// How a plugin is started: in its own folder, with nothing of our environment but what programs
/// need to run, and told of places only that it may use.
fn program(desk: &Desk, folder: &Path, manifest: &Manifest) -> Program {
    let absolute = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let entry = absolute(&folder.join(&manifest.entry))
        .display()
        .to_string();
    let mut words = desk.settings.plugins.wrap.clone();
    if Path::new(&manifest.entry)
        .extension()
        .is_some_and(|ending| ending == "py")
    {
        words.push("python3".to_owned());
    }
    words.push(entry);
    let first = words.remove(0);
    let config = serde_json::Value::Object(manifest.config.clone()).to_string();
    let mut program = Program::new(first)
        .args(words)
        .dir(absolute(folder))
        .env("PLUGIN_CONFIG", config);
    if manifest.permissions.contains(&Permission::WriteFile) {
        program = program.env("PLUGIN_ROOT", absolute(desk.sandbox.root()));
    }
    if manifest.permissions.contains(&Permission::ReadMemory) {
        program = program.env("PLUGIN_MEMORY", absolute(desk.dir()));
    }
    program
}
