//! What a person sees: everything that a command says goes through here.
use std::io::{IsTerminal as _, Stderr, Stdout, Write as _, stderr, stdin, stdout};

use anyhow::Result;
use fugato::{
    state::Interrupt,
    stream::{Event, EventKind, ToolStatus},
};
use scheduler::{agent::Card, calendar::Lang};

pub(crate) struct Screen {
    pub(crate) lang: Lang,
    styled: bool,
    out: Stdout,
    err: Stderr,
}

const DIM: &str = "\u{1b}[2m";
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

impl Screen {
    pub(crate) fn new(lang: Option<Lang>) -> Self {
        Self {
            lang: lang.unwrap_or_default(),
            styled: stdout().is_terminal(),
            out: stdout(),
            err: stderr(),
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
        let _ = self.out.write_all(text.as_bytes());
        let _ = self.out.flush();
    }

    /// A line of progress.
    pub(crate) fn progress(&mut self, text: &str) {
        let (on, off) = self.style(DIM);
        let line = format!("{on}· {text}{off}");
        self.line(line);
    }

    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        let _ = writeln!(self.err, "error: {error}");
        for cause in error.chain().skip(1) {
            let _ = writeln!(self.err, "  because: {cause}");
        }
    }

    fn style(&self, on: &'static str) -> (&'static str, &'static str) {
        if self.styled { (on, PLAIN) } else { ("", "") }
    }

    /// One event of a run, as it comes.
    pub(crate) fn event(&mut self, event: &Event) {
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
            } => {
                let how = match status {
                    ToolStatus::Ok => self.lang.pick("done", "完成"),
                    ToolStatus::Blocked => self.lang.pick("blocked", "被阻止"),
                    ToolStatus::Failed => self.lang.pick("failed", "失败"),
                };
                let name = self.tool(name);
                // Summaries are made for models, in English.
                let told = self.lang == Lang::En || *status != ToolStatus::Ok;
                let summary = if told {
                    format!(": {summary}")
                } else {
                    String::new()
                };
                self.progress(&format!("{name} {how}{summary}"));
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

    /// What a tool does, in words.
    fn tool(&self, name: &str) -> String {
        let (en, zh) = match name {
            "get_overview" => ("looking at everything", "查看总览"),
            "find_free" => ("looking for free time", "查找空闲时间"),
            "list_tasks" => ("listing tasks", "列出任务"),
            "query_range" => ("looking at a day", "查看某天"),
            "get_task_info" => ("looking at a task", "查看任务"),
            "analyze_health" => ("diagnosing", "诊断日程"),
            "place" => ("placing", "安排"),
            "move" => ("moving", "移动"),
            "swap" => ("swapping", "交换"),
            "batch_move" => ("moving several", "批量移动"),
            "unplace" => ("taking out", "取消安排"),
            "context_tools_add" => ("choosing tools", "启用工具"),
            "context_tools_remove" => ("putting tools away", "停用工具"),
            _ => (name, name),
        };
        self.lang.pick(en, zh).to_owned()
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
    pub(crate) fn card(&mut self, interrupt: &Interrupt, just_read: bool) {
        let (on, off) = self.style(BOLD);
        match serde_json::from_value::<Card>(interrupt.question.prompt.clone()) {
            Ok(card) if just_read && card.streamed => {
                let text = format!("\n{on}{}{off}", card.title);
                self.line(text);
            }
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
        stdin().is_terminal() && self.out.is_terminal()
    }
}
