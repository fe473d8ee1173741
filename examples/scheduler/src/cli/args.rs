use std::{
    fmt::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use scheduler::calendar::Lang;

const THREAD: &str = "default";
const DIR: &str = "scheduler-data";

const EXAMPLES: &str = "\
Examples:
  scheduler                       schedule the sample, and ask before anything is kept
  scheduler --yes                 the same, and agree to everything
  scheduler --lang zh             the same in Chinese
  scheduler --courses my.ics --tasks my.toml --thread spring
                                  schedule your own weeks, as a conversation named spring
  scheduler --thread spring --request 'rearrange everything'
                                  ask for more
  scheduler chat                  talk about it
  scheduler serve                 talk about it in a browser
  scheduler history               list what happened; `show` and `fork` take its numbers
  scheduler threads               list all conversations; `export` and `delete` take their names
  scheduler trace                 list what every request went through, and how long it took
  OPENAI_API_KEY=… scheduler chat --base-url https://api.example.com/v1 --model NAME
                                  let a model decide; where it fails, rules do

The weeks are written to schedule.ics and schedule.svg in the folder of the conversation.";

/// Places what you want to do around what you have to attend.
///
/// Without a command, the sample is scheduled: items are placed by rule, the result is diagnosed
/// and refined, and you are asked whether to keep it. Everything is stored as it happens: whatever
/// stops the program, the next start goes on.
#[derive(Debug, Clone, Parser)]
#[command(name = "scheduler", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) job: Job,

    /// The conversation: letters, digits, `-`, `_` and `.`
    #[arg(long, global = true, default_value = THREAD, value_parser = thread_name)]
    pub(crate) thread: String,

    /// Where conversations and results are kept
    #[arg(
        long,
        global = true,
        default_value = DIR,
        value_name = "FOLDER"
    )]
    pub(crate) dir: PathBuf,

    /// Where the log is stored: a path, `postgres://` or `redis://` [default: threads.db in --dir]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) store: Option<String>,

    /// Where the schedule is stored: a path or a `mysql://` URL [default: schedule.db in --dir]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) schedule: Option<String>,

    /// The calendar that the conversation is about [default: one of its own]
    #[arg(long, global = true, value_name = "NAME", value_parser = thread_name)]
    pub(crate) calendar: Option<String>,

    /// The language of cards and tables: en or zh [default: that of what you write]
    #[arg(long, global = true)]
    pub(crate) lang: Option<Lang>,

    /// A server that speaks the chat completions protocol; without one, rules decide
    #[arg(long, global = true, value_name = "URL", requires = "model")]
    pub(crate) base_url: Option<String>,

    /// The model to ask
    #[arg(long, global = true, requires = "base_url")]
    pub(crate) model: Option<String>,

    /// The environment variable that holds the server's key
    #[arg(
        long,
        global = true,
        default_value = "OPENAI_API_KEY",
        value_name = "NAME"
    )]
    pub(crate) key_env: String,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Command {
    /// Talks in the terminal
    Chat,
    /// Serves the agent and its page over HTTP
    Serve {
        /// Where to listen; port 0 takes a free one
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
        listen: SocketAddr,

        /// The environment variable with the key that clients must send; needed to listen beyond
        /// this machine
        #[arg(long, value_name = "NAME")]
        client_key_env: Option<String>,
    },
    /// Lists what happened in the conversation
    History,
    /// Lists what every request went through: tasks, durations, attempts, errors, calls of models
    Trace {
        /// Shows what went into every task and what came out, too
        #[arg(long)]
        full: bool,
    },
    /// Shows the state of the conversation after a line of its history
    Show {
        /// The number of the line
        seq: u64,
    },
    /// Begins a new conversation as a copy of this one, as it was after a line of its history
    Fork {
        /// The number of the line
        seq: u64,
        /// The name of the new conversation
        #[arg(value_parser = thread_name)]
        new: String,
    },
    /// Lists all conversations, with how they stand and what they are about
    Threads,
    /// Writes everything of the conversation into a folder: calendar, log and notes
    Export {
        /// The folder [default: the name of the conversation, and `-export`]
        to: Option<PathBuf>,
    },
    /// Removes a conversation with its log, calendar, notes and files
    Delete {
        /// Its name
        #[arg(value_name = "THREAD", value_parser = thread_name)]
        name: String,
        /// Does not ask
        #[arg(long = "yes")]
        agreed: bool,
    },
    /// Prints how the agent is wired
    Graph {
        /// The language of the picture
        #[arg(long, value_enum, default_value = "mermaid")]
        format: Format,
    },
}

#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Job {
    /// Your courses and appointments, as an iCalendar file [default: the sample]
    #[arg(long, value_name = "FILE", requires = "tasks")]
    pub(crate) courses: Option<PathBuf>,

    /// What you want to do, as a TOML or JSON file [default: the sample]
    #[arg(long, value_name = "FILE", requires = "courses")]
    pub(crate) tasks: Option<PathBuf>,

    /// What you ask for, in words
    #[arg(long, value_name = "TEXT")]
    pub(crate) request: Option<String>,

    /// Agrees to every card
    #[arg(long, conflicts_with = "answer")]
    pub(crate) yes: bool,

    /// The answer to the first card, such as '{"action": "reject", "text": "not on Friday"}'
    #[arg(long, value_name = "JSON")]
    pub(crate) answer: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// For Mermaid
    Mermaid,
    /// For Graphviz
    Dot,
}

impl Args {
    /// The command line that goes on with this conversation.
    pub(crate) fn again(&self, thread: &str, rest: &str) -> String {
        // Writing into a string cannot fail.
        let mut line = String::from("scheduler");
        if self.dir != Path::new(DIR) {
            let _ = write!(line, " --dir '{}'", self.dir.display());
        }
        if thread != THREAD {
            let _ = write!(line, " --thread '{thread}'");
        }
        if let Some(store) = &self.store {
            let _ = write!(line, " --store '{store}'");
        }
        if let Some(schedule) = &self.schedule {
            let _ = write!(line, " --schedule '{schedule}'");
        }
        if let Some(calendar) = &self.calendar {
            let _ = write!(line, " --calendar '{calendar}'");
        }
        if let (Some(base_url), Some(model)) = (&self.base_url, &self.model) {
            let _ = write!(line, " --base-url '{base_url}' --model '{model}'");
        }
        line + rest
    }
}

/// A name that can also name a folder.
fn thread_name(name: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = !name.is_empty() && name.len() <= 100 && !name.starts_with('.');
    if fits && name.chars().all(allowed) {
        Ok(name.to_owned())
    } else {
        Err("a name has 1 to 100 bytes of letters, digits, `-`, `_` and `.`, and does not begin with `.`".into())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_name_cannot_leave_its_folder() {
        for bad in ["", "..", "../x", "a/b", ".hidden", "a b", &"x".repeat(101)] {
            assert!(thread_name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(thread_name("我的-week.1"), Ok("我的-week.1".into()));
    }
}
