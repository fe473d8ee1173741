//! The command line: what it takes, and what it does with it.
mod archive;
mod args;
mod calendar;
mod chat;
mod desk;
mod drive;
mod inspect;
mod log;
mod run;
mod screen;
mod serve;
mod threads;
mod trace;

use std::process::ExitCode;

use archive::Archive;
pub(crate) use args::Args;
use args::Command;
use desk::Desk;
use screen::Screen;

/// Runs a command. Errors name what was wrong and what is allowed, with their causes.
pub(crate) async fn main(args: Args) -> ExitCode {
    let mut screen = Screen::new(args.lang);
    // A server ends in peace instead: it lets go of its conversations first.
    let serves = matches!(args.command, Some(Command::Serve { .. }));
    let done = tokio::select! {
        done = carry_out(&args, &mut screen) => done,
        Ok(()) = tokio::signal::ctrl_c(), if !serves => interrupted(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Screen::new(args.lang).error(&error);
            ExitCode::FAILURE
        }
    }
}

/// What happened so far is stored, so there is nothing to save. The process ends here and now: a
/// thread that waits for a line of the terminal would hold it back.
fn interrupted(args: &Args) -> ! {
    let mut screen = Screen::new(args.lang);
    let chat = matches!(args.command, Some(Command::Chat));
    let again = args.again(&args.thread, if chat { " chat" } else { "" });
    screen.interrupted(&again);
    std::process::exit(INTERRUPTED)
}

/// What shells expect of a program that was interrupted.
const INTERRUPTED: i32 = 130;

async fn carry_out(args: &Args, screen: &mut Screen) -> anyhow::Result<()> {
    match &args.command {
        None => {
            let answer = run::answer(&args.job)?;
            run::run(&Desk::open(args).await?, &args.job, answer, screen).await
        }
        Some(Command::Chat) => chat::chat(&Desk::open(args).await?, screen).await,
        Some(Command::Serve {
            listen,
            client_key_env,
        }) => serve::serve(args, *listen, client_key_env.as_deref(), screen).await,
        Some(Command::History) => inspect::history(&Archive::open(args).await?, screen).await,
        Some(Command::Trace { full }) => {
            trace::trace(&Archive::open(args).await?, *full, screen).await
        }
        Some(Command::Show { seq }) => {
            inspect::show(&Archive::open(args).await?, *seq, screen).await
        }
        Some(Command::Fork { seq, new }) => {
            let again = args.again(new, "");
            let archive = Archive::open(args).await?;
            inspect::fork(&archive, *seq, new, &again, screen).await?;
            calendar::fork(args, &archive, new).await
        }
        Some(Command::Threads) => threads::list(args, screen).await,
        Some(Command::Export { to }) => threads::export(args, to.as_deref(), screen).await,
        Some(Command::Delete { name, agreed }) => {
            threads::delete(args, name, *agreed, screen).await
        }
        Some(Command::Graph { format }) => inspect::graph(*format, screen),
    }
}
