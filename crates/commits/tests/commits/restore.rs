//! Tests K31: copies that are opened, under kills at every request.
use std::{sync::Arc, time::Duration};

use fugato_commits::{
    CommitLog, CommitLogOptions, Home, RestorePoint, RestoreReport, ShippingLog,
    object_store::memory::InMemory,
};
use fugato_state::{Millis, Seq};
use fugato_store::{
    AppendResult, Claim, Commit, Expect, Fence, Head, InterceptedLog, LeaseOutcome, LeaseRequest,
    MemoryLog, Record, Route, Status, StoreError, StoreErrorKind, ThreadAdmin as _, ThreadLog,
    move_thread,
};
use fugato_testkit::log::TestClock;

use crate::{
    common::{acquire, fold, texts, thread},
    mortal::{Life, MortalObjects},
};

/// Some day in 2033.
const BEGIN: Millis = 2_000_000_000_000;
const TTL: Millis = 60_000;

fn commit(head: Seq, fence: Fence, texts: &[&str], status: Status) -> Commit {
    Commit {
        expect: Expect { head, fence },
        nonce: u128::from(head) << 64 | 7,
        records: texts.iter().map(|text| Record((*text).into())).collect(),
        status,
        base: None,
    }
}

/// The machines of a test, which outlive the processes on them.
struct World {
    clock: TestClock,
    disk: MemoryLog,
    home: Home,
    objects: InMemory,
}

/// A process: its store, and what it knows of objects.
type Process = ShippingLog<InterceptedLog<MemoryLog, Life>>;

impl World {
    fn new() -> Self {
        let clock = TestClock::at(BEGIN);
        let disk = disk(&clock);
        Self {
            clock,
            disk,
            home: Home::random().expect("there are random numbers"),
            objects: InMemory::new(),
        }
    }

    /// Returns another machine beside the objects, with an empty disk.
    fn elsewhere(&self) -> Self {
        let (clock, objects) = (self.clock.clone(), self.objects.clone());
        let disk = disk(&clock);
        let home = Home::random().expect("there are random numbers");
        Self {
            clock,
            disk,
            home,
            objects,
        }
    }

    async fn copy(&self, life: &Life) -> Result<CommitLog, StoreError> {
        let clock = self.clock.clone();
        let options = CommitLogOptions::default()
            .max_skew(Duration::ZERO)
            .clock(move || clock.now());
        let (inner, life) = (self.objects.clone(), life.clone());
        CommitLog::open(Arc::new(MortalObjects { inner, life }), options).await
    }

    fn store(&self, life: &Life) -> InterceptedLog<MemoryLog, Life> {
        InterceptedLog::new(self.disk.clone(), life.clone())
    }

    async fn process(&self, life: &Life) -> Result<Process, StoreError> {
        let copy = self.copy(life).await?;
        Ok(ShippingLog::new(self.store(life), copy, self.home))
    }

    async fn restore(&self, name: &str, life: &Life) -> Result<RestoreReport, StoreError> {
        let copy = self.copy(life).await?;
        let store = self.store(life);
        let point = RestorePoint::Newest;
        copy.restore(&thread(name), &store, self.home, point).await
    }

    async fn texts(&self, name: &str) -> Vec<String> {
        texts(&self.disk, name).await
    }
}

fn disk(clock: &TestClock) -> MemoryLog {
    let clock = clock.clone();
    MemoryLog::with_clock(move || clock.now())
}

async fn head(log: &impl ThreadLog, name: &str) -> Option<Head> {
    log.head(&thread(name)).await.expect("it can be read")
}

/// The last position and fence that a process was given.
#[derive(Default)]
struct Acknowledgement {
    head: Seq,
    fence: Fence,
}

