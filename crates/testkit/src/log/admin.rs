//! Scenarios of the administration of threads.
use fugato_state::ThreadId;
use fugato_store::{Status, StoreErrorKind, ThreadAdmin, ThreadFilter, ThreadSummary};

use super::{
    Failure, LogFactory,
    failure::{holds, kind, same},
    snapshot::fold,
    trial::{Trial, cancel, commit, numbered, thread},
};

/// Threads are listed in the order of their names, by prefix, page by page.
pub async fn list_pages(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let Some(admin) = trial.admin() else {
        return Ok(());
    };
    same(
        "where nothing is",
        admin.list(ThreadFilter::default()).await?,
        vec![],
    )?;
    let mut names = [
        "b", "a", "ab", "a%", "aB", "a_", "Z", "ä", "日程", "a😀", "a/1", "a/2",
    ];
    for name in names {
        trial
            .log
            .append(&thread(name), &commit(0, 0, &["x"]))
            .await?;
    }
    trial
        .acquire(&thread("a only leased"), "owner", 1_000)
        .await?;
    names.sort_unstable();
    for prefix in ["", "a", "a%", "a_", "a/", "ä", "日", "nobody"] {
        for after in [
            None,
            Some("Z"),
            Some("a"),
            Some("a/1"),
            Some("zz"),
            Some("日程"),
        ] {
            for limit in [0, 1, 3, 100] {
                let mut filter = ThreadFilter::default();
                filter.prefix = prefix.to_owned();
                filter.after = after.map(thread);
                filter.limit = limit;
                let listed = admin.list(filter).await?;
                let got: Vec<_> = listed.iter().map(|line| line.thread.as_str()).collect();
                let wanted = names.iter().copied().filter(|name| {
                    name.starts_with(prefix) && after.is_none_or(|after| *name > after)
                });
                let what = format!("prefix {prefix:?}, after {after:?}, at most {limit}");
                same(&what, got, wanted.take(limit).collect())?;
            }
        }
    }
    let mut next = commit(1, 0, &["y", "z"]);
    next.status = Status::Sleeping { until: 7 };
    trial.log.append(&thread("b"), &next).await?;
    let line = ThreadSummary {
        thread: thread("b"),
        head: 3,
        status: next.status,
    };
    same("a line", only(admin.as_ref(), "b").await?, vec![line])
}

async fn only(admin: &dyn ThreadAdmin, prefix: &str) -> Result<Vec<ThreadSummary>, Failure> {
    let mut filter = ThreadFilter::default();
    prefix.clone_into(&mut filter.prefix);
    Ok(admin.list(filter).await?)
}

