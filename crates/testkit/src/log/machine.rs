//! Random requests, answered by the log and by a model of it.
mod model;

use fugato_state::{Millis, Seq};
use fugato_store::{Commit, Expect, LeaseOutcome, Record, Snapshot, Status};
use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestRunner},
};

use self::model::{Model, OWNER, TTL, id};
use super::{
    Failure, LogFactory,
    failure::{kind, same},
    trial::{Trial, cancel, thread},
};

/// Runs `cases` random sequences of requests on fresh logs and compares every answer with that of
/// a model of a few lines. A failure is shrunk to the shortest sequence that shows it.
///
/// Blocks, and needs no runtime.
pub fn agrees_with_the_model(factory: &dyn LogFactory, cases: u32) -> Result<(), Failure> {
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let requests = prop::collection::vec(request(), 1..40);
    TestRunner::new(config)
        .run(&requests, |requests| {
            let ran = futures::executor::block_on(run(factory, &requests));
            ran.map_err(|failure| TestCaseError::fail(failure.to_string()))
        })
        .map_err(|error| Failure::new(error.to_string()))
}

/// The number of threads.
const NAMES: u8 = 3;

/// A request. Its head, fence and nonce are the expected ones plus the given number, which may be
/// 0.
#[derive(Debug, Clone)]
enum Request {
    Append {
        name: u8,
        head: u64,
        fence: u64,
        nonce: u8,
        size: u8,
        status: Status,
        base: bool,
    },
    Read {
        name: u8,
        from: Seq,
        limit: usize,
    },
    Acquire {
        name: u8,
        ttl: Millis,
    },
    Claim {
        n: usize,
    },
    Renew {
        name: u8,
        fence: u64,
        ttl: Millis,
    },
    Release {
        name: u8,
        fence: u64,
    },
    Signal {
        name: u8,
    },
    Compact {
        name: u8,
        seq: Seq,
    },
    Remove {
        name: u8,
    },
    Pass {
        by: Millis,
    },
    Reopen,
}

fn request() -> impl Strategy<Value = Request> {
    let name = 0..NAMES;
    let off = || prop_oneof![8 => Just(0_u64), 1 => 1..3_u64];
    let status = prop_oneof![
        4 => Just(Status::Runnable),
        1 => (0..60_i64).prop_map(|until| Status::Sleeping { until }),
        1 => prop::option::of(0..60_i64).prop_map(|expires| Status::Waiting { expires }),
        1 => Just(Status::Idle),
    ];
    let append = (
        name.clone(),
        off(),
        off(),
        any::<u8>(),
        1..4_u8,
        status,
        any::<bool>(),
    );
    prop_oneof![
        8 => append.prop_map(|(name, head, fence, nonce, size, status, base)| {
            Request::Append { name, head, fence, nonce, size, status, base }
        }),
        2 => (name.clone(), 0..9_u64, 0..5_usize)
            .prop_map(|(name, from, limit)| Request::Read { name, from, limit }),
        2 => (name.clone(), 1..50_i64).prop_map(|(name, ttl)| Request::Acquire { name, ttl }),
        1 => (0..3_usize).prop_map(|n| Request::Claim { n }),
        1 => (name.clone(), off(), 1..50_i64)
            .prop_map(|(name, fence, ttl)| Request::Renew { name, fence, ttl }),
        1 => (name.clone(), off()).prop_map(|(name, fence)| Request::Release { name, fence }),
        1 => name.clone().prop_map(|name| Request::Signal { name }),
        1 => (name.clone(), 0..9_u64).prop_map(|(name, seq)| Request::Compact { name, seq }),
        1 => name.prop_map(|name| Request::Remove { name }),
        2 => (-20..40_i64).prop_map(|by| Request::Pass { by }),
        1 => Just(Request::Reopen),
    ]
}

async fn run(factory: &dyn LogFactory, requests: &[Request]) -> Result<(), Failure> {
    let mut trial = Trial::start(factory).await?;
    let begin = trial.clock.now();
    let mut model = Model::at(begin);
    look_at_the_clock(&trial).await?;
    for (place, request) in requests.iter().enumerate() {
        let ran = step(&mut trial, &mut model, begin, request).await;
        ran.map_err(|failure| {
            Failure::new(format!("request {} of {requests:?}: {failure}", place + 1))
        })?;
        for name in 0..NAMES {
            same(
                &format!("the head of {name}"),
                trial.log.head(&id(name)).await?,
                model.head(name),
            )?;
            let read = kind(trial.log.read(&id(name), 1, 1_000).await);
            same(
                &format!("the records of {name}"),
                read,
                model.read(name, 1, 1_000),
            )?;
        }
    }
    Ok(())
}

