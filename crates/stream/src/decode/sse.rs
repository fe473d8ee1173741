//! Server-sent events, as their bytes come in.
use super::{DecodeErrorKind, Decoder};

/// The lines of a stream, and the data of the event that is not complete.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) most: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// True if the last byte was a carriage return, which a line feed may follow.
    returned: bool,
    begun: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self {
            most: Decoder::MOST,
            line: vec![],
            data: vec![],
            has_data: false,
            returned: false,
            begun: false,
        }
    }
}

type Take<'a> = dyn FnMut(&[u8]) -> Result<(), DecodeErrorKind> + 'a;

impl Lines {
    /// Hands the data of each complete event to `take`. Lines end in CR, LF or both.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        take: &mut Take<'_>,
    ) -> Result<(), DecodeErrorKind> {
        if !bytes.is_empty() && std::mem::take(&mut self.returned) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, rest) = bytes.split_at(end);
            self.keep(line)?;
            self.end_line(take)?;
            bytes = match rest {
                [b'\r'] => {
                    self.returned = true;
                    return Ok(());
                }
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => return Ok(()),
            };
        }
        self.keep(bytes)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), DecodeErrorKind> {
        if self.line.len() + self.data.len() + bytes.len() > self.most {
            return Err(DecodeErrorKind::TooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, take: &mut Take<'_>) -> Result<(), DecodeErrorKind> {
        let mut line = self.line.as_slice();
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            if std::mem::take(&mut self.has_data) {
                take(&self.data)?;
                self.data.clear();
            }
        } else if let Some(data) = field(line) {
            if std::mem::replace(&mut self.has_data, true) {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(data);
        }
        self.line.clear();
        Ok(())
    }
}

/// Returns the value of a line of the field `data`.
fn field(line: &[u8]) -> Option<&[u8]> {
    let value = line.strip_prefix(b"data")?;
    match value {
        [] => Some(value),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Vec<String> {
        let (mut lines, mut seen) = (Lines::default(), vec![]);
        for piece in pieces {
            let mut take = |data: &[u8]| {
                seen.push(String::from_utf8_lossy(data).into_owned());
                Ok(())
            };
            lines.push(piece, &mut take).unwrap();
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
