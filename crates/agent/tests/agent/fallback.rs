//! Fallbacks of nodes and graphs, and their limits.
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use fugato_agent::fallback::{FallbackChain, FallbackStep, GraphFallback, UnseenEffectsError};
use fugato_graph::{BoxError, Context, END, Effect, Graph, RunError, RunResult, Runner};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};

type TestResult = Result<(), BoxError>;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Lines(Vec<String>);

#[derive(Debug, Serialize, Deserialize)]
struct Say(String);

impl State for Lines {
    type Update = Say;

    fn apply(&mut self, Say(line): Say) {
        self.0.push(line);
    }
}

type Count = Arc<AtomicU32>;

fn thread() -> ThreadId {
    ThreadId::new("t").expect("the name keeps the rules")
}

fn fell(fall: &FallbackStep) -> Say {
    Say(format!("{} → {}: {}", fall.from, fall.to, fall.reason))
}

/// Pays, and counts the actual payments.
async fn pay(cx: &Context<Lines>, count: &Count, shared: bool) -> Result<String, BoxError> {
    let (count, mut effect) = (count.clone(), Effect::once());
    if shared {
        effect = effect.whole_thread();
    }
    let act = move |_| async move {
        let n = count.fetch_add(1, Ordering::SeqCst) + 1;
        Ok::<_, BoxError>(format!("receipt {n}"))
    };
    Ok(cx.effect("fee", effect, &5, act).await?)
}

fn pays_then(
    count: &Count,
    shared: bool,
    then: Option<&'static str>,
) -> impl Fn(Context<Lines>) -> futures::future::BoxFuture<'static, Result<Say, BoxError>>
+ Send
+ Sync
+ use<> {
    let count = count.clone();
    move |cx| {
        let count = count.clone();
        Box::pin(async move {
            let receipt = pay(&cx, &count, shared).await?;
            match then {
                Some(error) => Err(error.into()),
                None => Ok(Say(receipt)),
            }
        })
    }
}

fn one(node: FallbackChain<Lines>) -> Result<Runner<Lines>, BoxError> {
    let graph = Graph::<Lines>::starting_at("pay")
        .node("pay", node)
        .edge("pay", END)
        .build()?;
    Ok(Runner::new(graph, Arc::new(MemoryLog::default())))
}

#[tokio::test]
async fn pln_w9_the_next_node_inherits_the_receipts_of_the_one_that_failed() -> TestResult {
    let count = Count::default();
    let chain = FallbackChain::new(
        "planner",
        pays_then(&count, false, Some("the model is gone")),
    )
    .or("loop", pays_then(&count, false, None))
    .record(fell);
    let mut events = one(chain)?.start(&thread(), vec![]);
    let mut told = vec![];
    while let Some(event) = events.next().await {
        if let EventKind::Custom { name, data } = event.kind {
            told.push((name, data["reason"].clone()));
        }
    }
    assert_eq!(told, [("fell_back".to_owned(), "the model is gone".into())]);
    let ended = events.await?;
    let lines = ["planner → loop: the model is gone", "receipt 1"].map(str::to_owned);
    assert_eq!(ended.state(), &Lines(lines.into()));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    Ok(())
}

#[tokio::test]
async fn stw_6_a_rule_decides_when_the_node_fails_and_the_reason_is_kept() -> TestResult {
    let fails = async |_: Context<Lines>| Err::<Say, BoxError>("timeout".into());
    let chain = FallbackChain::new("model", fails)
        .or_rule("rules", |_: &Lines, falls: &[FallbackStep]| {
            Say(format!("by rule after {}", falls.len()))
        })
        .record(fell);
    let ended = one(chain)?.start(&thread(), vec![]).await?;
    let lines = ["model → rules: timeout", "by rule after 1"].map(str::to_owned);
    assert_eq!(ended.state(), &Lines(lines.into()));
    Ok(())
}

#[tokio::test]
async fn pln_w9_a_rule_is_refused_after_a_side_effect_that_it_cannot_see() -> TestResult {
    let count = Count::default();
    let chain = FallbackChain::new("model", pays_then(&count, false, Some("gone")))
        .or_rule("rules", |_: &Lines, _: &[FallbackStep]| {
            Say("by rule".into())
        });
    let error = one(chain)?.start(&thread(), vec![]).await.unwrap_err();
    let source = std::error::Error::source(&error);
    let refused = source.and_then(|error| error.downcast_ref::<UnseenEffectsError>());
    let Some(UnseenEffectsError { to, effects, .. }) = refused else {
        panic!("another error: {error:?}");
    };
    assert_eq!(
        (to.as_str(), &effects[..]),
        ("rules", &["fee".to_owned()][..])
    );
    assert_eq!(count.load(Ordering::SeqCst), 1);
    Ok(())
}

