//! Plans timetables by rule, and says how far the plans are from the best possible ones.
mod case;
mod fet;
mod gap;
mod problem;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use timetable::schedule::rough_build::rough_build;
use timetable::schedule::{Quality, ScheduleState, WriteOptions, local_search, refine};

use case::{Case, by_hand, made, term};
use problem::Problem;

/// How good the schedules are, against exact optima.
#[derive(Parser)]
struct Args {
    /// How many timetables are made, beside those by hand.
    #[arg(long, default_value_t = 200)]
    cases: u64,
    /// A Python that has OR-Tools; without one nothing is compared with the optimum.
    #[arg(long)]
    python: Option<PathBuf>,
    /// How long the solver may think about one timetable, in seconds.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// A folder of timetables made with FET, such as /usr/share/doc/fet-data; each gets a load of
    /// 10 to 500 items, and is planned with the usual preferences.
    #[arg(long)]
    fet: Option<PathBuf>,
    /// Prints every timetable.
    #[arg(long)]
    each: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mut solver = args
        .python
        .as_ref()
        .map(|python| Solver::start(python, args.seconds))
        .transpose()?;
    if let Some(folder) = &args.fet {
        return gap::measure(&fet::cases(folder)?, solver.as_mut(), args.each);
    }
    let cases: Vec<Case> = by_hand()
        .into_iter()
        .chain((1..=args.cases).map(made))
        .collect();
    let mut table = Table::default();
    for (nth, case) in cases.iter().enumerate() {
        let (plan, drafted) = Plan::of(&case.state);
        let optimum = solver
            .as_mut()
            .map(|solver| solver.solve(&Problem::of(&case.state, drafted.as_ref())))
            .transpose()?;
        if args.each {
            say(&format!(
                "{:>4} {}: {plan:?} {optimum:?}",
                nth + 1,
                case.name
            ));
        } else if nth % 20 == 19 {
            say(&format!("{} of {} timetables", nth + 1, cases.len()));
        }
        table.add(&case.name, plan, optimum);
    }
    table.print();
    speed();
    if table.wrong.is_empty() {
        return Ok(());
    }
    bail!(
        "wrong about whether a plan exists: {}",
        table.wrong.join(", ")
    )
}

/// What became of a timetable, stage by stage; none if no plan was found.
#[derive(Debug, Clone, Copy)]
struct Plan(Option<Stages>);

#[derive(Debug, Clone, Copy)]
struct Stages {
    rough: Quality,
    searched: Quality,
    refined: Quality,
    rounds: usize,
}

impl Plan {
    /// The plan, and how the schedule was before it was searched.
    fn of(state: &ScheduleState) -> (Self, Option<ScheduleState>) {
        let classes: Vec<u32> = state.task_classes.iter().map(|class| class.id).collect();
        let Ok(built) = rough_build(state, &classes) else {
            return (Self(None), None);
        };
        let mut state = state.clone();
        for change in &built.changes {
            state.apply(change);
        }
        let rough = Quality::of(&state);
        let drafted = state.clone();
        for change in local_search(&state, &WriteOptions::default()) {
            state.apply(&change);
        }
        let searched = Quality::of(&state);
        let rounds = refine(&mut state, ROUNDS, &WriteOptions::default()).rounds;
        let refined = Quality::of(&state);
        let stages = Stages {
            rough,
            searched,
            refined,
            rounds,
        };
        (Self(Some(stages)), Some(drafted))
    }
}

/// As many rounds as a run of the agent has.
const ROUNDS: usize = 30;

#[derive(Debug, Clone, Copy, Deserialize)]
struct Optimum {
    feasible: Option<bool>,
    best: Option<u32>,
    bound: Option<u32>,
}

#[derive(Default)]
struct Table {
    planned: u32,
    refused: u32,
    unknown: u32,
    proved: u32,
    rounds: usize,
    sums: [u64; 5],
    worst: Option<(u32, String)>,
    wrong: Vec<String>,
}

impl Table {
    fn add(&mut self, name: &str, plan: Plan, optimum: Option<Optimum>) {
        match (plan.0, optimum.and_then(|optimum| optimum.feasible)) {
            (None, Some(true)) | (Some(_), Some(false)) => self.wrong.push(name.to_owned()),
            (_, None) if optimum.is_some() => self.unknown += 1,
            _ => {}
        }
        let Some(stages) = plan.0 else {
            self.refused += 1;
            return;
        };
        self.planned += 1;
        self.rounds += stages.rounds;
        let refined = stages.refined.score();
        let best = optimum.and_then(|optimum| optimum.best).unwrap_or(refined);
        let bound = optimum.and_then(|optimum| optimum.bound).unwrap_or(best);
        self.proved += u32::from(bound == best);
        let figures = [
            stages.rough.score(),
            stages.searched.score(),
            refined,
            best,
            bound,
        ];
        for (sum, figure) in self.sums.iter_mut().zip(figures) {
            *sum += u64::from(figure);
        }
        let gap = refined.saturating_sub(best);
        if self.worst.as_ref().is_none_or(|(worst, _)| gap > *worst) {
            self.worst = Some((gap, format!("{name}: {:?} against {best}", stages.refined)));
        }
    }

