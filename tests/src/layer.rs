//! Which crate may depend on which.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A package and what it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Whether it is a member of the workspace.
    pub member: bool,
    /// What it needs to be used.
    pub needs: BTreeSet<String>,
    /// What its tests need beside.
    pub needs_for_tests: BTreeSet<String>,
}

/// The arrows between the crates: a crate may need these, and no other crate of ours.
const ARROWS: [(&str, &[&str]); 27] = [
    ("fugato-state", &[]),
    ("fugato-store", &["state"]),
    ("fugato-stream", &["state"]),
    ("fugato-llm", &["state", "stream"]),
    ("fugato-tool", &["state", "stream"]),
    ("fugato-prompt", &["state", "stream"]),
    ("fugato-memory", &["state", "store", "stream"]),
    ("fugato-graph", &["state", "store", "stream"]),
    (
        "fugato-agent",
        &[
            "state", "stream", "llm", "tool", "prompt", "memory", "graph",
        ],
    ),
    ("fugato-anthropic", &["state", "llm"]),
    (
        "fugato-axum",
        &["state", "store", "stream", "graph", "words"],
    ),
    (
        "fugato-cli",
        &[
            "state",
            "store",
            "stream",
            "llm",
            "graph",
            "agent",
            "anthropic",
            "axum",
            "mysql",
            "openai",
            "postgres",
            "redis",
            "sqlite",
            "words",
        ],
    ),
    (
        "fugato-archive",
        &["state", "store", "stream", "memory", "graph"],
    ),
    ("fugato-command", &["tool"]),
    ("fugato-cron", &["state", "store", "tool", "graph"]),
    ("fugato-file", &["tool"]),
    ("fugato-form", &["words"]),
    ("fugato-web", &["tool"]),
    ("fugato-words", &[]),
    ("fugato-mcp", &["state", "stream", "tool"]),
    ("fugato-openai", &["state", "llm", "memory"]),
    ("fugato-mysql", &["state", "store"]),
    ("fugato-postgres", &["state", "store"]),
    ("fugato-redis", &["state", "store"]),
    ("fugato-sqlite", &["state", "store", "memory"]),
    (
        "fugato",
        &[
            "state",
            "store",
            "stream",
            "llm",
            "tool",
            "prompt",
            "memory",
            "graph",
            "agent",
            "anthropic",
            "archive",
            "axum",
            "cli",
            "command",
            "cron",
            "mcp",
            "openai",
            "mysql",
            "postgres",
            "redis",
            "sqlite",
            "file",
            "form",
            "web",
            "words",
        ],
    ),
    (
        "fugato-testkit",
        &["state", "store", "stream", "llm", "tool", "prompt", "graph"],
    ),
];

/// The crates that have no HTTP, TLS or database beneath them.
const BASE: [&str; 9] = [
    "state", "store", "stream", "llm", "tool", "prompt", "memory", "graph", "agent",
];

/// What speaks HTTP or TLS, or keeps a database.
const OUTSIDE: [&str; 16] = [
    "axum",
    "h2",
    "http",
    "hyper",
    "libsqlite3-sys",
    "mysql_async",
    "native-tls",
    "openssl",
    "openssl-sys",
    "redis",
    "reqwest",
    "rusqlite",
    "rustls",
    "sqlx-core",
    "tokio-postgres",
    "tungstenite",
];

/// What has a runtime: the state is plain data.
const ASYNC: [&str; 3] = ["async-trait", "futures", "tokio"];

const TESTKIT: &str = "fugato-testkit";

/// Every arrow that is not permitted.
pub fn complaints(packages: &[Package]) -> Vec<String> {
    let mut wrong = vec![];
    for package in packages.iter().filter(|package| package.member) {
        wrong.extend(arrows(package));
        if package.needs.contains(TESTKIT) {
            wrong.push(format!(
                "{} needs {TESTKIT} outside of its tests",
                package.name
            ));
        }
    }
    for name in BASE {
        let crate_name = format!("fugato-{name}");
        let below = below(&crate_name, packages);
        let kept_out = OUTSIDE.iter().filter(|outside| below.contains(**outside));
        wrong.extend(kept_out.map(|outside| format!("{crate_name} has {outside} beneath it")));
    }
    let plain = below("fugato-state", packages);
    let kept_out = ASYNC.iter().filter(|name| plain.contains(**name));
    wrong.extend(kept_out.map(|name| format!("fugato-state has {name} beneath it")));
    wrong
}

fn arrows(package: &Package) -> Vec<String> {
    let ours = |name: &&String| name.starts_with("fugato");
    let name = &package.name;
    let Some((_, allowed)) = ARROWS.iter().find(|(own, _)| own == name) else {
        // Programs may use everything; a crate must say what it may.
        let is_crate = name.starts_with("fugato-") && name != "fugato-benches";
        return is_crate
            .then(|| format!("{name} has no place in the layers yet"))
            .into_iter()
            .collect();
    };
    let not_allowed = package.needs.iter().filter(ours).filter(|need| {
        let short = need.strip_prefix("fugato-").unwrap_or(need);
        *need != TESTKIT && !allowed.contains(&short)
    });
    not_allowed
        .map(|need| format!("{name} must not need {need}"))
        .collect()
}

