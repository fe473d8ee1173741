use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

use async_trait::async_trait;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{ChildStderr, Command},
};

use crate::{
    Era,
    child::Child,
    connect::{BoxError, Connect, RunningServer, greet},
    handler::Handler,
};

/// The variables of our environment that a program gets by default: enough to find programs, its
/// own home and its language, and none of our secrets.
const INHERITED: [&str; 10] = [
    "APPDATA",
    "HOME",
    "LANG",
    "PATH",
    "PATHEXT",
    "SYSTEMROOT",
    "TEMP",
    "TMPDIR",
    "USER",
    "USERPROFILE",
];

/// A server that is a separate program, which is started and called over its standard input and
/// output.
///
/// It is started at its first use, and again after it was lost. When the last handle of its server
/// is dropped, its input ends; if it does not end then, it is killed with its child processes. Its
/// standard error goes to `tracing`.
///
/// It is not locked in: a program that must not reach files or networks has to run in something
/// that prevents it, such as a container, whose command is then the program here, or as a plugin,
/// with the feature `plugin`.
///
/// ```
/// use fugato_mcp::ServerProgram;
///
/// let program = ServerProgram::new("notes-server")
///     .args(["--root", "."])
///     .dir("/srv/notes")
///     .inherit(["PATH"])
///     .env("NOTES_LANGUAGE", "en");
/// # let _ = program;
/// ```
#[derive(Debug, Clone)]
pub struct ServerProgram {
    name: OsString,
    arguments: Vec<OsString>,
    dir: Option<PathBuf>,
    inherited: Vec<OsString>,
    env: BTreeMap<OsString, OsString>,
}

impl ServerProgram {
    /// Creates a program, looked for as a shell would.
    pub fn new(name: impl Into<OsString>) -> Self {
        Self {
            name: name.into(),
            arguments: vec![],
            dir: None,
            inherited: INHERITED.map(OsString::from).into(),
            env: BTreeMap::new(),
        }
    }

    fugato_state::setters! {
        /// Adds an argument.
        pub fn arg(argument: impl Into<OsString>) { arguments.push(argument.into()) }

        /// Adds arguments.
        pub fn args<A: Into<OsString>>(arguments: impl IntoIterator<Item = A>) {
            arguments.extend(arguments.into_iter().map(Into::into))
        }

        /// Sets the working directory; by default ours.
        pub fn dir(dir: impl Into<PathBuf>) { dir = Some(dir.into()) }

        /// Sets the variables of our environment that it gets, in the place of the default ones.
        pub fn inherit<N: Into<OsString>>(names: impl IntoIterator<Item = N>) {
            inherited = names.into_iter().map(Into::into).collect()
        }

        /// Sets a variable of its environment.
        pub fn env(name: impl Into<OsString>, value: impl Into<OsString>) {
            env.insert(name.into(), value.into())
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.name);
        command.args(&self.arguments).env_clear();
        let ours = self.inherited.iter();
        command.envs(ours.filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(&self.env);
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command
    }
}

#[async_trait]
impl Connect for ServerProgram {
    async fn connect(&self, handler: Handler, era: Era) -> Result<RunningServer, BoxError> {
        let (child, errors) = Child::start(self.command())?;
        if let Some(errors) = errors {
            tokio::spawn(log(self.name.to_string_lossy().into_owned(), errors));
        }
        greet(child, handler, era).await
    }
}

/// Logs the standard error of a program, in pieces of bounded size, until it ends.
async fn log(program: String, errors: ChildStderr) {
    let mut errors = BufReader::new(errors);
    loop {
        let length = match errors.fill_buf().await {
            Ok([]) | Err(_) => return,
            Ok(bytes) => {
                for line in String::from_utf8_lossy(bytes).lines() {
                    tracing::debug!(program, line, "stderr of the server");
                }
                bytes.len()
            }
        };
        errors.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_what_is_listed_and_nothing_else() {
        let names = |program: ServerProgram| -> Vec<String> {
            let command = program.command();
            let set = command.as_std().get_envs();
            set.map(|(name, _)| name.to_string_lossy().into_owned())
                .collect()
        };
        assert_eq!(
            names(ServerProgram::new("p").inherit(["PATH"]).env("KEY", "k")),
            ["KEY", "PATH"]
        );
        let inherited = names(ServerProgram::new("p"));
        assert!(
            inherited
                .iter()
                .all(|name| INHERITED.contains(&name.as_str())),
            "{inherited:?}"
        );
    }
}
