//! The start of a plugin: a program, or a script with its interpreter.
use std::{
    env, fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{process::Command, sync::OnceCell, time::timeout};

/// The time limit for Python to report its paths.
const PATIENCE: Duration = Duration::from_secs(20);
/// The script by which Python prints its executable and its prefixes.
const WHERE: &str = "import sys; print(sys.executable, sys.prefix, sys.base_prefix, sep='\\n')";

/// The error for a Python plugin without a Python.
#[derive(Debug, thiserror::Error)]
#[error("it is a Python program, and python3 cannot be started")]
pub struct NoPython(#[from] io::Error);

/// The command of a plugin, and the paths that it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Entry {
    words: Vec<PathBuf>,
    runs: Vec<PathBuf>,
    reads: Vec<PathBuf>,
}

impl Entry {
    /// Finds the program that the manifest in this folder names.
    pub(super) async fn find(folder: &Path, name: &str) -> Result<Self, NoPython> {
        let entry = folder.join(name);
        if entry.extension().is_some_and(|ending| ending == "py") {
            // It is asked once: that takes longer than the plugin, where a version manager looks for it.
            static PYTHON: OnceCell<Entry> = OnceCell::const_new();
            let mut found = PYTHON.get_or_try_init(python).await?.clone();
            found.words.push(entry);
            return Ok(found);
        }
        let mut runs = vec![entry.clone()];
        runs.extend(interpreters(&entry).unwrap_or_default());
        Ok(Self {
            words: vec![entry],
            runs,
            reads: vec![],
        })
    }

    /// Returns the words of the command.
    pub(super) fn words(&self) -> Vec<String> {
        let words = self.words.iter();
        words.map(|word| word.display().to_string()).collect()
    }

    /// Returns the programs that it consists of.
    pub(super) fn runs(&self) -> Vec<PathBuf> {
        self.runs.clone()
    }

    /// Returns the places of its libraries, in addition to the system's.
    pub(super) fn reads(&self) -> Vec<PathBuf> {
        self.reads.clone()
    }
}

/// Asks Python for its paths: the `python3` on the `PATH` may be a script that looks for it.
async fn python() -> io::Result<Entry> {
    let mut command = Command::new("python3");
    command
        .args(["-c", WHERE])
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let asked = timeout(PATIENCE, command.output()).await;
    let output = asked.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let told = String::from_utf8_lossy(&output.stdout);
    let mut lines = told
        .lines()
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let program = lines.next().ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        io::Error::other(said)
    })?;
    // A prefix that is the whole disk would be no lock at all.
    let reads = lines.filter(|place| place.parent().is_some());
    Ok(Entry {
        reads: reads.collect(),
        words: vec![program.clone()],
        runs: vec![program],
    })
}

/// Returns the programs that run a script: the one in its first line, and the one that `env` finds.
fn interpreters(script: &Path) -> io::Result<Vec<PathBuf>> {
    let mut begin = vec![];
    fs::File::open(script)?.take(256).read_to_end(&mut begin)?;
    let line = String::from_utf8_lossy(begin.split(|byte| *byte == b'\n').next().unwrap_or(&[]));
    let Some(line) = line.strip_prefix("#!") else {
        return Ok(vec![]);
    };
    let mut words = line
        .split_whitespace()
        .filter(|word| !word.starts_with('-'));
    let mut found: Vec<PathBuf> = words.next().map(PathBuf::from).into_iter().collect();
    if found.iter().any(|program| program.ends_with("env")) {
        found.extend(words.next().and_then(on_path));
    }
    Ok(found)
}

fn on_path(name: &str) -> Option<PathBuf> {
    let places = env::var_os("PATH")?;
    let mut programs = env::split_paths(&places).map(|place| place.join(name));
    programs.find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_run_by_what_its_first_line_names() {
        let found = |name: &str, text: &str| {
            let path = env::temp_dir().join(format!("fugato-{}-{name}", std::process::id()));
            fs::write(&path, text).expect("a file");
            let found = interpreters(&path).expect("it is there");
            fs::remove_file(&path).expect("it is there");
            found
        };
        assert_eq!(found("a", "#!/bin/sh -e\n"), [PathBuf::from("/bin/sh")]);
        let env = found("b", "#!/usr/bin/env -S sh\necho\n");
        assert_eq!(env.first(), Some(&PathBuf::from("/usr/bin/env")));
        assert!(
            env.get(1).is_some_and(|program| program.ends_with("sh")),
            "{env:?}"
        );
        assert_eq!(found("c", "\u{7f}ELF"), Vec::<PathBuf>::new());
        assert_eq!(found("d", ""), Vec::<PathBuf>::new());
    }
}
