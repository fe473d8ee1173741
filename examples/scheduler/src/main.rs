//! The command line of the scheduling agent.

mod cli;

use clap::Parser as _;

#[tokio::main]
async fn main() -> std::process::ExitCode {
    cli::main(cli::Args::parse()).await
}
