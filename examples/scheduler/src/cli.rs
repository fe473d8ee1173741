//! The command line: what it takes, and what it does with it.
mod args;
mod chat;
mod desk;
mod drive;
mod inspect;
mod run;
mod screen;

use std::process::ExitCode;

pub(crate) use args::Args;
use args::Command;
use desk::Desk;
use screen::Screen;

/// Runs a command. Errors name what was wrong and what is allowed, with their causes.
pub(crate) async fn main(args: Args) -> ExitCode {
    let mut screen = Screen::new(args.lang);
    match carry_out(&args, &mut screen).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            screen.error(&error);
            ExitCode::FAILURE
        }
    }
}

async fn carry_out(args: &Args, screen: &mut Screen) -> anyhow::Result<()> {
    match &args.command {
        None => run::run(&Desk::open(args)?, &args.job, screen).await,
        Some(Command::Chat) => chat::chat(&Desk::open(args)?, screen).await,
        Some(Command::History) => inspect::history(&Desk::open(args)?, screen).await,
        Some(Command::Show { seq }) => inspect::show(&Desk::open(args)?, *seq, screen).await,
        Some(Command::Fork { seq, new }) => {
            inspect::fork(&Desk::open(args)?, *seq, new, screen).await
        }
        Some(Command::Graph { format }) => inspect::graph(*format, screen),
    }
}
