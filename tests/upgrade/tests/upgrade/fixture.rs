//! Folders that were kept, and what was said of them.
use std::{
    collections::BTreeMap,
    env::consts::EXE_EXTENSION,
    fs,
    path::{Path, PathBuf},
};

use fugato_testkit::TestProgram;
use serde::Deserialize;
use serde_json::Value;

use crate::{holds::holds, served::ServedFixture};

/// A thread as described by the program that made it.
#[derive(Debug, Deserialize)]
pub(crate) struct Utterance {
    /// The flags without which it cannot go on.
    flags: Vec<String>,
    /// The view of a page; none where reading it lets the thread go on.
    view: Option<Value>,
    /// The state after some positions.
    states: BTreeMap<u64, Value>,
    /// The records of its log.
    log: Vec<Value>,
}

/// A copy of a folder.
pub(crate) struct Fixture {
    name: String,
    program: &'static str,
    store: Option<String>,
}

/// A program in a copy of the folder.
pub(crate) struct FixtureCopy {
    pub(crate) program: TestProgram,
    flags: Vec<String>,
}

pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data")
        .join(name)
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// The program of an example, as a test of the whole workspace builds it beside these tests: only a
/// package's own tests are told where its programs are, and to build them here once more takes long.
///
/// # Panics
/// If it was not built.
pub(crate) fn program(name: &str) -> &'static str {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().and_then(Path::parent).unwrap();
    let program = folder.join(name).with_extension(EXE_EXTENSION);
    let remedy = "is not there: `cargo test --workspace --no-run` builds it";
    assert!(program.exists(), "{} {remedy}", program.display());
    program.to_str().unwrap().to_owned().leak()
}

impl Fixture {
    /// The folder of a program that kept everything in it.
    pub(crate) fn of(program: &'static str) -> Self {
        Self {
            name: program.to_owned(),
            program,
            store: None,
        }
    }

    /// The folder of a program whose log is on a server.
    pub(crate) fn on(mut self, server: &str, store: String) -> Self {
        self.name = format!("{server}-{}", self.program);
        self.store = Some(store);
        self
    }

    fn said(&self) -> BTreeMap<String, Utterance> {
        let said = fs::read(data(&self.name).join("expected.json")).unwrap();
        serde_json::from_slice(&said).unwrap()
    }

    /// A copy of its own, for one thread.
    pub(crate) fn open(&self, thread: &str) -> FixtureCopy {
        let said = self.said();
        let said = said
            .get(thread)
            .unwrap_or_else(|| panic!("there is no {thread}"));
        self.copied(thread, &said.flags)
    }

    fn copied(&self, thread: &str, needs: &[String]) -> FixtureCopy {
        let program = TestProgram::new(program(self.program));
        let folder = format!("{}-data", self.program);
        copy(&data(&self.name).join("folder"), &program.path(&folder));
        let mut flags = vec!["--dir".to_owned(), folder];
        flags.extend(["--thread".to_owned(), thread.to_owned()]);
        if self.program == "scheduler" {
            flags.extend(["--calendar".to_owned(), thread.to_owned()]);
        }
        if let Some(store) = &self.store {
            flags.extend(["--store".to_owned(), store.clone()]);
        }
        flags.extend(needs.iter().cloned());
        FixtureCopy { program, flags }
    }