/// Writes a thread in several commits, one of them with a fold, and compacts it.
async fn write(process: &Process, told: &mut Acknowledgement) -> Result<(), StoreError> {
    let desk = thread("desk");
    told.fence = acquire(process, "desk", TTL).await?.fence;
    let mut tell = async |commit: Commit| {
        let appended = process.append(&desk, &commit).await?;
        told.head = appended.head;
        Ok::<AppendResult, StoreError>(appended)
    };
    let fence = 1;
    tell(commit(0, fence, &["a", "b"], Status::Runnable)).await?;
    let mut based = commit(2, fence, &["c"], Status::Runnable);
    based.base = Some(fold(2));
    tell(based).await?;
    process.compact(&desk, fold(1)).await?;
    tell(commit(3, fence, &["d"], Status::Sleeping { until: BEGIN })).await?;
    tell(commit(4, fence, &["e", "f"], Status::Idle)).await?;
    Ok(())
}

/// Runs what a process does, once for each of its requests, at which it dies.
async fn at_every_request(
    mut run: impl AsyncFnMut(Life) -> Result<(), String>,
) -> Result<usize, String> {
    for request in 0.. {
        for carried_out in [false, true] {
            let life = Life::ending_at(request, carried_out);
            run(life.clone()).await.map_err(|why| {
                let when = if carried_out { "after" } else { "before" };
                format!("killed {when} request {request}: {why}")
            })?;
            if !life.is_over() {
                return Ok(request);
            }
        }
    }
    Ok(0)
}

fn holds(fact: bool, what: impl Into<String>) -> Result<(), String> {
    fact.then_some(()).ok_or_else(|| what.into())
}

fn told<T>(done: Result<T, StoreError>) -> Result<T, String> {
    done.map_err(|error| format!("{error} ({:?})", error.kind))
}

const ALL: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

#[tokio::test]
async fn k31_shipping_that_is_killed_anywhere_loses_nothing_that_was_acknowledged()
-> Result<(), String> {
    let requests = at_every_request(async |life| {
        let world = World::new();
        let mut acknowledged = Acknowledgement::default();
        if let Ok(process) = world.process(&life).await {
            let _ = write(&process, &mut acknowledged).await;
        }
        // The disk is lost.
        let new = world.elsewhere();
        let restored = new.restore("desk", &Life::default()).await;
        let there = match restored {
            Ok(restored) => restored.head,
            Err(error) if error.kind == StoreErrorKind::NotFound => 0,
            Err(error) => return told(Err(error)),
        };
        let known = acknowledged.head;
        holds(there >= known, format!("{there} is there of {known}"))?;
        if there > 0 {
            let fence = head(&new.disk, "desk").await.map_or(0, |head| head.fence);
            let is_greater = fence > acknowledged.fence;
            holds(is_greater, format!("the fence is {fence}"))?;
            let base = head(&new.disk, "desk").await.map_or(0, |head| head.base);
            let (base, there) = (usize::try_from(base), usize::try_from(there));
            let expected = &ALL[base.unwrap_or(0)..there.unwrap_or(0)];
            let texts = new.texts("desk").await;
            holds(texts == expected, format!("{texts:?}, not {expected:?}"))?;
        }
        Ok(())
    })
    .await?;
    assert!(requests > 20, "{requests}");
    Ok(())
}

#[tokio::test]
async fn k31_what_a_killed_process_left_is_shipped_before_the_next_begins() -> Result<(), String> {
    at_every_request(async |life| {
        let world = World::new();
        if let Ok(process) = world.process(&life).await {
            let _ = write(&process, &mut Acknowledgement::default()).await;
        }
        world.clock.advance(TTL + 1);
        let next = told(world.process(&Life::default()).await)?;
        told(acquire(&next, "desk", TTL).await)?;
        let new = world.elsewhere();
        let own = head(&world.disk, "desk").await;
        let restored = new.restore("desk", &Life::default()).await;
        let Some(own) = own else {
            // Of a lease alone only its fence is there.
            return holds(told(restored)?.head == 0, "something is there of nothing");
        };
        told(restored)?;
        let new_head = head(&new.disk, "desk").await.expect("it was restored");
        let (own, new_head) = [own, new_head]
            .map(|head| (head.seq, head.nonce, head.status))
            .into();
        holds(own == new_head, format!("{new_head:?}, not {own:?}"))
    })
    .await?;
    Ok(())
}

