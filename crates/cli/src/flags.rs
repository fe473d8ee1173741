use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, ValueEnum};
use fugato_graph::Retention;
use fugato_state::{ThreadId, say};

use crate::{CliError, Lang};

const THREAD: &str = "default";

/// The folder of the folders of people. No thread has a folder of such a name.
pub(crate) const PEOPLE: &str = "@people";

/// The file of the log in the folder of a program.
pub(crate) const LOG: &str = "threads.db";

/// The flags of every agent program, for all commands.
#[derive(Debug, Clone, Args)]
#[non_exhaustive]
pub struct Flags {
    /// The conversation: 1 to 200 bytes without control characters
    #[arg(
        long,
        global = true,
        default_value = THREAD,
        value_parser = any_thread,
        allow_hyphen_values = true
    )]
    pub thread: String,

    /// The folder of conversations and results [default: the program's name and `-data`]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,

    /// The person whose conversations and files these are, as `people add` named them [default:
    /// those of nobody in particular]
    #[arg(long, global = true, value_name = "NAME", value_parser = crate::people::account)]
    pub person: Option<String>,

    /// The store of the log: a path, the URL of a server, or commits in `file:FOLDER` or
    /// `s3://BUCKET/PREFIX` [default: threads.db in --dir]
    #[arg(long, global = true, value_name = "URL")]
    pub store: Option<String>,

    /// The copy into which every line of a conversation is written before it counts, so that it
    /// survives this machine: `file:FOLDER`, or `s3://BUCKET/PREFIX`
    #[arg(long, global = true, value_name = "URL")]
    pub ship: Option<String>,

    /// The language that you are spoken to: en or zh [default: that of what you write, and before
    /// that the one of your system]
    #[arg(long, global = true)]
    pub lang: Option<Lang>,

    /// The model server; without one, rules decide
    #[arg(long, global = true, value_name = "URL", requires = "model")]
    pub base_url: Option<String>,

    /// The model to ask
    #[arg(long, global = true, requires = "base_url")]
    pub model: Option<String>,

    /// A further model of that server, which a request or a stage may choose by its name
    #[arg(
        long = "also-model",
        global = true,
        value_name = "MODEL",
        requires = "model"
    )]
    pub also_models: Vec<String>,

    /// The protocol of the server
    #[arg(long, global = true, value_enum, default_value_t)]
    pub provider: Provider,

    /// The variable that holds the server's key [default: `OPENAI_API_KEY` or `ANTHROPIC_API_KEY`]
    #[arg(long, global = true, value_name = "NAME")]
    pub key_env: Option<String>,

    /// The server to ask when the first one fails
    #[arg(
        long,
        global = true,
        value_name = "URL",
        requires_all = ["base_url", "backup_model"]
    )]
    pub backup_base_url: Option<String>,

    /// The model to ask there
    #[arg(
        long,
        global = true,
        value_name = "MODEL",
        requires = "backup_base_url"
    )]
    pub backup_model: Option<String>,

    /// The protocol of the other server
    #[arg(long, global = true, value_enum, default_value_t)]
    pub backup_provider: Provider,

    /// The variable that holds the other server's key
    #[arg(long, global = true, value_name = "NAME", requires = "backup_base_url")]
    pub backup_key_env: Option<String>,

    /// The tokens that the models take, prompt and answer together; older messages are left out of
    /// what is longer
    #[arg(long, global = true, value_name = "TOKENS", default_value_t = 32_768,
          value_parser = clap::value_parser!(u64).range(1_024..=100_000_000))]
    pub context: u64,

    /// The longest silence of a model, before its first word or between two
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 30,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub model_silence: u64,

    /// The time of an answer of a model in all; all answers of a run, eight times as long
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 120,
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub model_time: u64,

    /// The time for which a finished conversation is kept, with all that belongs to it: `forever`,
    /// or as in `2h`, `30m`, `45s`, `7d`. Conversations that wait or failed stay
    #[arg(long, global = true, value_name = "TIME", default_value = "forever",
          value_parser = retention)]
    pub keep_finished: Retention,

    /// Shows a finished text as if it were being written
    #[arg(long, global = true)]
    pub typing: bool,

    /// Writes what happens inside to standard error: a level, or as in
    /// `info,fugato_graph=debug` [default: off; warn for `serve`]
    #[arg(long, global = true, value_name = "FILTER")]
    pub trace: Option<String>,

    /// The collector that gets spans of runs, models and tools, by OTLP over HTTP, as in
    /// `http://localhost:4318` [default: what `OTEL_EXPORTER_OTLP_ENDPOINT` says]
    #[arg(long, global = true, value_name = "URL")]
    pub otlp: Option<String>,
}

/// The protocol of a model server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[non_exhaustive]
pub enum Provider {
    /// Chat completions
    #[default]
    Openai,
    /// Messages
    Anthropic,
}

impl Flags {
    /// Returns the folder in which a program of this name keeps its data: that of the person, if
    /// one is named.
    pub fn folder(&self, program: &str) -> PathBuf {
        let folder = self.common_folder(program);
        self.person
            .as_ref()
            .map_or(folder.clone(), |person| folder.join(PEOPLE).join(person))
    }

    /// Returns the folder of a program of this name with the data of all people.
    pub(crate) fn common_folder(&self, program: &str) -> PathBuf {
        let default = || PathBuf::from(format!("{program}-data"));
        self.dir.clone().unwrap_or_else(default)
    }

    /// Returns the flags for a person.
    pub(crate) fn of(&self, person: &str) -> Self {
        Self {
            person: Some(person.to_owned()),
            ..self.clone()
        }
    }

