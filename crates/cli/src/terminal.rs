//! The terminal: the output of every command goes through here, and foreign text is escaped here.
mod frame;
mod step;

use std::{
    error::Error,
    io::{self, IsTerminal as _, Write, stderr, stdin, stdout},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use fugato_state::Interrupt;
use fugato_stream::{
    CardText, EscapedText, Escaper, Event, EventKind, FOLD, FRAME, Splitter, ToolStatus, fold,
};
use futures::StreamExt as _;
use serde_json::Value;

use crate::{Lang, reply};

/// The terminal, or its replacement in a test.
#[derive(derive_more::Debug)]
#[debug("Terminal {{ lang: {lang:?}, .. }}")]
pub struct Terminal {
    /// The language of the output.
    pub lang: Lang,
    /// True if the person has named the language, so that words do not change it.
    pub(crate) keeps_lang: bool,
    pub(crate) tools: Arc<[ToolWords]>,
    /// True if a finished text is shown piece by piece.
    pub(crate) typing: bool,
    styled: bool,
    /// The command line that shows a card in full.
    whole: String,
    /// A model's text comes in pieces, and is escaped as one.
    escaper: Escaper,
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    /// The last notice that another than the model decides, with its run.
    noticed: Option<(u64, String)>,
    /// True while a thread waits for a line.
    waits: Arc<AtomicBool>,
}

/// The name of a tool, and what it is called while it works, in English and in Chinese.
pub(crate) type ToolWords = (&'static str, &'static str, &'static str);

/// The events by which an agent reports that another than the named model goes on.
const NOTICES: [&str; 2] = ["decided_by_rule", "answered_by_backup"];

/// Returns what a tool is called while it works, or its name.
pub(crate) fn tool_name<'a>(tools: &[ToolWords], name: &'a str, lang: Lang) -> &'a str {
    let known = tools.iter().find(|(tool, ..)| *tool == name);
    known.map_or(name, |(_, en, zh)| lang.pick(en, zh))
}

/// Returns the half of a label in both languages, `zh · en` or `en · zh`, that is in this one.
pub(crate) fn half(label: &str, lang: Lang) -> &str {
    match label.split_once(" · ") {
        Some((first, second)) if Lang::of(first) != Lang::of(second) => {
            if Lang::of(first) == lang {
                first
            } else {
                second
            }
        }
        _ => label,
    }
}

const DIM: &str = "\u{1b}[2m";
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// Writes a line about something that a program goes on without, with its causes, to standard error.
pub fn notice(about: &str, cause: &dyn Error) {
    let mut text = format!("{about}: {cause}");
    let mut cause = cause.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    let _ = writeln!(stderr(), "note: {}", EscapedText::block(&text));
}

/// Writes a line that reaches whoever sits at the terminal of this process, outside of any run.
/// Returns false if nobody does.
pub fn announce(text: &str) -> bool {
    let mut terminal = stderr();
    let written = writeln!(terminal, "\n* {}", EscapedText::block(text));
    written.is_ok() && terminal.is_terminal()
}

