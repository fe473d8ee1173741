//! Tests that data with a limited time to live is removed in time, and nothing else is.

use std::time::Duration;

use crate::common::{commit, durable, prefix, thread};
use fugato_redis::{RedisLog, RedisOptions};
use fugato_state::{Millis, ThreadId};
use fugato_store::{
    Commit, Expect, Fence, LeaseOutcome, LeaseRequest, Snapshot, Snapshots, Status, StoreErrorKind,
    ThreadAdmin, ThreadFilter, ThreadLog,
};
use fugato_testkit::log::TestClock;

struct Fixture {
    log: RedisLog,
    clock: TestClock,
    prefix: String,
}

async fn desk(of: impl FnOnce(RedisOptions) -> RedisOptions) -> Option<Fixture> {
    let clock = TestClock::at(2_000_000_000_000);
    let (prefix, shown) = (prefix(), clock.clone());
    let options = RedisOptions::default()
        .prefix(&prefix)
        .clock(move || shown.now());
    let log = RedisLog::connect_with(durable()?.url(), of(options)).await;
    let log = log.expect("the server is there");
    Some(Fixture { log, clock, prefix })
}

impl Fixture {
    async fn names(&self) -> Vec<String> {
        let listed = self
            .log
            .list(ThreadFilter::default())
            .await
            .expect("it is there");
        listed.into_iter().map(|line| line.thread.into()).collect()
    }

    async fn keys(&self) -> Vec<String> {
        let url = durable().expect("it was there before").url();
        let client = redis::Client::open(url).expect("it is a URL");
        let mut other = client
            .get_multiplexed_async_connection()
            .await
            .expect("it is there");
        let pattern = format!("{{{}}}:*", self.prefix);
        let mut keys: Vec<String> = redis::cmd("KEYS")
            .arg(pattern)
            .query_async(&mut other)
            .await
            .expect("there are few");
        keys.sort_unstable();
        let skip = self.prefix.len() + 3;
        keys.iter()
            .map(|key| key.chars().skip(skip).collect())
            .collect()
    }

    /// Writes a thread of each status, and one that only has a lease.
    async fn write_one_of_each(&self) {
        let begin = self.clock.now();
        for (name, status) in [
            ("idles", Status::Idle),
            ("waits", Status::Waiting { expires: None }),
            (
                "expires",
                Status::Waiting {
                    expires: Some(begin + 99_000),
                },
            ),
            ("runs", Status::Runnable),
            (
                "sleeps",
                Status::Sleeping {
                    until: begin + 99_000,
                },
            ),
        ] {
            let base = Some(Snapshot {
                seq: 1,
                body: vec![1],
            });
            let next = Commit {
                status,
                base,
                ..commit(0, "a")
            };
            self.log
                .append(&thread(name), &next)
                .await
                .expect("it is new");
        }
        self.acquire(&thread("leased"), 5_000).await;
    }

