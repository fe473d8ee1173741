//! Tries for as long as one likes whether what is promised holds.
use std::{env, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use clap::{Parser, Subcommand};
use reliability::{
    BoxError, TrialResult,
    crowd::Crowd,
    driven::driven,
    kill::{Plan, kill},
    load::under_load,
    long::long,
    parked::{park, parked},
    placed::{PlacedPlan, bereft, placed, queue},
    scale,
    serve::{Mode, Serve, serve},
    share::{OnPaper, Queue, drain, hand_over, throughput},
    store::{Kind, Place},
};

/// Kills processes and servers, and looks whether what is promised holds.
#[derive(Parser)]
#[command(name = "reliability")]
struct Program {
    #[command(subcommand)]
    trial: Trial,
}

#[derive(Subcommand)]
enum Trial {
    /// Kills a process at random moments, starts it again, and compares evidence, log and state.
    Kill {
        /// Where its threads lie.
        #[arg(long, default_value = "sqlite")]
        store: Kind,
        /// How often it is killed.
        #[arg(long, default_value_t = 100)]
        kills: u32,
        /// The seed of the moments.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// When what happened is stored.
        #[arg(long, default_value = "strict")]
        durability: Mode,
    },
    /// Kills the server while jobs are done, and starts it again.
    Server {
        /// Which.
        #[arg(long, default_value = "postgres")]
        store: Kind,
        /// How often it is killed.
        #[arg(long, default_value_t = 10)]
        kills: u32,
    },
    /// Lets processes share a queue on Postgres: one is killed, one ends in peace, several race.
    Share {
        /// The steps that each thread of the race takes.
        #[arg(long, default_value_t = 200)]
        steps: u64,
        /// The numbers of workers that race.
        #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16")]
        workers: Vec<usize>,
    },
    /// Lets many threads wait in a file of SQLite, and answers a thousand of them.
    Park {
        /// How many.
        #[arg(long, default_value_t = 100_000)]
        threads: u64,
        /// A file in which they wait already.
        #[arg(long, hide = true)]
        file: Option<PathBuf>,
    },
    /// Takes many steps in one run, on SQLite, in batches.
    Long {
        /// How many.
        #[arg(long, default_value_t = 1_000_000)]
        steps: u64,
    },
    /// Lets many converse at once with a server of an agent, and tells how soon it says something;
    /// or kills it or lets it sleep meanwhile, and looks whether everybody goes on.
    Crowd {
        /// The program that serves, such as `target/release/scheduler`.
        #[arg(long)]
        program: PathBuf,
        /// How many conversations there are.
        #[arg(long, default_value_t = 500)]
        conversations: usize,
        /// How long after one conversation the next one begins, in milliseconds.
        #[arg(long, default_value_t = 50)]
        apart: u64,
        /// What each begins with.
        #[arg(long, default_value = "Plan my weeks: place everything.")]
        words: String,
        /// When the server is killed, in milliseconds.
        #[arg(long)]
        dies_after: Option<u64>,
        /// When the server is stopped for a few seconds, in milliseconds.
        #[arg(long)]
        sleeps_after: Option<u64>,
    },
    /// Fills a store with threads, of which one in a hundred can go on, and tells what a claim, a
    /// wake, a timer and a page of the list cost at each size.
    Scale {
        /// The store in which they lie.
        #[arg(long, default_value = "sqlite")]
        store: scale::Kind,
        /// The sizes, smallest first.
        #[arg(long, value_delimiter = ',', default_value = "10000,100000,1000000")]
        threads: Vec<u64>,
    },
    /// Commits to a folder, and makes the same files by hand, in turn.
    Folder {
        /// The number of commits.
        #[arg(long, default_value_t = 500)]
        commits: u64,
    },
    /// Drives threads of one step by a Restate server, and calls a handler of its own SDK with one
    /// `run` of the same bytes, in turn.
    Drive {
        /// The bytes that each keeps.
        #[arg(long, default_value_t = 1000)]
        bytes: usize,
        /// The number of calls of each.
        #[arg(long, default_value_t = 300)]
        calls: u64,
    },
    /// Kills services, the Restate server that places their threads, and Postgres, alone and in pairs;
    /// measures how soon a thread of a dead service goes on; and lets one of three engines die for
    /// good.
    Placed {
        /// The number of processes that are killed.
        #[arg(long, default_value_t = 300)]
        kills: u32,
        /// The seed of the moments.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// The process that the other trials start and kill.
    #[command(hide = true)]
    Serve(Serve),
}

#[tokio::main]
async fn main() -> ExitCode {
    let trial = Program::parse().trial;
    let is_child = matches!(trial, Trial::Serve(_));
    let code = match execute(trial).await {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            tell(&problems.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            tell(&error.to_string());
            ExitCode::FAILURE
        }
    };
    if is_child {
        // Reading orders never ends by itself.
        std::process::exit(i32::from(code != ExitCode::SUCCESS));
    }
    code
}

/// What is wrong.
async fn execute(trial: Trial) -> TrialResult<Vec<String>> {
    match trial {
        Trial::Kill {
            store,
            kills,
            seed,
            durability,
        } => {
            let place = place(store)?;
            let mut plan = Plan::new(env::current_exe()?, store, kills, seed);
            plan.durability = durability;
            let told = |kill: u32, verdict: &_| {
                if kill.is_multiple_of(20) {
                    tell(&format!("{verdict}"));
                }
            };
            let verdict = kill(&plan, &place, told).await?;
            tell(&verdict.to_string());
            Ok(verdict.problems)
        }
        Trial::Server { store, kills } => server(store, kills).await,
        Trial::Share { steps, workers } => share(steps, &workers).await,
        Trial::Park { threads, file } => {
            let folder = tempfile::tempdir()?;
            let Some(file) = file else {
                let file = folder.path().join("parked.db");
                park(&file, threads).await?;
                return again(&["park", "--threads", &threads.to_string()], &file).await;
            };
            tell(&parked(&file, threads, 1000).await?.to_string());
            Ok(vec![])
        }
        Trial::Long { steps } => {
            let folder = tempfile::tempdir()?;
            tell(&long(folder.path(), steps).await?.to_string());
            Ok(vec![])
        }
        Trial::Crowd {
            program,
            conversations,
            apart,
            words,
            dies_after,
            sleeps_after,
        } => {
            let folder = tempfile::tempdir()?;
            let crowd = Crowd {
                program,
                folder: folder.path().to_owned(),
                conversations,
                apart: Duration::from_millis(apart),
                words,
                dies_after: dies_after.map(Duration::from_millis),
                sleeps_after: sleeps_after.map(Duration::from_millis),
            };
            let verdict = crowd.meet().await?;
            tell(&verdict.to_string());
            Ok(verdict.problems)
        }
        Trial::Scale { store, threads } => grow(store, &threads).await,
        Trial::Folder { commits } => {
            tell(&scale::on_a_folder(commits).await?.to_string());
            Ok(vec![])
        }
        Trial::Drive { bytes, calls } => {
            let restate = servers::Restate::start().ok_or(NO_RESTATE)?;
            tell(&driven(&restate, bytes, calls).await?.to_string());
            Ok(vec![])
        }
        Trial::Placed { kills, seed } => engines(kills, seed).await,
        Trial::Serve(how) => serve(&how).await.map(|()| vec![]),
    }
}

/// The same in a process that has done nothing before: only its memory tells what it costs.
async fn again(arguments: &[&str], file: &std::path::Path) -> TrialResult<Vec<String>> {
    let mut command = tokio::process::Command::new(env::current_exe()?);
    command.args(arguments).arg("--file").arg(file);
    let status = command.status().await?;
    Ok(if status.success() {
        vec![]
    } else {
        vec![status.to_string()]
    })
}

async fn grow(store: scale::Kind, sizes: &[u64]) -> TrialResult<Vec<String>> {
    let growing = scale::Growing::new(store)?;
    let mut growing = growing.ok_or("the server is not installed")?;
    let mut first = None;
    for threads in sizes {
        let costs = growing.grown_to(*threads).await?;
        tell(&costs.to_string());
        let first = first.get_or_insert_with(|| costs.clone());
        tell(&costs.against(first));
    }
    tell(&growing.hot().await?.to_string());
    Ok(vec![])
}

const NO_RESTATE: &str = "Restate is not installed";

async fn engines(kills: u32, seed: u64) -> TrialResult<Vec<String>> {
    let program = env::current_exe()?;
    let mut plan = PlacedPlan::new(&program, kills, seed);
    let (store, restate) = (place(Kind::Postgres)?, servers::Restate::start());
    let (store, restate) = (Arc::new(store), Arc::new(restate.ok_or(NO_RESTATE)?));
    let verdict = placed(&plan, &store, &restate, |kill, verdict| {
        if kill.is_multiple_of(30) {
            tell(&verdict.to_string());
        }
    });
    let verdict = verdict.await?;
    tell(&format!("in turn and in pairs: {verdict}"));
    let mut problems = verdict.problems;
    for _ in 0..3 {
        let store = place(Kind::Postgres)?;
        let mut queue = queue(&program, &store, &restate).await?;
        let lease = queue.start.lease;
        let gone_on = hand_over(&mut queue).await?;
        let took = gone_on.took.as_millis();
        tell(&format!(
            "handed over in {took} ms, with a lease of {lease} ms"
        ));
        problems.extend(gone_on.problems);
    }
    drop(restate);
    let cluster = servers::Restate::cluster().ok_or(NO_RESTATE)?;
    let store = Arc::new(place(Kind::Postgres)?);
    plan.kills = 1;
    let verdict = bereft(&plan, &store, &cluster).await?;
    tell(&format!("one of three engines lost: {verdict}"));
    problems.extend(verdict.problems);
    Ok(problems)
}

async fn server(store: Kind, kills: u32) -> TrialResult<Vec<String>> {
    let place = Arc::new(place(store)?);
    let breaking = async {
        let mut random = fastrand::Rng::new();
        for kill in 1..=kills {
            let wait = Duration::from_millis(random.u64(100..1500));
            tokio::time::sleep(wait).await;
            let place = place.clone();
            tokio::task::spawn_blocking(move || place.restart()).await?;
            tell(&format!("killed {kill} times"));
        }
        Ok(())
    };
    let verdict = under_load(&place, 12, breaking).await?;
    tell(&verdict.to_string());
    Ok(verdict.problems)
}

async fn share(steps: u64, workers: &[usize]) -> TrialResult<Vec<String>> {
    let place = place(Kind::Postgres)?;
    let program = env::current_exe()?;
    let mut queue = Queue::new(&program, &place).await?;
    let killed = hand_over(&mut queue).await?;
    tell(&format!("others go on {:?} after a kill", killed.took));
    let drained = drain(&mut queue).await?;
    tell(&format!("{} threads were handed over", drained.handed_over));
    let mut taken = vec![];
    for workers in workers {
        let now = throughput(&mut queue, *workers, steps).await?;
        taken.push(now);
        let ratio = now / taken.first().copied().unwrap_or(now);
        tell(&format!(
            "{workers} workers: {now:.0} steps/s, {ratio:.2} times as many"
        ));
    }
    tell(&OnPaper::of(&queue, &taken).await?.to_string());
    let again = drained
        .again
        .into_iter()
        .map(|task| format!("begun again: {task}"));
    Ok(killed
        .problems
        .into_iter()
        .chain(drained.problems)
        .chain(again)
        .collect())
}

fn place(kind: Kind) -> TrialResult<Place> {
    Place::new(kind)?.ok_or_else(|| BoxError::from("the server is not installed"))
}

#[expect(clippy::print_stderr, reason = "the program says how it goes")]
fn tell(text: &str) {
    eprintln!("{text}");
}