/// Returns the text of an error; that of the system, which is English, by its kind and number in Chinese.
fn told(error: &(dyn Error + 'static)) -> String {
    let of_system = error.downcast_ref::<io::Error>();
    let number = of_system.and_then(io::Error::raw_os_error);
    let (Some(of_system), Some(number), Lang::Zh) = (of_system, number, Lang::current()) else {
        return error.to_string();
    };
    let what = match of_system.kind() {
        io::ErrorKind::NotFound => "没有这个文件或文件夹",
        io::ErrorKind::PermissionDenied => "没有权限",
        io::ErrorKind::AlreadyExists => "已经存在",
        io::ErrorKind::NotADirectory => "不是文件夹",
        io::ErrorKind::IsADirectory => "是文件夹",
        io::ErrorKind::StorageFull => "磁盘空间不足",
        io::ErrorKind::ReadOnlyFilesystem => "文件系统只读",
        io::ErrorKind::AddrInUse => "地址已被占用",
        io::ErrorKind::AddrNotAvailable => "本机没有这个地址",
        io::ErrorKind::ConnectionRefused => "连接被拒绝",
        _ => return format!("系统报告“{of_system}”"),
    };
    format!("{what}（系统错误 {number}）")
}

impl Terminal {
    pub(crate) fn new(lang: Lang, tools: Arc<[ToolWords]>, whole: String) -> Self {
        Self {
            lang,
            keeps_lang: false,
            tools,
            typing: false,
            styled: stdout().is_terminal(),
            whole,
            escaper: Escaper::default(),
            out: Box::new(stdout()),
            err: Box::new(stderr()),
            noticed: None,
            waits: Arc::default(),
        }
    }

    /// Speaks the language of these words from now on, if they show one.
    pub(crate) fn follow(&mut self, words: &str) {
        if let Some(lang) = Lang::evident(words).filter(|_| !self.keeps_lang) {
            self.lang = lang;
        }
    }

    /// Returns true if a thread waits for a line, which nothing can stop.
    pub(crate) fn waits_for_a_line(&self) -> bool {
        self.waits.load(Ordering::SeqCst)
    }

    /// Writes a line of the result.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.write(text.as_ref());
        self.write("\n");
    }

    /// Writes text without a line end. Characters that would act on the terminal are
    /// [marked](EscapedText), also if the output is no terminal. A closed pipe is no error: everything
    /// that matters is stored.
    pub fn write(&mut self, text: &str) {
        let text = self.escaper.escape(text);
        self.put(&text);
    }

    /// Writes text of the program itself, or text that is escaped already.
    fn put(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes());
        let _ = self.out.flush();
    }

    /// Writes a line of progress.
    pub fn progress(&mut self, text: &str) {
        let (on, off) = self.style(DIM);
        self.put(&format!("{on}· {}{off}\n", EscapedText::block(text)));
    }

    /// Writes an error with its causes to standard error.
    pub fn error(&mut self, error: &(dyn Error + 'static)) {
        let mut prefix = self.lang.pick("error: ", "错误：");
        let mut cause = Some(error);
        while let Some(error) = cause {
            let text = self.lang.scope(|| told(error));
            let _ = writeln!(self.err, "{prefix}{}", EscapedText::block(&text));
            prefix = self.lang.pick("  because: ", "  原因：");
            cause = error.source();
        }
    }

    fn style(&self, on: &'static str) -> (&'static str, &'static str) {
        if self.styled { (on, PLAIN) } else { ("", "") }
    }

    /// Shows one event of a run.
    pub fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Status { summary, .. } => self.progress(half(summary, self.lang)),
            EventKind::TextDelta { text, .. } | EventKind::ReasoningDelta { text, .. } => {
                self.write(text);
            }
            EventKind::TextFinished { .. } => self.line(""),
            EventKind::ReasoningStarted { .. } => {
                let (on, _) = self.style(DIM);
                self.put(on);
            }
            EventKind::ReasoningFinished { .. } => {
                let (_, off) = self.style(DIM);
                self.put(&format!("{off}\n"));
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
            EventKind::Custom { name, data }
                if NOTICES.contains(&name.as_str()) && data.get("text").is_some() =>
            {
                let text = data.get("text").and_then(Value::as_str).unwrap_or_default();
                self.notice(event.run.0, text);
            }
            EventKind::Custom { name, data } if name == "decided_by_rule" => {
                let why = data.get("why").and_then(Value::as_str).unwrap_or_default();
                let what = self.lang.pick("decided by rule", "按规则决定");
                self.progress(&format!("{what}: {why}"));
            }
            EventKind::Custom { name, data } => {
                if let Some(step) = step::line(name, data, self.lang) {
                    self.progress(&step);
                }
            }
            EventKind::NodeFailed { error, .. } | EventKind::RunFailed { error } => {
                self.progress(error);
            }
            _ => {}
        }
    }

    /// Shows a notice that another than the model decides, once a run.
    fn notice(&mut self, run: u64, text: &str) {
        let known = self.noticed.as_ref();
        if known.is_none_or(|(before, told)| *before != run || told != text) {
            self.progress(text);
            self.noticed = Some((run, text.to_owned()));
        }
    }

    /// Shows a text that came whole as if it were being written.
    pub(crate) async fn type_out(&mut self, text: &str) {
        let pieces = Splitter::default().paced(text, Splitter::DELAY, tokio::time::sleep);
        let mut pieces = std::pin::pin!(pieces);
        while let Some(piece) = pieces.next().await {
            self.write(&piece);
        }
    }

    fn tool_finished(&mut self, name: &str, status: ToolStatus, summary: &str) {
        let how = match status {
            ToolStatus::Ok => self.lang.pick("done", "完成"),
            ToolStatus::Blocked => self.lang.pick("blocked", "被阻止"),
            ToolStatus::Failed => self.lang.pick("failed", "失败"),
        };
        if status == ToolStatus::Ok && summary.is_empty() {
            return;
        }
        let name = self.tool(name);
        let summary = if summary.is_empty() {
            String::new()
        } else {
            format!(": {summary}")
        };
        self.progress(&format!("{name} {how}{summary}"));
    }

    /// Returns the description of a tool, or its name.
    fn tool(&self, name: &str) -> String {
        tool_name(&self.tools, name, self.lang).to_owned()
    }

    /// Writes the message after Ctrl-C.
    pub(crate) fn interrupted(&mut self, again: &str) {
        let (_, off) = self.style(PLAIN);
        self.put(&format!("{off}\n"));
        let text = self.lang.pick(
            format!("Interrupted. Everything so far is stored; go on with: {again}"),
            format!("已中断。此前的一切都已保存，继续：{again}"),
        );
        self.line(text);
    }

    /// Shows a card that waits for an answer. A question whose text was just streamed is not
    /// repeated; an approval is always shown, only its beginning and its end if it is very long.
    pub fn card(&mut self, asked: &Interrupt, just_read: bool) {
        self.draw(asked, just_read, false);
    }

    /// Shows a card in full.
    pub(crate) fn whole_card(&mut self, asked: &Interrupt) {
        self.draw(asked, false, true);
    }

    /// Draws a card. Each of its lines has a prefix that no escaped text contains.
    fn draw(&mut self, asked: &Interrupt, just_read: bool, whole: bool) {
        let chinese = self.lang == Lang::Zh;
        let text = CardText::of(asked).chinese(chinese);
        let read = just_read && text.is_said();
        let mut body = if read { String::new() } else { text.body() };
        let mut heading = text.heading();
        if heading.is_empty() && !body.is_empty() {
            self.lang.pick("Question", "问题").clone_into(&mut heading);
        } else if heading.is_empty() {
            body = EscapedText::block(&asked.question.prompt.to_string()).to_string();
        }
        let mut parts = vec![body];
        for (number, option) in (1..).zip(reply::options(asked)) {
            parts.push(format!("{number}. {}", EscapedText::line(&option.name)));
        }
        parts.retain(|part| !part.is_empty());
        let body = parts.join("\n");
        let shown = if whole {
            body.clone()
        } else {
            fold(&body, &FOLD, chinese)
        };
        let wide = self.styled.then_some(frame::WIDTH);
        let (on, off) = self.style(BOLD);
        self.put("\n");
        for line in frame::lines(&heading, wide) {
            self.put(&format!("{FRAME}{on}{line}{off}\n"));
        }
        for line in frame::lines(&shown, wide) {
            self.put(&format!("{FRAME}{line}\n"));
        }
        if shown != body && !self.whole.is_empty() {
            let all = self.lang.pick("All of it is shown by", "查看全部");
            let line = format!("{FRAME}({all}: {})\n", EscapedText::line(&self.whole));
            self.put(&line);
        }
    }

    /// Asks on the terminal; returns none at the end of the input.
    pub async fn ask(&mut self, prompt: &str) -> io::Result<Option<String>> {
        self.write(prompt);
        let waits = Arc::clone(&self.waits);
        waits.store(true, Ordering::SeqCst);
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            let read = stdin().read_line(&mut line);
            waits.store(false, Ordering::SeqCst);
            read.map(|read| (read > 0).then_some(line))
        });
        Ok(line.await??.map(|line| line.trim().to_owned()))
    }

    /// Asks for an answer to the card that was just shown. Input that was typed before the card is
    /// discarded.
    pub async fn ask_about_card(&mut self, prompt: &str) -> io::Result<Option<String>> {
        #[cfg(unix)]
        if stdin().is_terminal() {
            rustix::termios::tcflush(stdin(), rustix::termios::QueueSelector::IFlush)?;
        }
        self.ask(prompt).await
    }

    /// Returns true if a person uses the terminal: input and output both are one.
    pub fn is_interactive(&self) -> bool {
        stdin().is_terminal() && self.styled
    }
}

#[cfg(test)]
pub(crate) mod tests;