    /// Checks that everything reads as it did.
    pub(crate) fn reads_the_same(&self) {
        let said = self.said();
        assert!(!said.is_empty());
        let any = self.copied("any", &[]);
        let listed = any.ok(&["threads"]);
        let names: Vec<_> = listed
            .lines()
            .filter_map(|line| line.split("  ").next())
            .collect();
        assert_eq!(names, said.keys().collect::<Vec<_>>(), "{}", self.name);
        // What is then read, answered and taken on by other tests is what was said before.
        let checked = any.ok(&["check"]);
        let summary = checked.lines().last().unwrap_or_default();
        assert!(
            summary.starts_with(&format!("checked {}: ", said.len())),
            "{checked}"
        );
        let stranded = "0 are refused, 0 cannot be read, 0 could not be looked at";
        assert!(summary.ends_with(stranded), "{checked}");
        for (thread, said) in &said {
            // Nobody goes on with it by only looking.
            said.check_states(&self.copied(thread, &said.flags), thread);
        }
        for needs in said
            .values()
            .map(|said| &said.flags)
            .collect::<std::collections::BTreeSet<_>>()
        {
            let served = self.copied("any", needs).serve();
            for (thread, said) in said.iter().filter(|(_, said)| said.flags == *needs) {
                said.check_served(&served, thread);
            }
        }
    }
}

impl Utterance {
    fn check_states(&self, opened: &FixtureCopy, thread: &str) {
        for (seq, then) in &self.states {
            let now = opened.ok(&["show", &seq.to_string(), "--full"]);
            let now = serde_json::from_str(&now).unwrap();
            holds(then, &now).unwrap_or_else(|why| panic!("{thread} at {seq}: {why}"));
        }
        if self.first() == 1 {
            let history = opened.ok(&["history", "--full"]);
            let marks: Vec<_> = history.lines().filter_map(mark).collect();
            let mark =
                |entry: &Value| (entry["seq"].as_u64().unwrap(), entry["checkpoint"] == true);
            let expected: Vec<_> = self.log.iter().map(mark).collect();
            assert_eq!(marks, expected, "{thread}: {history}");
        }
    }

    fn check_served(&self, served: &ServedFixture, thread: &str) {
        let log = served.log(thread, self.first());
        // What was interrupted may have gone on by now.
        let log = log.get(..self.log.len()).unwrap_or(&log);
        holds(&Value::from(self.log.clone()), &log.into())
            .unwrap_or_else(|why| panic!("the log of {thread}: {why}"));
        if let Some(then) = &self.view {
            let now = served.view(thread);
            holds(&without_ids(then.clone()), &without_ids(now))
                .unwrap_or_else(|why| panic!("{thread}: {why}"));
        }
    }

    /// The first record; what was before it in a copy belongs to another thread.
    fn first(&self) -> u64 {
        self.log[0]["seq"].as_u64().unwrap()
    }
}

/// The number of a line of the history, and whether a copy can begin there.
fn mark(line: &str) -> Option<(u64, bool)> {
    let first = line.split_whitespace().next()?;
    Some((
        first.trim_end_matches('*').parse().ok()?,
        first.ends_with('*'),
    ))
}

/// By what a question is answered is no business of who only reads it.
fn without_ids(mut view: Value) -> Value {
    for list in ["interrupts", "timeline"] {
        for item in view[list].as_array_mut().unwrap() {
            if list == "interrupts" || item["kind"] == "confirm_request" {
                item["id"] = Value::Null;
                item["digest"] = Value::Null;
            }
        }
    }
    view
}

impl FixtureCopy {
    fn line<'a>(&'a self, arguments: &[&'a str]) -> Vec<&'a str> {
        let flags = self.flags.iter().map(String::as_str);
        flags.chain(arguments.iter().copied()).collect()
    }

    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        self.program.ok(&self.line(arguments))
    }

    /// The program as a page sees it, while the value lives.
    pub(crate) fn serve(self) -> Serving {
        let command = self
            .program
            .command(&self.line(&["serve", "--listen", "127.0.0.1:0"]));
        Serving {
            served: ServedFixture::start(command),
            opened: self,
        }
    }
}

/// A program that serves, and its folder.
pub(crate) struct Serving {
    served: ServedFixture,
    pub(crate) opened: FixtureCopy,
}

impl std::ops::Deref for Serving {
    type Target = ServedFixture;

    fn deref(&self) -> &ServedFixture {
        &self.served
    }
}
