//! The command line of the expense steward.
use std::{path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use fugato::{
    BoxError,
    axum::{Asset, Page},
    cli::{self, App, CliCommand, Flags, Resources, WithRoutes},
    state::ThreadId,
};
use steward::{
    check,
    deps::Deps,
    files::FileStore,
    http, ledger, local,
    served::{ServedSteward, employee},
    service::RuleData,
    state::Runtime,
    steward_service::StewardService,
    tool_words,
};

/// The tables in the folder of the program or of a person.
const TABLES: &str = "steward.db";
/// The folder of attachments in that of the program or of a person.
const ATTACHMENTS: &str = "attachments";

/// Applies for trips, claims expenses, and writes nothing that you have not agreed to.
///
/// Without a model, rules read what you say, in English and Chinese. `STEWARD_AGENT_RUNTIME` chooses
/// the path that understands: graph, its alias langgraph, or legacy; `STEWARD_ROLLBACK_REASON` is
/// noted in the log of each conversation on the legacy path.
#[derive(Debug, Parser)]
#[command(name = "steward", version)]
struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Option<OwnCommand>,
    /// The store of applications and claims: a path, or the URL of a `PostgreSQL`
    /// or `MySQL` server; steward.db in the folder unless it is given
    #[arg(long, global = true, value_name = "ADDRESS")]
    tables: Option<String>,
}

#[derive(Debug, Subcommand)]
enum OwnCommand {
    /// Asks the models once, and tells who answered, how, and after how long
    Models,
    /// Adds files to the conversation, for the next claim
    Attach {
        /// The files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Lists the attachments of written documents, or copies them into a folder
    Attachments {
        /// The numbers of the documents, such as R-1; without one, all documents
        documents: Vec<String>,
        /// The folder; nothing that is in it is overwritten
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
    },
    #[command(flatten)]
    Shared(CliCommand),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Args {
        flags,
        command,
        tables,
    } = cli::parse();
    let files = |flags: &Flags| FileStore::at(flags.folder("steward").join(ATTACHMENTS));
    let (store, thread) = (files(&flags), flags.thread.clone());
    let own = flags.folder("steward").join(TABLES);
    let app = App::new("steward", flags)
        .page(page())
        .belongings(files)
        .tool_words(tool_words());
    let command = match command {
        Some(OwnCommand::Models) => {
            let opened = app.open().await;
            return app
                .job(async |screen| {
                    let plan = check::models(opened?.model).await?;
                    for line in check::lines(&plan) {
                        screen.line(line);
                    }
                    Ok(())
                })
                .await;
        }
        Some(OwnCommand::Attach { files }) => {
            return app
                .job(async |screen| {
                    let (thread, owner) =
                        (ThreadId::new(thread.as_str())?, employee(&app.caller()));
                    for path in files {
                        let kept = local::attach(&store, (&thread, &owner), &path).await?;
                        screen.line(kept.shown());
                    }
                    Ok(())
                })
                .await;
        }
        Some(OwnCommand::Attachments { documents, to }) => {
            return app
                .job(async |screen| {
                    let owner = employee(&app.caller());
                    // A command that only reads creates no tables.
                    let address = match tables {
                        Some(tables) => tables,
                        None if own.exists() => app.to_read(&own)?.display().to_string(),
                        None => ":memory:".to_owned(),
                    };
                    let ledger = ledger::open(&address).await?;
                    let of = (&store, &*owner);
                    let written = ledger.documents(&owner).await?;
                    for line in local::fetched(of, &written, &documents, to.as_deref()).await? {
                        screen.line(line);
                    }
                    Ok(())
                })
                .await;
        }
        Some(OwnCommand::Shared(command)) => Some(command),
        None => None,
    };
    // Only who sits at this machine names its files in words.
    let serves = matches!(command, Some(CliCommand::Serve { .. }));
    let local = (!serves)
        .then(|| ThreadId::new(thread.as_str()).ok())
        .flatten();
    Box::pin(app.run(command, async |open| {
        wired(&open, tables.as_deref(), local.clone()).await
    }))
    .await
}

async fn wired(
    open: &Resources,
    tables: Option<&str>,
    local: Option<ThreadId>,
) -> Result<WithRoutes<ServedSteward>, BoxError> {
    let file = open.dir.join(TABLES).display().to_string();
    // Commands that only read create no tables.
    let tables = if open.reads {
        ":memory:"
    } else {
        tables.unwrap_or(&file)
    };
    let (desk, ledger) = (RuleData::load()?, ledger::open(tables).await?);
    let why = std::env::var("STEWARD_ROLLBACK_REASON");
    let why = why.ok().filter(|why| !why.trim().is_empty());
    let deps = Deps::new(&desk, ledger, open.model.clone())
        .rollback(why)
        .files(FileStore::at(open.dir.join(ATTACHMENTS)));
    let clerk = StewardService::over(&deps, Runtime::from_env()?, |graph| open.runner(graph))?;
    let paths = http::routes(clerk.clone());
    let agent = ServedSteward::new(clerk).local(local);
    Ok(WithRoutes::new(agent, paths))
}

/// Returns the page, with a panel of pending cards, open tasks and written documents next to the
/// conversation.
fn page() -> Page {
    let script = include_bytes!("../page/agent.js");
    let style = include_bytes!("../page/agent.css");
    Page::chat()
        .file("/agent.js", Asset::script(script))
        .file("/agent.css", Asset::style(style))
}
