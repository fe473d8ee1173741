use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use cap_std::fs::{Dir, DirEntry};
use fugato_state::say;
use fugato_tool::{EffectClass, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec};
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Sandbox, SandboxError, blocking, listed};

/// The number of entries that are visited.
const MOST_SEEN: usize = 5_000;
/// The number of files that are listed.
const MOST_FOUND: usize = 100;
/// The largest text that is searched, in bytes.
const MOST_TEXT: u64 = 256 * 1024;
/// The number of texts that are searched.
const MOST_TEXTS: usize = 500;
/// The largest compiled pattern, in bytes.
const MOST_PATTERN: usize = 256 * 1024;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The tool `list_files`, which lists files.
#[derive(Clone)]
pub struct ListFiles {
    sandbox: Sandbox,
    now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
}

/// Which files to list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListFilesArgs {
    /// The folder to look in, with all folders below it; everything if left out.
    #[schemars(extend("x-zh" = "要查的文件夹，连同其下所有文件夹；不写则查全部。"))]
    #[serde(default)]
    pub path: String,
    /// A regular expression that occurs in the name, or in the text of a small text file.
    #[schemars(extend("x-zh" = "正则表达式，出现在名字里，或小文本文件的内容里。"))]
    #[serde(default)]
    pub pattern: Option<String>,
    /// Only files whose names have one of these endings, such as `md` or `xlsx`.
    #[schemars(extend("x-zh" = "只要名字以其中之一结尾的文件，例如 `md` 或 `xlsx`。"))]
    #[serde(default)]
    pub endings: Vec<String>,
    /// Only files that were changed within so many days.
    #[schemars(extend("x-zh" = "只要这么多天内改动过的文件。"))]
    #[serde(default)]
    pub days: Option<u32>,
}

impl ListFiles {
    /// Creates the tool for the files of this sandbox.
    pub fn new(sandbox: Sandbox) -> Self {
        Self {
            sandbox,
            now: Arc::new(SystemTime::now),
        }
    }

    /// Sets the clock by which the age of files is told; that of the system if not set.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.now = Arc::new(now);
        self
    }
}

impl std::fmt::Debug for ListFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("ListFiles");
        shown
            .field("sandbox", &self.sandbox)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl<S: Sync, U> Tool<S, U> for ListFiles {
    type Input = ListFilesArgs;

    fn spec(&self) -> ToolSpec {
        let text = "Lists files whose name or text matches, newest first.";
        ToolSpec::read("list_files", text)
            .chinese("列出名字或内容符合的文件，最新的在前。")
            .titled("List files", "列出文件")
            .label("pattern", "pattern", "名称")
            .label("path", "folder", "文件夹")
            .effect(EffectClass::Idempotent)
            .argument_alias("filter", "pattern")
            .argument_alias("regex", "pattern")
            .argument_alias("folder", "path")
            .argument_alias("directory", "path")
            .preview(["pattern", "path"])
    }

    async fn call(
        &self,
        _: ToolContext<'_, S>,
        args: ListFilesArgs,
    ) -> Result<ToolOutput<U>, ToolFailure> {
        let sandbox = self.sandbox.clone();
        let now = (self.now)();
        let listed = blocking(move || list(&sandbox, &args, now, MOST_FOUND)).await??;
        Ok(output(&listed))
    }
}

/// A file that was found.
#[derive(Debug)]
pub(super) struct FoundFile {
    pub(super) path: String,
    pub(super) bytes: u64,
    changed: Option<SystemTime>,
    /// The line that matches, if the name does not.
    line: Option<String>,
}

#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) found: Vec<FoundFile>,
    /// True if a limit was reached, so that there may be more files.
    cut: bool,
}

fn output<U>(listing: &Listing) -> ToolOutput<U> {
    let line = |file: &FoundFile| match &file.line {
        Some(line) => format!("- {}: {line}", listed(&file.path)),
        None => format!("- {}", listed(&file.path)),
    };
    let mut text = match listing.found.len() {
        0 => say!("no file matches", "没有符合的文件"),
        _ => listing
            .found
            .iter()
            .map(line)
            .collect::<Vec<_>>()
            .join("\n"),
    };
    if listing.cut {
        text.push_str(&say!(
            "\nThere are more, which are not listed",
            "\n还有更多，没有列出"
        ));
    }
    let files = listing.found.iter().map(|file| {
        json!({ "path": file.path, "bytes": file.bytes, "changed": file.changed.and_then(seconds), "line": file.line })
    });
    let files: Vec<_> = files.collect();
    let output = ToolOutput::new(text)
        .summary(say!("{} files", "{} 个文件", files.len()))
        .data(json!({ "files": files, "complete": !listing.cut }));
    if listing.cut {
        output.advice(say!(
            "ask for a folder or a narrower pattern",
            "请指明文件夹，或缩小范围"
        ))
    } else {
        output
    }
}

