//! Scenarios of appends.
use fugato_store::{Commit, Expect, Record, Status, StoreErrorKind};

use super::{
    Failure, LogFactory,
    failure::{holds, kind, same},
    trial::{Trial, cancel, commit, numbered, thread},
};

/// Contract *atomic*: all records of a commit are written or none, and no reader sees half of them.
pub async fn atomic(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let alpha = thread("alpha");
    trial
        .log
        .append(&alpha, &commit(0, 0, &["a", "b", "c"]))
        .await?;
    let whole = numbered(&["a", "b", "c"]);
    same(
        "a commit of three records",
        trial.texts(&alpha).await?,
        whole.clone(),
    )?;

    let mut large = commit(3, 0, &["d", "e"]);
    large
        .records
        .push(Record(vec![b'f'; Commit::MAX_RECORD + 1]));
    let refused = trial.log.append(&alpha, &large).await;
    holds(refused.is_err(), || {
        "a commit with a record too large was written".into()
    })?;
    same(
        "after a commit whose last record is too large",
        trial.texts(&alpha).await?,
        whole,
    )?;

    let (log, beta) = (trial.log.clone(), thread("beta"));
    let writer = tokio::spawn({
        let beta = beta.clone();
        async move {
            for head in (0..90).step_by(3) {
                log.append(&beta, &commit(head, 0, &["x", "y", "z"]))
                    .await?;
            }
            Ok::<_, Failure>(())
        }
    });
    loop {
        let finished = writer.is_finished();
        let seen = trial.log.read(&beta, 1, 1_000).await?.len();
        holds(seen % 3 == 0, || {
            format!("a reader saw {seen} records of commits of three")
        })?;
        if finished {
            break;
        }
        tokio::task::yield_now().await;
    }
    writer
        .await
        .map_err(|error| Failure::new(error.to_string()))?
}

/// Contract *compare and set*: a commit that expects another head or fence is a conflict that
/// returns both, and writes nothing.
pub async fn compare_and_set(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let (alpha, none) = (thread("alpha"), thread("none"));
    for (head, fence) in [(1, 0), (0, 1)] {
        let refused = kind(trial.log.append(&none, &commit(head, fence, &["x"])).await);
        let expected = Err(StoreErrorKind::Conflict { head: 0, fence: 0 });
        same(
            "an append that expects what is not there",
            refused,
            expected,
        )?;
    }
    same("a thread nobody wrote", trial.log.head(&none).await?, None)?;

    let fence = trial.acquire(&alpha, "owner", 1_000).await?.fence;
    trial
        .log
        .append(&alpha, &commit(0, fence, &["a", "b"]))
        .await?;
    let before = trial.head(&alpha).await?;
    for (head, of) in [
        (0, fence),
        (1, fence),
        (3, fence),
        (2, fence - 1),
        (2, fence + 1),
        (0, 0),
    ] {
        let mut other = commit(head, of, &["x"]);
        other.status = Status::Idle;
        let refused = kind(trial.log.append(&alpha, &other).await);
        let what = format!("an append at head {head} under fence {of}, which are 2 and {fence}");
        same(
            &what,
            refused,
            Err(StoreErrorKind::Conflict { head: 2, fence }),
        )?;
    }
    same(
        "after conflicts",
        trial.texts(&alpha).await?,
        numbered(&["a", "b"]),
    )?;
    same(
        "the head after conflicts",
        trial.head(&alpha).await?,
        before,
    )
}

/// Contract *idempotent*: a repeat of the last commit gets the same answer and writes nothing.
pub async fn idempotent(factory: &dyn LogFactory) -> Result<(), Failure> {
    let mut trial = Trial::start(factory).await?;
    let alpha = thread("alpha");
    let first = commit(0, 0, &["a", "b"]);
    trial.log.append(&alpha, &first).await?;
    trial.signal(&alpha, &cancel("once")).await?;
    let mut second = commit(2, 0, &["c"]);
    second.status = Status::Waiting { expires: None };
    let appended = trial.log.append(&alpha, &second).await?;
    let before = trial.head(&alpha).await?;

    let mut changed = commit(7, 9, &["something", "else"]);
    changed.nonce = second.nonce;
    for (what, repetition) in [
        ("the same commit again", &second),
        ("its nonce again", &changed),
    ] {
        let again = kind(trial.log.append(&alpha, repetition).await);
        same(what, again, Ok(appended.clone()))?;
        same(what, trial.texts(&alpha).await?, numbered(&["a", "b", "c"]))?;
        same(what, trial.head(&alpha).await?, before)?;
    }
    if trial.reopen().await? {
        let again = kind(trial.log.append(&alpha, &second).await);
        same("the same commit after opening again", again, Ok(appended))?;
    }
    let conflict = StoreErrorKind::Conflict { head: 3, fence: 0 };
    for nonce in [first.nonce, second.nonce ^ 1, second.nonce ^ 1 << 127] {
        let other = Commit {
            nonce,
            ..second.clone()
        };
        let refused = kind(trial.log.append(&alpha, &other).await);
        same("a commit of another nonce", refused, Err(conflict.clone()))?;
    }
    let third = commit(3, 0, &["d"]);
    let appended = trial.log.append(&alpha, &third).await?;
    same("signals of a later commit", appended.signals, vec![])?;
    same("its head", appended.head, 4)
}

