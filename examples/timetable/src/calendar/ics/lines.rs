//! From bytes to content lines: unfolding, parameters, escapes.
//!
//! This is done here and not by a parser crate because an error must name the line of the file,
//! which is lost by unfolding first, and because exporters fold inside UTF-8 characters.
use super::error::{Fault, IcsProblem, Loss};

/// One property, `NAME;PARAMETER=VALUE:VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// The line of the file on which it starts, from 1.
    pub(super) number: usize,
    /// In capitals.
    pub(super) name: String,
    /// Names in capitals; the values of a list are not split.
    pub(super) parameters: Vec<(String, String)>,
    /// As written, escapes included.
    pub(super) value: String,
}

impl Line {
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the value as text, without its escapes.
    pub(super) fn text(&self) -> String {
        let mut text = String::with_capacity(self.value.len());
        let mut chars = self.value.chars();
        while let Some(c) = chars.next() {
            match (c, c == '\\') {
                (_, true) => match chars.next() {
                    Some('n' | 'N') => text.push('\n'),
                    Some(other) => text.push(other),
                    None => {}
                },
                (c, false) => text.push(c),
            }
        }
        text.trim().to_owned()
    }

    /// Returns the first of a list of texts.
    pub(super) fn first_text(&self) -> String {
        let mut escaped = false;
        let end = self.value.find(|c| {
            let comma = c == ',' && !escaped;
            escaped = c == '\\' && !escaped;
            comma
        });
        let first = end.map_or(self.value.as_str(), |end| {
            self.value.get(..end).unwrap_or("")
        });
        Self {
            value: first.to_owned(),
            ..self.clone()
        }
        .text()
    }
}

/// Reads the content lines of a file, and notes what is none.
pub(super) fn read_lines(bytes: &[u8], faults: &mut Vec<Fault>) -> Vec<Line> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = Vec::new();
    for (number, raw) in unfold(bytes) {
        let text = String::from_utf8_lossy(&raw);
        if std::str::from_utf8(&raw).is_err() {
            faults.push(Fault::new(number, IcsProblem::NotText).costing(Loss::Nothing));
        }
        if text.trim().is_empty() {
            continue;
        }
        match parse(number, &text) {
            Ok(line) => lines.push(line),
            Err(fault) => faults.push(fault.costing(Loss::Line)),
        }
    }
    lines
}

/// Joins folded lines as bytes, because a fold may split a character. Empty lines are skipped:
/// many exporters end with some, and some write one before the rest of a folded line.
fn unfold(bytes: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let mut unfolded: Vec<(usize, Vec<u8>)> = Vec::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match (line, unfolded.last_mut()) {
            ([], _) => {}
            ([b' ' | b'\t', rest @ ..], Some((_, last))) => last.extend_from_slice(rest),
            _ => unfolded.push((index + 1, line.to_vec())),
        }
    }
    unfolded
}

fn parse(number: usize, text: &str) -> Result<Line, Fault> {
    split(text)
        .map(|(name, parameters, value)| Line {
            number,
            name,
            parameters,
            value,
        })
        .ok_or_else(|| {
            let text = text.chars().take(40).collect();
            Fault::new(number, IcsProblem::BadLine(text))
        })
}

type Parts = (String, Vec<(String, String)>, String);

fn split(text: &str) -> Option<Parts> {
    let end = text.find([':', ';'])?;
    let (name, mut rest) = text.split_at_checked(end)?;
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || !name.chars().all(legal) {
        return None;
    }
    let mut parameters = Vec::new();
    while let Some(parameter) = rest.strip_prefix(';') {
        let (key, value) = parameter.split_once('=')?;
        let end = unquoted(value)?;
        let (value, after) = value.split_at_checked(end)?;
        parameters.push((key.to_ascii_uppercase(), value.replace('"', "")));
        rest = after;
    }
    let value = rest.strip_prefix(':')?;
    Some((name.to_ascii_uppercase(), parameters, value.to_owned()))
}

/// Returns the end of a parameter's value: the first `;` or `:` outside of quotes.
fn unquoted(text: &str) -> Option<usize> {
    let mut quoted = false;
    text.find(|c| {
        quoted ^= c == '"';
        !quoted && matches!(c, ';' | ':')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Vec<Line> {
        let mut faults = Vec::new();
        let lines = read_lines(bytes, &mut faults);
        assert_eq!(faults, []);
        lines
    }

    #[test]
    fn folded_lines_are_joined_even_inside_a_character() {
        let mut bytes = b"\xef\xbb\xbfBEGIN:VEVENT\r\nsummary;LANGUAGE=zh:\xe9\xab".to_vec();
        bytes.extend_from_slice(b"\r\n \x98\xe6\x95\xb0\\, B\n\t2\r\n\r\nEND:VEVENT");
        let lines = read(&bytes);
        let summary = Line {
            number: 2,
            name: "SUMMARY".to_owned(),
            parameters: vec![("LANGUAGE".to_owned(), "zh".to_owned())],
            value: "高数\\, B2".to_owned(),
        };
        assert_eq!(lines.get(1), Some(&summary));
        assert_eq!(summary.text(), "高数, B2");
        assert_eq!(
            lines.iter().map(|line| line.number).collect::<Vec<_>>(),
            [1, 2, 6]
        );
    }

    #[test]
    fn quotes_in_parameters_hide_separators() {
        let lines = read(b"DTSTART;X=\"a:b;c\";TZID=\"Europe/Berlin\":20260302T080000");
        let line = lines.first().expect("there is one line");
        assert_eq!(line.parameter("TZID"), Some("Europe/Berlin"));
        assert_eq!(line.parameter("X"), Some("a:b;c"));
        assert_eq!(line.value, "20260302T080000");
    }

    #[test]
    fn a_line_that_is_no_property_is_named() {
        let mut faults = Vec::new();
        let text = b"BEGIN:VCALENDAR\nwhat is this?\nSUMMARY:\xff\xfe";
        let lines = read_lines(text, &mut faults);
        let names: Vec<String> = lines.iter().map(Line::text).collect();
        assert_eq!(names, ["VCALENDAR", "\u{fffd}\u{fffd}"]);
        let bad = IcsProblem::BadLine("what is this?".to_owned());
        let expected = [
            Fault::new(2, bad).costing(Loss::Line),
            Fault::new(3, IcsProblem::NotText).costing(Loss::Nothing),
        ];
        assert_eq!(faults, expected);
    }

    #[test]
    fn the_first_of_a_list_keeps_its_escaped_comma() {
        let lines = read(b"CATEGORIES:Maths\\, pure,Lecture");
        let first = lines.first().map(Line::first_text);
        assert_eq!(first.as_deref(), Some("Maths, pure"));
    }
}
