//! Names, bytes and numbers come back as they went in.
mod common;

use common::{commit, database, shared, thread};
use fugato_mysql::MySqlLog;
use fugato_store::{
    Commit, Expect, LeaseRequest, Leased, Record, Signal, Snapshot, Snapshots, Status,
    StoreErrorKind, ThreadAdmin, ThreadFilter, ThreadLog,
};

async fn connect() -> Option<MySqlLog> {
    let url = database(shared()?.url()).await;
    let log = MySqlLog::connect(&url).await;
    Some(log.expect("the server is there"))
}

#[tokio::test]
async fn names_that_look_like_keys_or_scripts_are_names() {
    let Some(log) = connect().await else { return };
    let names = [
        "a",
        "A",
        "á",
        "a ",
        "a\u{a0}",
        "ａ",
        "ß",
        "ss",
        "'; DROP TABLE fugato_thread; --",
        "\\",
        "\\'",
        "\"",
        "x'61'",
        "%",
        "_",
        "NULL",
        "0",
        "00",
        "0x61",
        "x",
        "𝒳",
        "\u{ffff}",
        "é",
        "e\u{301}",
    ];
    for (n, name) in names.into_iter().enumerate() {
        let name = thread(name);
        let mut next = commit(0, name.as_str());
        next.base = Some(Snapshot {
            seq: 1,
            body: vec![u8::try_from(n).expect("they are few")],
        });
        log.append(&name, &next).await.expect("it is a name");
    }
    for (n, name) in names.into_iter().enumerate() {
        let id = thread(name);
        let records = log.read(&id, 1, 9).await.expect("it is there");
        assert_eq!(records, [(1, Record(name.as_bytes().to_vec()))]);
        let fold = log.latest_at(&id, 9).await.expect("it is there");
        assert_eq!(
            fold.map(|fold| fold.body),
            Some(vec![u8::try_from(n).expect("they are few")])
        );
    }
    log.remove(&thread("x")).await.expect("it is there");
    let listed = log
        .list(ThreadFilter::default())
        .await
        .expect("they are there");
    let mut left: Vec<_> = names.into_iter().filter(|name| *name != "x").collect();
    left.sort_unstable();
    let listed: Vec<_> = listed.iter().map(|line| line.thread.as_str()).collect();
    assert_eq!(listed, left);
}

#[tokio::test]
async fn bytes_are_bytes() {
    let Some(log) = connect().await else { return };
    let desk = thread("desk");
    let all: Vec<u8> = (0..=255).collect();
    let many: Vec<_> = (0..20_000_u32)
        .map(|n| Record(n.to_le_bytes().to_vec()))
        .collect();
    let first = Commit {
        records: vec![
            Record(all.clone()),
            Record(vec![]),
            Record(b"\r\n$1\r\n".to_vec()),
        ],
        base: Some(Snapshot {
            seq: 3,
            body: all.clone(),
        }),
        ..commit(0, "")
    };
    let second = Commit {
        records: many.clone(),
        ..commit(3, "")
    };
    for (next, head) in [(&first, 3), (&second, 20_003)] {
        assert_eq!(log.append(&desk, next).await.expect("it fits").head, head);
    }
    let read = log.read(&desk, 1, usize::MAX).await.expect("it is there");
    let written = first.records.into_iter().chain(many);
    assert_eq!(read, (1..).zip(written).collect::<Vec<_>>());
    let fold = log.latest_at(&desk, 3).await.expect("it is there");
    assert_eq!(fold, Some(Snapshot { seq: 3, body: all }));
}