async fn step(
    trial: &mut Trial<'_>,
    model: &mut Model,
    begin: Millis,
    request: &Request,
) -> Result<(), Failure> {
    match *request {
        Request::Append { name, .. } => {
            let commit = commit(model, begin, request);
            let appended = kind(trial.log.append(&id(name), &commit).await);
            same("append", appended, model.append(name, &commit))
        }
        Request::Read { name, from, limit } => {
            let read = kind(trial.log.read(&id(name), from, limit).await);
            same("read", read, model.read(name, from, limit))
        }
        Request::Compact { name, seq } => {
            let Some(admin) = trial.admin() else {
                return Ok(());
            };
            let base = Snapshot { seq, body: vec![] };
            same(
                "compact",
                kind(admin.compact(&id(name), base).await),
                model.compact(name, seq),
            )
        }
        Request::Remove { name } => {
            let Some(admin) = trial.admin() else {
                return Ok(());
            };
            model.remove(name);
            same("remove", kind(admin.remove(&id(name)).await), Ok(()))
        }
        Request::Pass { by } => {
            trial.clock.advance(by);
            model.now = model.now.max(trial.clock.now());
            look_at_the_clock(trial).await
        }
        Request::Reopen => trial.reopen().await.map(|_| ()),
        _ => lease(trial, model, request).await,
    }
}

/// Lets the log see the present time, since a log learns the time only from requests.
async fn look_at_the_clock(trial: &Trial<'_>) -> Result<(), Failure> {
    trial.acquire(&thread("clock"), OWNER, 0).await.map(|_| ())
}

async fn lease(trial: &Trial<'_>, model: &mut Model, request: &Request) -> Result<(), Failure> {
    match *request {
        Request::Acquire { name, ttl } => {
            let got = kind(trial.try_acquire(&id(name), OWNER, ttl).await);
            let expected = model.acquire(name, ttl, &got);
            same("acquire", got, expected)
        }
        Request::Claim { n } => {
            let granted = trial.claim(n, OWNER, TTL).await?;
            let expected = model.claim(n, &granted)?;
            same("claim", LeaseOutcome::Granted(granted), expected)
        }
        Request::Renew { name, fence, ttl } => {
            let fence = model.expectation(name).fence + fence;
            let got = kind(trial.renew(&id(name), fence, ttl).await);
            same("renew", got, model.renew(name, fence, ttl))
        }
        Request::Release { name, fence } => {
            let fence = model.expectation(name).fence + fence;
            model.release(name, fence);
            same(
                "release",
                kind(trial.release(&id(name), fence).await),
                Ok(LeaseOutcome::Done),
            )
        }
        Request::Signal { name } => {
            let got = kind(trial.signal(&id(name), &cancel("enough")).await);
            same("signal", got, model.signal(name, cancel("enough")))
        }
        _ => Ok(()),
    }
}

/// Builds the commit of a request, from the head and fence that its writer would expect.
fn commit(model: &Model, begin: Millis, request: &Request) -> Commit {
    let &Request::Append {
        name,
        head,
        fence,
        nonce,
        size,
        status,
        base,
    } = request
    else {
        unreachable!("only appends are commits")
    };
    let known = model.expectation(name);
    let expect = Expect {
        head: known.head + head,
        fence: known.fence + fence,
    };
    let status = match status {
        Status::Sleeping { until } => Status::Sleeping {
            until: begin + until,
        },
        Status::Waiting { expires } => Status::Waiting {
            expires: expires.map(|expires| begin + expires),
        },
        status => status,
    };
    let records: Vec<_> = (0..size).map(|n| Record(vec![name, nonce, n])).collect();
    let base = base.then(|| Snapshot {
        seq: expect.head + u64::from(size),
        body: vec![nonce],
    });
    Commit {
        expect,
        nonce: nonce.into(),
        records,
        status,
        base,
    }
}
