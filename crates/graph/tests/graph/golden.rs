//! Logs that earlier versions wrote are read by this one. A file in `golden/` is never changed:
//! a new format gets a new file.
use std::{collections::BTreeMap, sync::Arc};

use fugato_graph::{Answers, BoxError, Context, END, Graph, Outcome, Runner};
use fugato_state::{Question, State, ThreadId};
use fugato_store::{Commit, Expect, MemoryLog, Record, Status, ThreadLog};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Trip {
    days: u32,
    costs: BTreeMap<u32, u32>,
    seat: Option<String>,
    booked: Option<bool>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Change {
    Days(u32),
    Cost(u32, u32),
    Seat(String),
    Booked(bool),
}

impl State for Trip {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Days(days) => self.days = days,
            Change::Cost(day, cost) => {
                self.costs.insert(day, cost);
            }
            Change::Seat(seat) => self.seat = Some(seat),
            Change::Booked(booked) => self.booked = Some(booked),
        }
    }
}

async fn seat(cx: Context<Trip>) -> Result<Outcome<Change>, BoxError> {
    Ok(match cx.answer::<String>("seat")? {
        Some(seat) => Outcome::done([Change::Seat(seat)]),
        None => Outcome::ask(Question::new::<String>("seat", "which seat?")).remember("asked")?,
    })
}

async fn price(cx: Context<Trip>) -> Result<Change, BoxError> {
    let day: u32 = cx.item()?;
    Ok(Change::Cost(day, day * 10))
}

async fn pass(_: Context<Trip>) {}

fn graph() -> Result<Graph<Trip>, BoxError> {
    Ok(Graph::<Trip>::starting_at("plan")
        .node("plan", pass)
        .node("seat", seat)
        .node("each", pass)
        .node("price", price)
        .node("priced", pass)
        .node("meet", pass)
        .pause(
            "book",
            |trip| trip.costs.values().sum::<u32>(),
            |_, yes: bool| Change::Booked(yes),
        )
        .edge("plan", "seat")
        .edge("plan", "each")
        .scatter("each", "price", |trip| 1..=trip.days)
        .edge("price", "priced")
        .join(["seat", "priced"], "meet")
        .edge("meet", "book")
        .edge("book", END)
        .output(|trip| trip.booked)
        .build()?)
}

/// The records of a thread, one line each. The first byte of a record is its format.
async fn written() -> Result<String, BoxError> {
    let (log, thread) = (
        Arc::new(MemoryLog::with_clock(|| 1_000)),
        ThreadId::new("trip")?,
    );
    let runner = Runner::new(graph()?, log.clone());
    runner.start(&thread, Change::Days(2)).await?;
    runner.resume(&thread, Answers::only("window")?).await?;
    runner.resume(&thread, Answers::only(true)?).await?;
    let records = log.read(&thread, 1, usize::MAX).await?;
    let line = |record: &Record| {
        let (format, body) = record.0.split_first()?;
        Some(format!("{format} {}\n", String::from_utf8_lossy(body)))
    };
    Ok(records
        .iter()
        .filter_map(|(_, record)| line(record))
        .collect())
}

#[tokio::test]
async fn a_log_of_format_1_is_read() -> Result<(), BoxError> {
    is_read(include_str!("../golden/format-1.log")).await
}

#[tokio::test]
async fn a_log_of_format_2_is_read() -> Result<(), BoxError> {
    is_read(include_str!("../golden/format-2.log")).await
}

async fn is_read(golden: &str) -> Result<(), BoxError> {
    let (log, thread) = (Arc::new(MemoryLog::default()), ThreadId::new("trip")?);
    for (line, head) in golden.lines().zip(0..) {
        let (format, body) = line
            .split_once(' ')
            .ok_or("a line has a format and a body")?;
        let record = Record([&[format.parse::<u8>()?], body.as_bytes()].concat());
        let commit = Commit {
            expect: Expect { head, fence: 0 },
            nonce: u128::from(head) + 1,
            records: vec![record],
            status: Status::Runnable,
            base: None,
        };
        log.append(&thread, &commit).await?;
    }
    let state = Runner::new(graph()?, log)
        .state(&thread)
        .await?
        .ok_or("the thread exists")?;
    let trip = Trip {
        days: 2,
        costs: BTreeMap::from([(1, 10), (2, 20)]),
        seat: Some("window".into()),
        booked: Some(true),
    };
    assert_eq!(*state, trip);
    Ok(())
}

/// The current format is 2: a change of the format must add a file above.
#[tokio::test]
async fn format_2_is_what_is_written() -> Result<(), BoxError> {
    let now = written().await?;
    if std::env::var_os("WRITE_GOLDEN").is_some() {
        std::fs::write(
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/format-2.log"),
            &now,
        )?;
    }
    let shape = |log: &str| {
        // Times and incarnations differ from run to run, and so does the order of concurrent tasks.
        let mut lines: Vec<_> = log
            .lines()
            .map(|line| {
                let line = line.split_once("\"run\":").map_or(line, |(_, rest)| rest);
                let line = line.split_once("\"birth\":").map_or(line, |(line, _)| line);
                line.to_owned()
            })
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(shape(&now), shape(include_str!("../golden/format-2.log")));
    Ok(())
}
