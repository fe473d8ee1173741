use std::sync::Arc;

use futures::{FutureExt, executor::block_on, future::join_all};

use super::*;

fn twice(jobs: &[u32]) -> Vec<u32> {
    jobs.iter().map(|job| job * 2).collect()
}

/// Runs one job like a caller.
async fn run(group: &Group<u32, u32>, job: u32) -> Option<u32> {
    match group.enter(job).await {
        GroupTurn::Lead(lead) => lead.execute(twice),
        GroupTurn::Done(answer) => Some(answer),
        GroupTurn::Lost => None,
    }
}

fn leads(turn: Option<GroupTurn<u32, u32>>) -> Option<Vec<u32>> {
    match turn {
        Some(GroupTurn::Lead(lead)) => Some(lead.jobs().to_vec()),
        _ => None,
    }
}

#[test]
fn the_first_leads_and_serves_those_who_came_meanwhile() {
    let group = Group::new(8);
    let GroupTurn::Lead(first) = block_on(group.enter(1)) else {
        panic!("nobody else leads")
    };
    let mut second = group.enter(2);
    let mut third = group.enter(3);
    assert!((&mut second).now_or_never().is_none());
    assert!((&mut third).now_or_never().is_none());
    assert_eq!(first.execute(twice), Some(2));
    let GroupTurn::Lead(next) = block_on(&mut second) else {
        panic!("the queue hands over")
    };
    assert_eq!(next.execute(twice), Some(4));
    assert!(matches!(block_on(&mut third), GroupTurn::Done(6)));
}

#[test]
fn a_leader_takes_no_more_than_a_group() {
    let group = Group::new(2);
    let GroupTurn::Lead(first) = block_on(group.enter(1)) else {
        panic!("nobody else leads")
    };
    let [mut second, mut third, mut fourth] = [2, 3, 4].map(|job| group.enter(job));
    drop(first);
    assert_eq!(leads((&mut second).now_or_never()), Some(vec![2, 3]));
    assert!(matches!((&mut third).now_or_never(), Some(GroupTurn::Lost)));
    assert_eq!(leads(Some(block_on(&mut fourth))), Some(vec![4]));
}

#[test]
fn a_leader_lets_those_come_again_who_were_just_served() {
    let group = Group::new(8);
    let GroupTurn::Lead(first) = block_on(group.enter(1)) else {
        panic!("nobody else leads")
    };
    let [mut second, mut third] = [2, 3].map(|job| group.enter(job));
    drop(first);
    let Some(GroupTurn::Lead(both)) = (&mut second).now_or_never() else {
        panic!("it was called")
    };
    assert_eq!(both.execute(twice), Some(4));
    assert!(matches!(
        (&mut third).now_or_never(),
        Some(GroupTurn::Done(6))
    ));

    let mut fourth = group.enter(4);
    assert!(
        (&mut fourth).now_or_never().is_none(),
        "another came with the last group"
    );
    let fifth = group.enter(5);
    assert_eq!(leads((&mut fourth).now_or_never()), Some(vec![4, 5]));
    drop(fifth);
    let alone = group.enter(6);
    assert_eq!(
        leads(Some(block_on(alone))),
        Some(vec![6]),
        "nobody waits for ever"
    );
    assert_eq!(
        leads(group.enter(7).now_or_never()),
        Some(vec![7]),
        "whoever is alone never"
    );
}

#[test]
fn one_who_leaves_the_queue_takes_nothing_with_it() {
    let group = Group::new(8);
    let GroupTurn::Lead(first) = block_on(group.enter(1)) else {
        panic!("nobody else leads")
    };
    let gone = group.enter(2);
    let mut called = group.enter(3);
    drop(gone);
    assert_eq!(first.execute(twice), Some(2));
    assert_eq!(leads((&mut called).now_or_never()), Some(vec![3]));
}

#[test]
fn one_who_leaves_when_called_hands_over() {
    let group = Group::new(8);
    let GroupTurn::Lead(first) = block_on(group.enter(1)) else {
        panic!("nobody else leads")
    };
    let called = group.enter(2);
    let mut after = group.enter(3);
    drop(first);
    drop(called);
    assert_eq!(leads((&mut after).now_or_never()), Some(vec![3]));
}

#[test]
fn a_leader_that_panics_loses_its_group_and_no_other() {
    let group = Group::new(8);
    let mut first = group.enter(1);
    let mut second = group.enter(2);
    let Some(GroupTurn::Lead(lead)) = (&mut first).now_or_never() else {
        panic!("it was first")
    };
    let mut third = group.enter(3);
    let work = |_: &[u32]| -> Vec<u32> { panic!("the disk caught fire") };
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lead.execute(work)));
    assert!(died.is_err());
    assert!(matches!(
        (&mut second).now_or_never(),
        Some(GroupTurn::Lost)
    ));
    assert_eq!(leads(Some(block_on(&mut third))), Some(vec![3]));
}

#[test]
fn an_answer_that_is_missing_is_a_loss() {
    let group = Group::new(8);
    let mut first = group.enter(1);
    let mut second = group.enter(2);
    let Some(GroupTurn::Lead(lead)) = (&mut first).now_or_never() else {
        panic!("it was first")
    };
    assert_eq!(lead.execute(|_| vec![7]), Some(7));
    assert!(matches!(
        (&mut second).now_or_never(),
        Some(GroupTurn::Lost)
    ));
}

#[test]
fn many_threads_are_all_answered() {
    let group = Arc::new(Group::new(5));
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let group = Arc::clone(&group);
            std::thread::spawn(move || {
                block_on(async {
                    for round in 0..200 {
                        let jobs = (0..3).map(|n| thread * 1_000 + round * 4 + n);
                        let answers = join_all(jobs.clone().map(|job| run(&group, job))).await;
                        let wanted: Vec<_> = jobs.map(|job| Some(job * 2)).collect();
                        assert_eq!(answers, wanted);
                    }
                });
            })
        })
        .collect();
    for thread in threads {
        thread
            .join()
            .expect("no caller waits for ever or gets another's answer");
    }
    assert!(matches!(block_on(group.enter(1)), GroupTurn::Lead(_)));
}
