//! The command line of the scheduling agent.

mod cli;

#[tokio::main]
async fn main() -> std::process::ExitCode {
    cli::main(fugato::cli::parse()).await
}
