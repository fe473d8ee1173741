//! `replay_check` finds changes of the meaning of a stored log.
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use std::sync::Arc;

use fugato_graph::{Context, END, Graph, Runner};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use fugato_testkit::kernel::replay_check;
use serde::{Deserialize, Serialize};

/// A sum, which a program with a flaw computes differently.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Sum<const FLAW: u8> {
    sum: u32,
    #[serde(skip)]
    forgotten: u32,
}

const NONE: u8 = 0;
const APPLIES_OTHERWISE: u8 = 1;
const IS_NOT_ALL_STORED: u8 = 2;
const IS_RANDOM: u8 = 3;

impl<const FLAW: u8> State for Sum<FLAW> {
    type Update = u32;

    fn apply(&mut self, by: u32) {
        self.sum += by;
        match FLAW {
            APPLIES_OTHERWISE => self.sum += 1,
            IS_NOT_ALL_STORED => self.forgotten += 1,
            IS_RANDOM => self.sum += random(),
            _ => {}
        }
    }
}

fn random() -> u32 {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

fn runner<const FLAW: u8>(log: &Arc<MemoryLog>) -> Runner<Sum<FLAW>> {
    let graph = Graph::<Sum<FLAW>>::starting_at("add")
        .node("add", async |cx: Context<Sum<FLAW>>| cx.state().sum + 1)
        .branch(
            "add",
            ["add", END],
            |state| if state.sum < 9 { "add" } else { END },
        )
        .build()
        .unwrap();
    Runner::new(graph, log.clone())
}

async fn check<const FLAW: u8>(log: &Arc<MemoryLog>, expected: u32) -> Result<(), String> {
    let thread = ThreadId::new("sum").unwrap();
    let expected = Sum {
        sum: expected,
        forgotten: 0,
    };
    let checked = replay_check(&runner::<FLAW>(log), &thread, &expected).await;
    checked.map_err(|failure| failure.to_string())
}

#[tokio::test]
async fn k20_a_replay_shows_what_changed() {
    let log = Arc::new(MemoryLog::default());
    let thread = ThreadId::new("sum").unwrap();
    let ended = runner::<NONE>(&log).start(&thread, 1_u32).await.unwrap();
    assert_eq!(ended.state().sum, 15);
    assert_eq!(check::<NONE>(&log, 15).await, Ok(()));
    let changed = check::<APPLIES_OTHERWISE>(&log, 15).await.unwrap_err();
    assert!(
        changed.starts_with("the state by the log: expected"),
        "{changed}"
    );
    let lost = check::<IS_NOT_ALL_STORED>(&log, 15).await.unwrap_err();
    assert!(
        lost.starts_with("the state at 2, through JSON: expected"),
        "{lost}"
    );
    let random = check::<IS_RANDOM>(&log, 15).await.unwrap_err();
    assert!(
        random.starts_with("the second fold up to 2: expected"),
        "{random}"
    );
}