/// The kinds of threads that are restored.
async fn fill(process: &Process) -> Result<(), StoreError> {
    write(process, &mut Acknowledgement::default()).await?;
    // One that sleeps, without a fold.
    let fence = acquire(process, "bed", TTL).await?.fence;
    let sleeping = Status::Sleeping { until: BEGIN + 5 };
    let bed = thread("bed");
    process
        .append(&bed, &commit(0, fence, &["z"], sleeping))
        .await?;
    // One that is nothing but its fold.
    let grave = thread("grave");
    let fence = acquire(process, "grave", TTL).await?.fence;
    let end = commit(0, fence, &["x", "y"], Status::Idle);
    process.append(&grave, &end).await?;
    process.compact(&grave, fold(2)).await?;
    // A fork.
    let fork = commit(4, 0, &["g"], Status::Waiting { expires: None });
    process.fork(&thread("fork"), fold(4), &fork).await?;
    Ok(())
}

const NAMES: [&str; 4] = ["desk", "bed", "grave", "fork"];

#[tokio::test]
async fn k31_a_restore_that_is_killed_anywhere_leaves_one_home_at_most() -> Result<(), String> {
    let requests = at_every_request(async |life| {
        let old = World::new();
        let zombie = told(old.process(&Life::default()).await)?;
        told(fill(&zombie).await)?;
        old.clock.advance(TTL + 1);
        let new = old.elsewhere();
        for name in NAMES {
            let restored = new.restore(name, &life).await;
            holds(
                restored.is_ok() || life.is_over(),
                format!("{name}: {restored:?}"),
            )?;
        }
        // Who can acknowledge anything now? Not both.
        for name in NAMES {
            let given = told(old.copy(&Life::default()).await)?;
            let owner = told(given.home(&thread(name)).await)?;
            let went_on = go_on(&old, &zombie, name).await;
            let holds_old = owner == Some(old.home);
            let what = format!("{name}: the old home, with {holds_old}: {went_on:?}");
            holds(went_on.is_ok() == holds_old, what)?;
        }
        old.clock.advance(TTL + 1);
        for name in NAMES {
            told(new.restore(name, &Life::default()).await)
                .map_err(|why| format!("{name}: {why}"))?;
            told(new.restore(name, &Life::default()).await)?;
            let process = told(new.process(&Life::default()).await)?;
            told(go_on(&new, &process, name).await)?;
            let refused = go_on(&old, &zombie, name).await;
            let is_refused =
                matches!(&refused, Err(error) if matches!(error.kind, StoreErrorKind::Invalid(_)));
            holds(is_refused, format!("{name} at its old home: {refused:?}"))?;
            let fresh = told(old.process(&Life::default()).await)?;
            holds(
                acquire(&fresh, name, TTL).await.is_err(),
                "the old home leases it",
            )?;
        }
        Ok(())
    })
    .await?;
    assert!(requests > 40, "{requests}");
    Ok(())
}

/// Appends a record to a thread as its next process.
async fn go_on(world: &World, process: &Process, name: &str) -> Result<(), StoreError> {
    let there = head(&world.disk, name).await;
    let lease = acquire(process, name, TTL).await?;
    let there = there.expect("a thread that can be leased is there");
    let next = commit(there.seq, lease.fence, &["more"], Status::Idle);
    process.append(&thread(name), &next).await.map(|_| ())
}

