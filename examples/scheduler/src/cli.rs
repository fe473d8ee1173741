//! The command line: its arguments and its commands.
mod args;
mod calendar;
mod kept;
mod run;
mod sample;
mod session;
mod stage;

use std::process::ExitCode;

use axum::Router;
use fugato::{
    axum::{Asset, Page},
    cli::{App, CliCommand, WithRoutes},
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
        let args = if serves { args.for_all() } else { args };
        #[cfg(feature = "evening")]
        let docs = open.docs.clone();
        let desk = Session::open(&args, open).await?;
        #[cfg(feature = "evening")]
        if serves {
            let look = scheduler::evening::Look {
                at: args.evening,
                zone: desk.intake.zone.clone(),
                lang: desk.lang,
            };
            let clockwork = look.begin(desk.agent.service(), docs).await?;
            tokio::spawn(async move { clockwork.run_until(std::future::pending()).await });
        }
        Ok(WithRoutes::new(desk.agent, desk.transfer.routes()))
    });
    Box::pin(run).await
}

fn app(args: &Args) -> App {
    let mut app = App::new("scheduler", args.flags.clone())
        .page(page())
        .tool_words(tool_words)
        .belongings(CalendarResources::new(args.clone()));
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
    let script = "text/javascript; charset=utf-8";
    let style = "text/css; charset=utf-8";
    Page::chat()
        .file(
            "/agent.js",
            Asset::new(script, include_bytes!("../page/agent.js")),
        )
        .file(
            "/drag.js",
            Asset::new(script, include_bytes!("../page/drag.js")),
        )
        .file(
            "/weeks.js",
            Asset::new(script, include_bytes!("../page/weeks.js")),
        )
        .file(
            "/agent.css",
            Asset::new(style, include_bytes!("../page/agent.css")),
        )
}

/// Returns the label of a tool in English and Chinese; none for a tool without one.
fn tool_words(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "get_overview" => ("looking at everything", "查看总览"),
        "find_free" => ("looking for free time", "查找空闲时间"),
        "list_tasks" => ("listing tasks", "列出任务"),
        "query_range" => ("looking at a day", "查看某天"),
        "get_task_info" => ("looking at a task", "查看任务"),
        "analyze_health" => ("diagnosing", "诊断日程"),
        "place" => ("placing", "安排"),
        "move" => ("moving", "移动"),
        "swap" => ("swapping", "交换"),
        "batch_move" => ("moving several", "批量移动"),
        "unplace" => ("taking out", "取消安排"),
        "context_tools_add" => ("choosing tools", "启用工具"),
        "context_tools_remove" => ("putting tools away", "停用工具"),
        _ => return None,
    })
}
