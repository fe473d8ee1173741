use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, ValueEnum};
use fugato::{
    cli::{CliCommand, CliError, Flags, thread_name},
    state::say,
};
use jiff::civil::Time;
use scheduler::{agent::DEFAULT_MAX_ROUNDS, route::RouteSet};

use super::stage::{self, StageSetting};

/// The calendar that all conversations of a server are about, unless another one is named.
const CALENDAR: &str = "home";

const EXAMPLES: &str = "\
Examples:
  scheduler                       schedule the sample, and ask before anything is kept
  scheduler --yes                 the same, and agree to everything
  scheduler --lang zh             the same in Chinese
  scheduler --courses my.ics --tasks my.toml --thread spring
                                  schedule your own weeks, as a conversation named spring
  scheduler --courses new.ics --thread spring
                                  another timetable for it; what you agreed to stays where it fits
  scheduler --thread spring --request 'rearrange everything'
                                  ask for more
  scheduler chat                  talk about it
  scheduler serve                 talk about it in a browser
  scheduler serve --evening 21:00 ask each evening what to do with what was not done
  scheduler --notes               list reminders, those that are due first, to-dos and notes
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
    pub(crate) command: Option<CliCommand>,

    #[command(flatten)]
    pub(crate) job: Job,

    #[command(flatten)]
    pub(crate) flags: Flags,

    /// The place of the schedule: a path, or a `mysql://` or `postgres://` URL [default: schedule.db in --dir]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) schedule: Option<String>,

    /// The calendar that the conversation is about [default: one of its own]
    #[arg(long, global = true, value_name = "NAME", value_parser = thread_name)]
    pub(crate) calendar: Option<String>,

    /// A collection of a `CalDAV` server: what is in it is busy, and what you keep is written into
    /// it. The user is in `CALDAV_USER`, the password in `CALDAV_PASSWORD` or in the file that
    /// `CALDAV_PASSWORD_FILE` names
    #[arg(long, global = true, value_name = "URL", value_parser = caldav)]
    pub(crate) caldav: Option<String>,

    /// With `serve`: looks each evening at what was planned and not done, and leaves a question
    /// with repairs; the time is that of the schedule's zone
    #[arg(long, global = true, value_name = "HH:MM", value_parser = evening)]
    pub(crate) evening: Option<Time>,

    /// The command that tells you of the question of an evening, such as `notify-send` and
    /// `{text}`; give it once for the program and once for each of its arguments
    #[arg(
        long,
        global = true,
        value_name = "WORD",
        requires = "evening",
        allow_hyphen_values = true
    )]
    pub(crate) tell: Vec<String>,

    /// The most rounds of a request: a round decides, and carries out one step
    #[arg(long, global = true, value_name = "NUMBER", default_value_t = DEFAULT_MAX_ROUNDS,
          value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub(crate) max_rounds: u64,

    /// The routes that a model chooses among for a request
    #[arg(long, global = true, value_enum, default_value = "two")]
    pub(crate) routes: Routes,

    /// The settings of a stage of the model, as in `plan.temperature=0.2`, `chat.max_tokens=800`,
    /// `execute.thinking=off`, `deep_plan.model=NAME` for a model of --also-model; `deep_plan=off`
    /// plans in one call always
    #[arg(long = "stage", global = true, value_name = "STAGE.SETTING=VALUE",
          value_parser = stage::setting)]
    pub(crate) stages: Vec<StageSetting>,

    /// A search service that answers in the JSON of `SearXNG`; without one the web is switched off
    #[arg(long, global = true, value_name = "URL", requires = "web_hosts")]
    pub(crate) web: Option<String>,

    /// The hosts whose pages may be found and read
    #[arg(long = "web-host", global = true, value_name = "HOST")]
    pub(crate) web_hosts: Vec<String>,
}

/// The routes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Routes {
    /// Talk or work
    Two,
    /// An answer at once, an answer after thinking, one change, a plan, or a note
    Five,
}

impl From<Routes> for RouteSet {
    fn from(routes: Routes) -> Self {
        match routes {
            Routes::Two => Self::Two,
            Routes::Five => Self::Five,
        }
    }
}

#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Job {
    /// Your courses and appointments, as an iCalendar file [default: the sample]
    #[arg(long, value_name = "FILE", conflicts_with = "caldav")]
    pub(crate) courses: Option<PathBuf>,

    /// The things to do, as a TOML or JSON file [default: the sample]. One of both alone
    /// replaces that part of what the conversation has
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,

    /// Takes the last import back: the timetable and the items from before it
    #[arg(long, conflicts_with_all = ["courses", "tasks"])]
    pub(crate) undo_import: bool,

    /// Lists the reminders, those that are due first, the to-dos and the notes, and does nothing
    /// else
    #[arg(long, conflicts_with_all = ["courses", "tasks", "undo_import", "request", "yes", "answer"])]
    pub(crate) notes: bool,

    /// What you ask for, in words
    #[arg(long, value_name = "TEXT")]
    pub(crate) request: Option<String>,

    /// Agrees to every card, and to replacing what was kept
    #[arg(long, conflicts_with = "answer")]
    pub(crate) yes: bool,

    /// The answer to the first card, such as '{"action": "reject", "text": "not on Friday"}'
    #[arg(long, value_name = "JSON")]
    pub(crate) answer: Option<String>,

    /// The card that --answer is about: the code that it shows, such as K7F2
    #[arg(long, value_name = "CODE", requires = "answer")]
    pub(crate) card: Option<String>,
}

/// Reads the address of a calendar server.
fn caldav(text: &str) -> Result<String, String> {
    if cfg!(not(feature = "caldav")) {
        return Err(say!(
            "this program was built without it; build it with --features caldav",
            "这个程序构建时没有包含它；请用 --features caldav 构建"
        ));
    }
    Ok(text.to_owned())
}

/// Reads the time of the look back.
fn evening(text: &str) -> Result<Time, String> {
    if cfg!(not(feature = "evening")) {
        return Err(say!(
            "this program was built without it; build it with --features evening",
            "这个程序构建时没有包含它；请用 --features evening 构建"
        ));
    }
    let time = text.parse();
    time.map_err(|_| {
        say!(
            "a time of the day is needed, such as 21:00",
            "需要一天中的时间，如 21:00"
        )
    })
}

impl Args {
    /// Returns the arguments for a server, whose conversations all share one calendar.
    pub(crate) fn for_all(mut self) -> Self {
        self.calendar.get_or_insert_with(|| CALENDAR.to_owned());
        self
    }

    /// Returns the arguments with the flags of a person, whose calendars are theirs alone.
    pub(crate) fn of(self, flags: &Flags) -> Result<Self, CliError> {
        if flags.person.is_some() && (self.schedule.is_some() || self.caldav.is_some()) {
            let message = say!(
                "--schedule and --caldav name the calendars of one person; where there are people, leave them out",
                "--schedule 和 --caldav 指定的是一个人的日历；有多个用户时请去掉"
            );
            return Err(CliError::new(message));
        }
        Ok(Self {
            flags: flags.clone(),
            ..self
        })
    }

    /// Returns the arguments without the files of the person, which were taken over.
    pub(crate) fn without_input(&self) -> Self {
        let mut args = self.clone();
        (args.job.courses, args.job.tasks) = (None, None);
        args
    }

    /// Returns the folder of conversations and results.
    pub(crate) fn folder(&self) -> PathBuf {
        self.flags.folder("scheduler")
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
}
