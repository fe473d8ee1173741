use std::{
    env, io,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use fugato_state::say;
use fugato_tool::ToolFailure;
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::Command as Process,
    time::timeout,
};

/// The default time limit of a program.
const PATIENCE: Duration = Duration::from_secs(60);
/// The length of the output that is kept, in characters.
const MOST_OUTPUT: usize = 10_000;
/// The variables of our environment that a program gets: enough to find programs and the desktop,
/// and no secrets.
const INHERITED: [&str; 9] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "HOME",
    "LANG",
    "PATH",
    "SYSTEMROOT",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// A program and its arguments. There is no shell: the value of a place is one argument, or a part
/// of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    program: String,
    arguments: Vec<String>,
    patience: Duration,
}

impl Command {
    /// Creates a command of a program and its arguments, with places such as `{file}`; none if
    /// there is no program.
    pub fn new(words: &[String]) -> Option<Self> {
        let (program, arguments) = words.split_first()?;
        let is_there = !program.trim().is_empty();
        is_there.then(|| Self {
            program: program.clone(),
            arguments: arguments.to_vec(),
            patience: PATIENCE,
        })
    }

    /// Sets the time limit; a minute by default.
    #[must_use]
    pub fn timeout(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Runs the program to its end, with these values of its places. Returns its output, or a
    /// failure with its errors; after the time limit the failure is in doubt.
    pub async fn run(&self, places: &[(&str, &str)]) -> Result<String, ToolFailure> {
        let program = &self.program;
        let failed = |error: io::Error| {
            ToolFailure::failed(say!("{program} cannot be started", "无法启动 {program}"))
                .because(error)
        };
        let mut group = Group::start(self.process(places)).map_err(failed)?;
        let Ok(ended) = timeout(self.patience, group.ended()).await else {
            return Err(ToolFailure::failed(say!(
                "{program} took longer than {:?} and was stopped",
                "{program} 超过了 {:?}，已停止",
                self.patience
            ))
            .in_doubt());
        };
        let (status, said, complained) = ended.map_err(|error| {
            ToolFailure::failed(say!(
                "what {program} said cannot be read",
                "无法读取 {program} 的输出"
            ))
            .because(error)
            .in_doubt()
        })?;
        if status.success() {
            return Ok(said);
        }
        let text = say!(
            "{program} ended with {status}: {complained}",
            "{program} 以 {status} 结束：{complained}"
        );
        Err(ToolFailure::failed(text))
    }

    fn process(&self, places: &[(&str, &str)]) -> Process {
        let mut process = Process::new(&self.program);
        process
            .args(self.arguments.iter().map(|word| filled(word, places)))
            .env_clear()
            .envs(
                INHERITED
                    .iter()
                    .filter_map(|name| Some((name, env::var_os(name)?))),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        process
    }
}

/// Returns a word with its places filled in, from left to right. Places in a value are not filled
/// in.
fn filled(word: &str, places: &[(&str, &str)]) -> String {
    let (mut text, mut rest) = (String::new(), word);
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        let place = places.iter().find_map(|(name, value)| {
            let behind = from.strip_prefix('{')?.strip_prefix(name)?;
            Some((value, behind.strip_prefix('}')?))
        });
        if let Some((value, behind)) = place {
            text.push_str(value);
            rest = behind;
        } else {
            text.push('{');
            rest = from.get(1..).unwrap_or_default();
        }
    }
    text + rest
}

/// A running program with its child processes. All of them are killed on drop.
struct Group(Box<dyn ChildWrapper>);

impl Group {
    fn start(process: Process) -> io::Result<Self> {
        let mut command = CommandWrap::from(process);
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        Ok(Self(command.spawn()?))
    }

    /// Waits for the end, and returns the status, the output and the errors.
    async fn ended(&mut self) -> io::Result<(ExitStatus, String, String)> {
        let (output, errors) = (self.0.stdout().take(), self.0.stderr().take());
        let (said, complained) = tokio::try_join!(kept(output), kept(errors))?;
        Ok((self.0.wait().await?, said, complained))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // After its end the number may belong to another process.
        if self.0.id().is_some() {
            let _ = self.0.start_kill();
        }
    }
}

/// Returns the beginning of an output. The rest is read and discarded, so that the program is not
/// blocked.
async fn kept(from: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let Some(mut from) = from else {
        return Ok(String::new());
    };
    let mut bytes = vec![];
    // A character has four bytes at most.
    let most = (MOST_OUTPUT * 4) as u64;
    (&mut from).take(most).read_to_end(&mut bytes).await?;
    tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.trim().chars().take(MOST_OUTPUT).collect())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn command(words: &[&str]) -> Command {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Command::new(&words).expect("there is a program")
    }

    #[tokio::test]
    async fn trn_w3_what_is_filled_in_is_never_a_command() {
        let told = command(&["echo", "-n", "{text}!"])
            .run(&[("text", "$(id); rm -rf \"x\"")])
            .await;
        assert_eq!(told.unwrap(), "$(id); rm -rf \"x\"!");
        // A value is never a place, either.
        let places = [("a", "{b}"), ("b", "{a}")];
        let told = command(&["echo", "{a}{b}{c}{ {{a}}"]).run(&places).await;
        assert_eq!(told.unwrap(), "{b}{a}{c}{ {{b}}");
        let failed = command(&["false"]).run(&[]).await.unwrap_err();
        assert!(
            failed.text.starts_with("false ended with"),
            "{}",
            failed.text
        );
        let missing = command(&["no-such-program"]).run(&[]).await.unwrap_err();
        assert_eq!(missing.text, "no-such-program cannot be started");
        assert!(Command::new(&[]).is_none() && Command::new(&[" ".into()]).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn trn_17_a_program_that_does_not_end_is_stopped() {
        let failed = command(&["sleep", "600"]).run(&[]).await.unwrap_err();
        assert!(
            failed.text.contains("took longer than 60s"),
            "{}",
            failed.text
        );
    }

    #[tokio::test]
    async fn trn_17_what_a_program_says_too_much_is_forgotten() {
        let flood = ["sh", "-c", "head -c 10000000 /dev/zero | tr '\\0' x"];
        let said = command(&flood).run(&[]).await.unwrap();
        assert_eq!(said, "x".repeat(MOST_OUTPUT));
        // A program with endless output is stopped, and fills no memory.
        let endless = command(&["sh", "-c", "yes & wait"]).timeout(Duration::from_millis(200));
        let failed = endless.run(&[]).await.unwrap_err();
        assert!(
            failed.text.contains("took longer than 200ms"),
            "{}",
            failed.text
        );
    }

    #[tokio::test]
    async fn trn_w3_a_program_gets_no_secrets() {
        let said = command(&["env"]).run(&[]).await.unwrap();
        let names: Vec<_> = said
            .lines()
            .filter_map(|line| line.split('=').next())
            .collect();
        assert!(
            names.iter().all(|name| INHERITED.contains(name)),
            "{names:?}"
        );
    }
}
