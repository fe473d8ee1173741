//! Hostile logs for a runner: records that are nonsense, or that were sound once.
//!
//! Reading any log, and continuing from it, ends in a result or in an error. The fuzz targets in
//! `tests/fuzz` feed bytes to these functions, and the property tests run everywhere.
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use fugato_graph::{
    Answers, BoxError, BudgetUnit, BuildError, Context, END, Effect, EffectError, Graph,
    NodePolicy, Outcome, RunError, Runner, RunnerOptions, SubgraphInput, ThreadStatus,
};
use fugato_state::{Question, State, ThreadId};
use fugato_store::{Commit, Expect, MemoryLog, Record, Snapshot, Snapshots, Status, ThreadLog};
use serde::{Deserialize, Serialize};

/// The state of the graph of this module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Lines(Vec<String>);

impl State for Lines {
    type Update = String;

    fn apply(&mut self, line: String) {
        self.0.push(line);
    }
}

/// The most records that are read, so that each case is short.
const MOST: usize = 200;

/// The step limit of a run.
const STEPS: u64 = 50;

async fn say(cx: Context<Lines>) -> Result<String, BoxError> {
    Ok(format!(
        "{} {}",
        cx.task(),
        cx.item::<u64>().unwrap_or_default()
    ))
}

async fn ask(cx: Context<Lines>) -> Result<Outcome<String>, BoxError> {
    Ok(match cx.answer::<u8>("n")? {
        Some(n) => Outcome::done([format!("heard {n}")]),
        None => Outcome::ask(Question::new::<u8>("n", "n?")),
    })
}

/// Acts twice with class `Once`; the second action fails the first time.
async fn act(cx: Context<Lines>) -> Result<String, BoxError> {
    let done = |key| async move { Ok::<String, BoxError>(key) };
    let whole = Effect::once().whole_thread();
    let _: String = cx.effect("shared", whole, &1, done).await?;
    cx.spend(BudgetUnit::ToolCalls, 2);
    let fails = cx.attempt() == 1;
    let own = move |key| async move {
        let done = Ok::<String, BoxError>(key);
        if fails {
            Err(EffectError::not_executed("it is too early").into())
        } else {
            done
        }
    };
    let _: String = cx.effect("own", Effect::once(), &2, own).await?;
    say(cx).await
}

/// Builds the subgraph of a worker: it acts, and asks a person.
fn worker() -> Result<Graph<Lines>, BuildError> {
    let again = NodePolicy::default().attempts(3);
    Graph::<Lines>::starting_at("act")
        .node("act", act)
        .policy("act", again.backoff(Duration::ZERO, Duration::ZERO))
        .node("inquire", ask)
        .edge("act", "inquire")
        .edge("inquire", END)
        .build()
}

/// Builds a graph that writes every kind of fact to its log.
fn graph() -> Graph<Lines> {
    let item = |at: SubgraphInput<'_, Lines>| {
        let item = at.item::<u64>()?;
        Ok::<_, BoxError>(Lines(vec![item.to_string()]))
    };
    let told = |_: &Lines, inner: &Lines| inner.0.join(", ");
    let worker = worker().expect("every node is reached and leads to the end");
    let built = Graph::<Lines>::starting_at("in")
        .node("in", say)
        .node("left", say)
        .node("right", ask)
        .node("meet", say)
        .subgraph("worker", &worker, item, told)
        .node("gather", say)
        .pause(
            "confirm",
            |lines: &Lines| lines.0.len(),
            |_: &Lines, ok: bool| format!("confirmed {ok}"),
        )
        .edge("in", "left")
        .edge("in", "right")
        .join(["left", "right"], "meet")
        .scatter("meet", "worker", |_: &Lines| 0..2_u64)
        .edge("worker", "gather")
        .branch("gather", ["confirm", END], |lines: &Lines| {
            if lines.0.len() > 20 { END } else { "confirm" }
        })
        .edge("confirm", END)
        .build();
    built.expect("every node is reached and leads to the end")
}

fn thread() -> ThreadId {
    ThreadId::new("hostile").expect("a short name")
}

fn runner(log: &MemoryLog) -> Runner<Lines> {
    let options = RunnerOptions::default().step_limit(STEPS);
    let options = options.longest_sleep(Duration::ZERO);
    Runner::new(graph(), Arc::new(log.clone())).options(options)
}

/// Returns the records of a run through the whole graph.
async fn sound() -> Result<Vec<Record>, RunError> {
    let (log, thread) = (MemoryLog::default(), thread());
    let runner = runner(&log);
    runner.start(&thread, "in".to_owned()).await?;
    for _ in 0..4 {
        let ThreadStatus::Waiting(open) = runner.status(&thread).await? else {
            break;
        };
        for interrupt in open {
            let answer = if interrupt.question.key == "n" {
                serde_json::json!(7)
            } else {
                serde_json::json!(true)
            };
            let answers = Answers::none().and(interrupt.id, answer)?;
            runner.resume(&thread, answers).await?;
        }
    }
    let records = log.read(&thread, 1, MOST).await?;
    Ok(records.into_iter().map(|(_, record)| record).collect())
}

