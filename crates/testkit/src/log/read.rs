//! Scenarios of reading.
use fugato_store::{Snapshot, Status, StoreErrorKind};

use super::{
    Failure, LogFactory,
    failure::{kind, same},
    trial::{Trial, commit, numbered, thread},
};

/// Contract *read your writes*: acknowledged records are visible at once.
pub async fn read_your_writes(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let alpha = thread("alpha");
    for head in 0..40_u64 {
        let text = format!("record {head}");
        let mut next = commit(head, 0, &[&text]);
        let until = trial.clock.now() + 1;
        next.status = if head % 2 == 0 {
            Status::Sleeping { until }
        } else {
            Status::Idle
        };
        let appended = trial.log.append(&alpha, &next).await?;
        let found = trial.head(&alpha).await?;
        let got = (
            found.seq,
            found.status,
            found.nonce,
            found.base,
            found.fence,
        );
        same(
            "the head after an append",
            got,
            (head + 1, next.status, next.nonce, 0, 0),
        )?;
        same("its time", found.now, appended.now)?;
        let read = trial.texts_from(&alpha, head + 1).await?;
        same("the record after its append", read, vec![(head + 1, text)])?;
    }
    Ok(())
}

/// Contract *bounded read*: a read returns as many records as requested, from the requested
/// position, and no more.
pub async fn bounded_read(factory: &dyn LogFactory) -> Result<(), Failure> {
    let trial = Trial::start(factory).await?;
    let alpha = thread("alpha");
    same(
        "a thread nobody wrote",
        trial.texts(&thread("none")).await?,
        vec![],
    )?;
    let texts = ["a", "b", "c", "d", "e"];
    trial.log.append(&alpha, &commit(0, 0, &texts)).await?;
    let all = numbered(&texts);
    for from in [
        0,
        1,
        2,
        5,
        6,
        7,
        1 << 32,
        (1 << 32) + 1,
        i64::MAX as u64,
        u64::MAX,
    ] {
        for limit in [0, 1, 2, 5, 6, usize::MAX] {
            let read = trial.log.read(&alpha, from, limit).await?;
            let got: Vec<_> = read
                .iter()
                .map(|(seq, record)| (*seq, record.0.as_slice()))
                .collect();
            let expected = all.iter().filter(|(seq, _)| *seq >= from).take(limit);
            let expected = expected
                .map(|(seq, text)| (*seq, text.as_bytes()))
                .collect();
            same(&format!("reading {limit} from {from}"), got, expected)?;
        }
    }
    let Some(admin) = trial.admin() else {
        return Ok(());
    };
    admin
        .compact(
            &alpha,
            Snapshot {
                seq: 3,
                body: b"abc".to_vec(),
            },
        )
        .await?;
    for from in [0, 1, 3] {
        let read = kind(trial.log.read(&alpha, from, 1).await);
        let what = format!("reading from {from} what is compacted up to 3");
        same(&what, read, Err(StoreErrorKind::Compacted { base: 3 }))?;
    }
    let rest = trial.texts_from(&alpha, 4).await?;
    same(
        "reading after the compacted",
        rest,
        vec![(4, "d".into()), (5, "e".into())],
    )
}
