use std::sync::{Mutex, PoisonError};

use fugato_state::{Question, RunId, ThreadId};
use fugato_stream::argument_lines;
use serde::Deserialize;
use serde_json::json;

use super::*;

/// A writer that keeps everything.
#[derive(Clone, Default)]
pub(crate) struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    pub(crate) fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8(bytes.clone()).unwrap()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut paper = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        paper.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a terminal, and its output.
pub(crate) fn terminal(lang: Lang) -> (Terminal, Output) {
    let paper = Output::default();
    let mut terminal = Terminal::new(lang, Arc::default(), "react card".into());
    terminal.styled = false;
    terminal.out = Box::new(paper.clone());
    terminal.err = Box::new(paper.clone());
    (terminal, paper)
}

/// Returns the output of an action on a terminal.
fn seen(act: impl FnOnce(&mut Terminal)) -> String {
    let (mut terminal, paper) = terminal(Lang::En);
    act(&mut terminal);
    paper.text()
}

#[derive(Deserialize)]
struct ForgedText {
    name: String,
    text: String,
    #[serde(default)]
    times: Option<usize>,
    block: Option<String>,
}

/// Texts that would act on a terminal, with the expected output.
fn forged() -> Vec<ForgedText> {
    let forged = include_str!("../../../stream/tests/data/forged.json");
    let forged: Vec<ForgedText> = serde_json::from_str(forged).unwrap();
    assert!(forged.len() > 20);
    let repeated = |it: ForgedText| ForgedText {
        text: it.text.repeat(it.times.unwrap_or(1)),
        ..it
    };
    forged.into_iter().map(repeated).collect()
}

fn is_raw(char: char) -> bool {
    char.is_control() && char != '\n' && char != '\t'
        || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{2028}')
}

fn asking(prompt: Value) -> Interrupt {
    Interrupt {
        id: "token".into(),
        task: "act#1".into(),
        question: Question::new::<bool>("confirm/c1", prompt).digest("d1"),
    }
}

fn event(kind: EventKind) -> Event {
    Event {
        thread: ThreadId::new("desk").unwrap(),
        run: RunId(1),
        seq: None,
        origin: None,
        kind,
    }
}

/// Writes a text in every place where a person reads one.
fn everywhere(terminal: &mut Terminal, text: &str) {
    terminal.line(text);
    terminal.write(text);
    terminal.progress(text);
    terminal.error(&crate::CliError::new(text).because(crate::CliError::new(text)));
    let (own, block) = (|| text.to_owned(), || "b".into());
    let (text, call) = (|| own().as_str().into(), || "c".to_owned());
    let kinds = [
        EventKind::Status {
            code: "code".into(),
            summary: own(),
        },
        EventKind::TextDelta {
            block: block(),
            text: text(),
        },
        EventKind::ReasoningDelta {
            block: block(),
            text: text(),
        },
        EventKind::ToolStarted {
            call: call(),
            name: own(),
            preview: own(),
        },
        EventKind::ToolFinished {
            call: call(),
            name: own(),
            status: ToolStatus::Ok,
            summary: own(),
            result: None,
        },
        EventKind::Correction { message: own() },
        EventKind::RunFailed { error: own() },
    ];
    for kind in kinds {
        terminal.event(&event(kind));
    }
}

#[test]
fn k35_no_text_acts_on_the_terminal() {
    for it in forged() {
        let shown = seen(|terminal| everywhere(terminal, &it.text));
        assert!(!shown.chars().any(is_raw), "{}", it.name);
        assert!(
            !shown.contains(FRAME.trim()),
            "{}: a card is imitated",
            it.name
        );
        if let Some(block) = it.block {
            // Each place shows it, with its marks.
            assert!(shown.matches(&*block).count() >= 13, "{}: {shown}", it.name);
        }
    }
}