    /// Returns the names of the models, the first of which is asked unless another is chosen.
    pub(crate) fn model_names(&self) -> Vec<String> {
        let named = self.base_url.as_ref().and(self.model.as_ref());
        named
            .into_iter()
            .chain(&self.also_models)
            .cloned()
            .collect()
    }

    /// Returns the flags that lead to a thread again, for a line that a person can repeat.
    pub(crate) fn again(&self, thread: &str) -> String {
        let mut line = String::new();
        let mut flag = |name: &str, value: &str| {
            let value = value.replace('\'', r"'\''");
            // Writing into a string cannot fail.
            let _ = write!(line, " --{name} '{value}'");
        };
        if let Some(dir) = &self.dir {
            flag("dir", &dir.display().to_string());
        }
        if let Some(person) = &self.person {
            flag("person", person);
        }
        if thread != THREAD {
            flag("thread", thread);
        }
        if let Some(store) = &self.store {
            flag("store", &crate::without_password(store));
        }
        if let Some(ship) = &self.ship {
            flag("ship", &crate::without_password(ship));
        }
        if self.provider != Provider::default() {
            flag("provider", "anthropic");
        }
        if let (Some(base_url), Some(model)) = (&self.base_url, &self.model) {
            flag("base-url", &crate::without_password(base_url));
            flag("model", model);
        }
        for name in &self.also_models {
            flag("also-model", name);
        }
        if let Some(key_env) = &self.key_env {
            flag("key-env", key_env);
        }
        line
    }

    /// Returns the language in which a person is spoken to who has not written yet: that of the
    /// flag, or of the system.
    pub(crate) fn spoken(&self) -> Lang {
        spoken(self.lang)
    }

    /// Returns the address of the log. Each person has one of their own, which lies in the folder.
    pub(crate) fn log(&self, folder: &Path) -> Result<String, CliError> {
        let default = || folder.join(LOG).display().to_string();
        match (&self.store, &self.person) {
            (Some(_), Some(person)) => Err(CliError::new(say!(
                "--store names one log, and {person} has one of their own in {}; leave --store out",
                "--store 指定的是一个日志，而 {person} 在 {} 里有自己的；请去掉 --store",
                folder.display()
            ))),
            (Some(store), None) => Ok(store.clone()),
            (None, _) => Ok(default()),
        }
    }
}

/// Returns the language that was named, or that of the system.
pub(crate) fn spoken(flag: Option<Lang>) -> Lang {
    flag.unwrap_or_else(|| {
        let locales = ["LC_ALL", "LC_MESSAGES", "LANG"].map(|name| std::env::var(name).ok());
        let mut locales = locales.into_iter().flatten();
        let locale = locales.find(|locale| !locale.is_empty());
        locale.and_then(|it| it.parse().ok()).unwrap_or_default()
    })
}

/// Reads the time for which finished threads are kept.
fn retention(text: &str) -> Result<Retention, String> {
    if text == "forever" {
        return Ok(Retention::Keep);
    }
    let wrong = || {
        say!(
            "{text:?} is no such time; allowed are forever, and a number with s, m, h or d, as in 2h",
            "{text:?} 不是时长；可用的有 forever，或带单位 s、m、h、d 的数字，如 2h"
        )
    };
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let count: u64 = text.trim_end_matches(unit).parse().map_err(|_| wrong())?;
    let time = count.checked_mul(seconds).ok_or_else(wrong)?;
    Ok(Retention::KeepFor(Duration::from_secs(time)))
}

/// Reads the name of any thread, as a server takes it.
pub(crate) fn any_thread(name: &str) -> Result<String, String> {
    let thread = ThreadId::new(name).map_err(|error| error.to_string())?;
    Ok(thread.into())
}

/// Reads the name of a thread that can also name a folder.
pub fn thread_name(name: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let fits = !name.is_empty() && name.len() <= 100 && !name.starts_with('.');
    if fits && name.chars().all(allowed) {
        Ok(name.to_owned())
    } else {
        Err(say!(
            "a name has 1 to 100 bytes of letters, digits, `-`, `_` and `.`, and does not begin with `.`",
            "名称为 1 到 100 字节的文字、数字、`-`、`_` 和 `.`，且不以 `.` 开头"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_to_repeat_shows_no_secret() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            flags: Flags,
        }
        let line = "x --store postgres://host/x?password=secret --base-url http://me:secret@host/v1?key=secret --model m";
        let flags = <Line as clap::Parser>::parse_from(line.split(' ')).flags;
        assert_eq!(
            flags.again(THREAD),
            " --store 'postgres://host/x?…' --base-url 'http://…@host/v1?…' --model 'm'"
        );
    }

    #[test]
    fn sch_c6_the_time_of_finished_threads_is_read_with_its_unit() {
        let kept = |seconds| Ok(Retention::KeepFor(Duration::from_secs(seconds)));
        assert_eq!(retention("forever"), Ok(Retention::Keep));
        for (text, seconds) in [
            ("0s", 0),
            ("45s", 45),
            ("30m", 1_800),
            ("2h", 7_200),
            ("7d", 604_800),
        ] {
            assert_eq!(retention(text), kept(seconds), "{text}");
        }
        for wrong in ["", "2", "h", "-1h", "2w", "99999999999999999999d"] {
            assert!(retention(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_cannot_leave_its_folder() {
        for bad in ["", "..", "../x", "a/b", ".hidden", "a b", &"x".repeat(101)] {
            assert!(thread_name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(thread_name("我的-week.1"), Ok("我的-week.1".into()));
    }
}
