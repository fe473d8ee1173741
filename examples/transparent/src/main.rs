//! The command line of the transparent agent.
use std::process::ExitCode;

use clap::Parser;
use fugato::{
    axum::{Asset, Page},
    cli::{self, App, CliCommand, Flags},
};
use transparent::resources::ConversationResources;

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
    command: Option<CliCommand>,
}

fn main() -> ExitCode {
    // A plugin is this program too: it locks itself in and then becomes the plugin.
    #[cfg(feature = "plugins")]
    if let Some(ended) = fugato::mcp::plugin::locked() {
        return ended;
    }
    run()
}

#[tokio::main]
async fn run() -> ExitCode {
    let args: Args = cli::parse();
    let app = App::new("transparent", args.flags)
        .page(page())
        .tool_words(transparent::tools::WORDS)
        .belongings(|flags| ConversationResources::new(flags.clone()));
    Box::pin(app.run(args.command, transparent::open::open)).await
}

/// Returns the page, which begins with what the agent is and what one may ask.
fn page() -> Page {
    let script = include_bytes!("../page/agent.js");
    Page::chat().file("/agent.js", Asset::script(script))
}
