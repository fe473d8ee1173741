//! Other engines: programs of their own, found where `peers/install` put them.
use std::path::PathBuf;

/// Another engine that was installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// Its program. It takes a workload, a size, a budget in milliseconds and a folder, and prints
    /// an [`Answer`](crate::measure::Answer).
    pub program: PathBuf,
}

/// The engines that `peers/install` can install.
pub const KNOWN: [&str; 10] = [
    "graph-flow",
    "juncture",
    "adk-graph",
    "langgraph-rs",
    "langgraph-py",
    "langgraph-js",
    "llm-json",
    "json-repair",
    "genai",
    "async-openai",
];

/// Where `peers/install` puts programs; none if neither `XDG_CACHE_HOME` nor `HOME` is set.
pub fn folder() -> Option<PathBuf> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("fugato-peers").join("bin"))
}

/// The engines that are installed.
pub fn installed() -> Vec<Peer> {
    let Some(folder) = folder() else {
        return vec![];
    };
    KNOWN
        .iter()
        .map(|name| Peer {
            name: (*name).to_owned(),
            program: folder.join(name),
        })
        .filter(|peer| peer.program.is_file())
        .collect()
}
