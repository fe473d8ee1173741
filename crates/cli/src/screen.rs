//! What a person sees: everything that a command says goes through here.
use std::{
    error::Error,
    fmt,
    io::{self, IsTerminal as _, Stderr, Stdout, Write as _, stderr, stdin, stdout},
    sync::Arc,
};

use fugato_state::Interrupt;
use fugato_stream::{Event, EventKind, ToolStatus};
use serde_json::Value;

use crate::{Lang, reply};

/// The terminal, or what stands in its place.
pub struct Screen {
    /// The language that the person is spoken to.
    pub lang: Lang,
    tools: Arc<ToolWords>,
    styled: bool,
    out: Stdout,
    err: Stderr,
}

/// What a tool does, in words of both languages; none to show its name.
pub(crate) type ToolWords = dyn Fn(&str) -> Option<(&'static str, &'static str)> + Send + Sync;

const DIM: &str = "\u{1b}[2m";
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

impl Screen {
    pub(crate) fn new(lang: Lang, tools: Arc<ToolWords>) -> Self {
        Self {
            lang,
            tools,
            styled: stdout().is_terminal(),
            out: stdout(),
            err: stderr(),
        }
    }

    /// A line of the result.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.write(text.as_ref());
        self.write("\n");
    }

    /// Text without an end of line. A reader that went away, such as a closed pipe, is no error:
    /// what matters is stored.
    pub fn write(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes());
        let _ = self.out.flush();
    }

    /// A line of progress.
    pub fn progress(&mut self, text: &str) {
        let (on, off) = self.style(DIM);
        let line = format!("{on}· {text}{off}");
        self.line(line);
    }

    /// An error with its causes.
    pub fn error(&mut self, error: &dyn Error) {
        let _ = writeln!(self.err, "error: {error}");
        let mut cause = error.source();
        while let Some(error) = cause {
            let _ = writeln!(self.err, "  because: {error}");
            cause = error.source();
        }
    }

    fn style(&self, on: &'static str) -> (&'static str, &'static str) {
        if self.styled { (on, PLAIN) } else { ("", "") }
    }

    /// One event of a run, as it comes.
    pub fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Status { summary, .. } => self.progress(summary),
            EventKind::TextDelta { text, .. } | EventKind::ReasoningDelta { text, .. } => {
                self.write(text);
            }
            EventKind::TextFinished { .. } => self.line(""),
            EventKind::ReasoningStarted { .. } => {
                let (on, _) = self.style(DIM);
                self.write(on);
            }
            EventKind::ReasoningFinished { .. } => {
                let (_, off) = self.style(DIM);
                self.line(off);
            }
            EventKind::ToolStarted { name, preview, .. } => {
                let (name, gap) = (self.tool(name), if preview.is_empty() { "" } else { ": " });
                self.progress(&format!("{name}{gap}{preview}"));
            }
            EventKind::ToolFinished {
                name,
                status,
                summary,
                ..
            } => self.tool_finished(name, *status, summary),
            EventKind::Correction { message } => {
                let what = self.lang.pick("the model is corrected", "纠正模型");
                self.progress(&format!("{what}: {message}"));
            }
            EventKind::Custom { name, data } if name == "decided_by_rule" => {
                let why = data.get("why").and_then(Value::as_str).unwrap_or_default();
                let what = self.lang.pick("decided by rule", "按规则决定");
                self.progress(&format!("{what}: {why}"));
            }
            EventKind::NodeFailed { error, .. } | EventKind::RunFailed { error } => {
                self.progress(error);
            }
            _ => {}
        }
    }

    fn tool_finished(&mut self, name: &str, status: ToolStatus, summary: &str) {
        let how = match status {
            ToolStatus::Ok => self.lang.pick("done", "完成"),
            ToolStatus::Blocked => self.lang.pick("blocked", "被阻止"),
            ToolStatus::Failed => self.lang.pick("failed", "失败"),
        };
        let name = self.tool(name);
        // Summaries are made for models, in English.
        let told = self.lang == Lang::En || status != ToolStatus::Ok;
        let summary = if told && !summary.is_empty() {
            format!(": {summary}")
        } else {
            String::new()
        };
        self.progress(&format!("{name} {how}{summary}"));
    }

    /// What a tool does, in words.
    fn tool(&self, name: &str) -> String {
        let words = (self.tools)(name).map(|(en, zh)| self.lang.pick(en, zh));
        words.unwrap_or(name).to_owned()
    }

    /// Somebody pressed Ctrl-C.
    pub(crate) fn interrupted(&mut self, again: &str) {
        let (_, off) = self.style(PLAIN);
        let text = self.lang.pick(
            format!("{off}\nInterrupted. Everything so far is stored; go on with: {again}"),
            format!("{off}\n已中断。此前的一切都已保存，继续：{again}"),
        );
        self.line(text);
    }

    /// A card that waits for an answer. A question whose text was just read is not repeated; what
    /// is to be agreed to is always shown whole.
    pub fn card(&mut self, asked: &Interrupt, just_read: bool) {
        let (on, off) = self.style(BOLD);
        let prompt = &asked.question.prompt;
        let text = |name: &str| prompt.get(name).and_then(Value::as_str);
        let words = ["summary", "question", "text"].into_iter().find_map(text);
        let streamed = prompt.get("streamed").and_then(Value::as_bool) == Some(true);
        match (text("title"), words.or(prompt.as_str())) {
            (None, None) => self.line(prompt.to_string()),
            (Some(title), Some(_)) if just_read && streamed => {
                self.line(format!("\n{on}{title}{off}"));
            }
            (title, words) => {
                let title = title.unwrap_or(&asked.question.key);
                self.line(format!("\n{on}{title}{off}\n{}", words.unwrap_or_default()));
            }
        }
        for (number, option) in (1..).zip(reply::options(asked)) {
            self.line(format!("{number}. {}", option.name));
        }
    }

    /// Asks on the terminal; none if there is nobody to ask.
    pub async fn ask(&mut self, prompt: &str) -> io::Result<Option<String>> {
        self.write(prompt);
        let line = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            stdin()
                .read_line(&mut line)
                .map(|read| (read > 0).then_some(line))
        });
        Ok(line.await??.map(|line| line.trim().to_owned()))
    }

    /// Whether a person sits at the terminal.
    pub fn is_interactive(&self) -> bool {
        stdin().is_terminal() && self.out.is_terminal()
    }
}

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen")
            .field("lang", &self.lang)
            .finish_non_exhaustive()
    }
}
