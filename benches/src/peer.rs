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

/// Returns the version of an engine that `peers/install` installs, from its manifest.
pub fn version(name: &str) -> Option<&'static str> {
    let (package, manifest) = match name {
        "graph-flow" => (name, include_str!("../peers/graph-flow/Cargo.toml")),
        "juncture" => (name, include_str!("../peers/juncture/Cargo.toml")),
        "adk-graph" => (name, include_str!("../peers/adk-graph/Cargo.toml")),
        "langgraph-rs" => (
            "langgraph",
            include_str!("../peers/langgraph-rs/Cargo.toml"),
        ),
        "langgraph-py" => (
            "langgraph",
            include_str!("../peers/langgraph-py/requirements.txt"),
        ),
        "langgraph-js" => (
            "@langchain/langgraph",
            include_str!("../peers/langgraph-js/package.json"),
        ),
        "llm-json" => ("llm_json", include_str!("../peers/llm-json/Cargo.toml")),
        "json-repair" => (
            "json_repair",
            include_str!("../peers/json-repair/requirements.txt"),
        ),
        "genai" => (name, include_str!("../peers/genai/Cargo.toml")),
        "async-openai" => (name, include_str!("../peers/async-openai/Cargo.toml")),
        _ => return None,
    };
    manifest.lines().find_map(|line| {
        let line = line.trim_start_matches([' ', '"']).strip_prefix(package)?;
        // Other packages begin with the same name.
        let line = line.strip_prefix(['=', ' ', '"'])?;
        let from = line.find(|c: char| c.is_ascii_digit())?;
        let number = line.get(from..)?;
        number.split(['"', ' ']).next()
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_has_a_version() {
        for name in KNOWN {
            let version = version(name).unwrap_or_default();
            let is_number = |part: &str| part.parse::<u32>().is_ok();
            assert!(version.split('.').count() == 3, "{name}: {version}");
            assert!(version.split('.').all(is_number), "{name}: {version}");
        }
    }
}
