//! Runs the workloads on fugato, on hand-written programs and on other engines, side by side.
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use clap::{Parser, ValueEnum};
use fugato_benches::{
    BoxError,
    contest::{self, Plan, System},
    engine, limit, machine,
    measure::{Answer, Setting},
    peer,
    report::{FUGATO, LIMIT, Report, growth_sizes},
    workload::Workload,
};

/// Runs the workloads on fugato, on hand-written programs that do only what cannot be avoided
/// ("limit"), and on other engines, side by side; prints medians and ratios.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line")]
struct Arguments {
    /// Only these workloads.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    workload: Vec<Workload>,
    /// Other engines: `none`, `all` that are installed, or names with commas between.
    #[arg(
        long,
        value_name = "NAMES",
        default_value = "all",
        value_delimiter = ','
    )]
    peers: Vec<String>,
    /// One small size of each workload, fewer repetitions.
    #[arg(long)]
    quick: bool,
    /// How often each measurement is repeated, if it is quick.
    #[arg(long, value_name = "TIMES")]
    repetitions: Option<usize>,
    /// Also write the medians to this file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Also write a page of all figures to this file, in Markdown: what others do better first.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Only what a unit costs at a size, at ten times the size and at a hundred times.
    #[arg(long, conflicts_with_all = ["peers", "quick", "all", "page"])]
    growth: bool,
    /// A column for each other engine, rather than the best of each row.
    #[arg(long)]
    all: bool,
    /// Say why figures are missing.
    #[arg(long)]
    why: bool,
    /// Measure although the machine is busy. No goal is judged then.
    #[arg(long)]
    busy: bool,
    /// Where databases are made; the disk that is measured. The system's folder for temporary
    /// files by default.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Measure only this system in this process.
    #[arg(long, hide = true, num_args = 5..=6, value_names = ["SYSTEM", "WORKLOAD", "SIZE", "MILLISECONDS", "FOLDER", "SERVER"])]
    run: Option<Vec<String>>,
    /// Go on with the thread in this file until it has so many steps, say so, and wait to be killed.
    #[arg(long, hide = true, num_args = 3, value_names = ["SYSTEM", "FILE", "STEPS"])]
    survive: Option<Vec<String>>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match (&arguments.run, &arguments.survive) {
        (Some(run), _) => measure(run),
        (None, Some(survive)) => survive_until(survive),
        (None, None) => compare(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to tell if even this cannot be written.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Measures one system in this process and prints the answer.
fn measure(run: &[String]) -> Result<(), BoxError> {
    let [system, workload, size, milliseconds, folder, server @ ..] = run else {
        return Err("--run takes a system, a workload, a size, milliseconds and a folder".into());
    };
    let workload = Workload::from_str(workload, false)?;
    let setting = Setting {
        budget: Duration::from_millis(milliseconds.parse()?),
        folder: folder.into(),
        server: server.first().cloned(),
    };
    let measured = match system.as_str() {
        LIMIT => limit::run(workload, size.parse()?, &setting)?,
        FUGATO => engine::run(workload, size.parse()?, &setting)?,
        other => return Err(format!("there is no system {other:?} in this program").into()),
    };
    Ok(writeln!(
        io::stdout(),
        "{}",
        serde_json::to_string(&Answer::Measured(measured))?
    )?)
}

/// The process of [`Workload::Recover`] that is killed.
fn survive_until(survive: &[String]) -> Result<(), BoxError> {
    let [system, file, steps] = survive else {
        return Err("--survive takes a system, a file and a number of steps".into());
    };
    match system.as_str() {
        LIMIT => limit::survive(file.as_ref(), steps.parse()?),
        _ => engine::survive(file.as_ref(), steps.parse()?),
    }
}

fn compare(arguments: &Arguments) -> Result<(), BoxError> {
    if let Some(busy) = machine::busy().filter(|busy| *busy > machine::BUSY && !arguments.busy) {
        return Err(format!(
            "other programs use {:.0} % of this machine; figures are judged below {:.0} %: wait, or \
             measure without judging by --busy",
            100.0 * busy,
            100.0 * machine::BUSY,
        )
        .into());
    }
    // Progress is a courtesy: that nobody reads it is no reason to stop.
    let tell = |line: &str| drop(writeln!(io::stderr(), "{line}"));
    let plan = plan(arguments)?;
    let json = arguments.json.as_ref().map(File::create).transpose()?;
    let report = Report::new(contest::run(&plan, tell), !arguments.busy);
    if let Some(json) = json {
        report.write_json(BufWriter::new(json))?;
    }
    if let Some(page) = &arguments.page {
        let today = jiff::Zoned::now().date();
        let growth = contest::run(&growing(plan, arguments), tell);
        let growth = Report::new(growth, !arguments.busy).growth_part();
        std::fs::write(page, report.page(&today.to_string()) + &growth)?;
    }
    let mut out = io::stdout().lock();
    let table = match arguments {
        Arguments { growth: true, .. } => report.growth_table(),
        Arguments { all: true, .. } => report.whole_table(),
        _ => report.table(),
    };
    writeln!(out, "{table}")?;
    let remarks = report.remarks();
    if arguments.why {
        for remark in &remarks {
            writeln!(out, "{remark}")?;
        }
    } else if !remarks.is_empty() {
        writeln!(out, "{} figures are missing; --why says why", remarks.len())?;
    }
    Ok(())
}

fn plan(arguments: &Arguments) -> Result<Plan, BoxError> {
    let plan = Plan {
        workloads: workloads(arguments),
        systems: systems(&arguments.peers)?,
        repetitions: arguments
            .repetitions
            .unwrap_or(if arguments.quick { 1 } else { 5 }),
        patience: Duration::from_secs(20),
        timeout: Duration::from_mins(5),
        setting: Setting {
            budget: Duration::from_millis(if arguments.quick { 100 } else { 400 }),
            folder: arguments.folder.clone().unwrap_or_else(std::env::temp_dir),
            server: None,
        },
    };
    Ok(if arguments.growth {
        growing(plan, arguments)
    } else {
        plan
    })
}

/// The same plan for the growth of what fugato costs.
fn growing(plan: Plan, arguments: &Arguments) -> Plan {
    let sizes = |workload: Workload| {
        let sizes = workload.grows_from().map(growth_sizes);
        sizes
            .into_iter()
            .flatten()
            .map(move |size| (workload, size))
    };
    Plan {
        workloads: chosen(arguments).flat_map(sizes).collect(),
        systems: plan
            .systems
            .into_iter()
            .filter(|it| [LIMIT, FUGATO].contains(&it.name.as_str()))
            .collect(),
        ..plan
    }
}

fn chosen(arguments: &Arguments) -> impl Iterator<Item = Workload> {
    let all = Workload::value_variants().iter().copied();
    all.filter(|it| arguments.workload.is_empty() || arguments.workload.contains(it))
}

fn workloads(arguments: &Arguments) -> Vec<(Workload, u64)> {
    let sizes = |workload: Workload| {
        let spec = workload.spec();
        let sizes = if arguments.quick {
            std::slice::from_ref(&spec.quick)
        } else {
            spec.sizes
        };
        sizes.iter().map(move |size| (workload, *size))
    };
    chosen(arguments).flat_map(sizes).collect()
}

fn systems(peers: &[String]) -> Result<Vec<System>, BoxError> {
    let own = std::env::current_exe()?;
    let mut systems: Vec<System> = [LIMIT, FUGATO]
        .into_iter()
        .map(|name| System {
            name: name.to_owned(),
            program: (own.clone(), vec!["--run".to_owned(), name.to_owned()]),
        })
        .collect();
    let installed = peer::installed();
    let wants = |word: &str| peers.iter().any(|peer| peer == word);
    if let Some(absent) = peers.iter().find(|name| {
        !["all", "none"].contains(&name.as_str()) && !installed.iter().any(|p| p.name == **name)
    }) {
        let known = peer::KNOWN.join(", ");
        return Err(
            format!("{absent:?} is not installed: benches/peers/install installs {known}").into(),
        );
    }
    let chosen = installed
        .into_iter()
        .filter(|peer| wants("all") || wants(&peer.name));
    systems.extend(chosen.map(|peer| System {
        name: peer.name,
        program: (peer.program, vec![]),
    }));
    Ok(systems)
}