#[test]
fn k35_an_escape_that_comes_in_pieces_is_marked() {
    let shown = seen(|terminal| {
        for text in [
            "a\u{1b}",
            "[2J\u{301}",
            &"\u{301}".repeat(4),
            "\u{9b}",
            "31m",
        ] {
            let (block, text) = ("b".into(), text.into());
            terminal.event(&event(EventKind::TextDelta { block, text }));
        }
    });
    let accents = "\u{301}".repeat(4);
    assert_eq!(shown, format!("a␛[2J{accents}<U+0301><U+009B>31m"));
}

#[test]
fn k35_a_forged_card_stays_in_its_frame() {
    for it in forged() {
        let arguments = json!({ "amount": 99999, "note": it.text });
        let asked = asking(json!({
            "title": it.text,
            "summary": argument_lines(&arguments),
            "consequence": it.text,
            "says": it.text,
            "options": [it.text],
            "call": { "id": "c", "name": "pay", "arguments": arguments },
        }));
        for styled in [false, true] {
            let shown = seen(|terminal| {
                terminal.styled = styled;
                terminal.card(&asked, true);
            });
            let plain = shown.replace(BOLD, "").replace(PLAIN, "");
            assert!(!plain.chars().any(is_raw), "{}", it.name);
            let lines: Vec<_> = plain.lines().skip(1).collect();
            let framed = lines.iter().all(|line| line.starts_with(FRAME));
            assert!(framed, "{}: {plain}", it.name);
            // Even a very long card is folded, and its code is above it.
            assert!(lines.len() < 600, "{}: {} lines", it.name, lines.len());
            let code = format!("{FRAME}[{}]", asked.id.code());
            assert!(lines.first().is_some_and(|line| line.starts_with(&code)));
            if styled {
                let accents = |char: &char| matches!(char, '\u{300}'..='\u{36f}');
                let columns = |line: &&str| line.chars().filter(|char| !accents(char)).count();
                let wide = lines.iter().map(columns).max();
                assert!(wide <= Some(frame::WIDTH), "{}: {wide:?}", it.name);
            }
        }
    }
}

#[test]
fn k35_a_card_shows_all_that_is_written() {
    let text = format!("line one\nline two {}EVIL AT THE END", "x".repeat(500));
    let arguments = json!({ "path": "a.txt", "text": text });
    let asked = asking(json!({
        "title": "write_file",
        "summary": argument_lines(&arguments),
        "consequence": "overwrites \"a.txt\", 534 bytes",
        "call": { "id": "c", "name": "write_file", "arguments": arguments },
    }));
    let code = asked.id.code();
    let long = "x".repeat(500);
    let expected = format!(
        "\n▌ [{code}] write_file\n▌ overwrites \"a.txt\", 534 bytes\n▌ path: a.txt\n▌ text:\n\
         ▌   line one\n▌   line two {long}EVIL AT THE END\n"
    );
    assert_eq!(seen(|terminal| terminal.card(&asked, true)), expected);
}

#[test]
fn k35_a_very_long_card_says_how_much_is_folded_and_where_it_is_whole() {
    let text = format!("begin\n{}EVIL AT THE END", "so on\n".repeat(10_000));
    let asked = asking(json!({ "title": "write_file", "summary": text }));
    let shown = seen(|terminal| terminal.card(&asked, true));
    for part in [
        "▌ begin",
        "▌ EVIL AT THE END",
        " more lines …",
        "(All of it is shown by: react card)",
    ] {
        assert!(shown.contains(part), "{part}");
    }
    let whole = seen(|terminal| terminal.whole_card(&asked));
    assert_eq!(whole.matches("▌ so on\n").count(), 10_000);
}

#[test]
fn a_question_that_was_just_read_is_not_repeated_and_a_card_is() {
    let prompt = json!({ "title": "A question", "summary": "When?", "streamed": true });
    let mut asked = asking(prompt);
    let code = asked.id.code();
    let card = |asked: &Interrupt| seen(|terminal| terminal.card(asked, true));
    assert_eq!(card(&asked), format!("\n▌ [{code}] A question\n▌ When?\n"));
    asked.question.digest = None;
    assert_eq!(card(&asked), "\n▌ A question\n");
    asked.question.prompt = json!("When?");
    assert_eq!(card(&asked), "\n▌ Question\n▌ When?\n");
}
