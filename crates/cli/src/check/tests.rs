use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use expect_test::{Expect, expect};
use fugato_graph::{END, Graph, RunnerOptions};
use fugato_state::MigrateError;
use fugato_store::{InterceptedLog, MemoryLog, StoreCall, StoreError, StoreErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::*;
use crate::terminal::tests::terminal;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Letter(Vec<String>);

impl State for Letter {
    type Update = String;

    fn apply(&mut self, line: String) {
        self.0.push(line);
    }
}

/// [`Letter`], with the time of each line.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct DatedLetter(Vec<(i64, String)>);

impl State for DatedLetter {
    type Update = (i64, String);
    const VERSION: u32 = 2;

    fn apply(&mut self, line: (i64, String)) {
        self.0.push(line);
    }

    fn migrate_state(_: u32, _: Value) -> Result<Self, MigrateError> {
        Ok(Self::default())
    }

    fn migrate_update(from: u32, old: Value) -> Result<Vec<(i64, String)>, MigrateError> {
        let to = 2;
        let line = serde_json::from_value(old);
        let line: String = line.map_err(|source| MigrateError { from, to, source })?;
        if line == "unreadable" {
            let source = serde_json::from_str::<i64>(&line);
            return source
                .map(|_| vec![])
                .map_err(|source| MigrateError { from, to, source });
        }
        Ok(vec![(0, line)])
    }
}

/// Builds a graph that asks before it sends, and at once if it is urgent.
fn graph<S: State + Default>(
    ask: &'static str,
    line: fn(&str) -> S::Update,
    shown: &'static str,
) -> Graph<S> {
    let graph = Graph::<S>::starting_at(ask)
        .approval(ask, move |_| shown, move |_, _: bool| line("sent"))
        .edge(ask, END);
    graph.build().unwrap()
}

fn old() -> Graph<Letter> {
    graph("ask", str::to_owned, "send?")
}

async fn written(lines: &[(&str, &str)]) -> Arc<MemoryLog> {
    let log = Arc::new(MemoryLog::default());
    let runner = Runner::new(old(), log.clone()).options(RunnerOptions::default());
    for (thread, line) in lines {
        let thread = ThreadId::new(*thread).unwrap();
        runner.start(&thread, (*line).to_owned()).await.unwrap();
    }
    log
}

/// Checks the output of a check, and returns the exit code.
async fn checked<S: State>(
    graph: Graph<S>,
    store: Arc<impl ThreadStore + 'static>,
    (prefix, lang): (&str, Lang),
    expected: Expect,
) -> u8 {
    let (mut terminal, paper) = terminal(lang);
    let runner = Runner::new(graph, store.clone());
    let ended = check(&runner, &*store, prefix.to_owned(), &mut terminal).await;
    let mut seen = paper.text();
    let code = ended.err().map_or(0, |error| {
        seen.extend(["error: ", &error.to_string(), "\n"]);
        error.downcast_ref::<CliError>().unwrap().code
    });
    // The digest in the id of an approval differs from run to run.
    let digest = |word: &str| word.len() == 16 && word.bytes().all(|it| it.is_ascii_hexdigit());
    let words = seen.split_inclusive(|it: char| !it.is_ascii_alphanumeric());
    let stable = words.map(|word| match word.split_at_checked(16) {
        Some((first, rest)) if digest(first) => format!("…{rest}"),
        _ => word.to_owned(),
    });
    expected.assert_eq(&stable.collect::<String>());
    code
}

#[tokio::test]
async fn k32_a_check_of_the_same_program_prints_its_summary() {
    let log = written(&[("a", "hello"), ("b", "hello")]).await;
    let expected = expect![[r"
        checked 2: 2 go on, 0 migrate, 0 are refused, 0 cannot be read, 0 could not be looked at
    "]];
    assert_eq!(checked(old(), log, ("", Lang::En), expected).await, 0);
}

#[tokio::test]
async fn k32_a_check_tells_what_migrates_and_what_cannot_be_folded() {
    let log = written(&[("a", "hello"), ("b", "unreadable"), ("c", "hello")]).await;
    let graph = || graph::<DatedLetter>("ask", |line| (0, line.to_owned()), "send?");
    let expected = expect![[r"
        a at 3: migrates: the state from version 1 to 2
        b at 3: cannot be read: an older value cannot be read: a value of state version 1 cannot be read as version 2: expected value at line 1 column 1
        c at 3: migrates: the state from version 1 to 2
        checked 3: 0 go on, 2 migrate, 0 are refused, 1 cannot be read, 0 could not be looked at
        error: conversations that cannot go on with this program: 1 of 3
    "]];
    assert_eq!(
        checked(graph(), log.clone(), ("", Lang::En), expected).await,
        3
    );
    let expected = expect![[r"
        a at 3: migrates: the state from version 1 to 2
        checked 1: 0 go on, 1 migrate, 0 are refused, 0 cannot be read, 0 could not be looked at
    "]];
    assert_eq!(checked(graph(), log, ("a", Lang::En), expected).await, 0);
}

#[tokio::test]
async fn k32_a_check_tells_what_is_refused_and_asked_anew() {
    let log = written(&[("a", "hello")]).await;
    let renamed = graph::<Letter>("confirm", str::to_owned, "send?");
    let expected = expect![[r#"
        a at 3: 被拒绝，流程图中已没有 node "ask"
        共 1 个会话：0 个可以继续，0 个需要迁移，1 个被拒绝，0 个无法读取，0 个无法查看
        error: conversations that cannot go on with this program: 1 of 1
    "#]];
    assert_eq!(
        checked(renamed, log.clone(), ("", Lang::Zh), expected).await,
        3
    );
    let anew = graph::<Letter>("ask", str::to_owned, "send it?");
    let expected = expect![[r"
        a at 3: goes on; asks anew: ask#1~1.…
        checked 1: 1 go on, 0 migrate, 0 are refused, 0 cannot be read, 0 could not be looked at
    "]];
    assert_eq!(checked(anew, log, ("", Lang::En), expected).await, 0);
}

#[tokio::test]
async fn k32_a_check_counts_what_it_could_not_look_at() {
    let log = written(&[("a", "hello"), ("b", "hello"), ("c", "hello")]).await;
    let heads = AtomicUsize::new(0);
    // The store does not answer about the second thread.
    let silent = move |asked: StoreCall<'_>| match asked {
        StoreCall::Head if heads.fetch_add(1, Ordering::SeqCst) == 1 => {
            Err(StoreError::new(StoreErrorKind::Unavailable, "read"))
        }
        _ => Ok(()),
    };
    let log = Arc::new(InterceptedLog::new(log, silent));
    let expected = expect![[r"
        b: could not be looked at: the log failed: cannot read: the store did not answer
        checked 3: 2 go on, 0 migrate, 0 are refused, 0 cannot be read, 1 could not be looked at
        error: conversations that could not be looked at: 1 of 3
    "]];
    assert_eq!(checked(old(), log, ("", Lang::En), expected).await, 4);
}