/// A fork is complete from the first moment, or it does not exist.
pub async fn fork_whole_or_not(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let Some(admin) = trial.admin() else {
        return Ok(());
    };
    let (alpha, fork) = (thread("alpha"), thread("fork"));
    trial
        .log
        .append(&alpha, &commit(0, 0, &["a", "b", "c"]))
        .await?;
    let mut large = commit(0, 0, &["forked"]);
    large.records.push(fugato_store::Record(vec![
        0;
        fugato_store::Commit::MAX_RECORD
            + 1
    ]));
    let refused = admin.fork(&fork, fold(2, "ab"), &large).await;
    holds(refused.is_err(), || {
        "a fork with a record too large was written".into()
    })?;
    same("after a refused fork", trial.log.head(&fork).await?, None)?;

    let first = commit(2, 0, &["forked", "on"]);
    for what in ["a fork", "the same fork again"] {
        let appended = admin.fork(&fork, fold(2, "ab"), &first).await?;
        same(what, appended.head, 4)?;
        let expected = vec![(3, "forked".to_owned()), (4, "on".into())];
        same(what, trial.texts_from(&fork, 3).await?, expected)?;
        let head = trial.head(&fork).await?;
        same(
            what,
            (head.seq, head.base, head.fence, head.status),
            (4, 2, 0, Status::Runnable),
        )?;
        let before = kind(trial.log.read(&fork, 2, 1).await);
        same(what, before, Err(StoreErrorKind::Compacted { base: 2 }))?;
        if let Some(snapshots) = trial.snapshots() {
            same(
                what,
                snapshots.latest_at(&fork, 9).await?,
                Some(fold(2, "ab")),
            )?;
        }
    }
    for name in [&fork, &alpha] {
        let before = trial.head(name).await?;
        let refused = kind(admin.fork(name, fold(1, "x"), &commit(1, 0, &["x"])).await);
        let conflict = Err(StoreErrorKind::Conflict {
            head: before.seq,
            fence: 0,
        });
        same("a fork onto a thread that is there", refused, conflict)?;
        same("its head", trial.head(name).await?, before)?;
    }
    let held = thread("held");
    let fence = trial.acquire(&held, "owner", 1_000).await?.fence;
    let refused = kind(
        admin
            .fork(&held, fold(2, "ab"), &commit(2, 0, &["x"]))
            .await,
    );
    let conflict = Err(StoreErrorKind::Conflict { head: 0, fence });
    same("a fork onto what another has leased", refused, conflict)?;
    let owned = admin
        .fork(&held, fold(2, "ab"), &commit(2, fence, &["x"]))
        .await?;
    same("a fork by the owner of its lease", owned.head, 3)?;
    trial.log.append(&fork, &commit(4, 0, &["e"])).await?;
    let source = trial.texts(&alpha).await?;
    same("the source after forks", source, numbered(&["a", "b", "c"]))
}

/// Compaction keeps the head, the records after its position, and the snapshots from its position
/// on.
pub async fn compact_keeps_what_it_promises(factory: &dyn LogFactory) -> Result<(), Failure> {
    let mut trial = Trial::start(factory).await?;
    if trial.admin().is_none() {
        return Ok(());
    }
    let (alpha, beta) = (thread("alpha"), thread("beta"));
    trial.log.append(&beta, &commit(0, 0, &["other"])).await?;
    trial
        .log
        .append(&alpha, &commit(0, 0, &["a", "b", "c", "d"]))
        .await?;
    let last = commit(4, 0, &["e"]);
    trial.log.append(&alpha, &last).await?;
    if let Some(snapshots) = trial.snapshots() {
        for (seq, body) in [(1, "a"), (3, "abc"), (4, "abcd")] {
            snapshots.put(&alpha, fold(seq, body)).await?;
        }
    }
    compact(&trial, &thread("none"), 0, Err(StoreErrorKind::NotFound)).await?;
    compact(&trial, &alpha, 6, Err(StoreErrorKind::NotFound)).await?;
    compact(&trial, &alpha, 3, Ok(())).await?;
    compact(
        &trial,
        &alpha,
        2,
        Err(StoreErrorKind::Compacted { base: 3 }),
    )
    .await?;
    trial.reopen().await?;
    folds(
        &trial,
        &alpha,
        &[(2, None), (3, Some((3, "up to 3"))), (5, Some((4, "abcd")))],
    )
    .await?;
    let rest = vec![(4, "d".to_owned()), (5, "e".into())];
    same(
        "the records after the compacted",
        trial.texts_from(&alpha, 4).await?,
        rest,
    )?;

    compact(&trial, &alpha, 5, Ok(())).await?;
    folds(&trial, &alpha, &[(4, None), (9, Some((5, "up to 5")))]).await?;
    let head = trial.head(&alpha).await?;
    let got = (head.seq, head.base, head.nonce, head.status);
    same(
        "the head after all was compacted",
        got,
        (5, 5, last.nonce, Status::Runnable),
    )?;
    let again = trial.log.append(&alpha, &last).await?;
    same("the last commit again after its record went", again.head, 5)?;
    let appended = trial.log.append(&alpha, &commit(5, 0, &["f"])).await?;
    same("an append after all was compacted", appended.head, 6)?;
    same(
        "its record",
        trial.texts_from(&alpha, 6).await?,
        vec![(6, "f".to_owned())],
    )?;
    same(
        "another thread",
        trial.texts(&beta).await?,
        numbered(&["other"]),
    )?;
    if let Some(snapshots) = trial.snapshots() {
        let refused = kind(snapshots.delete(&alpha, 5).await);
        holds(matches!(refused, Err(StoreErrorKind::Invalid(_))), || {
            format!("deleting what stands for records: expected Invalid, got {refused:?}")
        })?;
        let refused = kind(snapshots.put(&alpha, fold(4, "late")).await);
        let compacted = Err(StoreErrorKind::Compacted { base: 5 });
        same("a fold before the base", refused, compacted)?;
        folds(&trial, &alpha, &[(4, None), (9, Some((5, "up to 5")))]).await?;
    }
    Ok(())
}

