//! A program as people run it.
use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use tempfile::TempDir;

/// A program in a folder of its own. Each run is a process, at no terminal; what its test does not
/// want fails the test.
#[derive(Debug)]
pub struct Program {
    binary: &'static str,
    env: Vec<(&'static str, &'static str)>,
    folder: TempDir,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Whether it ended well.
    pub well: bool,
    /// What it said.
    pub out: String,
    /// What it complained about.
    pub err: String,
}

impl Ran {
    fn of(child: Child) -> Self {
        let done = child.wait_with_output().expect("it can be waited for");
        let text = |bytes| String::from_utf8(bytes).expect("it says words");
        let (out, err) = (text(done.stdout), text(done.stderr));
        assert!(!err.contains("panicked"), "{out}{err}");
        let well = done.status.success();
        Self { well, out, err }
    }

    /// All that it told, whatever ended it.
    pub fn told(&self) -> String {
        format!("{}{}", self.out, self.err)
    }
}

#[expect(
    clippy::missing_panics_doc,
    reason = "said of the type: that is what it is for"
)]
impl Program {
    /// A binary that cargo has built, as `env!("CARGO_BIN_EXE_react")` names it.
    pub fn new(binary: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let env = vec![("TZ", "UTC")];
        Self {
            binary,
            env,
            folder,
        }
    }

    /// Says this to every run by its environment.
    #[must_use]
    pub fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.push((name, value));
        self
    }

    /// The folder in which it runs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A path within the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// A run that has not begun. What it will say is kept.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.binary);
        command.current_dir(self.folder()).args(args);
        command.envs(self.env.iter().copied());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// What a run says that ends well and complains of nothing.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert!(ran.well && ran.err.is_empty(), "{args:?}: {ran:?}");
        ran.out
    }

    /// What a run complains about that ends badly.
    #[track_caller]
    pub fn err(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert!(!ran.well, "{args:?}: {ran:?}");
        ran.err
    }

    /// What a run says to somebody who types these lines.
    #[track_caller]
    pub fn typed(&self, args: &[&str], lines: &str) -> String {
        let mut command = self.command(args);
        let mut child = command
            .stdin(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let stdin = child.stdin.take();
        let written = stdin.map(|mut stdin| stdin.write_all(lines.as_bytes()));
        let ran = Ran::of(child);
        assert!(
            ran.well && matches!(written, Some(Ok(()))),
            "{args:?}: {ran:?}"
        );
        ran.out
    }

    /// A run, however it ends.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.begin(args))
    }

    /// A run, however it ends, and the most memory that it held at once, in KiB; 0 where the system
    /// does not tell.
    #[track_caller]
    pub fn measured(&self, args: &[&str]) -> (Ran, u64) {
        let child = self.begin(args);
        let status = format!("/proc/{}/status", child.id());
        let watch = thread::spawn(move || {
            let mut most = 0;
            // The line is gone when the process has ended.
            while let Some(now) = peak(&status) {
                most = most.max(now);
                thread::sleep(Duration::from_millis(5));
            }
            most
        });
        let ran = Ran::of(child);
        (ran, watch.join().expect("it only reads"))
    }

    /// Runs at the same time.
    #[track_caller]
    pub fn at_once(&self, runs: &[&[&str]]) -> Vec<Ran> {
        let begun: Vec<_> = runs.iter().map(|args| self.begin(args)).collect();
        begun.into_iter().map(Ran::of).collect()
    }

    fn begin(&self, args: &[&str]) -> Child {
        self.command(args).spawn().expect("it can be started")
    }
}

fn peak(status: &str) -> Option<u64> {
    let status = std::fs::read_to_string(status).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
