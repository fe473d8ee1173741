//! What a person sees: everything that a command says goes through here.
use std::io::{IsTerminal as _, Write as _, stderr, stdin, stdout};

use anyhow::Result;
use fugato::{
    state::Interrupt,
    stream::{Event, EventKind, ToolStatus},
};
use scheduler::{agent::Card, calendar::Lang};

pub(crate) struct Screen {
    pub(crate) lang: Lang,
    styled: bool,
}

const DIM: &str = "\u{1b}[2m";
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

impl Screen {
    pub(crate) fn new(lang: Option<Lang>) -> Self {
        Self {
            lang: lang.unwrap_or_default(),
            styled: stdout().is_terminal(),
        }
    }

    /// A line of the result.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.write(text.as_ref());
        self.write("\n");
    }

    /// Text without an end of line. A reader that went away, such as a closed pipe, is no error:
    /// what matters is stored.
    pub(crate) fn write(&mut self, text: &str) {
        let mut out = stdout();
        let _ = out.write_all(text.as_bytes());
        let _ = out.flush();
    }

    /// A line of progress.
    pub(crate) fn progress(&mut self, text: &str) {
        let (on, off) = self.style(DIM);
        let line = format!("{on}· {text}{off}");
        self.line(line);
    }

    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        let mut err = stderr();
        let _ = writeln!(err, "error: {error}");
        for cause in error.chain().skip(1) {
            let _ = writeln!(err, "  because: {cause}");
        }
    }

    fn style(&self, on: &'static str) -> (&'static str, &'static str) {
        if self.styled { (on, PLAIN) } else { ("", "") }
    }

    /// One event of a run, as it comes.
    pub(crate) fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Status { summary, .. } => self.progress(summary),
            EventKind::TextDelta { text, .. } => self.write(text),
            EventKind::TextFinished { .. } => self.line(""),
            EventKind::ReasoningStarted { .. } => {
                let (on, _) = self.style(DIM);
                self.write(on);
            }
            EventKind::ReasoningDelta { text, .. } => self.write(text),
            EventKind::ReasoningFinished { .. } => {
                let (_, off) = self.style(DIM);
                self.line(off);
            }
            EventKind::ToolStarted { name, preview, .. } => {
                self.progress(&format!("{name} {preview}"));
            }
            EventKind::ToolFinished {
                name,
                status,
                summary,
                ..
            } => {
                let how = match status {
                    ToolStatus::Ok => self.lang.pick("done", "完成"),
                    ToolStatus::Blocked => self.lang.pick("blocked", "被阻止"),
                    ToolStatus::Failed => self.lang.pick("failed", "失败"),
                };
                self.progress(&format!("{name} {how}: {summary}"));
            }
            EventKind::Correction { message } => {
                let what = self.lang.pick("the model is corrected", "纠正模型");
                self.progress(&format!("{what}: {message}"));
            }
            EventKind::Custom { name, data } if name == "decided_by_rule" => {
                let why = data
                    .get("why")
                    .and_then(|why| why.as_str())
                    .unwrap_or_default();
                let what = self.lang.pick("decided by rule", "按规则决定");
                self.progress(&format!("{what}: {why}"));
            }
            EventKind::RunFailed { error } => self.progress(error),
            _ => {}
        }
    }

    /// A card that waits for an answer.
    pub(crate) fn card(&mut self, interrupt: &Interrupt) {
        let (on, off) = self.style(BOLD);
        match serde_json::from_value::<Card>(interrupt.question.prompt.clone()) {
            Ok(card) => {
                let text = format!("\n{on}{}{off}\n{}", card.title, card.summary);
                self.line(text);
            }
            Err(_) => self.line(interrupt.question.prompt.to_string()),
        }
    }

    /// Asks on the terminal; none if there is nobody to ask.
    pub(crate) async fn ask(&mut self, prompt: &str) -> Result<Option<String>> {
        self.write(prompt);
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            stdin()
                .read_line(&mut line)
                .map(|read| (read > 0).then_some(line))
        });
        Ok(line.await??.map(|line| line.trim().to_owned()))
    }

    pub(crate) fn is_interactive(&self) -> bool {
        stdin().is_terminal() && stdout().is_terminal()
    }
}