    async fn acquire(&self, name: &ThreadId, ttl: Millis) -> Fence {
        let (thread, owner) = (name.clone(), "owner".to_owned());
        let request = LeaseRequest::Acquire { thread, owner, ttl };
        match self.log.lease(request).await {
            Ok(LeaseOutcome::Granted(leases)) => leases.first().expect("one was asked for").fence,
            other => panic!("nobody holds it: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_thread_that_nothing_wakes_goes_with_all_it_has() {
    let Some(desk) = desk(|options| options.keep_threads(Duration::from_secs(10))).await else {
        return;
    };
    desk.write_one_of_each().await;
    let all = ["expires", "idles", "runs", "sleeps", "waits"];
    desk.clock.advance(9_999);
    assert_eq!(desk.names().await, all);
    // Another write restarts its time to live.
    desk.log
        .append(&thread("waits"), &commit(1, "b"))
        .await
        .expect("it is there");
    desk.clock.advance(1);
    assert_eq!(
        desk.log.head(&thread("idles")).await.expect("it answers"),
        None
    );
    assert_eq!(
        desk.log
            .latest_at(&thread("idles"), 9)
            .await
            .expect("it answers"),
        None
    );
    assert_eq!(desk.names().await, ["expires", "runs", "sleeps", "waits"]);
    // A name that is used again begins a new thread, without the old fence.
    let fresh = Commit {
        nonce: 77,
        ..commit(0, "new")
    };
    assert_eq!(
        desk.log
            .append(&thread("idles"), &fresh)
            .await
            .expect("it is new")
            .head,
        1
    );
    desk.clock.advance(50_000);
    // A write removes them without a request for them.
    let next = Commit {
        status: Status::Runnable,
        ..commit(1, "b")
    };
    for head in [1, 2] {
        let next = Commit {
            expect: Expect { head, fence: 0 },
            nonce: 10 + u128::from(head),
            ..next.clone()
        };
        desk.log
            .append(&thread("runs"), &next)
            .await
            .expect("it is there");
    }
    let kept = ["expires", "runs", "sleeps"];
    let mut keys: Vec<_> = ["due", "names", "store"].map(ToOwned::to_owned).into();
    for name in kept {
        keys.extend(["i", "r", "s", "t"].map(|kind| format!("{kind}:{name}")));
    }
    keys.sort_unstable();
    assert_eq!(desk.keys().await, keys);
    assert_eq!(desk.names().await, kept);
}

#[tokio::test]
async fn a_lease_holds_off_the_end_of_a_thread() {
    let Some(desk) = desk(|options| options.keep_threads(Duration::from_secs(10))).await else {
        return;
    };
    let name = thread("desk");
    desk.log
        .append(&name, &commit(0, "a"))
        .await
        .expect("it is new");
    desk.clock.advance(5_000);
    let fence = desk.acquire(&name, 60_000).await;
    desk.clock.advance(69_999);
    let head = desk.log.head(&name).await.expect("it answers");
    assert_eq!(head.map(|head| head.fence), Some(fence));
    let next = Commit {
        expect: Expect { head: 1, fence },
        ..commit(1, "b")
    };
    desk.log.append(&name, &next).await.expect("it is there");
    desk.clock.advance(10_000);
    assert_eq!(desk.log.head(&name).await.expect("it answers"), None);
    let late = Commit {
        expect: Expect { head: 2, fence },
        ..commit(2, "c")
    };
    let late = desk
        .log
        .append(&name, &late)
        .await
        .map_err(|error| error.kind);
    assert_eq!(late, Err(StoreErrorKind::Conflict { head: 0, fence: 0 }));
    assert!(desk.acquire(&name, 60_000).await > fence);
}

#[tokio::test]
async fn snapshots_go_but_those_that_records_stand_upon() {
    let Some(desk) = desk(|options| options.keep_snapshots(Duration::from_secs(10))).await else {
        return;
    };
    let name = thread("desk");
    let fold = |seq, body: &str| Snapshot {
        seq,
        body: body.into(),
    };
    let base = Some(fold(1, "with a commit"));
    desk.log
        .append(
            &name,
            &Commit {
                base,
                ..commit(0, "a")
            },
        )
        .await
        .expect("it is new");
    for head in 1..6 {
        desk.log
            .append(&name, &commit(head, "b"))
            .await
            .expect("it is there");
    }
    for seq in [1, 2, 4, 5] {
        desk.log
            .put(&name, fold(seq, "put"))
            .await
            .expect("it is there");
    }
    desk.log
        .compact(&name, fold(2, "compacted"))
        .await
        .expect("it is there");
    let latest = async |seq| desk.log.latest_at(&name, seq).await.expect("it answers");
    assert_eq!(latest(9).await, Some(fold(5, "put")));
    desk.clock.advance(9_999);
    desk.log
        .put(&name, fold(5, "put again"))
        .await
        .expect("it is there");
    desk.clock.advance(1);
    assert_eq!(latest(9).await, Some(fold(5, "put again")));
    assert_eq!(latest(4).await, Some(fold(2, "compacted")));
    desk.clock.advance(99_000);
    assert_eq!(latest(9).await, Some(fold(2, "compacted")));
    desk.log
        .append(&name, &commit(6, "c"))
        .await
        .expect("it is there");
    let keys = ["i:desk", "names", "r:desk", "s:desk", "store", "t:desk"];
    assert_eq!(desk.keys().await, keys);
}

#[tokio::test]
async fn k17_removing_leaves_nothing_behind() {
    let keep = Duration::from_secs(10);
    let both = |options: RedisOptions| options.keep_threads(keep).keep_snapshots(keep);
    let Some(desk) = desk(both).await else { return };
    let name = thread("desk");
    let fence = desk.acquire(&name, 60_000).await;
    let next = Commit {
        expect: Expect { head: 0, fence },
        status: Status::Runnable,
        ..commit(0, "a")
    };
    desk.log.append(&name, &next).await.expect("it is ours");
    desk.log
        .put(
            &name,
            Snapshot {
                seq: 1,
                body: vec![],
            },
        )
        .await
        .expect("it is there");
    desk.log.remove(&name).await.expect("it is there");
    assert_eq!(desk.keys().await, ["store"]);
}