#[tokio::test]
async fn k31_a_thread_that_moves_is_not_restored_from_its_copy() -> Result<(), String> {
    let (desk, route) = (thread("desk"), Route::new("old", "new"));
    let requests = at_every_request(async |life| {
        let old = World::new();
        let process = told(old.process(&Life::default()).await)?;
        told(fill(&process).await)?;
        let target = disk(&old.clock);
        old.clock.advance(TTL + 1);
        if let Ok(process) = old.process(&life).await {
            let mortal = InterceptedLog::new(target.clone(), life.clone());
            let moved = move_thread(&desk, &process, &mortal, &route).await;
            holds(moved.is_ok() || life.is_over(), format!("{moved:?}"))?;
        }
        // Somebody says that the old store is lost.
        let elsewhere = old.elsewhere();
        let restored = elsewhere.restore("desk", &Life::default()).await;
        let homes = async || {
            old.clock.advance(TTL + 1);
            let process = old.process(&Life::default()).await;
            let is_old = acquire(&told(process)?, "desk", TTL).await.is_ok();
            let mut homes = if is_old { vec!["old"] } else { vec![] };
            for (name, log) in [("new", &target), ("elsewhere", &elsewhere.disk)] {
                if head(log, "desk").await.is_some() && acquire(log, "desk", TTL).await.is_ok() {
                    homes.push(name);
                }
            }
            Ok::<_, String>(homes)
        };
        let lives = homes().await?;
        holds(lives.len() <= 1, format!("{lives:?}, {restored:?}"))?;
        old.clock.advance(TTL + 1);
        let process = told(old.process(&Life::default()).await)?;
        let again = move_thread(&desk, &process, &target, &route).await;
        let expected = if restored.is_ok() { "elsewhere" } else { "new" };
        let lives = homes().await?;
        holds(
            lives == [expected] && again.is_ok() == restored.is_err(),
            format!("{lives:?}, {restored:?}, {again:?}"),
        )?;
        let refused = old.elsewhere().restore("desk", &Life::default()).await;
        let refused = refused.map_err(|error| error.to_string());
        let is_told = matches!(&refused, Err(why) if why.contains("it moved to new"));
        holds(is_told == again.is_ok(), format!("{refused:?}"))
    })
    .await?;
    assert!(requests > 20, "{requests}");
    Ok(())
}

#[tokio::test]
async fn k31_a_thread_that_moved_and_came_back_is_restored_from_its_copy() -> Result<(), String> {
    let (desk, old) = (thread("desk"), World::new());
    let process = told(old.process(&Life::default()).await)?;
    told(fill(&process).await)?;
    old.clock.advance(TTL + 1);
    let target = disk(&old.clock);
    let (there, back) = (Route::new("old", "new"), Route::new("new", "old"));
    told(move_thread(&desk, &process, &target, &there).await)?;
    let copy = told(old.copy(&Life::default()).await)?;
    assert_eq!(told(copy.moved_to(&desk).await)?.as_deref(), Some("new"));
    let lease = told(acquire(&target, "desk", TTL).await)?;
    let next = commit(lease.head, lease.fence, &["more"], Status::Idle);
    told(target.append(&desk, &next).await)?;
    told(move_thread(&desk, &target, &process, &back).await)?;
    assert_eq!(told(copy.moved_to(&desk).await)?, None);
    let new = old.elsewhere();
    let restored = told(new.restore("desk", &Life::default()).await)?;
    assert_eq!(restored.head, lease.head + 1);
    Ok(())
}

