//! What Markdown files promise.
use std::collections::BTreeSet;

use crate::tree::TextFile;

/// The rows of all tables whose head begins with these cells; a row is its cells.
pub fn rows<'a>(text: &'a str, head: &[&str]) -> Vec<Vec<&'a str>> {
    let (mut found, mut within) = (vec![], false);
    for line in text.lines() {
        let Some(cells) = cells(line) else {
            within = false;
            continue;
        };
        if cells.starts_with(head) {
            within = true;
        } else if within
            && !cells
                .iter()
                .all(|cell| cell.starts_with("--") || cell.starts_with(":-"))
        {
            found.push(cells);
        }
    }
    found
}

/// The cells below this head, of all tables that have it.
pub fn columns<'a>(text: &'a str, head: &str) -> Vec<&'a str> {
    let (mut found, mut at) = (vec![], None);
    for line in text.lines() {
        let Some(cells) = cells(line) else {
            at = None;
            continue;
        };
        match at.and_then(|at: usize| cells.get(at)) {
            Some(cell) if !cell.starts_with("--") => found.push(*cell),
            Some(_) => {}
            None => at = cells.iter().position(|cell| *cell == head),
        }
    }
    found
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// What stands between backticks.
pub fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Files that a table "to understand | read" names and that `exists` does not know. A name counts
/// from the folder of the file; one without a slash or an ending is no file.
pub fn missing_to_read(file: &TextFile, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut missing = vec![];
    for row in rows(&file.text, &["to understand", "read"]) {
        let cell = row.get(1).copied().unwrap_or_default();
        for name in code(cell).filter(|name| name.contains(['/', '.'])) {
            let path = joined(folder, name);
            if !exists(path.trim_end_matches('/')) {
                missing.push(format!("{}: there is no {name}", file.path));
            }
        }
    }
    missing
}

fn joined(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Links to files that do not exist, given from the folder of the file.
pub fn broken_links(file: &TextFile, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let targets = file
        .text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let files = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    files
        .map(|target| target.split('#').next().unwrap_or(target))
        .filter(|target| !exists(joined(folder, target).trim_end_matches('/')))
        .map(|target| format!("{}: there is no {target}", file.path))
        .collect()
}

/// How an index and the decision records beside it differ. `files` are their names.
pub fn index_complaints(index: &str, files: &[&str]) -> Vec<String> {
    let rows = rows(index, &["number", "decision"]);
    let listed: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row.get(1)?.split("](").nth(1)?.strip_suffix(')'))
        .collect();
    let present: BTreeSet<&str> = files.iter().copied().collect();
    let missing = present
        .difference(&listed)
        .map(|name| format!("{name} is not in the index"));
    let gone = listed
        .difference(&present)
        .map(|name| format!("{name} is in the index, but no file"));
    missing.chain(gone).collect()
}

/// Commands in fences of `sh` that call cargo, in order.
pub fn cargo_commands(text: &str) -> Vec<&str> {
    let (mut found, mut within) = (vec![], false);
    for line in text.lines() {
        match line.trim().strip_prefix("```") {
            Some(fence) => within = !within && fence == "sh",
            None if within && line.starts_with("cargo ") => found.push(line.trim()),
            None => {}
        }
    }
    found
}

/// What a cargo command names and the workspace does not have: packages and binaries. What comes
/// after `--` is the program's business.
pub fn unknown_targets(command: &str, packages: &[&str], binaries: &[&str]) -> Vec<String> {
    let words: Vec<&str> = command
        .split_whitespace()
        .take_while(|word| *word != "--")
        .collect();
    let named = words.windows(2).filter_map(|pair| match pair {
        ["-p" | "--package", name] => Some((*name, packages)),
        ["--bin", name] => Some((*name, binaries)),
        _ => None,
    });
    named
        .filter(|(name, known)| !known.contains(name))
        .map(|(name, _)| format!("`{command}`: there is no {name}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "| to understand | read |\n|---|---|\n| a | `src/a.rs`, the module `b` |\n| c | `../x.md` |\n\n| d | `e.rs` |\n";

    #[test]
    fn a_file_that_a_table_names_must_exist() {
        let file = TextFile::new("crates/z/README.md", TABLE);
        assert_eq!(
            missing_to_read(&file, |path| path == "crates/z/src/a.rs"),
            ["crates/z/README.md: there is no ../x.md"]
        );
        let both = ["crates/z/src/a.rs", "crates/x.md"];
        assert_eq!(missing_to_read(&file, |path| both.contains(&path)), [""; 0]);
    }

    #[test]
    fn a_link_must_lead_somewhere() {
        let text = "[a](b.md#c), [d](#e) and [f](https://example.org/g)";
        let file = TextFile::new("docs/a.md", text);
        assert_eq!(broken_links(&file, |path| path == "docs/b.md"), [""; 0]);
        assert_eq!(
            broken_links(&file, |_| false),
            ["docs/a.md: there is no b.md"]
        );
    }

    #[test]
    fn an_index_and_its_files_must_agree() {
        let index = "| number | decision |\n|---|---|\n| 1 | [one](0001-one.md) |\n| 2 | [two](0002-two.md) |\n";
        let wrong = index_complaints(index, &["0001-one.md", "0003-three.md"]);
        assert_eq!(
            wrong,
            [
                "0003-three.md is not in the index",
                "0002-two.md is in the index, but no file"
            ]
        );
    }

    #[test]
    fn a_command_must_name_what_is_there() {
        let text =
            "```sh\ncargo run -p desk --bin x -- -p y\n```\n```rust\ncargo test\n```\ncargo no\n";
        let commands = cargo_commands(text);
        assert_eq!(commands, ["cargo run -p desk --bin x -- -p y"]);
        let wrong = unknown_targets(commands[0], &["desk"], &["z"]);
        assert_eq!(
            wrong,
            ["`cargo run -p desk --bin x -- -p y`: there is no x"]
        );
    }
}
