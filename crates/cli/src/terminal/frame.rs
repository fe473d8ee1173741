//! Lines that fit next to the frame of a card: a line that the terminal wraps would leave the
//! frame.
use fugato_stream::FRAME;

/// The width of a line of a card in a terminal, in columns, with its frame.
pub(super) const WIDTH: usize = 78;

/// Returns the lines of a text, broken at the width; without a width they are not broken.
pub(super) fn lines(text: &str, wide: Option<usize>) -> Vec<String> {
    let most = wide.map_or(usize::MAX, |wide| {
        wide.saturating_sub(FRAME.chars().count())
    });
    let whole = text.split('\n').filter(|_| !text.is_empty());
    whole.flat_map(|line| broken(line, most)).collect()
}

fn broken(line: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut taken = 0;
    for char in line.chars() {
        let width = if char == '\t' {
            8 - taken % 8
        } else {
            columns(char)
        };
        if taken + width > most {
            // A continuation is indented, so that it is no line of its own.
            lines.push("    ".to_owned());
            taken = 4;
        }
        taken += width;
        if let Some(last) = lines.last_mut() {
            last.push(char);
        }
    }
    lines
}

/// Returns the columns of a character, or an upper bound.
fn columns(char: char) -> usize {
    match char {
        '\u{300}'..='\u{36f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{2190}'..='\u{2bff}'
        | '\u{1f000}'..='\u{3ffff}' => 2,
        _ => 1,
    }
}