#[tokio::test]
async fn k31_a_thread_of_many_megabytes_arrives_whole_or_for_nobody() -> Result<(), String> {
    let old = World::new();
    let process = told(old.process(&Life::default()).await)?;
    let desk = thread("desk");
    let large = "x".repeat(Commit::MAX_RECORD);
    for head in 0..20 {
        let next = commit(head, 0, &[&large], Status::Runnable);
        told(process.append(&desk, &next).await)?;
    }
    // Each of these copies is made at once, of a store that did not ship before.
    for request in [10, 12, 14, 16, 18, 20, 22] {
        let old = World {
            disk: old.disk.clone(),
            ..old.elsewhere()
        };
        let old = World {
            objects: InMemory::new(),
            ..old
        };
        let process = told(old.process(&Life::default()).await)?;
        told(process.catch_up(&desk).await)?;
        let new = old.elsewhere();
        let life = Life::ending_at(request, true);
        let _ = new.restore("desk", &life).await;
        let there = head(&new.disk, "desk").await.map_or(0, |head| head.seq);
        new.clock.advance(TTL + 1);
        let claimed = acquire(&new.disk, "desk", TTL).await;
        let is_free = claimed.is_ok();
        holds(
            !is_free || there % 20 == 0,
            format!("{there} of 20 records are free"),
        )?;
        if !is_free {
            told(new.restore("desk", &Life::default()).await)?;
            holds(
                head(&new.disk, "desk")
                    .await
                    .is_some_and(|head| head.seq == 20),
                "not whole",
            )?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn k31_a_copy_is_written_by_its_home_alone() -> Result<(), String> {
    let world = World::new();
    let process = told(world.process(&Life::default()).await)?;
    told(fill(&process).await)?;
    let copy = told(world.copy(&Life::default()).await)?;
    let (owner, ttl) = ("worker".to_owned(), TTL);
    world.clock.advance(TTL);
    let claim = Claim {
        n: 9,
        owner,
        ttl,
        ..Claim::default()
    };
    let claimed = copy.lease(LeaseRequest::Claim(claim)).await;
    assert_eq!(told(claimed)?, LeaseOutcome::Granted(vec![]));
    for name in NAMES {
        let desk = thread(name);
        let refused = acquire(&copy, name, TTL).await.map_err(|error| error.kind);
        assert!(
            matches!(refused, Err(StoreErrorKind::Busy { .. })),
            "{refused:?}"
        );
        let there = head(&copy, name).await.expect("it was shipped");
        let next = commit(there.seq, there.fence, &["more"], Status::Idle);
        assert!(copy.append(&desk, &next).await.is_err());
        let (fence, ttl) = (there.fence, 1);
        let renew = LeaseRequest::Renew {
            thread: desk.clone(),
            fence,
            ttl,
        };
        assert!(copy.lease(renew).await.is_err());
        let release = LeaseRequest::Release {
            thread: desk,
            fence,
        };
        let _ = copy.lease(release).await;
        assert!(acquire(&copy, name, TTL).await.is_err());
    }
    // A new store in the place of one that was lost does not begin the thread anew.
    let new = world.elsewhere();
    let process = told(new.process(&Life::default()).await)?;
    assert!(acquire(&process, "desk", TTL).await.is_err());
    assert_eq!(head(&new.disk, "desk").await, None);
    Ok(())
}

#[tokio::test]
async fn k31_a_thread_goes_on_at_a_time_or_a_position() -> Result<(), String> {
    let old = World::new();
    let process = told(old.process(&Life::default()).await)?;
    let desk = thread("desk");
    for (head, texts) in [(0, &["a", "b"][..]), (2, &["c"]), (3, &["d", "e"])] {
        old.clock.advance(1_000);
        let next = commit(head, 0, texts, Status::Runnable);
        told(process.append(&desk, &next).await)?;
    }
    let copy = told(old.copy(&Life::default()).await)?;
    for (point, expected) in [
        (
            RestorePoint::Time(BEGIN + 999),
            Err(StoreErrorKind::NotFound),
        ),
        (RestorePoint::Time(BEGIN + 1_000), Ok((2, 3))),
        (RestorePoint::Time(BEGIN + 2_999), Ok((3, 2))),
        (RestorePoint::Position(3), Ok((3, 2))),
        (RestorePoint::Time(BEGIN + 3_000), Ok((5, 0))),
        (RestorePoint::Newest, Ok((5, 0))),
    ] {
        let new = old.elsewhere();
        let restored = copy.restore(&desk, &new.disk, new.home, point).await;
        let restored = restored.map(|it| (it.head, it.left_behind));
        assert_eq!(restored.map_err(|error| error.kind), expected, "{point:?}");
        if let Ok((head, left)) = expected {
            let head = usize::try_from(head).expect("it is small");
            assert_eq!(new.texts("desk").await, ALL[..head]);
            // What was left behind stays there, so that the new home ships elsewhere.
            let process = told(new.process(&Life::default()).await)?;
            assert_eq!(acquire(&process, "desk", TTL).await.is_ok(), left == 0);
        }
    }
    let new = old.elsewhere();
    let amid = copy.restore(&desk, &new.disk, new.home, RestorePoint::Position(4));
    let why = amid.await.map_err(|error| error.to_string());
    assert!(
        why.as_ref().is_err_and(|why| why.contains("ends at 3")),
        "{why:?}"
    );
    Ok(())
}
