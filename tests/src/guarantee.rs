//! Whether every promise has the test that proves it.
use std::collections::BTreeSet;

use crate::{markdown, tree::TextFile};

/// What the tables of promises begin with.
const HEAD: [&str; 1] = ["promise"];

/// What is wrong with tables of promises: a cell that neither links to a test nor says why there is
/// none, and a link to a file that does not have the test that it names. `functions` are those of
/// the file that a link names, none if there is no such file.
pub fn complaints(
    page: &TextFile,
    functions: impl Fn(&str) -> Option<BTreeSet<String>>,
) -> Vec<String> {
    let rows = markdown::rows(&page.text, &HEAD);
    let mut wrong = vec![];
    if rows.is_empty() {
        wrong.push(format!("{}: nothing is promised", page.path));
    }
    for row in rows {
        let Some((promise, cells)) = row.split_first() else {
            continue;
        };
        for cell in cells {
            wrong.extend(unproven(promise, cell, &functions));
        }
    }
    wrong
}

fn unproven(
    promise: &str,
    cell: &str,
    functions: impl Fn(&str) -> Option<BTreeSet<String>>,
) -> Vec<String> {
    if let Some(reason) = cell.strip_prefix("no: ") {
        let short = reason.split_whitespace().count() <= 2;
        let complaint = || format!("{promise}: {reason:?} is no reason");
        return short.then(complaint).into_iter().collect();
    }
    let proofs = proofs(cell);
    if proofs.is_empty() {
        return vec![format!("{promise}: {cell:?} names no test")];
    }
    let missing = proofs.into_iter().filter(|(test, path)| {
        let known = functions(path);
        known.is_none_or(|known| !known.contains(*test))
    });
    missing
        .map(|(test, path)| format!("{promise}: there is no test `{test}` in {path}"))
        .collect()
}

/// The tests that a cell names, and where they are: `` [`test`](path) ``.
fn proofs(cell: &str) -> Vec<(&str, &str)> {
    let links = cell.split("[`").skip(1);
    links
        .filter_map(|rest| {
            let (test, rest) = rest.split_once("`](")?;
            let (path, _) = rest.split_once(')')?;
            Some((test, path))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_promised_without_a_test_is_found() {
        let page = "| promise | here | there |\n|---|---|---|\n\
            | a | [`one`](../a.rs) | no: it is elsewhere |\n\
            | b | [`two`](../a.rs) and [`one`](../b.rs) | no: hm |\n| c | yes |\n";
        let functions = |path: &str| {
            let names = BTreeSet::from(["one".to_owned()]);
            (path == "../a.rs").then_some(names)
        };
        assert_eq!(
            complaints(&TextFile::new("p.md", page), functions),
            [
                "b: there is no test `two` in ../a.rs",
                "b: there is no test `one` in ../b.rs",
                "b: \"hm\" is no reason",
                "c: \"yes\" names no test",
            ]
        );
        let empty = TextFile::new("p.md", "| other |\n");
        assert_eq!(complaints(&empty, functions), ["p.md: nothing is promised"]);
    }
}