#[tokio::test]
async fn when_all_nodes_fail_the_last_error_stands() -> TestResult {
    let fails = |why: &'static str| async move |_: Context<Lines>| Err::<Say, BoxError>(why.into());
    let chain = FallbackChain::new("a", fails("first")).or("b", fails("second"));
    let error = one(chain)?.start(&thread(), vec![]).await.unwrap_err();
    let source = std::error::Error::source(&error).map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("second"));
    Ok(())
}

/// Returns the effects because of which a fallback was refused.
fn unseen(error: &RunError) -> Option<Vec<String>> {
    let source = std::error::Error::source(error)?;
    let refused = source.downcast_ref::<UnseenEffectsError>();
    refused.map(|refused| refused.effects.clone())
}

/// Two graphs over one log: the first pays and then fails, the second pays.
fn graphs(count: &Count, shared: bool, fails_first: bool) -> Result<[Runner<Lines>; 2], BoxError> {
    let log = Arc::new(MemoryLog::default());
    let broken = async |_: Context<Lines>| Err::<Say, BoxError>("no such model".into());
    let main = Graph::<Lines>::starting_at(if fails_first { "think" } else { "pay" });
    let main = main
        .node("pay", pays_then(count, shared, None))
        .node("think", broken)
        .branch("pay", ["think", END], |_| "think")
        .branch("think", ["pay", END], |_| END)
        .build()?;
    let backup = Graph::<Lines>::starting_at("pay_plainly")
        .node("pay_plainly", pays_then(count, shared, None))
        .edge("pay_plainly", END)
        .build()?;
    Ok([Runner::new(main, log.clone()), Runner::new(backup, log)])
}

#[tokio::test]
async fn pln_w9_another_graph_inherits_the_receipts_of_the_thread() -> TestResult {
    let count = Count::default();
    let [main, backup] = graphs(&count, true, false)?;
    let main = main.fallback(GraphFallback::graph("legacy", backup).record(fell));
    let ended = main.start(&thread(), vec![]).await?;
    let Lines(lines) = ended.state();
    assert_eq!(
        (lines.len(), &lines[0], &lines[2]),
        (3, &"receipt 1".to_owned(), &"receipt 1".to_owned())
    );
    assert!(
        lines[1].starts_with("graph → legacy: ") && lines[1].ends_with("no such model"),
        "{lines:?}"
    );
    assert_eq!(count.load(Ordering::SeqCst), 1);
    Ok(())
}

#[tokio::test]
async fn pln_w9_another_graph_is_refused_after_an_effect_of_a_task() -> TestResult {
    let count = Count::default();
    let [main, backup] = graphs(&count, false, false)?;
    let main = main.fallback(GraphFallback::graph("legacy", backup));
    let effects = unseen(&main.start(&thread(), vec![]).await.unwrap_err());
    assert_eq!(effects, Some(vec!["pay#1/fee".to_owned()]));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    Ok(())
}

#[tokio::test]
async fn stw_t12_without_a_side_effect_another_graph_or_a_function_takes_over() -> TestResult {
    let count = Count::default();
    let [main, backup] = graphs(&count, false, true)?;
    let main = main.fallback(GraphFallback::graph("legacy", backup));
    let ended = main.start(&thread(), vec![]).await?;
    assert_eq!(ended.state(), &Lines(vec!["receipt 1".into()]));

    let [main, _] = graphs(&count, true, true)?;
    let main = main.fallback(GraphFallback::function(
        "apology",
        |_: Option<&Lines>, _: &FallbackStep| Say("Please try later.".into()),
    ));
    let ended = main.start(&thread(), vec![]).await?;
    assert!(matches!(ended, RunResult::Amended { .. }), "{ended:?}");
    assert_eq!(ended.state(), &Lines(vec!["Please try later.".into()]));

    let [main, _] = graphs(&count, true, false)?;
    let main = main.fallback(GraphFallback::function(
        "apology",
        |_: Option<&Lines>, _: &FallbackStep| Say("Nothing was paid.".into()),
    ));
    let refused = main.start(&thread(), vec![]).await.unwrap_err();
    assert!(unseen(&refused).is_some(), "{refused:?}");
    Ok(())
}
