//! The check that this program can go on with all stored conversations.
use std::fmt;

use fugato_graph::{BoxError, Preview, RunErrorKind, Runner};
use fugato_state::{State, ThreadId, say};
use fugato_store::{ThreadAdminExt as _, ThreadFilter, ThreadStore};
use futures::TryStreamExt as _;

use crate::{CliError, Lang, Terminal};

/// The exit code if a conversation cannot go on with this program.
const REFUSED: u8 = 3;
/// The exit code if all that could be looked at go on, and some could not be.
const UNKNOWN: u8 = 4;
/// The number of conversations after which the progress is shown.
const STRIDE: u64 = 1000;

/// The numbers of conversations by what becomes of them.
#[derive(Debug, Default)]
struct Counts {
    go_on: u64,
    migrate: u64,
    refused: u64,
    unreadable: u64,
    unknown: u64,
}

/// Previews every conversation whose name begins with `prefix`, prints a line for each that does
/// not simply go on, and fails with an exit code if one cannot go on or be looked at.
pub(crate) async fn check<S: State>(
    runner: &Runner<S>,
    store: &dyn ThreadStore,
    prefix: String,
    terminal: &mut Terminal,
) -> Result<(), BoxError> {
    let mut filter = ThreadFilter::default();
    filter.prefix = prefix;
    let (mut all, mut counts) = (store.all(filter), Counts::default());
    while let Some(summary) = all.try_next().await? {
        let thread = summary.thread;
        match runner.preview(&thread).await {
            // It was deleted since it was listed.
            Ok(None) => continue,
            Ok(Some(preview)) => {
                counts.add(&preview);
                if let Some(line) = line(&thread, &preview, terminal.lang) {
                    terminal.line(line);
                }
            }
            Err(error) => {
                counts.unknown += 1;
                let what = terminal.lang.pick("could not be looked at", "无法查看");
                terminal.line(format!("{thread}: {what}: {}", causes(&error)));
            }
        }
        if counts.all() % STRIDE == 0 {
            let so_far = counts.all();
            let text = terminal
                .lang
                .pick(format!("{so_far} looked at"), format!("已查看 {so_far} 个"));
            terminal.progress(&text);
        }
    }
    terminal.line(counts.text(terminal.lang));
    counts.verdict()
}

/// Returns a line about a conversation; none if it simply goes on.
fn line(thread: &ThreadId, preview: &Preview, lang: Lang) -> Option<String> {
    let result = match &preview.error {
        None if preview.migrated.is_empty() => lang.pick("goes on", "可以继续").to_owned(),
        None => {
            let what = lang.pick("migrates", "需要迁移");
            format!("{what}: {}", preview.migrated.join(", "))
        }
        Some(error) => {
            if let RunErrorKind::GraphChanged { gone } = &error.kind {
                let what = lang.pick("refused, the graph no longer has", "被拒绝，流程图中已没有");
                format!("{what} {}", gone.join(", "))
            } else {
                let what = lang.pick("cannot be read", "无法读取");
                format!("{what}: {}", causes(error))
            }
        }
    };
    let mut line = format!("{thread} at {}: {result}", preview.head);
    for (what, which) in [
        (
            lang.pick("asks anew", "将重新询问"),
            listed(&preview.asked_anew),
        ),
        (
            lang.pick("asks with another schema", "答案格式已变"),
            listed(&preview.changed),
        ),
        (lang.pick("in doubt", "结果不明"), listed(&preview.in_doubt)),
    ] {
        if !which.is_empty() {
            line.extend(["; ", what, ": ", &which]);
        }
    }
    let simple = preview.goes_on()
        && preview.migrated.is_empty()
        && preview.asked_anew.is_empty()
        && preview.changed.is_empty()
        && preview.in_doubt.is_empty();
    (!simple).then_some(line)
}

fn listed(which: &[impl fmt::Display]) -> String {
    let which: Vec<_> = which.iter().map(ToString::to_string).collect();
    which.join(", ")
}

fn causes(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", causes(source)),
        None => error.to_string(),
    }
}

impl Counts {
    fn add(&mut self, preview: &Preview) {
        let count = match preview.error.as_ref().map(|error| &error.kind) {
            None if preview.migrated.is_empty() => &mut self.go_on,
            None => &mut self.migrate,
            Some(RunErrorKind::GraphChanged { .. }) => &mut self.refused,
            Some(_) => &mut self.unreadable,
        };
        *count += 1;
    }

    fn all(&self) -> u64 {
        self.go_on + self.migrate + self.refused + self.unreadable + self.unknown
    }

    fn text(&self, lang: Lang) -> String {
        let Self {
            go_on,
            migrate,
            refused,
            unreadable,
            unknown,
        } = self;
        let all = self.all();
        lang.pick(
            format!(
                "checked {all}: {go_on} go on, {migrate} migrate, {refused} are refused, \
                 {unreadable} cannot be read, {unknown} could not be looked at"
            ),
            format!(
                "共 {all} 个会话：{go_on} 个可以继续，{migrate} 个需要迁移，{refused} 个被拒绝，\
                 {unreadable} 个无法读取，{unknown} 个无法查看"
            ),
        )
    }

    fn verdict(&self) -> Result<(), BoxError> {
        let (stranded, all) = (self.refused + self.unreadable, self.all());
        let (code, message) = match (stranded, self.unknown) {
            (0, 0) => return Ok(()),
            (0, n) => (
                UNKNOWN,
                say!(
                    "conversations that could not be looked at: {n} of {all}",
                    "无法查看的会话：{all} 个中有 {n} 个"
                ),
            ),
            (n, _) => (
                REFUSED,
                say!(
                    "conversations that cannot go on with this program: {n} of {all}",
                    "这个程序无法继续的会话：{all} 个中有 {n} 个"
                ),
            ),
        };
        Err(CliError::new(message).exiting(code).into())
    }
}

#[cfg(test)]
mod tests;
