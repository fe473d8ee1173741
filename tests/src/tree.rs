//! The files of the repository.
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A text file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFile {
    /// Its path from the root, with `/` between the parts.
    pub path: String,
    /// What it holds.
    pub text: String,
}

impl TextFile {
    /// A file, for tests of checkers.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }

    /// Whether the name ends so.
    pub fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|own| own == extension)
    }
}

/// The root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Every text file below a folder that belongs to the project, in the order of paths. What is
/// built or fetched does not belong to it, and neither does what git keeps.
pub fn text_files(root: &Path) -> io::Result<Vec<TextFile>> {
    let mut files = vec![];
    collect(root, root, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

const NOT_OURS: [&str; 8] = [
    ".git",
    "target",
    "scheduler-data",
    "transparent-data",
    "node_modules",
    "__pycache__",
    ".venv",
    "Cargo.lock",
];

fn collect(root: &Path, folder: &Path, files: &mut Vec<TextFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if NOT_OURS.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        if kind.is_dir() {
            collect(root, &path, files)?;
        } else if kind.is_file()
            && let Ok(text) = fs::read_to_string(&path)
        {
            let below = path.strip_prefix(root).unwrap_or(&path);
            let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
            files.push(TextFile::new(parts.join("/"), text));
        }
    }
    Ok(())
}

/// What lies at the top of the repository and may not.
pub fn not_allowed_at_the_top<'a>(entries: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    const ALLOWED: [&str; 9] = [
        "Cargo.toml",
        "Cargo.lock",
        "crates",
        "examples",
        "benches",
        "tests",
        "docs",
        "README.md",
        "LICENSE",
    ];
    // What is built, and what the examples write when they are run here, is never kept.
    const MADE: [&str; 3] = ["target", "scheduler-data", "transparent-data"];
    let allowed =
        |name: &str| ALLOWED.contains(&name) || MADE.contains(&name) || name.starts_with('.');
    let entries = entries.into_iter().filter(|name| !allowed(name));
    entries.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_file_at_the_top_is_found() {
        let top = ["Cargo.toml", ".clippy.toml", "notes.txt", "crates"];
        assert_eq!(not_allowed_at_the_top(top), ["notes.txt"]);
    }
}
