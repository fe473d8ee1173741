//! The command line of the transparent agent.
use std::process::ExitCode;

use clap::Parser;
use fugato::cli::{App, Command, Flags};
use transparent::belongings::Kept;

/// Finds, remembers, reminds and calls tools, and shows every step of it.
///
/// Without a model, rules decide. Everything is stored as it happens: whatever stops the program,
/// the next start goes on.
#[derive(Debug, Parser)]
#[command(name = "transparent", version)]
struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    command: Option<Command>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let kept = Kept::new(args.flags.clone());
    let app = App::new("transparent", args.flags).belongings(kept);
    app.run(args.command, transparent::open::open).await
}
