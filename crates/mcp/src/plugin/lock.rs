//! A lock around a program: its permissions, and the way in which it is locked in.
use std::{
    env,
    ffi::OsString,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use serde::{Deserialize, Serialize};

/// The first argument of a process that locks itself in and becomes another program.
const MARK: &str = "--locked-plugin";
/// The exit code of shells for a program that cannot be executed.
const NOT_EXECUTED: u8 = 126;

/// The permissions of a program. Everything else is denied to it, and to its child processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lock {
    /// The places that it may read.
    pub(super) reads: Vec<PathBuf>,
    /// The places that it may read and write.
    pub(super) writes: Vec<PathBuf>,
    /// The programs that it consists of.
    pub(super) runs: Vec<PathBuf>,
    /// True if it may use the network.
    pub(super) network: bool,
    /// True if it may execute the programs of the system and its own.
    pub(super) commands: bool,
    /// True if it may use the microphone.
    pub(super) listens: bool,
}

/// The reasons why this system cannot lock a program in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// Landlock is missing or too old.
    #[error(
        "this kernel has no Landlock that could do it: Linux 6.2 or newer has, unless it is switched off"
    )]
    Kernel(#[source] io::Error),
    /// The system is not Linux.
    #[error("only Linux can do it")]
    System,
    /// The path of the current program is unknown.
    #[error("the program that locks others in cannot be found")]
    Launcher(#[source] io::Error),
}

impl Lock {
    /// Returns the command that precedes that of the program.
    pub(super) fn words(&self, launcher: Option<&Path>) -> Result<Vec<String>, LockError> {
        possible()?;
        let own = || env::current_exe().map_err(LockError::Launcher);
        let launcher = launcher.map_or_else(own, |program| Ok(program.to_owned()))?;
        let lock =
            serde_json::to_string(self).map_err(|error| LockError::Launcher(error.into()))?;
        Ok(vec![launcher.display().to_string(), MARK.to_owned(), lock])
    }
}

/// Locks this process in and becomes another program, if it was started for that; else it returns
/// nothing, and the program goes on. The `main` of a program that loads plugins begins with it,
/// before any thread is there:
///
/// ```
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     if let Some(failed) = fugato_mcp::plugin::locked() {
///         return failed;
///     }
///     // What the program does.
///     ExitCode::SUCCESS
/// }
/// ```
///
/// It returns an exit code only if that failed, after the reason was written to the standard error.
pub fn locked() -> Option<ExitCode> {
    let mut words = env::args_os().skip(1);
    if words.next()? != MARK {
        return None;
    }
    let error = enter(words);
    let _ = writeln!(io::stderr(), "the plugin is not started: {error}");
    Some(ExitCode::from(NOT_EXECUTED))
}

/// Locks this process in, and executes the program in the words. Returns only on failure.
fn enter(mut words: impl Iterator<Item = OsString>) -> io::Error {
    let lock = words.next().unwrap_or_default();
    let lock: Lock = match serde_json::from_str(&lock.to_string_lossy()) {
        Ok(lock) => lock,
        Err(error) => return error.into(),
    };
    let Some(program) = words.next() else {
        return io::Error::other("no program is named");
    };
    if let Err(error) = enforce(&lock) {
        return error;
    }
    become_program(&program, words)
}

#[cfg(target_os = "linux")]
fn become_program(program: &OsString, words: impl Iterator<Item = OsString>) -> io::Error {
    use std::os::unix::process::CommandExt as _;
    std::process::Command::new(program).args(words).exec()
}

#[cfg(target_os = "linux")]
fn possible() -> Result<(), LockError> {
    super::kernel::possible().map_err(LockError::Kernel)
}

#[cfg(target_os = "linux")]
fn enforce(lock: &Lock) -> io::Result<()> {
    super::kernel::enforce(lock)
}

#[cfg(not(target_os = "linux"))]
fn become_program(_: &OsString, _: impl Iterator<Item = OsString>) -> io::Error {
    io::ErrorKind::Unsupported.into()
}

#[cfg(not(target_os = "linux"))]
fn possible() -> Result<(), LockError> {
    Err(LockError::System)
}

#[cfg(not(target_os = "linux"))]
fn enforce(_: &Lock) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
