//! Scenarios of the machine without a driver, and of the driver without a log: K23.
use std::sync::Arc;

use fugato_graph::{
    Answers, Context, END, Graph, Runner, Suspended,
    machine::{Fact, Machine, Names, SavedMachine},
};

use super::{
    asking::midway,
    fixture::{Calls, FailingNode, Fixture, Page, Switch, finished, kind, line, parked, question},
    steps::three,
    world::{NamedNodesExt, WiringExt, texts},
};
use crate::log::{Failure, LogFactory, Verdict, same};

/// Checks that the machine, saved and restored at every point of a log, is the same and comes to
/// the same end.
fn round_trips(facts: &[Fact<String>]) -> Verdict {
    let mut names = Arc::new(Names::default());
    let mut lived = Machine::default();
    let mut woken = Machine::default();
    for (seq, fact) in facts.iter().enumerate() {
        let fact = fact.clone().map(&mut |text: String| names.path(&text));
        let fact = fact.map_err(|error| Failure::new(error.to_string()))?;
        lived.evolve(&fact);
        woken.evolve(&fact);
        let saved = serde_json::to_string(&SavedMachine::of(&lived, &names))?;
        let again = serde_json::to_string(&SavedMachine::of(&woken, &names))?;
        same(
            &format!("the machine after fact {}", seq + 1),
            again,
            saved.clone(),
        )?;
        same("what it wants", woken.directive(), lived.directive())?;
        // Another process has nothing but the text.
        let mut anew = Arc::new((*names).clone());
        let machine = serde_json::from_str::<SavedMachine>(&saved)?.wake(&mut anew);
        woken = machine.map_err(|error| Failure::new(error.to_string()))?;
    }
    Ok(())
}

/// A machine at rest, at every point of several runs, is restored as the same machine.
pub async fn k23_a_machine_wakes_as_it_was(factory: &dyn LogFactory) -> Verdict {
    let desk = Fixture::of(factory).await?;
    let calls = Calls::default();
    let runner = desk.runner(&three(&calls)?);
    finished(runner.start(&desk.thread, line("in")).await)?;
    finished(runner.start(&desk.thread, line("again")).await)?;
    let asks = super::fixture::thread("asks");
    let runner = desk.runner(&midway(&calls)?);
    let open = parked(runner.start(&asks, ()).await)?;
    let first = open
        .first()
        .map(|i| i.id.clone())
        .ok_or_else(|| Failure::new("two are open"))?;
    parked(runner.resume(&asks, Answers::to(first, 1)?).await)?;
    finished(runner.resume(&asks, Answers::only(2)?).await)?;
    let fails = super::fixture::thread("fails");
    let broken = Switch::on();
    let graph = Graph::<Page>::starting_at("plan")
        .says(&calls, &["plan"])
        .node(
            "worker",
            FailingNode("worker", calls.clone(), broken.clone()),
        )
        .scatter("plan", "worker", |_| ["x", "y", "z"])
        .edge("worker", END)
        .build()?;
    let runner = desk.runner(&graph);
    kind(runner.start(&fails, ()).await)?;
    broken.turn_off();
    finished(runner.retry(&fails).await)?;
    for name in [&desk.thread, &asks, &fails] {
        let history = runner.history(name, 1, 1_000).await?;
        let facts: Vec<_> = history.into_iter().map(|entry| entry.fact).collect();
        round_trips(&facts)?;
    }
    Ok(())
}

/// Without a log, a pause returns the machine and the state, from which another process continues.
pub async fn k23_an_ephemeral_run_goes_on_elsewhere(factory: &dyn LogFactory) -> Verdict {
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
    let text = serde_json::to_string(saved)?;
    question(Ok(ended))?;
    calls.take();
    let saved: Suspended = serde_json::from_str(&text)?;
    let elsewhere = Runner::ephemeral(graph()?);
    let wrong = kind(elsewhere.resume(&saved, Answers::only("yes")?).await)?;
    let refused = matches!(wrong, fugato_graph::RunErrorKind::Answer(_));
    same("a wrong answer is refused", refused, true)?;
    let page = finished(elsewhere.resume(&saved, Answers::only(true)?).await)?;
    let said = texts(&["in", "open", "a", "true", "last of 4"]);
    same("what was said", page.lines, said)?;
    calls.ran(&[])
}
