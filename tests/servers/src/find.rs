//! Finding the programs of servers.
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The first of these folders, after those in which the shell looks, that holds the program.
///
/// # Panics
/// Where the variable `CI` is set and none does: there a skipped test would be a lie.
pub(crate) fn program(name: &str, elsewhere: &[PathBuf], package: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(elsewhere.iter().cloned());
    let found = folders
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    if found.is_none() {
        missing(name, &format!("apt-get install {package}"));
    }
    found
}

/// This file below the folder in which the user's programs keep what can be made again; `maker` is
/// what makes it.
///
/// # Panics
/// As [`program`] does.
pub(crate) fn cached(file: &str, maker: &str) -> Option<PathBuf> {
    let found = kept(file);
    if found.is_none() {
        missing(file, maker);
    }
    found
}

/// The same where nobody is told that it is missing.
pub(crate) fn kept(file: &str) -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(set("HOME")?).join(".cache")))?;
    Some(cache.join(file)).filter(|file| file.is_file())
}

fn missing(name: &str, remedy: &str) {
    skipped(&format!("{name} is not installed: {remedy}"));
}

/// Says in one line why a test is skipped.
///
/// # Panics
/// Where the variable `CI` is set: there a skipped test would be a lie.
#[expect(
    clippy::print_stderr,
    reason = "whoever runs the tests should know what was skipped"
)]
pub fn skipped(why: &str) {
    assert!(env::var_os("CI").is_none(), "{why}");
    eprintln!("skipped, because {why}");
}

/// The folders `<parent>/<version>/bin`, the newest first.
pub(crate) fn versions(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort_unstable_by(|left, right| right.cmp(left));
    versions.into_iter().map(|(_, folder)| folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_comes_first() {
        let folder = tempfile::tempdir().expect("the system has room for a folder");
        for version in ["9", "15", "common", "16"] {
            fs::create_dir(folder.path().join(version)).expect("a new folder");
        }
        let expected = ["16", "15", "9"].map(|version| folder.path().join(version).join("bin"));
        assert_eq!(versions(folder.path()), expected);
    }

    #[test]
    fn what_lies_elsewhere_is_found() {
        let folder = tempfile::tempdir().expect("the system has room for a folder");
        let file = folder.path().join("a-server-of-nobody");
        fs::write(&file, "").expect("a new file");
        let elsewhere = [folder.path().to_owned()];
        let found = program("a-server-of-nobody", &elsewhere, "nothing");
        assert_eq!(found, Some(file));
    }
}
