//! A log that gives a record twice, or leaves one out, is not believed.
use std::sync::Arc;

use async_trait::async_trait;
use fugato_graph::{Context, END, Graph, RunError, Runner};
use fugato_state::{Seq, ThreadId};
use fugato_store::{
    AppendResult, Commit, Head, LeaseOutcome, LeaseRequest, MemoryLog, Record, StoreError,
    ThreadLog,
};
use futures::StreamExt as _;

use crate::midway::Lines;

/// A mistake of a log that is read.
#[derive(Clone, Copy)]
enum Slip {
    Twice(usize),
    Never(usize),
}

struct SlippingLog(MemoryLog, Slip);

#[async_trait]
impl ThreadLog for SlippingLog {
    async fn append(&self, thread: &ThreadId, commit: &Commit) -> Result<AppendResult, StoreError> {
        self.0.append(thread, commit).await
    }

    async fn read(
        &self,
        thread: &ThreadId,
        from: Seq,
        limit: usize,
    ) -> Result<Vec<(Seq, Record)>, StoreError> {
        let mut page = self.0.read(thread, from, limit).await?;
        match self.1 {
            Slip::Twice(at) => page.insert(at, page.get(at).expect("it is there").clone()),
            Slip::Never(at) => drop(page.remove(at)),
        }
        Ok(page)
    }

    async fn head(&self, thread: &ThreadId) -> Result<Option<Head>, StoreError> {
        self.0.head(thread).await
    }

    async fn lease(&self, request: LeaseRequest) -> Result<LeaseOutcome, StoreError> {
        self.0.lease(request).await
    }
}

fn graph() -> Graph<Lines> {
    let line = async |_: Context<Lines>| "line".to_owned();
    Graph::<Lines>::starting_at("one")
        .node("one", line)
        .node("two", line)
        .edge("one", "two")
        .edge("two", END)
        .build()
        .expect("a graph")
}

#[tokio::test]
async fn k13_a_record_that_is_read_twice_or_not_at_all_is_an_error_and_no_state() {
    let (log, thread) = (MemoryLog::default(), ThreadId::new("desk").expect("a name"));
    let runner = Runner::new(graph(), Arc::new(log.clone()));
    runner
        .start(&thread, "begun".to_owned())
        .await
        .expect("it ends");
    let told = log.read(&thread, 1, usize::MAX).await.expect("its records");
    let all = (0..told.len()).flat_map(|at| [Slip::Twice(at), Slip::Never(at)]);
    for slip in all.filter(|slip| !matches!(slip, Slip::Never(at) if at + 1 == told.len())) {
        let (what, wrong) = match slip {
            Slip::Twice(at) => (format!("record {} twice", at + 1), at + 1),
            Slip::Never(at) => (format!("no record {}", at + 1), at + 2),
        };
        let runner = Runner::on_log(graph(), Arc::new(SlippingLog(log.clone(), slip)));
        let named = |error: RunError| {
            let text = format!("record {wrong} was read where record");
            assert!(format!("{error:?}").contains(&text), "{what}: {error:?}");
        };
        named(runner.state(&thread).await.expect_err(&what));
        named(runner.history(&thread, 1, 100).await.expect_err(&what));
        let events: Vec<_> = runner.events(&thread, 0).collect().await;
        assert!(events.is_empty(), "{what}: {events:?}");
    }
}
