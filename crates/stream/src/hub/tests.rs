use fugato_state::{RunId, ThreadId};
use futures::{FutureExt, StreamExt};

use super::*;
use crate::Origin;

fn event(seq: Option<Seq>, kind: EventKind) -> Event {
    Event {
        thread: ThreadId::new("t").unwrap(),
        run: RunId(1),
        seq,
        origin: None,
        kind,
    }
}

#[test]
fn what_was_skipped_is_told_to_the_readers_of_all_hubs() {
    let (hub, line) = <(Arc<Hub>, Arc<Hub>)>::default();
    hub.relay(&line);
    let readers = [hub.subscribe(), line.subscribe()];
    hub.skip(3);
    hub.skip(5);
    let told = |reader: Subscription| reader.take(1).collect::<Vec<_>>().now_or_never();
    let lagged = Some(vec![HubItem::Lagged { from: 3 }]);
    assert_eq!(readers.map(told), [lagged.clone(), lagged]);
}

fn delta(text: &str) -> Event {
    event(
        None,
        EventKind::TextDelta {
            block: "b".into(),
            text: text.into(),
        },
    )
}

fn drain(reader: &mut Subscription) -> Vec<HubItem> {
    std::iter::from_fn(|| reader.next().now_or_never().flatten()).collect()
}

#[test]
fn nobody_waits_and_deltas_are_merged_when_a_reader_lags() {
    let hub = Arc::new(Hub::default());
    let mut reader = hub.subscribe();
    for _ in 0..10 * CAPACITY {
        hub.send(delta("x"));
    }
    let heard = drain(&mut reader);
    assert_eq!(heard.len(), CAPACITY);
    let text: usize = heard
        .iter()
        .map(|heard| match heard {
            HubItem::Event(Event {
                kind: EventKind::TextDelta { text, .. },
                ..
            }) => text.len(),
            other => panic!("{other:?}"),
        })
        .sum();
    assert_eq!(text, 10 * CAPACITY);
}

/// An event that differs in anything but the text stays one of its own, wherever the reader is.
#[test]
fn pieces_are_read_as_they_were_sent() {
    let named = |name: &str, more: &str| {
        let mut event = piece(1, more);
        if let EventKind::ToolCallDelta { name: tool, .. } = &mut event.kind {
            *tool = name.into();
        }
        event
    };
    let of_run = |run, text| Event {
        run: RunId(run),
        ..delta(text)
    };
    let elsewhere = Event {
        thread: ThreadId::new("u").unwrap(),
        ..delta("l")
    };
    let durable = Event {
        seq: Some(1),
        ..delta("m")
    };
    let sent = [
        delta("a"),
        delta("b"),
        delta("c"),
        piece(1, "d"),
        piece(1, "e"),
        named("move", "f"),
        piece(2, "g"),
        event(None, EventKind::NodeFinished),
        delta("h"),
        of_run(1, "i"),
        of_run(2, "j"),
        of_run(2, "k"),
        elsewhere,
        durable,
        delta("n"),
    ];
    for pause in 1..sent.len() {
        let hub = Arc::new(Hub::default());
        let line = Arc::new(Hub::default());
        hub.relay(&line);
        let mut readers = [hub.subscribe(), line.subscribe()];
        let mut heard = [vec![], vec![]];
        for (sent, number) in sent.iter().zip(1..) {
            hub.send(sent.clone());
            if number % pause == 0 {
                for (reader, heard) in readers.iter_mut().zip(&mut heard) {
                    heard.extend(reader.next().now_or_never().flatten());
                }
            }
        }
        for (mut reader, mut heard) in readers.into_iter().zip(heard) {
            heard.extend(drain(&mut reader));
            assert_eq!(heard, sent.clone().map(HubItem::Event), "pause of {pause}");
        }
    }
}

#[test]
fn a_lagging_reader_is_told_where_the_log_has_what_it_missed() {
    let hub = Arc::new(Hub::default());
    let mut reader = hub.subscribe();
    for seq in 1..=CAPACITY as Seq + 5 {
        hub.send(event(Some(seq), EventKind::NodeFinished));
    }
    hub.close();
    let heard = drain(&mut reader);
    assert_eq!(heard.len(), CAPACITY + 1);
    assert_eq!(
        heard.last(),
        Some(&HubItem::Lagged {
            from: CAPACITY as Seq + 1
        })
    );
}

#[test]
fn sch_122_cards_and_ends_reach_a_reader_that_lags() {
    let hub = Arc::new(Hub::default());
    let mut reader = hub.subscribe();
    for _ in 0..2 * CAPACITY {
        hub.send(delta("x"));
    }
    let kept = [
        EventKind::Card {
            card: "plan".into(),
            data: serde_json::Value::Null,
        },
        EventKind::RunFinished { output: None },
    ];
    for kind in kept.clone() {
        hub.send(event(None, kind));
    }
    let status = EventKind::Status {
        code: "done".into(),
        summary: String::new(),
    };
    hub.send(event(None, status));
    let heard = drain(&mut reader).split_off(CAPACITY);
    assert_eq!(heard, kept.map(|kind| HubItem::Event(event(None, kind))));
}