/// Contract *gap free*: records take the positions after the head, in order.
pub async fn gap_free(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let alpha = thread("alpha");
    let mut written: Vec<String> = vec![];
    for size in [1_usize, 3, 2, 7, 1, 1, 40, 2] {
        let head = written.len();
        let texts: Vec<_> = (0..size).map(|n| format!("{head}+{n}")).collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        let appended = trial
            .log
            .append(&alpha, &commit(head as u64, 0, &texts))
            .await?;
        written.extend(texts.into_iter().map(ToOwned::to_owned));
        same(
            "the head after an append",
            appended.head,
            written.len() as u64,
        )?;
    }
    let written: Vec<_> = written.iter().map(String::as_str).collect();
    same(
        "all records",
        trial.texts(&alpha).await?,
        numbered(&written),
    )
}

/// Contract *isolated*: threads do not see each other, however alike their names are.
pub async fn isolated(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let longest = "x".repeat(200);
    let names = [
        "a", "A", "a ", "a/b", "a%", "a_", "'a", "ä", "日程", "😀", "aa", &longest,
    ];
    for name in names {
        let name = thread(name);
        trial
            .log
            .append(&name, &commit(0, 0, &[name.as_str()]))
            .await?;
    }
    let leased = trial.acquire(&thread("a"), "owner", 1_000).await?;
    trial.signal(&thread("a"), &cancel("a")).await?;
    for name in names.into_iter().skip(1) {
        let name = thread(name);
        let what = format!("thread {name}");
        same(&what, trial.texts(&name).await?, numbered(&[name.as_str()]))?;
        same(&what, trial.head(&name).await?.fence, 0)?;
        let appended = trial.log.append(&name, &commit(1, 0, &["more"])).await?;
        same(&what, (appended.head, appended.signals), (2, vec![]))?;
    }
    let appended = trial
        .log
        .append(&thread("a"), &commit(1, leased.fence, &["more"]))
        .await?;
    same(
        "the signal of thread a",
        appended.signals,
        vec![cancel("a")],
    )
}

/// Contract *sizes*: records of the allowed size are written, and larger ones are refused.
pub async fn sizes(factory: &dyn LogFactory) -> Result<(), Failure> {
    const RECORD: usize = Commit::MAX_RECORD;
    const RECORDS: usize = Commit::MAX_COMMIT / RECORD;
    let trial = Trial::start(factory).await?;
    let alpha = thread("alpha");
    let of = |head, count, size| {
        let records = vec![Record(vec![7; size]); count];
        Commit {
            expect: Expect { head, fence: 0 },
            records,
            ..commit(head, 0, &[])
        }
    };
    for (count, size, expected) in [
        (1, RECORD, Ok(1)),
        (RECORDS, RECORD, Ok(1 + RECORDS as u64)),
        (
            1,
            RECORD + 1,
            Err(StoreErrorKind::TooLarge {
                bytes: RECORD + 1,
                limit: RECORD,
            }),
        ),
        (
            RECORDS + 1,
            RECORD,
            Err(StoreErrorKind::TooLarge {
                bytes: (RECORDS + 1) * RECORD,
                limit: Commit::MAX_COMMIT,
            }),
        ),
    ] {
        let head = trial.log.head(&alpha).await?.map_or(0, |head| head.seq);
        let appended = kind(trial.log.append(&alpha, &of(head, count, size)).await);
        let what = format!("{count} records of {size} bytes");
        same(&what, appended.map(|appended| appended.head), expected)?;
    }
    let head = trial.head(&alpha).await?.seq;
    same("the head after refusals", head, 1 + RECORDS as u64)?;
    let last = trial.log.read(&alpha, head, 2).await?;
    same(
        "the last record",
        last,
        vec![(head, Record(vec![7; RECORD]))],
    )?;
    let empty = kind(trial.log.append(&alpha, &of(head, 0, 0)).await);
    holds(matches!(empty, Err(StoreErrorKind::Invalid(_))), || {
        format!("a commit without records: expected Invalid, got {empty:?}")
    })?;
    trial.log.append(&alpha, &of(head, 1, 0)).await?;
    let last = trial.log.read(&alpha, head + 1, 2).await?;
    same(
        "a record of no bytes",
        last,
        vec![(head + 1, Record(vec![]))],
    )
}