/// Returns the records of a sound log after a script of edits. An edit has four bytes: its kind,
/// the record, the place, and the value.
pub async fn edited(script: &[u8]) -> Result<Vec<Record>, RunError> {
    static SOUND: OnceLock<Vec<Record>> = OnceLock::new();
    if SOUND.get().is_none() {
        let sound = sound().await?;
        SOUND.get_or_init(|| sound);
    }
    let mut records = SOUND.get().cloned().unwrap_or_default();
    for edit in script.as_chunks::<4>().0 {
        edit_one(&mut records, *edit);
    }
    Ok(records)
}

fn edit_one(records: &mut Vec<Record>, [what, which, place, with]: [u8; 4]) {
    let count = records.len();
    let Some(which) = usize::from(which).checked_rem(count) else {
        return;
    };
    let bytes = records.get(which).map_or(0, |record| record.0.len());
    let place = usize::from(place) * bytes / 256;
    let mut on = |change: &dyn Fn(&mut Vec<u8>)| {
        if let Some(record) = records.get_mut(which) {
            change(&mut record.0);
        }
    };
    match what % 10 {
        0 => on(&|bytes| bytes.truncate(place)),
        1 => on(&|bytes| bytes.insert(place, with)),
        2 => on(&|bytes| {
            let end = (place + usize::from(with)).min(bytes.len());
            bytes.drain(place..end);
        }),
        3 => drop(records.remove(which)),
        4 if count < MOST => {
            let copy = records.get(usize::from(with) % count).cloned();
            records.extend(copy);
        }
        5 => records.swap(which, usize::from(with) % count),
        6 => records.truncate(which),
        7 if count < MOST => {
            let copy = records.get(usize::from(with) % count).cloned();
            if let Some(copy) = copy {
                records.insert(which, copy);
            }
        }
        8 => on(&|bytes| renumber(bytes, place, with)),
        _ => on(&|bytes| {
            if let Some(byte) = bytes.get_mut(place) {
                *byte = with;
            }
        }),
    }
}

/// Replaces the next number at a place by another one: a neighbour of the largest number, or a
/// small one.
fn renumber(bytes: &mut Vec<u8>, place: usize, with: u8) {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let Some(begin) = bytes.iter().skip(place).position(is_digit) else {
        return;
    };
    let begin = place + begin;
    let digits = bytes.iter().skip(begin).take_while(|byte| is_digit(byte));
    let end = begin + digits.count();
    let large = [u64::from(u32::MAX), i64::MAX.unsigned_abs(), u64::MAX];
    let number = match large.get(usize::from(with >> 6)) {
        Some(most) => most - u64::from(with & 1),
        None => u64::from(with & 3),
    };
    bytes.splice(begin..end, number.to_string().into_bytes());
}

/// Returns records of arbitrary bytes, one a line, each with the present version byte unless it is
/// empty.
pub fn raw(bytes: &[u8]) -> Vec<Record> {
    let lines = bytes.split(|byte| *byte == b'\n').take(MOST);
    let record = |line: &[u8]| match line {
        [] => Record(vec![]),
        line => Record([&[1], line].concat()),
    };
    lines.map(record).collect()
}

/// Reads a log of these records in every way, and continues from it. The results do not matter, as
/// long as every call returns.
pub async fn look(records: Vec<Record>, fold: Option<Vec<u8>>) {
    let (log, thread) = (MemoryLog::default(), thread());
    for (head, record) in (0..).zip(records) {
        let commit = Commit {
            expect: Expect { head, fence: 0 },
            nonce: u128::from(head) + 1,
            records: vec![record],
            status: Status::Runnable,
            base: None,
        };
        if log.append(&thread, &commit).await.is_err() {
            // It is too large for a record.
            return;
        }
    }
    let head = log
        .head(&thread)
        .await
        .ok()
        .flatten()
        .map_or(0, |head| head.seq);
    if let Some(body) = fold {
        let seq = head / 2;
        // A fold of no records is refused, as it should be.
        drop(log.put(&thread, Snapshot { seq, body }).await);
    }
    let runner = runner(&log);
    drop(runner.history(&thread, 1, MOST).await);
    for seq in 0..=head {
        drop(runner.state_at(&thread, seq).await);
    }
    drop(runner.state(&thread).await);
    let standing = runner.status(&thread).await;
    drop(runner.recover(&thread).await);
    drop(runner.retry(&thread).await);
    if let Ok(ThreadStatus::Waiting(open)) = standing {
        for interrupt in open {
            if let Ok(answers) = Answers::none().and(interrupt.id, 1) {
                drop(runner.resume(&thread, answers).await);
            }
        }
    }
    drop(runner.start(&thread, "again".to_owned()).await);
}