/// Returns the seconds since the Unix epoch.
fn seconds(time: SystemTime) -> Option<u64> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(since.as_secs())
}

/// Lists at most so many files, the newest first, at this time.
pub(super) fn list(
    sandbox: &Sandbox,
    args: &ListFilesArgs,
    now: SystemTime,
    most: usize,
) -> Result<Listing, ToolFailure> {
    let pattern = args.pattern.as_deref().map(compiled).transpose()?;
    let since = args.days.and_then(|days| now.checked_sub(DAY * days));
    let dotted = |ending: &String| format!(".{}", ending.trim_start_matches('.').to_lowercase());
    let mut search = Search {
        sandbox,
        endings: args.endings.iter().map(dotted).collect(),
        pattern,
        since,
        seen: 0,
        texts: 0,
        listed: Listing::default(),
    };
    search.walk(sandbox.folder(&args.path)?)?;
    let mut listed = search.listed;
    listed
        .found
        .sort_by(|a, b| (b.changed, &a.path).cmp(&(a.changed, &b.path)));
    listed.cut |= listed.found.len() > most;
    listed.found.truncate(most);
    Ok(listed)
}

fn compiled(pattern: &str) -> Result<Regex, ToolFailure> {
    let built = RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(MOST_PATTERN)
        .build();
    built.map_err(|error| {
        // The last line holds the error; those before show its place.
        let why = error.to_string();
        let why = why.lines().last().unwrap_or_default().trim().to_owned();
        ToolFailure::failed(say!(
            "the pattern {pattern:?} is no regular expression: {why}; plain words are one",
            "{pattern:?} 不是正则表达式：{why}；普通的词就是"
        ))
    })
}

struct Search<'a> {
    sandbox: &'a Sandbox,
    endings: Vec<String>,
    pattern: Option<Regex>,
    since: Option<SystemTime>,
    seen: usize,
    texts: usize,
    listed: Listing,
}

impl Search<'_> {
    /// Walks breadth first, so that files near the top are found before the limit is reached.
    fn walk(&mut self, from: (Dir, String)) -> Result<(), SandboxError> {
        let mut due = VecDeque::from([from]);
        while let Some((dir, path)) = due.pop_front() {
            let unreadable = |source| SandboxError::Unreadable {
                path: path.clone(),
                source,
            };
            for entry in dir.entries().map_err(unreadable)? {
                if self.seen == MOST_SEEN {
                    self.listed.cut = true;
                    return Ok(());
                }
                self.seen += 1;
                // A file may vanish meanwhile; hidden files are left out.
                let Ok(entry) = entry else { continue };
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with('.') {
                    continue;
                }
                let path = if path.is_empty() {
                    name
                } else {
                    format!("{path}/{name}")
                };
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => {
                        due.extend(entry.open_dir().ok().map(|dir| (dir, path)));
                    }
                    Ok(kind) if kind.is_file() => self.file(&entry, path),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, entry: &DirEntry, path: String) {
        let lower = path.to_lowercase();
        let mut endings = self.endings.iter();
        if !(self.endings.is_empty() || endings.any(|ending| lower.ends_with(ending))) {
            return;
        }
        let Ok(metadata) = entry.metadata() else {
            return;
        };
        let changed = metadata
            .modified()
            .ok()
            .map(cap_std::time::SystemTime::into_std);
        if self
            .since
            .is_some_and(|since| changed.is_none_or(|changed| changed < since))
        {
            return;
        }
        let mut line = None;
        let named = self
            .pattern
            .as_ref()
            .is_none_or(|pattern| pattern.is_match(&path));
        if !named {
            line = self.in_text(&path, metadata.len());
            if line.is_none() {
                return;
            }
        }
        let bytes = metadata.len();
        self.listed.found.push(FoundFile {
            path,
            bytes,
            changed,
            line,
        });
    }

    /// Returns the line of a text with most different matches, the first of equals.
    fn in_text(&mut self, path: &str, bytes: u64) -> Option<String> {
        const LONGEST: usize = 120;
        let pattern = self.pattern.as_ref()?;
        if bytes > MOST_TEXT {
            return None;
        }
        if self.texts == MOST_TEXTS {
            self.listed.cut = true;
            return None;
        }
        self.texts += 1;
        let text = self.sandbox.text(path, MOST_TEXT).ok()?;
        let matches = |line: &str| {
            let found = pattern.find_iter(line);
            let different: BTreeSet<String> =
                found.map(|one| one.as_str().to_lowercase()).collect();
            different.len()
        };
        let lines = text.lines().map(|line| (matches(line), line));
        let (_, line) = lines
            .rev()
            .filter(|(many, _)| *many > 0)
            .max_by_key(|(many, _)| *many)?;
        Some(line.trim().chars().take(LONGEST).collect())
    }
}
