use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use fugato_state::{Millis, say};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde_json::{Map, Value};

use crate::{EngineFlags, PeopleCommand, flags::any_thread};

/// The commands of every agent program.
#[derive(Debug, Clone, Subcommand)]
#[non_exhaustive]
pub enum CliCommand {
    /// Talks in the terminal
    Chat,
    /// Says one thing, and waits for what comes of it
    Say(SayArgs),
    /// Serves the agent and its page over HTTP
    Serve {
        /// The address to listen on; port 0 takes a free one
        #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
        listen: SocketAddr,

        /// The environment variable with the key that clients must send; needed to listen beyond
        /// this machine
        #[arg(long, value_name = "NAME")]
        client_key_env: Option<String>,

        /// The header in which a proxy names the person whom it let in. It holds only in requests
        /// that send the key of --client-key-env, which no one but the proxy may know
        #[arg(long, value_name = "HEADER", requires = "client_key_env")]
        person_header: Option<String>,

        /// The engine that goes on with conversations
        #[command(flatten)]
        engine: EngineFlags,
    },
    /// Says whom `serve` lets in: each person has keys, and conversations and files of their own
    People {
        /// The command
        #[command(subcommand)]
        command: PeopleCommand,
    },
    /// Tells what happened in the conversation: what was said, asked, agreed to and done
    History {
        /// Lists every record instead, also those of the program's own work
        #[arg(long)]
        full: bool,
    },
    /// Lists what every request went through: tasks, durations, attempts, errors, calls of models
    Trace {
        /// Shows what went into every task and what came out, too
        #[arg(long)]
        full: bool,
    },
    /// Shows the cards that wait for an answer, however long they are
    Card,
    /// Shows what a line of the history changed in the state of the conversation
    Show {
        /// The number of the line
        seq: u64,

        /// Shows the whole state after the line instead, as JSON
        #[arg(long)]
        full: bool,
    },
    /// Begins a new conversation as a copy of this one, as it was after a line of its history
    Fork {
        /// The number of the line
        seq: u64,
        /// The name of the new conversation
        #[arg(value_parser = any_thread)]
        new: String,
    },
    /// Lists all conversations, with how they stand and what they are about
    Threads,
    /// Tells whether this program can go on with every stored conversation, and changes nothing
    ///
    /// Prints a line for each that does not simply go on. The exit code is 0 if all go on or
    /// migrate, 3 if one is refused or cannot be read, 4 if some could only not be looked at, and 1
    /// if the store cannot be opened.
    Check {
        /// The begin of the names of the conversations of this program, if the store has others
        #[arg(long, value_name = "NAME", default_value = "")]
        prefix: String,
    },
    /// Writes everything of the conversation into a folder
    Export {
        /// The folder [default: the name of the conversation, and `-export`; `export` if the name is
        /// none of a folder]
        to: Option<PathBuf>,
    },
    /// Writes a copy of all conversations and results, also while another process works on them
    Backup {
        /// The folder to make, which `--dir` can then name
        #[arg(value_name = "FOLDER")]
        to: PathBuf,
        /// Replaces an older copy there
        #[arg(long)]
        overwrite: bool,
    },
    /// Goes on with the conversations of the copy that --ship names, in a store that lacks them
    Restore {
        /// The conversation [default: all of the copy]
        #[arg(value_name = "THREAD", value_parser = any_thread)]
        name: Option<String>,
        /// Says that the store which was shipped is lost: if it is not, it can write nothing more
        /// of these conversations with --ship
        #[arg(long)]
        lost: bool,
        /// Goes on as of a time: at the last line that was shipped until then. Later ones stay in
        /// the copy, and what they did is not undone. As in 2026-01-31T08:30:00Z, or in the time
        /// zone of the system as in "2026-01-31 08:30"
        #[arg(long, value_name = "TIME", value_parser = time)]
        at: Option<Millis>,
    },
    /// Moves the conversation that --thread names into another store, where it goes on
    ///
    /// It moves out of the store of --store or --dir with all its lines and open cards, and runs in
    /// one of the two at most. A move that was broken off is repeated; until it has moved, the
    /// conversation goes on where it was. With --ship, the copy of the old store is told that it
    /// moved, so that nobody restores it from there. Files, and documents that the program keeps
    /// beside its conversations, stay where they are.
    Move {
        /// The other store: a path, or the URL of a server, as --store takes it
        #[arg(value_name = "URL")]
        to: String,
        /// Moves every conversation of this program: those that it can read. Others in the store
        /// stay
        #[arg(long)]
        all: bool,
        /// With --all, the begin of the names of the conversations of this program, if the store has
        /// others
        #[arg(long, value_name = "NAME", default_value = "", requires = "all")]
        prefix: String,
    },
    /// Removes a conversation with everything that belongs to it
    Delete {
        /// Its name
        #[arg(value_name = "THREAD", value_parser = any_thread)]
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

/// A message to an agent, without a conversation in the terminal.
#[derive(Debug, Clone, Default, Args)]
#[non_exhaustive]
pub struct SayArgs {
    /// Your request, or your answer to an open question
    pub text: Option<String>,

    /// Agrees to every card
    #[arg(long, conflicts_with = "answer")]
    pub yes: bool,

    /// The answer to the card that is open, as JSON
    #[arg(long, value_name = "JSON", value_parser = json)]
    pub answer: Option<Value>,

    /// The card that --answer is about: the code that the card shows, such as K7F2. Whoever agrees
    /// to something names it
    #[arg(long, value_name = "CODE", requires = "answer")]
    pub card: Option<String>,

    /// The message for a new conversation if `text` is missing.
    #[arg(skip)]
    pub first: Option<String>,

    /// The data beside the message, such as the fields that a page would send.
    #[arg(skip)]
    pub extra: Map<String, Value>,
}

/// The language of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum Format {
    /// For Mermaid
    Mermaid,
    /// For Graphviz
    Dot,
}

/// Reads a time: of a zone, or of that of the system.
fn time(text: &str) -> Result<Millis, String> {
    let there = || {
        let local: DateTime = text.parse().ok()?;
        local.to_zoned(TimeZone::system()).ok()
    };
    let time = text.parse::<Timestamp>().ok();
    let time = time.or_else(|| there().map(|zoned| zoned.timestamp()));
    time.map(Timestamp::as_millisecond).ok_or_else(|| {
        say!(
            "{text:?} is no time; such are 2026-01-31T08:30:00Z, and 2026-01-31 08:30 in the time zone of the system",
            "{text:?} 不是时间；可用的有 2026-01-31T08:30:00Z，或系统时区的 2026-01-31 08:30"
        )
    })
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        say!(
            "it is no JSON at line {line}, column {column}; such are true, \"some words\" and {{\"text\": \"…\"}}",
            "第 {line} 行第 {column} 列不是 JSON；可用的有 true、\"一些文字\" 和 {{\"text\": \"…\"}}"
        )
    })
}
