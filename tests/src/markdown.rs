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

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// What stands between backticks.
pub fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the rows of tables "to understand | read" that name more than four files, a file that is
/// not there, or an item that none of their files defines. A name counts from the folder of the
/// page; `defines` says of a file whether it defines an item, none if there is no such file.
pub fn unreadable(page: &TextFile, defines: impl Fn(&str, &str) -> Option<bool>) -> Vec<String> {
    let mut wrong = vec![];
    for row in rows(&page.text, &["to understand", "read"]) {
        let cell = row.get(1).copied().unwrap_or_default();
        let (files, items): (Vec<&str>, Vec<&str>) =
            code(cell).partition(|name| name.contains(['/', '.']));
        let files: Vec<String> = files
            .into_iter()
            .map(|name| joined(folder(page), name))
            .collect();
        let place = format!(
            "{}: {}",
            page.path,
            row.first().copied().unwrap_or_default()
        );
        if files.is_empty() || files.len() > 4 {
            wrong.push(format!("{place}: {} files", files.len()));
        }
        let missing = files.iter().filter(|path| defines(path, "").is_none());
        wrong.extend(missing.map(|path| format!("{place}: there is no {path}")));
        let unknown = items.into_iter().filter(|item| {
            let mut files = files.iter();
            !files.any(|path| defines(path, item) == Some(true))
        });
        wrong.extend(unknown.map(|item| format!("{place}: no file defines {item}")));
    }
    wrong
}

fn folder(page: &TextFile) -> &str {
    page.path.rsplit_once('/').map_or("", |(folder, _)| folder)
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
    let folder = folder(file);
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

    #[test]
    fn rows_that_cannot_be_read_are_found() {
        let table = "| to understand | read |\n|---|---|\n| a | `src/a.rs`, `Item` |\n| b | `Item` |\n\
            | c | `../x.md`, `src/a.rs`, `Other` |\n\n| d | `e.rs` |\n";
        let page = TextFile::new("crates/z/README.md", table);
        let defines =
            |path: &str, item: &str| (path == "crates/z/src/a.rs").then(|| item == "Item");
        assert_eq!(
            unreadable(&page, defines),
            [
                "crates/z/README.md: b: 0 files",
                "crates/z/README.md: b: no file defines Item",
                "crates/z/README.md: c: there is no crates/x.md",
                "crates/z/README.md: c: no file defines Other",
            ]
        );
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
