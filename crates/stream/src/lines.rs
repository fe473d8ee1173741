//! Server-sent events, as their bytes come in.
use memchr::memchr2;

/// An incremental reader of server-sent events; pieces of bytes may be cut anywhere.
///
/// Only `data` fields are kept. Lines may end in LF, CR or CRLF.
#[derive(Debug, Clone, Default)]
pub struct SseLines {
    /// The begin of an incomplete line.
    line: Vec<u8>,
    /// The data of the current event from its earlier lines.
    data: Vec<u8>,
    has_data: bool,
    /// True if the last byte was a CR; a following LF belongs to it.
    after_cr: bool,
    started: bool,
}

/// The error if an event is longer than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is too long")]
pub struct SseTooLong;

impl SseLines {
    /// Reads bytes, and passes the data of each completed event to `event`. An event may hold `most`
    /// bytes with the names of its fields; after a longer one the reader is empty again.
    pub fn push(
        &mut self,
        bytes: &[u8],
        most: usize,
        mut event: impl FnMut(&[u8]),
    ) -> Result<(), SseTooLong> {
        let mut rest = bytes;
        loop {
            if self.after_cr && !rest.is_empty() {
                self.after_cr = false;
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                break;
            };
            let (line, behind) = rest.split_at(end);
            self.after_cr = behind.first() == Some(&b'\r');
            rest = behind.get(1..).unwrap_or_default();
            self.hold(line, most)?;
            if self.line.is_empty() {
                // Most events are one data line and a blank line. They are not copied.
                if let Some((data, behind)) = self.whole_event(line, rest) {
                    event(data);
                    (rest, self.after_cr) = (behind, false);
                    continue;
                }
                self.take_line(line, &mut event);
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.take_line(&whole, &mut event);
                whole.clear();
                self.line = whole;
            }
        }
        self.hold(rest, most)?;
        self.line.extend_from_slice(rest);
        Ok(())
    }

    /// Drops an event that is too long with `more` bytes.
    fn hold(&mut self, more: &[u8], most: usize) -> Result<(), SseTooLong> {
        if self.line.len() + self.data.len() + more.len() > most {
            *self = Self::default();
            return Err(SseTooLong);
        }
        Ok(())
    }

    fn whole_event<'a>(&self, line: &'a [u8], rest: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        if self.has_data || self.after_cr || !self.started {
            return None;
        }
        Some((data_of(line)?, rest.strip_prefix(b"\n")?))
    }

    fn take_line(&mut self, line: &[u8], event: &mut impl FnMut(&[u8])) {
        let line = if self.started {
            line
        } else {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        };
        self.started = true;
        if let Some(data) = data_of(line) {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data);
            self.has_data = true;
        } else if line.is_empty() && self.has_data {
            event(&self.data);
            self.data.clear();
            self.has_data = false;
        }
    }
}

fn data_of(line: &[u8]) -> Option<&[u8]> {
    match line.strip_prefix(b"data")? {
        [] => Some(&[]),
        [b':', b' ', data @ ..] | [b':', data @ ..] => Some(data),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<String> {
        let (mut lines, mut seen) = (SseLines::default(), vec![]);
        for piece in pieces {
            let take = |data: &[u8]| seen.push(String::from_utf8_lossy(data).into_owned());
            lines.push(piece, usize::MAX, take).unwrap();
        }
        seen
    }

    #[test]
    fn lines_end_in_any_of_three_ways_and_data_has_several_lines() {
        let wire =
            "\u{feff}: a comment\nevent: x\ndata: a\r\ndata:b\rdata\r\rid: 7\n\ndata:  c\n\n";
        assert_eq!(all(&[wire.as_bytes()]), ["a\nb\n", " c"]);
        let single: Vec<_> = wire.as_bytes().chunks(1).collect();
        assert_eq!(all(&single), ["a\nb\n", " c"]);
        assert_eq!(
            all(&[b"data: a\r", b"\n\r\n", b"data: b\r\n\r", b"\n"]),
            ["a", "b"]
        );
        assert_eq!(all(&[b"data: a\r", b"data: b\n", b"\n"]), ["a\nb"]);
    }

    #[test]
    fn what_is_not_ended_is_no_event() {
        assert_eq!(all(&[b"data: a\n"]), [""; 0]);
        assert_eq!(all(&[b"datas: a\n\n\n\n"]), [""; 0]);
    }
}
