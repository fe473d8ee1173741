//! Programs of the person's own, for what only their machine can do.
use std::{process::Stdio, time::Duration};

use fugato::tool::ToolFailure;
use tokio::process::Command as Process;

/// How long a program may take.
const PATIENCE: Duration = Duration::from_mins(1);
/// How much of what it says is kept, in characters.
const MOST_OUTPUT: usize = 10_000;
/// What of our environment it gets: enough to find programs and the desktop, and no secrets.
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

/// A program and its arguments. There is no shell: what is filled into a place is one argument, or
/// a part of one.
#[derive(Debug, Clone)]
pub struct Command(Vec<String>);

impl Command {
    /// A program and its arguments, with places such as `{file}`; none if there is no program.
    pub fn new(words: &[String]) -> Option<Self> {
        let is_there = words
            .first()
            .is_some_and(|program| !program.trim().is_empty());
        is_there.then(|| Self(words.to_vec()))
    }

    /// Runs it to its end. What it says is returned, or is why it failed.
    pub async fn run(&self, places: &[(&str, &str)]) -> Result<String, ToolFailure> {
        let fill = |word: &String| {
            let fold = |text: String, (name, value): &(&str, &str)| {
                text.replace(&format!("{{{name}}}"), value)
            };
            places.iter().fold(word.clone(), fold)
        };
        let mut words = self.0.iter();
        let program = words.next().map(String::as_str).unwrap_or_default();
        let mut process = Process::new(program);
        process
            .args(words.map(fill))
            .env_clear()
            .stdin(Stdio::null())
            .kill_on_drop(true);
        process.envs(
            INHERITED
                .iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        );
        let ended = tokio::time::timeout(PATIENCE, process.output()).await;
        let output = match ended {
            Err(_) => {
                return Err(ToolFailure::failed(format!(
                    "{program} took longer than {PATIENCE:?} and was stopped"
                ))
                .in_doubt());
            }
            Ok(Err(error)) => {
                return Err(
                    ToolFailure::failed(format!("{program} cannot be started")).because(error)
                );
            }
            Ok(Ok(output)) => output,
        };
        let said = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.trim().chars().take(MOST_OUTPUT).collect::<String>()
        };
        if output.status.success() {
            Ok(said(&output.stdout))
        } else {
            Err(ToolFailure::failed(format!(
                "{program} ended with {}: {}",
                output.status,
                said(&output.stderr)
            )))
        }
    }
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
}
