//! One life of the program under test: all of its tasks die with its runtime.
use std::{cell::RefCell, time::Duration};

use futures::future::join_all;
use tokio::runtime::{Builder, Runtime};

use super::{
    case::PlannedRequest,
    world::{ConsentWorld, TestEndpoints, TestRequest, TestResponse},
};

/// Nothing here takes long; a request that hangs is a failure.
const LIMIT: Duration = Duration::from_secs(60);

/// A program that runs.
pub(super) struct Life {
    /// None of a life in which nothing runs.
    endpoints: Option<TestEndpoints>,
    runtime: Runtime,
    turn: Duration,
}

/// The responses to a batch of requests: none for those that were lost.
pub(super) type Responses = Vec<Option<TestResponse>>;

impl Life {
    pub(super) fn begin(world: &dyn ConsentWorld, turn: Duration) -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("there is no runtime: {error}"))?;
        let opened = runtime.block_on(world.restart());
        let endpoints = opened.map_err(|error| format!("the program cannot be opened: {error}"))?;
        Ok(Self {
            endpoints: Some(endpoints),
            runtime,
            turn,
        })
    }

    /// A life in which nothing runs.
    pub(super) fn nothing() -> Result<Self, String> {
        let runtime = Builder::new_current_thread().build();
        let runtime = runtime.map_err(|error| format!("there is no runtime: {error}"))?;
        Ok(Self {
            endpoints: None,
            runtime,
            turn: Duration::ZERO,
        })
    }

    /// Runs something of the world.
    pub(super) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Sends a request in the name of a caller, and reads the whole response.
    pub(super) async fn ask(
        &self,
        world: &dyn ConsentWorld,
        caller: &str,
        request: TestRequest,
    ) -> TestResponse {
        let request = world.signed(caller, request).await;
        match &self.endpoints {
            Some(endpoints) => endpoints.send(request).await,
            None => TestResponse {
                status: 502,
                body: String::new(),
            },
        }
    }

    /// Lets tasks go on by themselves.
    pub(super) fn idle(&self, turns: usize) {
        self.runtime.block_on(ticks(self.turn, turns));
    }

    /// Sends requests at once, each after so many turns of the scheduler. Where the program is to
    /// die, it does so after so many turns, and the responses that have not come by then are lost.
    pub(super) fn send(
        &self,
        world: &dyn ConsentWorld,
        batch: &[(PlannedRequest, usize)],
        dies_after: Option<usize>,
    ) -> Result<Responses, String> {
        let turn = self.turn;
        let responses = RefCell::new(vec![None; batch.len()]);
        let sends = batch.iter().enumerate().map(|(at, (planned, delay))| {
            let responses = &responses;
            async move {
                ticks(turn, *delay).await;
                let request = planned.request.clone();
                let response = self.ask(world, &planned.caller, request).await;
                if let Some(place) = responses.borrow_mut().get_mut(at) {
                    *place = Some(response);
                }
            }
        });
        let all = join_all(sends);
        let in_time = self.runtime.block_on(async {
            match dies_after {
                Some(turns) => {
                    tokio::select! {
                        _ = all => true,
                        () = ticks(turn, turns) => true,
                    }
                }
                None => tokio::time::timeout(LIMIT, all).await.is_ok(),
            }
        });
        if in_time {
            Ok(responses.into_inner())
        } else {
            Err(format!("a request has no response after {LIMIT:?}"))
        }
    }
}

/// So many turns of the scheduler, or the time that they stand for.
async fn ticks(turn: Duration, turns: usize) {
    if !turn.is_zero() {
        let turns = u32::try_from(turns).unwrap_or(u32::MAX);
        tokio::time::sleep(turn.saturating_mul(turns)).await;
        return;
    }
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}
