use std::{
    collections::BTreeSet,
    path::{Component, Path},
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The manifest of a plugin, which is read before any of its code runs.
///
/// ```
/// use std::collections::BTreeSet;
/// use fugato_tool::{Manifest, Permission};
///
/// let manifest = Manifest::read(r#"{
///     "name": "weather", "version": "1.0", "entry": "main.py",
///     "permissions": ["network-call"], "provides": ["forecast"]
/// }"#)?;
/// let granted = BTreeSet::from([Permission::ReadMemory]);
/// assert_eq!(manifest.ungranted(&granted), [Permission::NetworkCall]);
/// # Ok::<(), fugato_tool::ManifestError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Manifest {
    /// The name of the plugin: 1 to 64 of `A-Z a-z 0-9 _ -`.
    pub name: String,
    /// The version of the plugin.
    pub version: String,
    /// The path of the executable, relative to the folder of the plugin.
    pub entry: String,
    /// The permissions that the plugin requests.
    #[serde(default)]
    pub permissions: BTreeSet<Permission>,
    /// The names of its tools.
    #[serde(default)]
    pub provides: Vec<String>,
    /// The configuration that the plugin gets when it starts.
    #[serde(default)]
    pub config: Map<String, Value>,
    /// True if the plugin starts together with the agent.
    #[serde(default)]
    pub auto_start: bool,
    /// True if a person has to agree to every call of its tools.
    #[serde(default)]
    pub dangerous: bool,
}

/// A permission of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Permission {
    /// Reach the network.
    NetworkCall,
    /// Read the memory of the agent.
    ReadMemory,
    /// Write files.
    WriteFile,
    /// Execute commands.
    ExecuteCommand,
    /// Listen to the microphone.
    ListenMic,
}

impl Manifest {
    /// Parses a manifest, and checks that its names can be used and its entry is inside its folder.
    pub fn read(json: &str) -> Result<Self, ManifestError> {
        let manifest: Self = serde_json::from_str(json)?;
        for name in std::iter::once(&manifest.name).chain(&manifest.provides) {
            if !crate::builder::is_name(name) {
                return Err(ManifestError::BadName { name: name.clone() });
            }
        }
        let mut components = Path::new(&manifest.entry).components().peekable();
        let is_empty = components.peek().is_none();
        if is_empty || components.any(|part| !matches!(part, Component::Normal(_))) {
            let entry = manifest.entry;
            return Err(ManifestError::EntryOutside { entry });
        }
        Ok(manifest)
    }

    /// Returns the requested permissions that are not granted.
    pub fn ungranted(&self, granted: &BTreeSet<Permission>) -> Vec<Permission> {
        self.permissions.difference(granted).copied().collect()
    }
}

/// The error if a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The text is no manifest.
    #[error("the manifest cannot be read")]
    Malformed(#[from] serde_json::Error),
    /// Model servers do not accept the name.
    #[error("the name {name:?} is not allowed: 1 to 64 of A-Z a-z 0-9 _ - are")]
    BadName {
        /// The name.
        name: String,
    },
    /// The entry is outside the folder of the plugin.
    #[error("the entry {entry:?} does not lie below the folder of the plugin")]
    EntryOutside {
        /// The entry.
        entry: String,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(change: &Value) -> Result<Manifest, ManifestError> {
        let mut manifest = json!({ "name": "weather", "version": "1", "entry": "bin/main" });
        let fields = change.as_object().into_iter().flatten();
        for (key, value) in fields {
            manifest[key] = value.clone();
        }
        Manifest::read(&manifest.to_string())
    }

    #[test]
    fn trn_8_a_manifest_says_what_a_plugin_wants() {
        let manifest =
            read(&json!({ "permissions": ["write-file", "listen-mic"], "dangerous": true }));
        let manifest = manifest.unwrap();
        assert!(manifest.dangerous && !manifest.auto_start);
        let granted = BTreeSet::from([Permission::ListenMic, Permission::NetworkCall]);
        assert_eq!(manifest.ungranted(&granted), [Permission::WriteFile]);
        let again = Manifest::read(&serde_json::to_string(&manifest).unwrap()).unwrap();
        assert_eq!(again, manifest);
    }

    #[test]
    fn trn_8_a_manifest_that_cannot_be_trusted_is_refused() {
        for (change, why) in [
            (json!({ "name": "a b" }), "the name \"a b\" is not allowed"),
            (json!({ "provides": [""] }), "the name \"\" is not allowed"),
            (
                json!({ "entry": "../sh" }),
                "the entry \"../sh\" does not lie below",
            ),
            (
                json!({ "entry": "/bin/sh" }),
                "the entry \"/bin/sh\" does not lie below",
            ),
            (json!({ "entry": "" }), "the entry \"\" does not lie below"),
            (
                json!({ "permissions": ["root"] }),
                "the manifest cannot be read",
            ),
            (json!({ "dangeruos": true }), "the manifest cannot be read"),
        ] {
            let error = read(&change).unwrap_err().to_string();
            assert!(error.starts_with(why), "{change}: {error}");
        }
    }
}
