//! The command line of the paper-trading desk.
mod by_hand;

use std::process::ExitCode;

use by_hand::Change;
use clap::{Parser, Subcommand, ValueEnum};
use fugato::{
    BoxError,
    agent::plan::Replan,
    axum::{Asset, Page},
    cli::{self, App, CliCommand, Flags, Resources},
};
use planner::{
    exchange::Exchange,
    graph::{Deps, PlanningMode},
    service::Planner,
};

/// The desk in the folder of the program or of a person.
const DESK: &str = "desk.db";

/// Talks about a paper-trading desk, and acts on it when you agree.
#[derive(Debug, Parser)]
#[command(name = "planner", version)]
struct Args {
    #[command(flatten)]
    flags: Flags,

    #[command(subcommand)]
    command: Option<OwnCommand>,

    /// The way in which work is planned
    #[arg(long, global = true, value_enum, default_value = "plan")]
    manner: ExecutorKind,

    /// When a plan is looked at again
    #[arg(long, global = true, value_enum, default_value = "on-change")]
    replan: LookupKind,
}

#[derive(Debug, Subcommand)]
enum OwnCommand {
    /// Changes the desk by hand, outside of all conversations
    #[command(subcommand)]
    Desk(Change),
    /// Prints what a key stands for, such as `agent_task_state_home`
    Config {
        /// The key
        key: String,
    },
    #[command(flatten)]
    Shared(CliCommand),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ExecutorKind {
    /// A whole plan first
    Plan,
    /// The next few steps only
    NextBatch,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LookupKind {
    /// After every step
    Always,
    /// After a step that changed something, or failed
    OnChange,
    /// Only when no step is left
    Never,
}

impl Args {
    fn manner(&self) -> PlanningMode {
        let replan = match self.replan {
            LookupKind::Always => Replan::Always,
            LookupKind::OnChange => Replan::OnChange,
            LookupKind::Never => Replan::Never,
        };
        match self.manner {
            ExecutorKind::Plan => PlanningMode::PlanThenReplan(replan),
            ExecutorKind::NextBatch => PlanningMode::NextBatch,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let args: Args = cli::parse();
    let manner = args.manner();
    let app = App::new("planner", args.flags)
        .page(page())
        .tool_words(planner::tools::WORDS);
    match args.command {
        Some(OwnCommand::Desk(change)) => {
            let opened = match change {
                Change::Show => to_look(&app).await,
                _ => app.open().await,
            };
            app.job(async |screen| {
                let opened = opened?;
                let desk = match change {
                    Change::Show => Exchange::open(app.to_read(&opened.dir.join(DESK))?)?,
                    _ => desk(&opened)?,
                };
                screen.line(change.execute(&desk).await?);
                Ok(())
            })
            .await
        }
        Some(OwnCommand::Config { key }) => {
            let opened = to_look(&app).await;
            app.job(async |screen| {
                let value = wired(&opened?, manner)?.config(&key).await?;
                screen.line(value.map_or_else(String::new, |value| format!("{value:#}")));
                Ok(())
            })
            .await
        }
        Some(OwnCommand::Shared(command)) => {
            Box::pin(run_command(app, Some(command), manner)).await
        }
        None => Box::pin(run_command(app, None, manner)).await,
    }
}

/// Opens the store to look only, or a new one if there is none.
async fn to_look(app: &App) -> Result<Resources, BoxError> {
    match app.open_to_read().await {
        Ok(opened) => Ok(opened),
        Err(_) => app.open().await,
    }
}

async fn run_command(app: App, command: Option<CliCommand>, manner: PlanningMode) -> ExitCode {
    app.run(command, async |opened| wired(&opened, manner))
        .await
}

/// Opens the desk next to the log.
fn desk(opened: &Resources) -> Result<Exchange, BoxError> {
    std::fs::create_dir_all(&opened.dir)?;
    Ok(Exchange::open(opened.dir.join(DESK))?)
}

fn wired(opened: &Resources, manner: PlanningMode) -> Result<Planner, BoxError> {
    let desk = if opened.reads {
        // No run begins, so none is asked.
        Exchange::in_memory()?
    } else {
        desk(opened)?
    };
    let mut deps = Deps::new(desk, opened.docs.clone()).manner(manner);
    if let Some(model) = opened.model.clone() {
        deps = deps.model(model);
    }
    Ok(Planner::on(&deps, |graph| opened.runner(graph))?)
}

/// Returns the page, which begins with what the agent is and what one may ask.
fn page() -> Page {
    let script = include_bytes!("../page/agent.js");
    Page::chat().file("/agent.js", Asset::script(script))
}
