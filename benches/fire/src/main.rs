//! Kills the process of an agent at every call of a tool, lets it go on, and looks in the database
//! whether anything is lost, or was done twice.
mod on_fugato;
mod on_restate;
mod player;
mod world;

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::{IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread::ScopedJoinHandle,
};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Parser, Subcommand};
use serde_json::Value;

use player::{Own, Player, PlayerEnd, PythonPlayer};
use world::{Action, End, Moment, World};

/// The most processes that one run may need.
const STARTS: usize = 20;

/// Effects under fire: plays the actions of tau2-bench, kills at every call, and compares databases.
#[derive(Parser)]
struct Program {
    #[command(subcommand)]
    part: Option<Part>,
    /// The tasks: `airline`, `retail`.
    #[arg(long, value_delimiter = ',', default_value = "airline")]
    domain: Vec<String>,
    /// The most tasks of a domain; all by default.
    #[arg(long)]
    tasks: Option<usize>,
    /// Kills at every call, also at those which only read; else at those that write.
    #[arg(long)]
    every: bool,
    /// The players: `fugato`, `restate`, `langgraph`, `dbos`.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "fugato,restate,langgraph,dbos"
    )]
    players: Vec<String>,
    /// A Python with what `benches/peers/install fire` installs; that of the user's cache by default.
    #[arg(long)]
    python: Option<PathBuf>,
    /// The number of runs that are under way at once, each in a world of its own.
    #[arg(long, default_value_t = 4)]
    jobs: usize,
    /// A page of Markdown whose table, between `<!-- fire -->` and `<!-- /fire -->`, is replaced.
    #[arg(long)]
    page: Option<PathBuf>,
    /// Prints every run that did not end well.
    #[arg(long)]
    each: bool,
}

#[derive(Subcommand)]
enum Part {
    /// Plays one task, in a process that may be killed.
    #[command(hide = true)]
    Play {
        world: u16,
        folder: PathBuf,
        #[arg(long)]
        told: Option<bool>,
        #[command(flatten)]
        place: on_restate::Place,
    },
}

fn main() -> Result<ExitCode> {
    let program = Program::parse();
    if let Some(Part::Play {
        world,
        folder,
        told,
        place,
    }) = program.part
    {
        let runtime = tokio::runtime::Runtime::new()?;
        let ended = if place.port == 0 {
            runtime.block_on(on_fugato::play(world, &folder, told))?
        } else {
            runtime.block_on(on_restate::play(world, &folder.to_string_lossy(), &place))?
        };
        let ended = serde_json::to_string(&ended)?;
        std::io::stdout().write_all(ended.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let python = match &program.python {
        Some(python) => python.clone(),
        None => installed().context("neither XDG_CACHE_HOME nor HOME is set")?,
    };
    let mut tables = vec![];
    for name in &program.players {
        tables.extend(program.fire(name, &python)?);
    }
    let table = markdown(&tables);
    std::io::stdout().write_all(table.as_bytes())?;
    if let Some(page) = &program.page {
        into_page(page, &table)?;
    }
    let broken = |table: &Table| table.name.starts_with("fugato") && table.right < table.runs;
    Ok(ExitCode::from(u8::from(tables.iter().any(broken))))
}

/// Starts a player for a world of its own; none if what it needs is not installed, which was said.
fn player(name: &str, python: &Path, world: &World) -> Result<Option<Box<dyn Player>>> {
    Ok(match name {
        "fugato" => Some(Box::new(Own::fugato(world.port))),
        "restate" => Own::restate(world.port).map(|player| Box::new(player) as _),
        "langgraph" | "dbos" => {
            let script = format!("on_{name}.py");
            Some(Box::new(PythonPlayer::start(python, &script, world.port)?))
        }
        other => bail!("{other:?} is no player: fugato, restate, langgraph and dbos are"),
    })
}

/// The result of all runs of a player.
#[derive(Debug, Default)]
struct Table {
    name: String,
    runs: usize,
    killed: usize,
    right: usize,
    twice: usize,
    lost: usize,
    wrong: usize,
    asked: usize,
    stuck: usize,
}

impl Table {
    fn of(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// Counts a run; returns true if it ended well.
    fn count(&mut self, run: &Run, end: &End) -> bool {
        let (twice, lost) = compared(&end.asked, &end.done);
        let well = end.right && run.ended && !twice && !lost;
        self.runs += 1;
        self.killed += usize::from(run.died > 0 && end.killed);
        self.asked += usize::from(run.asked > 0);
        self.stuck += usize::from(!run.ended);
        self.twice += usize::from(twice);
        self.lost += usize::from(lost);
        self.wrong += usize::from(!end.right);
        self.right += usize::from(well);
        well
    }
}

impl Program {
    /// All runs of a player; none if what it needs is not installed.
    fn fire(&self, name: &str, python: &Path) -> Result<Option<Table>> {
        let world = World::start(python)?;
        let domains: Vec<_> = self
            .domain
            .iter()
            .map(|domain| world.tasks(domain))
            .collect();
        let domains = domains.into_iter().collect::<Result<Vec<_>>>()?;
        let shots = self.domain.iter().zip(&domains);
        let shots: Vec<_> = shots
            .flat_map(|(domain, tasks)| self.shots(domain, tasks))
            .collect();
        drop(world);
        let (next, table) = (AtomicUsize::new(0), Mutex::new(None));
        let work = || -> Result<()> {
            let world = World::start(python)?;
            for domain in &self.domain {
                world.tasks(domain)?;
            }
            let Some(mut player) = player(name, python, &world)? else {
                return Ok(());
            };
            loop {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                let Some(shot) = shots.get(nth) else {
                    return Ok(());
                };
                progress(player.name(), nth, shots.len())?;
                world.begin(shot.domain, shot.task, shot.kill)?;
                let run = played(&world, player.as_mut())?;
                let mut table = table
                    .lock()
                    .map_err(|_| anyhow!("another thread panicked"))?;
                let table = table.get_or_insert_with(|| Table::of(player.name()));
                let well = table.count(&run, &world.end()?);
                if self.each && !well {
                    writeln!(std::io::stdout(), "{}: {shot}: {run:?}", table.name)?;
                }
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs).map(|_| scope.spawn(work)).collect();
            let mut ends = workers.into_iter().map(ScopedJoinHandle::join);
            ends.try_for_each(|end| end.map_err(|_| anyhow!("a thread panicked"))?)
        })?;
        table.into_inner().map_err(|_| anyhow!("a thread panicked"))
    }

    /// All runs: one of each task that nobody disturbs, and one for each moment of each call.
    fn shots<'a>(
        &self,
        domain: &'a str,
        tasks: &'a BTreeMap<String, Vec<Action>>,
    ) -> impl Iterator<Item = Shot<'a>> {
        let acting = tasks.iter().filter(|(_, actions)| !actions.is_empty());
        let (some, every) = (acting.take(self.tasks.unwrap_or(usize::MAX)), self.every);
        some.flat_map(move |(task, actions)| {
            let calls = actions.iter().enumerate();
            let aimed = calls.filter(move |(_, action)| every || action.writes);
            let kills = aimed.flat_map(|(nth, _)| Moment::ALL.map(|moment| Some((nth, moment))));
            [None].into_iter().chain(kills).map(move |kill| Shot {
                domain,
                task,
                actions,
                kill,
            })
        })
    }
}

