//! Scenarios of the queue of threads that can go on.
use fugato_state::Millis;
use fugato_store::{Claim, Status};

use super::{
    Failure, LogFactory,
    failure::{holds, same},
    trial::{Trial, commit, thread},
};

/// Contract *claim*: a claim grants threads that can go on and have no lease, those first that have
/// been due the longest.
pub async fn claim(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let begin = trial.clock.now();
    same(
        "claiming where nothing is",
        trial.claim(9, "worker", 100).await?,
        vec![],
    )?;
    for (name, status) in [
        ("runs since 0", Status::Runnable),
        ("sleeps until 30", Status::Sleeping { until: begin + 30 }),
        (
            "waits until 20",
            Status::Waiting {
                expires: Some(begin + 20),
            },
        ),
        ("sleeps until 90", Status::Sleeping { until: begin + 90 }),
        ("waits for ever", Status::Waiting { expires: None }),
        ("idles", Status::Idle),
        ("is held", Status::Runnable),
    ] {
        append(&trial, name, status).await?;
    }
    trial.acquire(&thread("is held"), "owner", 1_000).await?;
    trial.acquire(&thread("is only leased"), "owner", 1).await?;
    trial.clock.advance(10);
    append(&trial, "a younger one runs since 10", Status::Runnable).await?;
    append(&trial, "runs since 0", Status::Runnable).await?;
    trial.clock.advance(30);

    same(
        "claiming none",
        names(&trial, 0).await?,
        Vec::<String>::new(),
    )?;
    let claimed = trial.claim(2, "worker", 100).await?;
    let got: Vec<_> = claimed
        .iter()
        .map(|lease| {
            (
                lease.thread.as_str(),
                lease.head,
                lease.until - begin,
                lease.now - begin,
            )
        })
        .collect();
    let first = ("runs since 0", 2, 140, 40);
    let second = ("a younger one runs since 10", 1, 140, 40);
    same(
        "the two that could go on the longest",
        got,
        vec![first, second],
    )?;
    let rest = vec!["waits until 20".to_owned(), "sleeps until 30".into()];
    same("the rest", names(&trial, 9).await?, rest)?;
    same("what others hold", names(&trial, 9).await?, vec![])?;
    for lease in claimed {
        let head = lease.head;
        trial
            .log
            .append(&lease.thread, &commit(head, lease.fence, &["worked"]))
            .await?;
    }

    trial.clock.advance(100);
    let again = trial.claim(9, "another", 100).await?;
    let got: Vec<_> = again.iter().map(|lease| lease.thread.as_str()).collect();
    let expected = vec![
        "runs since 0",
        "a younger one runs since 10",
        "waits until 20",
        "sleeps until 30",
        "sleeps until 90",
    ];
    same("after the leases ended", got, expected)?;
    holds(again.iter().all(|lease| lease.fence > 0), || {
        format!("fences of {again:?}")
    })
}

/// Contract *claim of an agent*: a claim grants the threads whose names begin with its prefix, byte
/// for byte, and those of others are not in its way.
pub async fn claim_of_an_agent(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let names = [
        "other/1",
        "other/2",
        "other/3",
        "other/4",
        "agent",
        "Agent/1",
        "agent_/1",
        "agent%/1",
        "agent/",
        "agent0",
        "agents/1",
        "x/agent/1",
        "代理/1",
    ];
    for name in names.into_iter().chain(["agent/2", "agent/1"]) {
        append(&trial, name, Status::Runnable).await?;
        trial.clock.advance(1);
    }
    for (prefix, n, expected) in [
        ("nobody/", 9, vec![]),
        ("agent/1/", 9, vec![]),
        ("agent/", 0, vec![]),
        ("agent/", 2, vec!["agent/", "agent/2"]),
        ("agent/", 9, vec!["agent/1"]),
        ("agent_/", 9, vec!["agent_/1"]),
        ("agent%", 9, vec!["agent%/1"]),
        ("代理/", 9, vec!["代理/1"]),
        ("oth", 3, vec!["other/1", "other/2", "other/3"]),
        (
            "",
            9,
            vec![
                "other/4",
                "agent",
                "Agent/1",
                "agent0",
                "agents/1",
                "x/agent/1",
            ],
        ),
    ] {
        let claimed = trial.claim_of(prefix, n, "worker", 1_000).await?;
        let got: Vec<_> = claimed.iter().map(|lease| lease.thread.as_str()).collect();
        same(&format!("{n} of {prefix:?}"), got, expected)?;
    }
    Ok(())
}

/// Contract *claim of what one runs*: a claim grants nothing that it excepts, although its lease is
/// over, and as many others as it asks for. Its owner goes on under the old lease, and a claim that
/// does not except it takes it.
pub async fn claim_of_what_one_runs(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let names = [
        "agent/1",
        "agent/it's \"2\"",
        "代理/3",
        "agent/4",
        "agent/5",
    ];
    for name in names {
        append(&trial, name, Status::Runnable).await?;
        trial.clock.advance(1);
    }
    let mut held = vec![];
    for name in &names[..3] {
        held.push(trial.acquire(&thread(name), "owner", 100).await?);
    }
    trial.clock.advance(10_000);
    let claim = |n| Claim {
        n,
        owner: "owner".into(),
        ttl: 1_000,
        except: names[..3].iter().map(|name| thread(name)).collect(),
        ..Claim::default()
    };
    let claimed = async |claim| {
        let leases = trial.claim_as(claim).await?.into_iter();
        Ok::<Vec<String>, Failure>(leases.map(|lease| lease.thread.into()).collect())
    };
    same("the next", claimed(claim(1)).await?, vec![names[3].into()])?;
    same("the rest", claimed(claim(9)).await?, vec![names[4].into()])?;
    same("nothing more", claimed(claim(9)).await?, vec![])?;
    for lease in held {
        trial
            .log
            .append(&lease.thread, &commit(1, lease.fence, &["worked"]))
            .await?;
        trial.renew(&lease.thread, lease.fence, 100).await?;
    }
    trial.clock.advance(10_000);
    let all = names.map(str::to_owned).to_vec();
    same("what is not excepted", claimed(everything(9)).await?, all)
}

fn everything(n: usize) -> Claim {
    let (owner, ttl) = ("another".to_owned(), 1_000);
    Claim {
        n,
        owner,
        ttl,
        ..Claim::default()
    }
}

async fn append(trial: &Trial<'_>, name: &str, status: Status) -> Result<Millis, Failure> {
    let name = thread(name);
    let head = trial.log.head(&name).await?.map_or(0, |head| head.seq);
    let mut next = commit(head, 0, &["a"]);
    next.status = status;
    Ok(trial.log.append(&name, &next).await?.now)
}

async fn names(trial: &Trial<'_>, n: usize) -> Result<Vec<String>, Failure> {
    let leases = trial.claim(n, "worker", 100).await?;
    Ok(leases
        .into_iter()
        .map(|lease| lease.thread.as_str().to_owned())
        .collect())
}
