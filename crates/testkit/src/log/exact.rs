//! Scenarios of exact names, bytes and numbers, for a store that hands them to a server in another
//! language.
use fugato_state::Seq;
use fugato_store::{
    Commit, Expect, LeaseOutcome, LeaseRequest, Record, Signal, Snapshot, Status, StoreErrorKind,
    ThreadFilter, ThreadStore,
};

use super::{
    Failure,
    failure::{holds, kind, same},
    trial::{commit, leases, thread},
};

fn fold(seq: Seq, body: impl Into<Vec<u8>>) -> Snapshot {
    let body = body.into();
    Snapshot { seq, body }
}

/// Every name is kept as it is, whatever it means to the store. The names differ, and the first
/// thread is removed.
pub async fn names_are_names(store: &dyn ThreadStore, names: &[&str]) -> Result<(), Failure> {
    for name in names {
        let mut next = commit(0, 0, &[name]);
        next.base = Some(fold(1, *name));
        store.append(&thread(name), &next).await?;
    }
    for name in names {
        let id = thread(name);
        let records = store.read(&id, 1, 9).await?;
        same(name, records, vec![(1, Record(name.as_bytes().to_vec()))])?;
        same(name, store.latest_at(&id, 9).await?, Some(fold(1, *name)))?;
    }
    let mut left = names.to_vec();
    store.remove(&thread(left.remove(0))).await?;
    left.sort_unstable();
    let listed = store.list(ThreadFilter::default()).await?;
    let listed = listed.iter().map(|line| line.thread.as_str());
    same("what is left", listed.collect::<Vec<_>>(), left)
}

/// Every byte is kept, in records of any number and size, empty ones included.
pub async fn bytes_are_bytes(store: &dyn ThreadStore) -> Result<(), Failure> {
    let desk = thread("desk");
    let all: Vec<u8> = (0..=255).collect();
    let many: Vec<_> = (0..20_000_u32)
        .map(|n| Record(n.to_le_bytes().to_vec()))
        .collect();
    let first = Commit {
        records: [&all[..], b"", b"\r\n$1\r\n"]
            .map(|it| Record(it.to_vec()))
            .to_vec(),
        base: Some(fold(3, &*all)),
        ..commit(0, 0, &[])
    };
    let second = Commit {
        records: many.clone(),
        ..commit(3, 0, &[])
    };
    for (next, head) in [(&first, 3), (&second, 20_003)] {
        same("the head", store.append(&desk, next).await?.head, head)?;
    }
    let read = store.read(&desk, 1, usize::MAX).await?;
    let written = (1..).zip(first.records.into_iter().chain(many));
    same("the records", read, written.collect())?;
    same(
        "the fold",
        store.latest_at(&desk, 3).await?,
        Some(fold(3, all)),
    )
}

/// Positions are exact up to the last one of the store, and so are nonces and times.
pub async fn numbers_are_exact(store: &dyn ThreadStore, last: Seq) -> Result<(), Failure> {
    let (desk, past) = (thread("desk"), thread("past"));
    let first = Commit {
        nonce: u128::MAX,
        status: Status::Sleeping { until: i64::MAX },
        ..commit(last - 2, 0, &["a"])
    };
    store.fork(&desk, fold(last - 2, "fold"), &first).await?;
    let head = store.head(&desk).await?;
    let head = head.map(|head| (head.seq, head.base, head.nonce, head.status));
    let expected = (last - 1, last - 2, u128::MAX, first.status);
    same("the head", head, Some(expected))?;
    for expect in [last - 2, last, last + 1, u64::MAX] {
        let other = Commit {
            expect: Expect {
                head: expect,
                fence: 0,
            },
            ..commit(0, 0, &["x"])
        };
        let refused = kind(store.append(&desk, &other).await);
        let right = match refused {
            Err(StoreErrorKind::Conflict { head, fence: 0 }) => head == last - 1,
            // One more than the last position.
            Err(StoreErrorKind::Invalid(_)) => expect == last,
            _ => false,
        };
        holds(right, || format!("an append after {expect}: {refused:?}"))?;
    }
    let status = Status::Waiting {
        expires: Some(i64::MIN),
    };
    let second = Commit {
        status,
        ..commit(last - 1, 0, &["b"])
    };
    same("the last", store.append(&desk, &second).await?.head, last)?;
    let read = store.read(&desk, last - 1, 9).await?;
    let texts = [(last - 1, "a"), (last, "b")];
    let texts = texts.map(|(seq, text)| (seq, Record(text.into())));
    same("the records", read, texts.to_vec())?;
    for seq in [last, u64::MAX] {
        let forked = kind(
            store
                .fork(&past, fold(seq, "fold"), &commit(seq, 0, &["x"]))
                .await,
        );
        let right = matches!(forked, Err(StoreErrorKind::Invalid(_)));
        holds(right, || format!("a copy from {seq} on: {forked:?}"))?;
    }
    same("what nobody made", store.head(&past).await?, None)
}

/// Leases of any duration, fences of any size and owners of any name work, and signals are
/// delivered unchanged.
pub async fn leases_are_exact(store: &dyn ThreadStore) -> Result<(), Failure> {
    let (desk, owner) = (thread("desk"), "\0 \"x\"".to_owned());
    let acquire = |ttl| LeaseRequest::Acquire {
        thread: desk.clone(),
        owner: owner.clone(),
        ttl,
    };
    for ttl in [i64::MIN, -1, 0] {
        same("leases", leases(store.lease(acquire(ttl)).await?)?.len(), 1)?;
    }
    let granted = leases(store.lease(acquire(i64::MAX)).await?)?;
    let lease = granted
        .first()
        .ok_or_else(|| Failure::new("no lease was granted"))?;
    let busy = kind(store.lease(acquire(i64::MAX)).await);
    let until = lease.until;
    let owner = owner.clone();
    same("the next", busy, Err(StoreErrorKind::Busy { owner, until }))?;
    let renew = LeaseRequest::Renew {
        thread: desk.clone(),
        fence: u64::MAX,
        ttl: 1,
    };
    let renewed = kind(store.lease(renew).await);
    same("of another fence", renewed, Err(StoreErrorKind::LeaseLost))?;
    let signal = Signal::Cancel {
        by: "a\nb\0".into(),
        why: "\u{2028}\"\\".into(),
    };
    for _ in 0..2 {
        let (thread, signal) = (desk.clone(), signal.clone());
        let left = store.lease(LeaseRequest::Signal { thread, signal }).await?;
        same("a signal", left, LeaseOutcome::Done)?;
    }
    let appended = store.append(&desk, &commit(0, lease.fence, &["a"])).await?;
    same(
        "the signals",
        appended.signals,
        vec![signal.clone(), signal],
    )
}
