use std::fmt::{self, Write};

/// A foreign text, made safe to show to a person: characters that would act on a terminal or a page
/// are replaced by visible marks.
///
/// Marked are control characters (`␛`, `␍`, `<U+009B>`), characters that turn the direction of
/// writing, that are invisible, or that end a line for some readers, floods of accents and of
/// variation selectors, and the bar that [`FRAME`] draws. Letters of every script, emoji and line
/// drawing stay.
///
/// ```
/// use fugato_stream::EscapedText;
///
/// assert_eq!(EscapedText::block("\u{1b}[2J\namount: 5\r").to_string(), "␛[2J\namount: 5␍");
/// assert_eq!(EscapedText::line("a.txt\nb").to_string(), "a.txt⏎b");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct EscapedText<'a> {
    text: &'a str,
    lines: bool,
}

/// An escaper for a text that comes in pieces: the result does not depend on the cuts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Escaper {
    before: Option<char>,
    marks: usize,
}

/// The prefix of each line of a card in a terminal. No escaped text contains it, so no text of a
/// model or a file can imitate a line of a card.
pub const FRAME: &str = "▌ ";

/// The largest number of accents of a letter.
const MARKS: usize = 4;

impl<'a> EscapedText<'a> {
    /// Escapes a name, a title or another text of one line: line ends and tabs are marked, too.
    pub fn line(text: &'a str) -> Self {
        Self { text, lines: false }
    }

    /// Escapes a text of several lines.
    pub fn block(text: &'a str) -> Self {
        Self { text, lines: true }
    }
}

impl fmt::Display for EscapedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lines {
            return Escaper::default().write(self.text, f);
        }
        let mut escaper = Escaper::default();
        for char in self.text.chars() {
            match char {
                '\n' => f.write_char('⏎')?,
                '\t' => f.write_char('⇥')?,
                char => escaper.put(char, f)?,
            }
        }
        Ok(())
    }
}

impl Escaper {
    /// Writes the next piece, escaped.
    pub fn write(&mut self, piece: &str, out: &mut impl Write) -> fmt::Result {
        piece.chars().try_for_each(|char| self.put(char, out))
    }

    /// Returns the next piece, escaped.
    pub fn escape(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        // Writing into a string cannot fail.
        let _ = self.write(piece, &mut out);
        out
    }

    fn put(&mut self, char: char, out: &mut impl Write) -> fmt::Result {
        let before = self.before.replace(char);
        self.marks = if is_accent(char) { self.marks + 1 } else { 0 };
        match char {
            '\n' | '\t' => out.write_char(char),
            '\u{0}'..'\u{20}' => out.write_char(picture(char)),
            '\u{7f}' => out.write_char('␡'),
            _ if is_shown(char, before, self.marks) => out.write_char(char),
            _ => write!(out, "<U+{:04X}>", u32::from(char)),
        }
    }
}

/// Returns the picture of a control character.
fn picture(control: char) -> char {
    char::from_u32(0x2400 + u32::from(control)).unwrap_or('␀')
}

/// Returns true if a character that is no ASCII control is shown unchanged. Additions belong into
/// the page's `escape.js`, too.
fn is_shown(char: char, before: Option<char>, marks: usize) -> bool {
    match char {
        // Controls, the soft hyphen, and letters that are blank; characters that turn the direction
        // of writing or have no width; and bars that look like the frame.
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{61c}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e00ff}'
        | '\u{e01f0}'..='\u{e0fff}'
        | '\u{2503}'
        | '\u{2589}'..='\u{2590}'
        | '\u{2595}'
        | '\u{2758}'..='\u{275a}' => false,
        // Some scripts and emoji are joined by these.
        '\u{200c}' | '\u{200d}' => before.is_some_and(is_joined),
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
            before.is_some_and(|before| !before.is_control() && !is_selector(before))
        }
        char if is_accent(char) => marks <= MARKS,
        _ => true,
    }
}

/// Returns true if joiners may follow a character: letters of Arabic and of the scripts of India,
/// and emoji.
fn is_joined(char: char) -> bool {
    matches!(
        char,
        '\u{620}'..='\u{6ff}' | '\u{900}'..='\u{dff}' | '\u{2190}'..='\u{2bff}' | '\u{fe0f}'
            | '\u{1f000}'..='\u{1faff}'
    )
}

fn is_selector(char: char) -> bool {
    matches!(char, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Returns true if a character is drawn over the one before it.
fn is_accent(char: char) -> bool {
    matches!(
        char,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{489}'
            | '\u{591}'..='\u{5bd}'
            | '\u{5bf}'..='\u{5c7}'
            | '\u{610}'..='\u{61a}'
            | '\u{64b}'..='\u{65f}'
            | '\u{e31}'
            | '\u{e34}'..='\u{e3a}'
            | '\u{e47}'..='\u{e4e}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{302a}'..='\u{302f}'
            | '\u{3099}'..='\u{309a}'
            | '\u{fe20}'..='\u{fe2f}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct ForgedText {
        name: String,
        text: String,
        #[serde(default = "once")]
        times: usize,
        block: Option<String>,
        line: Option<String>,
    }

    const fn once() -> usize {
        1
    }

    /// The same texts are drawn by the command line and by the page.
    const FORGED: &str = include_str!("../tests/data/forged.json");

    #[test]
    fn k35_forged_texts_are_marked() {
        let forged: Vec<ForgedText> = serde_json::from_str(FORGED).unwrap();
        assert!(forged.len() > 20);
        for it in forged {
            let text = it.text.repeat(it.times);
            let (block, line) = (EscapedText::block(&text), EscapedText::line(&text));
            for (shown, expected) in [(block.to_string(), it.block), (line.to_string(), it.line)] {
                assert!(!shown.chars().any(is_raw), "{}: {shown:?}", it.name);
                assert!(
                    expected.is_none_or(|it| it == shown),
                    "{}: {shown}",
                    it.name
                );
            }
        }
    }

    #[test]
    fn letters_of_every_script_stay() {
        for text in [
            "naïve café, Ångström e\u{301}",
            "请批准 86.50 元，附件一份",
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "👨\u{200d}👩\u{200d}👧 ❤\u{fe0f} 👍🏽",
            "│ ├── src\n\t└── main.rs ║ ▓░█",
            "กำลัง ที่",
        ] {
            assert_eq!(EscapedText::block(text).to_string(), text);
        }
    }

    fn is_raw(char: char) -> bool {
        char.is_control() && char != '\n' && char != '\t' || matches!(char, '\u{202a}'..='\u{202e}')
    }

    proptest! {
        #[test]
        fn pieces_are_escaped_as_one_text(text in any::<String>(), at in 0usize..40) {
            let at = text.char_indices().nth(at).map_or(text.len(), |(at, _)| at);
            let (first, rest) = text.split_at(at);
            let mut escaper = Escaper::default();
            let pieces = escaper.escape(first) + &escaper.escape(rest);
            prop_assert!(!pieces.chars().any(is_raw));
            prop_assert_eq!(pieces, EscapedText::block(&text).to_string());
        }
    }
}
