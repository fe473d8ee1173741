use fugato_stream::SseLines;

/// The longest event; no server sends a longer one, except by mistake or as an attack. The decoded
/// form of an event can take many times its bytes, as a list of numbers does.
pub(super) const MAX_EVENT_BYTES: usize = 512 << 10;

/// An incremental parser of server-sent events; pieces of bytes may be cut anywhere.
///
/// Only `data` fields are kept. Lines may end in LF, CR or CRLF.
///
/// ```
/// use fugato_llm::SseParser;
///
/// let mut seen = vec![];
/// let mut parser = SseParser::default();
/// for piece in ["data: on", "e\n\n: ping\n\nda", "ta: two\r\n\r\n"] {
///     parser.push(piece.as_bytes(), |data| seen.push(String::from_utf8_lossy(data).into_owned()))?;
/// }
/// assert_eq!(seen, ["one", "two"]);
/// # Ok::<(), fugato_llm::EventTooLong>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct SseParser(SseLines);

/// The error if an event is longer than 512 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {MAX_EVENT_BYTES} bytes")]
pub struct EventTooLong;

impl SseParser {
    /// Parses bytes, and passes the data of each completed event to `event`. After an error the
    /// parser is empty again.
    pub fn push(&mut self, bytes: &[u8], event: impl FnMut(&[u8])) -> Result<(), EventTooLong> {
        let read = self.0.push(bytes, MAX_EVENT_BYTES, event);
        read.map_err(|_| EventTooLong)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let mut seen = vec![];
        let mut parser = SseParser::default();
        for piece in pieces {
            let take = |data: &[u8]| seen.push(String::from_utf8(data.to_vec()).unwrap());
            parser.push(piece, take).unwrap();
        }
        seen
    }

    #[test]
    fn fields_comments_and_line_ends_are_read_as_the_standard_says() {
        for (text, expected) in [
            ("data: a\n\ndata:b\n\n", vec!["a", "b"]),
            ("\u{feff}data: a\n\n", vec!["a"]),
            ("data: a\rdata: b\r\rdata: c\r\n\r\n", vec!["a\nb", "c"]),
            (
                ": ping\n\nevent: x\nid: 1\nretry: 5\ndata: a\n\n",
                vec!["a"],
            ),
            ("data\n\ndata:\n\ndata:  a\n\n", vec!["", "", " a"]),
            ("database: a\n\ndata: a\ndata: {\ndata\n\n", vec!["a\n{\n"]),
            ("\n\n\ndata: a\n\n\n\n", vec!["a"]),
            ("data: never finished\n", vec![]),
        ] {
            assert_eq!(events(&[text.as_bytes()]), expected, "{text:?}");
        }
    }

    #[test]
    fn an_endless_line_is_an_error() {
        let mut parser = SseParser::default();
        let piece = vec![b'x'; 1 << 15];
        let ended = (0..17).find_map(|_| parser.push(&piece, |_| {}).err());
        assert_eq!(ended, Some(EventTooLong));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same_events(
            lines in prop::collection::vec(("(data: ?|: |id:|)[a长]{0,3}", "\n|\r|\r\n"), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
        ) {
            let text: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect();
            let bytes = text.as_bytes();
            let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            at.extend([0, bytes.len()]);
            at.sort_unstable();
            let pieces: Vec<_> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let one_by_one: Vec<_> = bytes.chunks(1).collect();
            prop_assert_eq!(events(&pieces), events(&one_by_one));
        }
    }
}
