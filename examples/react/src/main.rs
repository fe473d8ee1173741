//! The program: the command line that agents share, and the settings of this one.
use std::process::ExitCode;

use clap::Parser;
use fugato::{
    axum::{Asset, Page},
    cli::{self, App, CliCommand, Flags, Folders},
};
use react::{ReactAgent, Settings, tools};

/// Talks, calculates, reads and writes files, and remembers what you ask it to.
///
/// Without a model, rules read a few plain wishes. Everything is stored as it happens: whatever
/// stops the program, the next start goes on.
#[derive(Parser)]
#[command(name = "react", version, after_help = EXAMPLES)]
struct Args {
    #[command(flatten)]
    flags: Flags,
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

const EXAMPLES: &str = "\
Examples:
  react                                   talk in the terminal
  react say '(17 + 25) * 2'               say one thing
  react say 'remember that I drink tea'   it is kept, and recalled in any conversation
  react serve                             talk in a browser
  react --mcp 'files-server .' say 'call files-server_list {}'
                                          use the tools of an MCP server
  OPENAI_API_KEY=… react --base-url https://api.example.com/v1 --model NAME
                                          let a model decide; where it fails, rules do";

#[tokio::main]
async fn main() -> ExitCode {
    let Args {
        flags,
        settings,
        command,
    } = cli::parse();
    let app = App::new("react", flags)
        .page(page())
        .tool_words(tools::WORDS)
        // Next to the folders of files and notes, which all conversations of a person share.
        .belongings(|flags| Folders::new(flags.folder("react").join("conversations")));
    app.run(command, async |open| {
        ReactAgent::open(&settings, &open).await
    })
    .await
}

/// Returns the page, which begins with what the agent is and what one may ask.
fn page() -> Page {
    let script = include_bytes!("../page/agent.js");
    Page::chat().file("/agent.js", Asset::script(script))
}
