//! The queue under a scheduler that tries thousands of interleavings, and that detects deadlocks.
#[expect(
    clippy::duplicate_mod,
    reason = "it is the same code with other locks, which is what is tested"
)]
#[path = "queue.rs"]
mod queue;

mod sync {
    pub(super) use std::sync::PoisonError;

    pub(super) use shuttle::sync::{Arc, Mutex, MutexGuard};
}

use shuttle::{
    check_random,
    future::{JoinHandle, block_on, spawn, yield_now},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use self::queue::{Group, GroupTurn};

/// The number of interleavings that are tried.
const TRIES: usize = 1_000;

/// The output of the leaders; it checks that there is one leader at a time.
#[derive(Default)]
struct Paper {
    busy: AtomicBool,
    lines: Mutex<Vec<u32>>,
}

impl Paper {
    fn write(&self, jobs: &[u32]) -> Vec<u32> {
        assert!(!self.busy.swap(true, Ordering::SeqCst), "two lead at once");
        shuttle::thread::yield_now();
        self.lines
            .lock()
            .expect("nobody panics with it")
            .extend(jobs);
        self.busy.store(false, Ordering::SeqCst);
        jobs.iter().map(|job| job * 2).collect()
    }

    fn sorted(&self) -> Vec<u32> {
        let mut lines = self.lines.lock().expect("nobody panics with it").clone();
        lines.sort_unstable();
        lines
    }
}

async fn run(group: &Group<u32, u32>, paper: &Paper, job: u32) -> Option<u32> {
    match group.enter(job).await {
        GroupTurn::Lead(lead) => lead.execute(|jobs| paper.write(jobs)),
        GroupTurn::Done(answer) => Some(answer),
        GroupTurn::Lost => None,
    }
}

fn with_group(most: usize, test: fn(Arc<Group<u32, u32>>, Arc<Paper>)) {
    check_random(
        move || test(Arc::new(Group::new(most)), Arc::default()),
        TRIES,
    );
}

#[test]
fn each_job_is_done_once_and_answered_to_its_caller() {
    for most in [1, 2, 8] {
        with_group(most, |group, paper| {
            let callers: Vec<JoinHandle<()>> = (0..4)
                .map(|caller| {
                    let (group, paper) = (Arc::clone(&group), Arc::clone(&paper));
                    spawn(async move {
                        for round in 0..3 {
                            let job = caller * 10 + round;
                            assert_eq!(run(&group, &paper, job).await, Some(job * 2));
                        }
                    })
                })
                .collect();
            for caller in callers {
                block_on(caller).expect("no caller is stopped");
            }
            let expected = [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32];
            assert_eq!(paper.sorted(), expected);
        });
    }
}

#[test]
fn who_leaves_the_queue_holds_up_nobody() {
    with_group(2, |group, paper| {
        let leaving: Vec<JoinHandle<()>> = (0..2)
            .map(|caller| {
                let group = Arc::clone(&group);
                spawn(async move {
                    let mut entered = Box::pin(group.enter(100 + caller));
                    let looked = futures::poll!(&mut entered);
                    yield_now().await;
                    // It leaves the queue if it was called, taken or made the leader.
                    drop((looked, entered));
                })
            })
            .collect();
        let staying: Vec<JoinHandle<Option<u32>>> = (0..2)
            .map(|job| {
                let (group, paper) = (Arc::clone(&group), Arc::clone(&paper));
                spawn(async move { run(&group, &paper, job).await })
            })
            .collect();
        for caller in leaving {
            block_on(caller).expect("no caller is stopped");
        }
        for (job, caller) in (0..).zip(staying) {
            // A dropped leader may have done the job.
            let answer = block_on(caller).expect("no caller is stopped");
            assert!(answer.is_none_or(|answer| answer == job * 2), "{answer:?}");
        }
        // In any case the next caller is served.
        assert_eq!(block_on(run(&group, &paper, 7)), Some(14));
    });
}

#[test]
fn a_leader_that_dies_tells_those_it_took() {
    with_group(8, |group, paper| {
        let dying = {
            let group = Arc::clone(&group);
            spawn(async move {
                if let GroupTurn::Lead(lead) = group.enter(100).await {
                    assert_eq!(lead.jobs().first(), Some(&100), "its own job is the first");
                    yield_now().await;
                    drop(lead);
                }
            })
        };
        let callers: Vec<JoinHandle<(u32, Option<u32>)>> = (0..3)
            .map(|job| {
                let (group, paper) = (Arc::clone(&group), Arc::clone(&paper));
                spawn(async move { (job, run(&group, &paper, job).await) })
            })
            .collect();
        block_on(dying).expect("no caller is stopped");
        let mut served = vec![];
        for caller in callers {
            let (job, answer) = block_on(caller).expect("no caller is stopped");
            if let Some(answer) = answer {
                assert_eq!(answer, job * 2);
                served.push(job);
            }
        }
        let written = paper.sorted();
        assert!(
            served.iter().all(|job| written.contains(job)),
            "{served:?} were told that they are among {written:?}"
        );
        assert_eq!(block_on(run(&group, &paper, 7)), Some(14));
    });
}