#[test]
fn k22_blocks_of_one_name_stay_apart_when_a_reader_lags() {
    let hub = Arc::new(Hub::default());
    let mut reader = hub.subscribe();
    for _ in 0..CAPACITY {
        hub.send(event(None, EventKind::NodeStarted));
    }
    let start = || event(None, EventKind::TextStarted { block: "b".into() });
    let end = || event(None, EventKind::TextFinished { block: "b".into() });
    // Blocks in which nothing is said leave nothing behind, however many there are.
    for _ in 0..CAPACITY {
        hub.send(start());
        hub.send(end());
    }
    for word in ["a", "b"] {
        hub.send(start());
        hub.send(delta(word));
        hub.send(delta(word));
        hub.send(end());
        hub.send(end());
    }
    let expected = [start(), delta("aa"), end(), start(), delta("bb"), end()];
    let heard = drain(&mut reader).split_off(CAPACITY);
    assert_eq!(heard, expected.map(HubItem::Event));
}

#[test]
fn k22_a_reader_outlasts_one_run_and_goes_on_with_the_next() {
    let (first, line) = (Arc::new(Hub::default()), Arc::new(Hub::default()));
    first.send(delta("a"));
    let mut reader = line.subscribe();
    first.relay(&line);
    first.relay(&line);
    first.send(delta("b"));
    first.close();
    let second = Arc::new(Hub::default());
    second.relay(&line);
    assert!(second.has_subscribers());
    second.send(event(Some(1), EventKind::NodeFinished));
    let start = event(None, EventKind::TextStarted { block: "b".into() });
    let expected = [
        start,
        delta("a"),
        delta("b"),
        event(Some(1), EventKind::NodeFinished),
    ];
    assert_eq!(drain(&mut reader), expected.map(HubItem::Event));
    drop((reader, line));
    second.send(delta("c"));
    assert!(!second.has_subscribers());
}

fn piece(attempt: u32, arguments: &str) -> Event {
    let origin = Origin {
        scope: "".into(),
        node: "think".into(),
        visit: 1,
        index: None,
        attempt,
    };
    let kind = EventKind::ToolCallDelta {
        call: "c1".into(),
        name: "place".into(),
        arguments: arguments.into(),
    };
    Event {
        origin: Some(Arc::new(origin)),
        ..event(None, kind)
    }
}

#[test]
fn l13_pieces_of_one_call_are_merged_when_a_reader_lags() {
    let hub = Arc::new(Hub::default());
    let mut reader = hub.subscribe();
    for _ in 0..CAPACITY {
        hub.send(event(None, EventKind::NodeStarted));
    }
    let other = |arguments: &str| Event {
        origin: None,
        ..piece(1, arguments)
    };
    for more in ["{\"day\"", ":2", "}"] {
        hub.send(piece(1, more));
        hub.send(other(more));
    }
    let heard = drain(&mut reader).split_off(CAPACITY);
    let whole = "{\"day\":2}";
    assert_eq!(heard, [piece(1, whole), other(whole)].map(HubItem::Event));
}

#[test]
fn l13_a_late_reader_gets_a_call_until_it_is_proposed_or_void() {
    let hub = Arc::new(Hub::default());
    let late = || drain(&mut hub.subscribe());
    let of_task = |kind| Event {
        kind,
        seq: Some(1),
        ..piece(1, "")
    };
    hub.send(piece(1, "{\"day\":"));
    hub.send(of_task(EventKind::NodeFailed {
        error: "no model".into(),
        retry_at: Some(9),
    }));
    assert_eq!(late(), []);
    hub.send(piece(2, "{"));
    hub.send(piece(2, "}"));
    assert_eq!(late(), [HubItem::Event(piece(2, "{}"))]);
    assert!(hub.has_open());
    let proposed = EventKind::ToolCallProposed {
        call: "c1".into(),
        name: "place".into(),
        arguments: serde_json::json!({}),
    };
    hub.send(of_task(proposed));
    assert_eq!(late(), []);
    assert!(!hub.has_open());
}

#[test]
fn a_late_reader_gets_the_open_blocks_first() {
    let hub = Arc::new(Hub::default());
    hub.send(delta("a"));
    hub.send(delta("b"));
    let mut reader = hub.subscribe();
    let start = event(None, EventKind::TextStarted { block: "b".into() });
    assert_eq!(
        drain(&mut reader),
        [HubItem::Event(start), HubItem::Event(delta("ab"))]
    );
    hub.send(event(None, EventKind::TextFinished { block: "b".into() }));
    assert_eq!(drain(&mut hub.subscribe()), []);
}
