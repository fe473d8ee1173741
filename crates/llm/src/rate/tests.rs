use std::sync::{Arc, Mutex};

use futures::{StreamExt as _, future, stream::FuturesUnordered};
use proptest::prelude::*;

use super::{window::MINUTE, *};

/// The arrival, the start and the tokens of a request.
type Trip = (Duration, Duration, u64);

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O always starts")
}

/// Sends requests at their times. Returns the position and the trip of each, in order of starting.
async fn trips(quota: &Quota, arrivals: &[(u64, u64)]) -> Vec<(usize, Trip)> {
    let start = Instant::now();
    let gone = Arc::new(Mutex::new(vec![]));
    let mut came = Duration::ZERO;
    let mut travellers = FuturesUnordered::new();
    for (position, (pause, tokens)) in arrivals.iter().enumerate() {
        came += Duration::from_millis(*pause);
        let (arrives, tokens, gone, quota) = (came, *tokens, gone.clone(), quota.clone());
        travellers.push(async move {
            tokio::time::sleep_until(start + arrives).await;
            if quota.enter(tokens).await.is_ok() {
                let trip = (arrives, start.elapsed(), tokens);
                gone.lock()
                    .expect("no test panics with it")
                    .push((position, trip));
            }
        });
    }
    while travellers.next().await.is_some() {}
    drop(travellers);
    Arc::into_inner(gone)
        .expect("all travellers are gone")
        .into_inner()
        .expect("no test panics with it")
}

/// Returns true if the last of them started too early: beyond the quota of the minute that ended
/// then.
fn too_early(trips: &[Trip], requests: u32, tokens: u64) -> bool {
    let Some(((_, went, needs), before)) = trips.split_last() else {
        return false;
    };
    let before: Vec<_> = before
        .iter()
        .filter(|(_, at, _)| *at + MINUTE > *went)
        .collect();
    let taken: u64 = before.iter().map(|(_, _, taken)| taken).sum();
    // A request larger than the quota starts when nothing else was taken.
    before.len() >= requests as usize || taken + needs.min(&tokens) > tokens
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_minute_sees_more_than_the_quota_and_nobody_waits_in_vain(
        arrivals in prop::collection::vec((1u64..30_000, 0u64..120), 1..30),
        requests in 1u32..8,
        tokens in 1u64..200,
    ) {
        let quota = Quota::default().requests(requests).tokens(tokens);
        let trips = runtime().block_on(trips(&quota, &arrivals));
        let order: Vec<_> = trips.iter().map(|(position, _)| *position).collect();
        prop_assert_eq!(order, (0..arrivals.len()).collect::<Vec<_>>(), "first come, first served");

        let trips: Vec<_> = trips.into_iter().map(|(_, trip)| trip).collect();
        for (position, &(came, went, needs)) in trips.iter().enumerate() {
            let (before, _) = trips.split_at(position);
            let at = |went| [before, &[(came, went, needs)]].concat();
            prop_assert!(!too_early(&at(went), requests, tokens), "{trips:?} at {position}");
            // It waited because of itself, the one ahead of it, or the quota.
            let ahead = before.last().map_or(Duration::ZERO, |ahead| ahead.1);
            let earlier = went.saturating_sub(Duration::from_millis(2));
            let needless = went > came.max(ahead) && !too_early(&at(earlier), requests, tokens);
            prop_assert!(!needless, "{trips:?} at {position}");
        }
    }
}

#[test]
fn what_would_wait_too_long_is_refused() {
    runtime().block_on(async {
        let quota = Quota::default().requests(1);
        let none = quota.clone().longest_wait(Duration::ZERO);
        let some = quota.clone().longest_wait(Duration::from_secs(10));
        assert!(none.enter(1).await.is_ok());
        tokio::time::advance(Duration::from_secs(45)).await;
        for (quota, context) in [
            (&none, "the quota leaves no room within 0 ms"),
            (&some, "the quota leaves no room within 10000 ms"),
        ] {
            let why = quota.enter(1).await.unwrap_err();
            assert_eq!(
                (why.kind, why.context.as_str()),
                (ModelErrorKind::RateLimited, context)
            );
            assert_eq!(why.advice, RetryAdvice::After(Duration::from_secs(15)));
        }
        let start = Instant::now();
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(some.enter(1).await.is_ok());
        assert_eq!(start.elapsed(), Duration::from_secs(15));
    });
}

#[test]
fn who_gives_up_leaves_the_queue_and_corrections_make_room() {
    runtime().block_on(async {
        let quota = Quota::default().tokens(100);
        let first = quota.enter(90).await.unwrap();
        {
            let impatient = quota.enter(50);
            futures::pin_mut!(impatient);
            assert!(futures::poll!(impatient.as_mut()).is_pending());
        }
        let start = Instant::now();
        let second = quota.enter(50);
        futures::pin_mut!(second);
        assert!(futures::poll!(second.as_mut()).is_pending());
        quota.correct(first, 40);
        let (went, ()) = future::join(second, future::ready(())).await;
        assert!(went.is_ok());
        assert_eq!(start.elapsed(), Duration::ZERO);
    });
}
