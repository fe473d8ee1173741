//! Examples in documentation that never run.
use crate::tree::TextFile;

/// Every fence that keeps rustdoc from running an example, as `path:line: fence`.
pub fn skipped(file: &TextFile) -> Vec<String> {
    let markdown = file.has_extension("md");
    let mut found = vec![];
    for (n, line) in file.text.lines().enumerate() {
        let line = line.trim_start();
        let doc = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))
            .or_else(|| markdown.then_some(line));
        let Some(fence) = doc.and_then(|doc| doc.trim().strip_prefix("```")) else {
            continue;
        };
        let mut words = fence.split([',', ' ']).map(str::trim);
        if words.any(|word| word == "no_run" || word.starts_with("ignore")) {
            found.push(format!("{}:{}: ```{fence}", file.path, n + 1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_example_is_found() {
        let file = TextFile::new("a.rs", "/// ```\n/// ```rust,no_run\n    //! ```ignore\n");
        assert_eq!(
            skipped(&file),
            ["a.rs:2: ```rust,no_run", "a.rs:3: ```ignore"]
        );
        let file = TextFile::new("a.md", "```sh\n```ignore-windows\n");
        assert_eq!(skipped(&file), ["a.md:2: ```ignore-windows"]);
        let quoted = TextFile::new("a.rs", "let text = \"```ignore\";\n");
        assert_eq!(skipped(&quoted), [""; 0]);
    }
}