async fn compact(
    trial: &Trial<'_>,
    name: &ThreadId,
    seq: u64,
    expected: Result<(), StoreErrorKind>,
) -> Result<(), Failure> {
    let Some(admin) = trial.admin() else {
        return Ok(());
    };
    let compacted = kind(
        admin
            .compact(name, fold(seq, &format!("up to {seq}")))
            .await,
    );
    same(
        &format!("compacting {name} up to {seq}"),
        compacted,
        expected,
    )
}

async fn folds(
    trial: &Trial<'_>,
    name: &ThreadId,
    expected: &[(u64, Option<(u64, &str)>)],
) -> Result<(), Failure> {
    let Some(snapshots) = trial.snapshots() else {
        return Ok(());
    };
    for (seq, wanted) in expected {
        let wanted = wanted.map(|(seq, body)| fold(seq, body));
        same(
            &format!("the fold at {seq}"),
            snapshots.latest_at(name, *seq).await?,
            wanted,
        )?;
    }
    Ok(())
}

/// A thread made under the name of a removed one has nothing of it, not even its old owner.
pub async fn remove_leaves_no_orphans(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let Some(admin) = trial.admin() else {
        return Ok(());
    };
    let (alpha, beta) = (thread("alpha"), thread("beta"));
    trial.log.append(&beta, &commit(0, 0, &["other"])).await?;
    let old = trial.acquire(&alpha, "old", 1_000).await?;
    let last = commit(0, old.fence, &["a", "b"]);
    trial.log.append(&alpha, &last).await?;
    if let Some(snapshots) = trial.snapshots() {
        snapshots.put(&alpha, fold(1, "a")).await?;
    }
    trial.signal(&alpha, &cancel("old")).await?;
    for name in [&alpha, &alpha, &thread("none")] {
        same("removing", kind(admin.remove(name).await), Ok(()))?;
    }
    same(
        "the head of what was removed",
        trial.log.head(&alpha).await?,
        None,
    )?;
    same("its records", trial.texts(&alpha).await?, vec![])?;
    same("its line", only(admin.as_ref(), "alpha").await?, vec![])?;
    let renewed = kind(trial.renew(&alpha, old.fence, 1_000).await);
    same(
        "renewing its lease",
        renewed,
        Err(StoreErrorKind::LeaseLost),
    )?;
    let gone = kind(
        trial
            .log
            .append(&alpha, &commit(2, old.fence, &["late"]))
            .await,
    );
    let conflict = Err(StoreErrorKind::Conflict { head: 0, fence: 0 });
    same("an append by its owner", gone, conflict)?;

    let new = trial.acquire(&alpha, "new", 1_000).await?;
    holds(new.fence > old.fence, || {
        format!(
            "fence {} of a thread made anew, after {}",
            new.fence, old.fence
        )
    })?;
    let mut anew = commit(0, new.fence, &["anew"]);
    anew.nonce = last.nonce;
    let appended = trial.log.append(&alpha, &anew).await?;
    same(
        "the first append to a thread made anew",
        (appended.head, appended.signals),
        (1, vec![]),
    )?;
    same(
        "its records",
        trial.texts(&alpha).await?,
        numbered(&["anew"]),
    )?;
    folds(&trial, &alpha, &[(9, None)]).await?;
    same(
        "another thread",
        trial.texts(&beta).await?,
        numbered(&["other"]),
    )
}
