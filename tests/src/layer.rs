//! The layers of the crates, by cargo's own metadata and the table of `docs/architecture.md`.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::markdown;

/// A package and its dependencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// The name.
    pub name: String,
    /// True for a member of the workspace.
    pub member: bool,
    /// The dependencies, without those of tests.
    pub needs: BTreeSet<String>,
}

/// Packages that speak HTTP or TLS, or keep a database.
const OUTSIDE: [&str; 17] = [
    "axum",
    "h2",
    "http",
    "hyper",
    "libsqlite3-sys",
    "mysql_async",
    "native-tls",
    "object_store",
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

/// Packages with a runtime: the state is plain data.
const ASYNC: [&str; 3] = ["async-trait", "futures", "tokio"];

/// Returns every dependency that the table `| layer | crates | … |` does not permit: a crate may
/// need crates of the rows above its own. A row called `base` has no package of `OUTSIDE` below
/// it; a row called `tests` is for tests alone.
pub fn complaints(table: &str, packages: &[Package]) -> Vec<String> {
    let rows = markdown::rows(table, &["layer", "crates"]);
    let mut layers: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        let [layer, crates, ..] = row[..] else {
            continue;
        };
        layers.extend(markdown::code(crates).map(|name| (name, (at, layer))));
    }
    let mut wrong = vec![];
    for package in packages.iter().filter(|package| package.member) {
        let name = &*package.name;
        let needs = package
            .needs
            .iter()
            .filter(|need| need.starts_with("fugato"));
        let Some((own, layer)) = layers.get(name).copied() else {
            // Programs may use everything; a crate has a layer.
            if name.starts_with("fugato-") && name != "fugato-benches" {
                wrong.push(format!("{name} has no layer"));
            }
            continue;
        };
        for need in needs {
            match layers.get(&**need) {
                Some((at, "tests")) if *at != own => {
                    wrong.push(format!("{name} needs {need} outside of its tests"));
                }
                Some((at, _)) if *at < own => {}
                _ => wrong.push(format!("{name} must not need {need}")),
            }
        }
        let kept_out: &[&str] = match (name, layer) {
            ("fugato-state", _) => &ASYNC,
            (_, layer) if layer.starts_with("base") => &OUTSIDE,
            _ => &[],
        };
        let below = below(name, packages);
        let found = kept_out.iter().filter(|outside| below.contains(**outside));
        wrong.extend(found.map(|outside| format!("{name} has {outside} below it")));
    }
    wrong
}

fn below<'a>(name: &'a str, packages: &'a [Package]) -> BTreeSet<&'a str> {
    let (mut seen, mut left) = (BTreeSet::new(), vec![name]);
    while let Some(name) = left.pop() {
        for package in packages.iter().filter(|package| package.name == name) {
            let needs = package.needs.iter().map(String::as_str);
            left.extend(needs.filter(|need| seen.insert(*need)));
        }
    }
    seen
}

/// Reads the output of `cargo metadata`; none if it has another shape.
pub fn packages(metadata: &Value) -> Option<Vec<Package>> {
    let names: BTreeMap<&str, &str> = metadata["packages"]
        .as_array()?
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package["name"].as_str()?)))
        .collect();
    let members = metadata["workspace_members"].as_array()?;
    let nodes = metadata.pointer("/resolve/nodes")?.as_array()?;
    let package = |node: &Value| {
        let mut needs = BTreeSet::new();
        for dependency in node["deps"].as_array()? {
            let name = names.get(dependency["pkg"].as_str()?)?;
            let kinds = dependency["dep_kinds"].as_array()?;
            if kinds.iter().any(|kind| kind["kind"] != "dev") {
                needs.insert((*name).to_owned());
            }
        }
        Some(Package {
            name: (*names.get(node["id"].as_str()?)?).to_owned(),
            member: members.contains(&node["id"]),
            needs,
        })
    };
    nodes.iter().map(package).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| layer | crates | for |\n|---|---|---|\n| base: data | `fugato-state` | x |\n\
        | base: parts | `fugato-store`, `fugato-graph` | x |\n| tests | `fugato-testkit` | x |\n\
        | facade | `fugato` | x |\n";

    fn needs(name: &str, needs: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            member: name.starts_with("fugato"),
            needs: needs.iter().map(|need| (*need).to_owned()).collect(),
        }
    }

    #[test]
    fn dependencies_against_the_layers_are_found() {
        let packages = [
            needs("fugato-state", &["fugato-store"]),
            needs("fugato-store", &["fugato-state", "fugato-graph"]),
            needs("fugato", &["fugato-graph", "fugato-testkit"]),
            needs("fugato-new", &[]),
        ];
        assert_eq!(
            complaints(TABLE, &packages),
            [
                "fugato-state must not need fugato-store",
                "fugato-store must not need fugato-graph",
                "fugato needs fugato-testkit outside of its tests",
                "fugato-new has no layer",
            ]
        );
    }

    #[test]
    fn packages_far_below_the_base_are_found() {
        let packages = [
            needs("fugato-state", &["b"]),
            needs("fugato-store", &["a"]),
            needs("a", &["rusqlite"]),
            needs("b", &["tokio"]),
        ];
        assert_eq!(
            complaints(TABLE, &packages),
            [
                "fugato-state has tokio below it",
                "fugato-store has rusqlite below it",
            ]
        );
    }
}
