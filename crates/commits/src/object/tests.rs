use fugato_store::Status;

use super::*;
use crate::{
    layout::{Marker, Position},
    state::Holder,
};

/// An object with something in every field.
fn object() -> Object {
    let at = Position {
        incarnation: 1,
        ordinal: 4,
    };
    let state = State {
        absent: false,
        base: 2,
        head: 9,
        status: Some(Status::Sleeping { until: 77 }),
        due: Some(77),
        marker: Some(Marker { time: 77, at }),
        fence: 3,
        lowest_fence: 2,
        lease: Some(Holder {
            owner: "owner".into(),
            until: 99,
        }),
        nonce: u128::MAX,
        signals: vec![],
        delivered: vec![fugato_store::Signal::Cancel {
            by: "a".into(),
            why: "b".into(),
        }],
        folds: [(2, 1), (9, 4)].into(),
        first: 2,
        copy: None,
        moved_to: None,
    };
    Object {
        thread: ThreadId::new("日程").unwrap(),
        id: u128::MAX - 1,
        time: 1_800_000_000_000,
        before: 7,
        content: Content {
            kind: "append".into(),
            records: vec![Record(b"one\n".to_vec()), Record(vec![])],
            folds: vec![Snapshot {
                seq: 9,
                body: b"\n{}".to_vec(),
            }],
        },
        state,
    }
}

/// Version 1, byte for byte: what is stored today must be read for ever.
const VERSION_1: &str = include_str!("../../tests/golden/version-1.object");

#[test]
fn objects_of_version_1_are_read() {
    let read = Object::decode(VERSION_1.as_bytes());
    assert_eq!(read, Ok(object()));
    let written = String::from_utf8(object().encode().unwrap());
    assert_eq!(written.as_deref(), Ok(VERSION_1));
}

#[test]
fn an_object_that_is_cut_or_too_long_is_corrupt() {
    let whole = object().encode().unwrap();
    for end in 0..whole.len() {
        let cut = Object::decode(&whole[..end]);
        assert!(matches!(cut, Err(StoreErrorKind::Corrupt(_))), "{end}");
    }
    let longer = [&whole, b"x".as_slice()].concat();
    let read = Object::decode(&longer);
    assert!(matches!(read, Err(StoreErrorKind::Corrupt(_))));
}
