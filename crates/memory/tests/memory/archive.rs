//! Tests that an archive reads back the entries that were written.
use fugato_memory::{Archive, ArchiveEntry, ArchiveError, ArchiveWriter};
use fugato_state::{Message, RunId, ThreadId, ToolStatus};
use fugato_stream::{Event, EventKind};
use proptest::prelude::*;
use serde_json::json;

fn kind() -> impl Strategy<Value = EventKind> {
    let text = "[a\"\\\\\n\u{2028}报🎻]{0,6}";
    prop_oneof![
        text.prop_map(|text| EventKind::TextDelta {
            block: "b".into(),
            text: text.into()
        }),
        (text, text).prop_map(|(name, data)| EventKind::Custom {
            name,
            data: json!({ "data": data, "n": 0.1 })
        }),
        text.prop_map(|summary| EventKind::ToolFinished {
            call: "1".into(),
            name: "look".into(),
            status: ToolStatus::Blocked,
            summary,
            result: Some(json!([1, null])),
        }),
        Just(EventKind::RunStarted { resumed: true }),
        text.prop_map(|error| EventKind::RunFailed { error }),
    ]
}

fn entry() -> impl Strategy<Value = ArchiveEntry> {
    let thread = ThreadId::new("desk").expect("a short name");
    prop_oneof![
        (kind(), prop::option::of(0..9u64), 1..9u64).prop_map(move |(kind, seq, run)| {
            let (thread, run) = (thread.clone(), RunId(run));
            ArchiveEntry::Event(Box::new(Event {
                thread,
                run,
                seq,
                origin: None,
                kind,
            }))
        }),
        "[a报\n]{0,6}".prop_map(|text| ArchiveEntry::Message(Message::user(text))),
    ]
}

fn written(entries: &[ArchiveEntry]) -> Result<Vec<u8>, ArchiveError> {
    let mut writer = ArchiveWriter::new(vec![]);
    entries.iter().try_for_each(|entry| writer.write(entry))?;
    Ok(writer.into_inner())
}

fn breaks(bytes: &[u8]) -> usize {
    bytes.split(|byte| *byte == b'\n').count() - 1
}

proptest! {
    #[test]
    fn trn_t7_an_archive_replays_to_the_same_events(entries in prop::collection::vec(entry(), 0..20)) {
        let bytes = written(&entries)?;
        prop_assert_eq!(breaks(&bytes), entries.len());
        let archive = Archive::read(&bytes[..])?;
        prop_assert_eq!((&archive.entries, archive.torn), (&entries, false));
        prop_assert_eq!(archive.events().count() + archive.messages().count(), entries.len());
    }

    #[test]
    fn wherever_a_writer_dies_whole_lines_are_kept(
        entries in prop::collection::vec(entry(), 1..6), cut in any::<prop::sample::Index>(),
    ) {
        let bytes = written(&entries)?;
        let left = &bytes[..cut.index(bytes.len())];
        let whole = breaks(left);
        let archive = Archive::read(left)?;
        prop_assert_eq!(&archive.entries[..], &entries[..whole]);
        prop_assert_eq!(archive.torn, !left.is_empty() && !left.ends_with(b"\n"));
    }
}

#[test]
fn a_line_that_is_none_is_named() {
    let good = "{\"v\":1,\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n";
    let read = |second: &str| {
        Archive::read(format!("{good}{second}\n").as_bytes()).map_err(|error| error.to_string())
    };
    assert_eq!(read("{"), Err("line 2 of the archive is no entry".into()));
    let newer = good.replace("\"v\":1", "\"v\":2");
    assert_eq!(
        read(newer.trim()),
        Err("line 2 of the archive has version 2, and version 1 is known".into())
    );
}
