//! The command line: its arguments and its commands.
mod args;
mod calendar;
mod kept;
mod run;
mod sample;
mod session;
mod stage;

#[cfg(feature = "evening")]
use std::future::pending;
use std::process::ExitCode;

use axum::Router;
#[cfg(feature = "evening")]
use fugato::command::Command;
use fugato::{
    axum::{Asset, Page},
    cli::{App, CliCommand, Flags, WithRoutes},
};

pub(crate) use args::Args;
use kept::CalendarResources;
use session::Session;

/// Runs a command.
pub(crate) async fn main(args: Args) -> ExitCode {
    let app = app(&args);
    let Some(command) = args.command.clone() else {
        let work = async |screen: &mut _| Ok(run::run(&app, &args, screen).await?);
        return app.job(work).await;
    };
    let serves = matches!(command, CliCommand::Serve { .. });
    let run = app.run(Some(command), async |open| {
        if open.reads {
            return Ok(WithRoutes::new(
                session::to_read(&open).await?,
                Router::new(),
            ));
        }
        let args = args.clone().of(&open.flags)?;
        let args = if serves { args.for_all() } else { args };
        #[cfg(feature = "evening")]
        let resources = open.clone();
        let desk = Session::open(&args, open).await?;
        #[cfg(feature = "evening")]
        if serves {
            let look = scheduler::evening::EveningReview {
                at: args.evening,
                zone: desk.intake.zone.clone(),
                lang: desk.lang,
                tell: Command::new(&args.tell),
            };
            let docs = resources.docs.clone();
            let clockwork = look.begin(desk.agent.service(), docs).await?;
            resources.background(async move { clockwork.run_until(pending()).await });
        }
        Ok(WithRoutes::new(desk.agent, desk.transfer.routes()))
    });
    Box::pin(run).await
}

fn app(args: &Args) -> App {
    let all = args.clone();
    let kept = move |flags: &Flags| {
        CalendarResources::new(Args {
            flags: flags.clone(),
            ..all.clone()
        })
    };
    let mut app = App::new("scheduler", args.flags.clone())
        .page(page())
        .tool_words(scheduler::tools::WORDS)
        .belongings(kept);
    if let Some(schedule) = &args.schedule {
        app = app.also("--schedule", schedule);
    }
    if let Some(calendar) = &args.calendar {
        app = app.also("--calendar", calendar);
    }
    app
}

/// Returns the page that shows the weeks next to the conversation.
fn page() -> Page {
    Page::chat()
        .file(
            "/agent.js",
            Asset::script(include_bytes!("../page/agent.js")),
        )
        .file("/drag.js", Asset::script(include_bytes!("../page/drag.js")))
        .file(
            "/weeks.js",
            Asset::script(include_bytes!("../page/weeks.js")),
        )
        .file(
            "/agent.css",
            Asset::style(include_bytes!("../page/agent.css")),
        )
}
