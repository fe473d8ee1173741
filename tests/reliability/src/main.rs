//! Tries for as long as one likes whether what is promised holds.
use std::{env, process::ExitCode};

use clap::{Parser, Subcommand};
use reliability::{
    BoxError, Tried,
    kill::{Plan, kill},
    serve::{Serve, serve},
    store::{Kind, Place},
};

/// Kills processes and servers, and looks whether what is promised holds.
#[derive(Parser)]
#[command(name = "reliability")]
struct Program {
    #[command(subcommand)]
    trial: Trial,
}

#[derive(Subcommand)]
enum Trial {
    /// Kills a process at random moments, starts it again, and compares evidence, log and state.
    Kill {
        /// Where its threads lie.
        #[arg(long, default_value = "sqlite")]
        store: Kind,
        /// How often it is killed.
        #[arg(long, default_value_t = 100)]
        kills: u32,
        /// What makes the moments random.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// The process that the other trials start and kill.
    #[command(hide = true)]
    Serve(Serve),
}

#[tokio::main]
async fn main() -> ExitCode {
    let trial = Program::parse().trial;
    let is_child = matches!(trial, Trial::Serve(_));
    let code = match carry_out(trial).await {
        Ok(problems) if problems.is_empty() => ExitCode::SUCCESS,
        Ok(problems) => {
            tell(&problems.join("\n"));
            ExitCode::FAILURE
        }
        Err(error) => {
            tell(&error.to_string());
            ExitCode::FAILURE
        }
    };
    if is_child {
        // Reading orders never ends by itself.
        std::process::exit(i32::from(code != ExitCode::SUCCESS));
    }
    code
}

async fn carry_out(trial: Trial) -> Tried<Vec<String>> {
    match trial {
        Trial::Kill { store, kills, seed } => {
            let place = place(store)?;
            let plan = Plan::new(env::current_exe()?, kills, seed);
            let told = |kill: u32, verdict: &_| {
                if kill.is_multiple_of(20) {
                    tell(&format!("{verdict}"));
                }
            };
            let verdict = kill(&plan, &place, told).await?;
            tell(&verdict.to_string());
            Ok(verdict.problems)
        }
        Trial::Serve(how) => serve(&how).await.map(|()| vec![]),
    }
}

fn place(kind: Kind) -> Tried<Place> {
    Place::new(kind)?.ok_or_else(|| BoxError::from("the server is not installed"))
}

#[expect(clippy::print_stderr, reason = "the program says how it goes")]
fn tell(text: &str) {
    eprintln!("{text}");
}
