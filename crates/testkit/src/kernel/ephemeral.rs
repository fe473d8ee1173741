//! Scenarios of the driver without a log: K23.
use fugato_graph::{Answers, Context, END, Graph, Runner};

use super::{
    fixture::{Calls, Fixture, Page, finished, kind, line, question},
    world::{NamedNodesExt, WiringExt, texts},
};
use crate::log::{CheckResult, Failure, LogFactory, same};

/// Without a log, a pause returns the machine and the state, from which another process continues.
pub async fn k23_an_ephemeral_run_goes_on_elsewhere(factory: &dyn LogFactory) -> CheckResult {
    Fixture::of(factory).await?;
    let calls = Calls::default();
    let graph = || -> Result<Graph<Page>, Failure> {
        Ok(Graph::<Page>::starting_at("open")
            .says(&calls, &["open", "a"])
            .pause("ask", |_| "sure?", |_, yes: bool| line(yes.to_string()))
            .node("last", async |cx: Context<Page>| {
                line(format!("last of {}", cx.state().lines.len()))
            })
            .fork("open", &["a", "ask"], "last")
            .edge("last", END)
            .build()?)
    };
    let ended = Runner::ephemeral(graph()?).run(line("in")).await?;
    let fugato_graph::RunResult::Interrupted {
        saved: Some(saved), ..
    } = &ended
    else {
        return Err(Failure::new(format!(
            "a pause hands out what to go on with, not {ended:?}"
        )));
    };
    let saved = saved.clone();
    question(Ok(ended))?;
    calls.take();
    let elsewhere = Runner::ephemeral(graph()?);
    let wrong = kind(elsewhere.resume(&saved, Answers::only("yes")?).await)?;
    let refused = matches!(wrong, fugato_graph::RunErrorKind::Answer(_));
    same("a wrong answer is refused", refused, true)?;
    let page = finished(elsewhere.resume(&saved, Answers::only(true)?).await)?;
    let said = texts(&["in", "open", "a", "true", "last of 4"]);
    same("what was said", page.lines, said)?;
    calls.ran(&[])
}