#[tokio::test]
async fn numbers_are_exact_up_to_the_last_position() {
    const LAST: u64 = i64::MAX.unsigned_abs();
    let Some(log) = connect().await else { return };
    let (desk, past) = (thread("desk"), thread("past"));
    let base = |seq| Snapshot {
        seq,
        body: b"fold".to_vec(),
    };
    let until = i64::MAX;
    let first = Commit {
        nonce: u128::MAX,
        status: Status::Sleeping { until },
        ..commit(LAST - 2, "a")
    };
    log.fork(&desk, base(LAST - 2), &first)
        .await
        .expect("it is not past the last");
    let head = log
        .head(&desk)
        .await
        .expect("it is there")
        .expect("it is there");
    let got = (head.seq, head.base, head.nonce, head.status);
    assert_eq!(got, (LAST - 1, LAST - 2, u128::MAX, first.status));
    for expect in [LAST - 2, LAST, LAST + 1, u64::MAX] {
        let other = Commit {
            expect: Expect {
                head: expect,
                fence: 0,
            },
            ..commit(0, "x")
        };
        let kind = log.append(&desk, &other).await.map_err(|error| error.kind);
        match kind {
            Err(StoreErrorKind::Conflict { head, fence: 0 }) => assert_eq!(head, LAST - 1),
            // One more than the last position.
            Err(StoreErrorKind::Invalid(_)) => assert_eq!(expect, LAST),
            other => panic!("{expect}: {other:?}"),
        }
    }
    let status = Status::Waiting {
        expires: Some(i64::MIN),
    };
    let second = Commit {
        status,
        ..commit(LAST - 1, "b")
    };
    assert_eq!(
        log.append(&desk, &second)
            .await
            .expect("it is the last")
            .head,
        LAST
    );
    let read = log.read(&desk, LAST - 1, 9).await.expect("they are there");
    let texts = [
        (LAST - 1, Record(b"a".to_vec())),
        (LAST, Record(b"b".to_vec())),
    ];
    assert_eq!(read, texts);
    for seq in [LAST, u64::MAX] {
        let kind = log
            .fork(&past, base(seq), &commit(seq, "x"))
            .await
            .map_err(|error| error.kind);
        assert!(
            matches!(kind, Err(StoreErrorKind::Invalid(_))),
            "{seq}: {kind:?}"
        );
    }
    assert_eq!(log.head(&past).await.expect("nobody made it"), None);
}

#[tokio::test]
async fn times_to_live_and_fences_of_any_size_are_answered() {
    let Some(log) = connect().await else { return };
    let desk = thread("desk");
    for ttl in [i64::MIN, -1, 0] {
        let request = LeaseRequest::Acquire {
            thread: desk.clone(),
            owner: "\0 \"x\"".into(),
            ttl,
        };
        let leased = log.lease(request).await.expect("the one before is over");
        assert!(matches!(leased, Leased::Granted(one) if one.len() == 1));
    }
    let endless = LeaseRequest::Acquire {
        thread: desk.clone(),
        owner: "\0 \"x\"".into(),
        ttl: i64::MAX,
    };
    let Ok(Leased::Granted(leases)) = log.lease(endless.clone()).await else {
        panic!("the one before is over")
    };
    let until = leases.first().expect("one was asked for").until;
    let busy = log.lease(endless).await.map_err(|error| error.kind);
    assert_eq!(
        busy,
        Err(StoreErrorKind::Busy {
            owner: "\0 \"x\"".into(),
            until
        })
    );
    let thread = desk.clone();
    let renewed = log
        .lease(LeaseRequest::Renew {
            thread,
            fence: u64::MAX,
            ttl: 1,
        })
        .await;
    assert_eq!(
        renewed.map_err(|error| error.kind),
        Err(StoreErrorKind::LeaseLost)
    );
    let signal = Signal::Cancel {
        by: "a\nb\0".into(),
        why: "\u{2028}\"\\".into(),
    };
    let request = LeaseRequest::Signal {
        thread: desk.clone(),
        signal: signal.clone(),
    };
    for _ in 0..2 {
        log.lease(request.clone())
            .await
            .expect("the thread is leased");
    }
    let fence = leases.first().expect("one was asked for").fence;
    let next = Commit {
        expect: Expect { head: 0, fence },
        ..commit(0, "a")
    };
    let signals = log.append(&desk, &next).await.expect("it is ours").signals;
    assert_eq!(signals, [signal.clone(), signal]);
}
