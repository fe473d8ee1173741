//! The functions that a run passes, as a page lists them.
use std::collections::BTreeSet;

use crate::markdown;

/// The head of the table.
const HEAD: [&str; 2] = ["file", "functions that a run passes"];

/// Returns what is wrong in the table of a page: a file that is not there, a function that its file
/// does not define, a place that is named twice, and more files or functions than there may be.
/// `source` returns the text of a file of the crate.
pub fn complaints<'a>(
    page: &str,
    (files, functions): (usize, usize),
    source: impl Fn(&str) -> Option<&'a str>,
) -> Vec<String> {
    let (mut wrong, mut seen, mut named) = (vec![], BTreeSet::new(), 0);
    for row in markdown::rows(page, &HEAD) {
        let [file, functions] = row[..] else {
            wrong.push(format!("{row:?} has not two cells"));
            continue;
        };
        let file = file.trim_matches('`');
        let Some(text) = source(file) else {
            wrong.push(format!("there is no {file}"));
            continue;
        };
        if !seen.insert(file) {
            wrong.push(format!("{file} is named twice"));
        }
        let mut own = BTreeSet::new();
        for name in markdown::code(functions) {
            named += 1;
            if !own.insert(name) {
                wrong.push(format!("{file} names {name} twice"));
            }
            if ["(", "<"]
                .iter()
                .all(|next| !text.contains(&format!("fn {name}{next}")))
            {
                wrong.push(format!("{file} has no {name}"));
            }
        }
    }
    for (what, many, most) in [
        ("files", seen.len(), files),
        ("functions", named, functions),
    ] {
        if many == 0 || many > most {
            wrong.push(format!("a run passes {many} {what}, of {most} that it may"));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "
| file | functions that a run passes |
|---|---|
| `a.rs` | `start`, `go` |
| `b.rs` | `end` |
";

    fn source(file: &str) -> Option<&'static str> {
        match file {
            "a.rs" => Some("pub fn start<S>() {}\nasync fn go(self) {}"),
            "b.rs" => Some("fn end() {}"),
            _ => None,
        }
    }

    #[test]
    fn a_path_that_is_as_the_page_says_is_right() {
        assert_eq!(complaints(PAGE, (2, 3), source), [""; 0]);
    }

    #[test]
    fn what_is_not_there_is_found() {
        let page = PAGE.replace("`go`", "`gone`").replace("`b.rs`", "`c.rs`");
        let wrong = ["a.rs has no gone", "there is no c.rs"];
        assert_eq!(complaints(&page, (2, 3), source), wrong);
        let page = PAGE.replace("`go`", "`start`").replace("`b.rs`", "`a.rs`");
        let wrong = [
            "a.rs names start twice",
            "a.rs is named twice",
            "a.rs has no end",
        ];
        assert_eq!(complaints(&page, (2, 3), source), wrong);
    }

    #[test]
    fn a_path_that_is_too_long_is_found() {
        let wrong = [
            "a run passes 2 files, of 1 that it may",
            "a run passes 3 functions, of 2 that it may",
        ];
        assert_eq!(complaints(PAGE, (1, 2), source), wrong);
        let none = complaints("", (1, 2), source);
        assert_eq!(none.len(), 2, "{none:?}");
    }
}
