//! The trace of every request, from the log alone.
use std::time::Duration;

use fugato_agent::trace::model_calls;
use fugato_axum::ServedAgent;
use fugato_graph::BoxError;
use fugato_trace::{AttemptStatus, RunStatus, RunTrace, TaskTrace};
use jiff::Timestamp;

use crate::{Lang, Terminal, archive::Archive, terminal::half};

pub(crate) async fn trace<A: ServedAgent>(
    archive: &Archive<'_, A>,
    full: bool,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let lang = terminal.lang;
    for run in RunTrace::read(archive.runner(), &archive.thread).await? {
        let at = Timestamp::from_millisecond(run.began)?.strftime("%F %T");
        terminal.line(format!("{at}  run {}  {}", run.run, ended(&run, lang)));
        for line in run.tasks.iter().flat_map(|task| lines(task, full, lang)) {
            terminal.line(line);
        }
    }
    Ok(())
}

fn ended(run: &RunTrace, lang: Lang) -> String {
    let Some(end) = &run.end else {
        return lang.pick("has not ended", "尚未结束").to_owned();
    };
    let took = run.ended.map_or(0, |ended| ended - run.began);
    let took = shown(Duration::from_millis(took.unsigned_abs()));
    match end {
        RunStatus::Failed { error } => {
            let how = lang.pick("failed after", "失败，用时");
            format!("{how} {took}: {error}")
        }
        RunStatus::Cancelled { by, why } => {
            let how = lang.pick("cancelled after", "已取消，用时");
            format!("{how} {took}: {by}, {why}")
        }
        _ => format!("{} {took}", lang.pick("ended after", "完成，用时")),
    }
}

fn lines(task: &TaskTrace, full: bool, lang: Lang) -> Vec<String> {
    let how = match task.end {
        AttemptStatus::Done => "",
        AttemptStatus::Failed => lang.pick("failed", "失败"),
        AttemptStatus::Waiting => lang.pick("waits for an answer", "等待回答"),
        AttemptStatus::Dropped => lang.pick("dropped", "已放弃"),
        _ => lang.pick("under way", "进行中"),
    };
    let took = task.took().map_or_else(String::new, shown);
    let label = label(task, lang);
    let mut lines = vec![format!("  {:<16} {took:>8}  {label}  {how}", task.task)];
    let mut add = |line: String| lines.push(format!("{:28}{line}", ""));
    if !task.waited.is_zero() {
        let waited = lang.pick("waited for an answer", "等待回答");
        add(format!("{waited}: {}", shown(task.waited)));
    }
    for attempt in &task.attempts {
        if let Some(error) = &attempt.error {
            let what = lang.pick("attempt failed", "尝试失败");
            add(format!("{what} ({}): {error}", attempt.number));
        }
    }
    for call in model_calls(&task.notes) {
        add(format!("{}: {call}", lang.pick("model", "模型")));
    }
    if full {
        for (what, text) in [
            (lang.pick("in", "输入"), &task.input),
            (lang.pick("out", "输出"), &task.output),
        ] {
            add(format!("{what}: {text}"));
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// Returns the half of the label that is in the language of the person.
fn label(task: &TaskTrace, lang: Lang) -> &str {
    let label = task.label.as_deref().unwrap_or_default();
    half(label, lang)
}

fn shown(took: Duration) -> String {
    match took.as_millis() {
        millis @ ..1_000 => format!("{millis} ms"),
        _ => format!("{:.1} s", took.as_secs_f64()),
    }
}