/// A run, and where in it the process is killed.
struct Shot<'a> {
    domain: &'a str,
    task: &'a str,
    actions: &'a [Action],
    kill: Option<(usize, Moment)>,
}

impl fmt::Display for Shot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { domain, task, .. } = self;
        write!(f, "{domain} {task}, ")?;
        let Some((nth, moment)) = self.kill else {
            return f.write_str("undisturbed");
        };
        let call = self.actions.get(nth).map_or("", |action| &action.name);
        write!(f, "{call} {moment:?}")
    }
}

/// The course of one run.
#[derive(Debug, Default)]
struct Run {
    ended: bool,
    died: usize,
    asked: usize,
}

/// Lets a player go on until the task ends. What it asks is answered with what is to be seen in the
/// world.
fn played(world: &World, player: &mut dyn Player) -> Result<Run> {
    let folder = tempfile::tempdir()?;
    let (mut run, mut told) = (Run::default(), None);
    for _ in 0..STARTS {
        match player.play(folder.path(), told.take())? {
            PlayerEnd::Done => {
                run.ended = true;
                break;
            }
            PlayerEnd::Died => run.died += 1,
            // As whoever looks after a service does, it is started again.
            PlayerEnd::Failed => {}
            PlayerEnd::Asks { name, arguments } => {
                run.asked += 1;
                told = Some(world.seen(&name, &Value::Object(arguments))?);
            }
        }
    }
    Ok(run)
}

/// Returns true for a write that was done twice, and for one that was never done.
fn compared(asked: &[Action], done: &[Action]) -> (bool, bool) {
    let count = |list: &[Action]| {
        let mut counts = BTreeMap::<String, i64>::new();
        for action in list {
            let key = format!(
                "{} {}",
                action.name,
                Value::Object(action.arguments.clone())
            );
            *counts.entry(key).or_default() += 1;
        }
        counts
    };
    let (asked, did) = (count(asked), count(done));
    let times =
        |counts: &BTreeMap<String, i64>, key: &String| counts.get(key).copied().unwrap_or(0);
    let twice = did.iter().any(|(key, done)| *done > times(&asked, key));
    let lost = asked.iter().any(|(key, asked)| *asked > times(&did, key));
    (twice, lost)
}

fn progress(player: &str, nth: usize, of: usize) -> Result<()> {
    let mut error = std::io::stderr();
    if error.is_terminal() {
        write!(error, "\r{player}: {nth} of {of}  ")?;
        error.flush()?;
    } else if nth.is_multiple_of(50) {
        writeln!(error, "{player}: {nth} of {of}")?;
    }
    Ok(())
}

/// The table, in Markdown.
fn markdown(tables: &[Table]) -> String {
    let head = "| | runs | killed | ended right | done twice | lost | wrong database | asked a person | gave up |\n\
                |---|---|---|---|---|---|---|---|---|";
    let rows = tables.iter().map(|table| {
        let Table {
            name,
            runs,
            killed,
            right,
            twice,
            lost,
            wrong,
            asked,
            stuck,
        } = table;
        format!(
            "\n| {name} | {runs} | {killed} | {right} | {twice} | {lost} | {wrong} | {asked} | {stuck} |"
        )
    });
    format!("{head}{}\n", rows.collect::<String>())
}

/// Replaces the table of a page.
fn into_page(page: &Path, table: &str) -> Result<()> {
    const MARKS: [&str; 2] = ["<!-- fire -->\n", "<!-- /fire -->"];
    let text = fs::read_to_string(page)?;
    let parts = text
        .split_once(MARKS[0])
        .and_then(|(before, rest)| Some((before, rest.split_once(MARKS[1])?.1)));
    let Some((before, after)) = parts else {
        bail!("{} has no {MARKS:?}", page.display());
    };
    let [begin, end] = MARKS;
    Ok(fs::write(
        page,
        format!("{before}{begin}{table}{end}{after}"),
    )?)
}

/// The Python of the user's cache.
fn installed() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = set("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&set("HOME")?).join(".cache")))?;
    Some(cache.join("fugato-peers/fire/bin/python"))
}