fn below<'a>(name: &'a str, packages: &'a [Package]) -> BTreeSet<&'a str> {
    let by_name: BTreeMap<&str, Vec<&Package>> =
        packages.iter().fold(BTreeMap::new(), |mut map, package| {
            map.entry(package.name.as_str()).or_default().push(package);
            map
        });
    let (mut seen, mut left) = (BTreeSet::new(), vec![name]);
    while let Some(name) = left.pop() {
        for package in by_name.get(name).into_iter().flatten() {
            let new = package
                .needs
                .iter()
                .map(String::as_str)
                .filter(|need| seen.insert(*need));
            left.extend(new.collect::<Vec<_>>());
        }
    }
    seen
}

/// Reads what `cargo metadata` prints; none if it has another shape.
pub fn packages(metadata: &Value) -> Option<Vec<Package>> {
    let names: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()?
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
        .collect();
    let members: BTreeSet<&str> = metadata["workspace_members"]
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let nodes = metadata.pointer("/resolve/nodes")?.as_array()?;
    nodes
        .iter()
        .map(|node| package(node, &names, &members))
        .collect()
}

fn package(
    node: &Value,
    names: &BTreeMap<&str, &str>,
    members: &BTreeSet<&str>,
) -> Option<Package> {
    let id = node["id"].as_str()?;
    let mut package = Package {
        name: (*names.get(id)?).to_owned(),
        member: members.contains(id),
        needs: BTreeSet::new(),
        needs_for_tests: BTreeSet::new(),
    };
    for dependency in node["deps"].as_array()? {
        let name = (*names.get(dependency["pkg"].as_str()?)?).to_owned();
        for kind in dependency["dep_kinds"].as_array()? {
            match kind["kind"].as_str() {
                Some("dev") => package.needs_for_tests.insert(name.clone()),
                _ => package.needs.insert(name.clone()),
            };
        }
    }
    Some(package)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn needs(name: &str, needs: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            member: name.starts_with("fugato"),
            needs: needs.iter().map(|&need| need.to_owned()).collect(),
            needs_for_tests: BTreeSet::new(),
        }
    }

    #[test]
    fn an_arrow_against_the_layers_is_found() {
        let packages = [needs("fugato-graph", &["fugato-llm", "fugato-store"])];
        assert_eq!(
            complaints(&packages),
            ["fugato-graph must not need fugato-llm"]
        );
    }

    #[test]
    fn a_crate_without_a_place_is_found() {
        let packages = [
            needs("fugato-new", &[]),
            needs("fugato-benches", &["fugato-sqlite"]),
        ];
        assert_eq!(
            complaints(&packages),
            ["fugato-new has no place in the layers yet"]
        );
    }

    #[test]
    fn nothing_points_at_an_adapter_but_the_facade() {
        let packages = [
            needs("fugato-openai", &["fugato-sqlite"]),
            needs("fugato", &["fugato-sqlite"]),
        ];
        assert_eq!(
            complaints(&packages),
            ["fugato-openai must not need fugato-sqlite"]
        );
    }

    #[test]
    fn a_testkit_outside_of_tests_is_found() {
        let mut tested = needs("fugato-sqlite", &[]);
        tested.needs_for_tests.insert(TESTKIT.to_owned());
        let packages = [tested, needs("fugato-llm", &[TESTKIT])];
        assert_eq!(
            complaints(&packages),
            ["fugato-llm needs fugato-testkit outside of its tests"]
        );
    }

    #[test]
    fn a_database_far_beneath_the_base_is_found() {
        let packages = [
            needs("fugato-store", &["a"]),
            needs("a", &["b"]),
            needs("b", &["rusqlite"]),
        ];
        assert_eq!(
            complaints(&packages),
            ["fugato-store has rusqlite beneath it"]
        );
    }

    #[test]
    fn a_runtime_beneath_the_state_is_found() {
        let packages = [needs("fugato-state", &["a"]), needs("a", &["tokio"])];
        assert_eq!(complaints(&packages), ["fugato-state has tokio beneath it"]);
    }

    #[test]
    fn what_cargo_prints_is_read() {
        let metadata = json!({
            "packages": [{ "id": "i1", "name": "fugato-llm" }, { "id": "i2", "name": "tokio" }],
            "workspace_members": ["i1"],
            "resolve": { "nodes": [{
                "id": "i1",
                "deps": [{ "pkg": "i2", "dep_kinds": [{ "kind": "dev" }, { "kind": null }] }],
            }] },
        });
        let mut expected = needs("fugato-llm", &["tokio"]);
        expected.needs_for_tests.insert("tokio".to_owned());
        assert_eq!(packages(&metadata), Some(vec![expected]));
        assert_eq!(packages(&json!({})), None);
    }
}