    fn print(&self) {
        say(&format!(
            "\n{} planned, {} refused, {} that the solver could not settle; wrong about {}",
            self.planned,
            self.refused,
            self.unknown,
            self.wrong.len()
        ));
        let names = [
            "rough build",
            "searched",
            "refined",
            "optimum",
            "lower bound",
        ];
        let mean = |sum: u64| ratio(sum, u64::from(self.planned));
        for (name, sum) in names.iter().zip(self.sums) {
            say(&format!("{name:>12}  mean quality {:9.2}", mean(sum)));
        }
        let [_, _, refined, best, _] = self.sums;
        say(&format!(
            "plan / optimum {:.3}; {} optima proved; {:.2} rounds of refinement a plan",
            ratio(refined, best),
            self.proved,
            ratio(self.rounds as u64, u64::from(self.planned)),
        ));
        if let Some((gap, worst)) = &self.worst {
            say(&format!("furthest from the optimum, by {gap}: {worst}"));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// How long a plan of a whole term takes.
fn speed() {
    let case = term();
    let mut times: Vec<Duration> = (0..11)
        .map(|_| {
            let begun = Instant::now();
            std::hint::black_box(Plan::of(&case.state));
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    say(&format!(
        "{}: {:.1} ms a plan (median of 11, wall)",
        case.name,
        median.as_secs_f64() * 1e3
    ));
}

struct Solver {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Solver {
    fn start(python: &PathBuf, seconds: f64) -> Result<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/solver.py");
        let mut child = Command::new(python)
            .arg(script)
            .arg(seconds.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", python.display()))?;
        let to = child.stdin.take().context("the solver has no input")?;
        let from = child.stdout.take().context("the solver has no output")?;
        Ok(Self {
            child,
            to,
            from: BufReader::new(from),
        })
    }

    fn solve(&mut self, problem: &Problem) -> Result<Optimum> {
        self.ask(problem)
    }

    /// Returns the fewest items that have to move; none if the solver does not find out.
    fn moves<P: Serialize>(&mut self, problem: &P) -> Result<Option<usize>> {
        #[derive(Deserialize)]
        struct Fewest {
            moves: Option<usize>,
        }
        Ok(self.ask::<_, Fewest>(problem)?.moves)
    }

    fn ask<P: Serialize, A: DeserializeOwned>(&mut self, problem: &P) -> Result<A> {
        serde_json::to_writer(&mut self.to, problem)?;
        self.to.write_all(b"\n")?;
        self.to.flush()?;
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        serde_json::from_str(&line).context("the solver ended; does this Python have ortools?")
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(
    clippy::print_stdout,
    reason = "a table for people is what this program makes"
)]
fn say(line: &str) {
    println!("{line}");
}

#[cfg(test)]
mod tests {
    use timetable::schedule::rough_build::build_what_fits;
    use timetable::schedule::{PlacementPreferences, Source, explain};

    use super::*;

    #[test]
    fn every_late_or_weekend_place_names_what_forced_it() {
        let (mut late, mut weekend) = (0, 0);
        for Case { name, mut state } in by_hand().into_iter().chain((1..=60).map(made)) {
            state.preferences = Some(PlacementPreferences::default());
            let classes: Vec<u32> = state.task_classes.iter().map(|class| class.id).collect();
            let options = WriteOptions::default();
            let Ok(fits) = build_what_fits(&state, &classes, &options) else {
                continue;
            };
            for change in &fits.built.changes {
                state.apply(change);
            }
            for change in &local_search(&state, &options) {
                state.apply(change);
            }
            for task in state
                .tasks
                .iter()
                .filter(|it| it.source == Source::TaskItem)
            {
                let [slot] = task.slots.as_slice() else {
                    continue;
                };
                let is_late = slot.slot_end >= PlacementPreferences::default().late_from;
                let is_weekend = state.day(slot.day).is_some_and(|day| day.day_of_week > 5);
                if !is_late && !is_weekend {
                    continue;
                }
                late += u32::from(is_late);
                weekend += u32::from(is_weekend);
                let reason = explain(&state, task.state_id, &options).expect("it has a place");
                let closed = !reason.obstacles.is_empty();
                let dearer = reason
                    .others
                    .first()
                    .is_some_and(|other| other.cost >= reason.cost && !other.unmet.is_empty());
                assert!(closed || dearer, "{name}: {} {reason:?}", task.name);
            }
        }
        assert!(
            late >= 10 && weekend > 20,
            "{late} late, {weekend} on weekends"
        );
    }
}
