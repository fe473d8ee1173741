use std::collections::BTreeSet;

use async_trait::async_trait;
use fugato_state::say;
use fugato_tool::{EffectClass, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Sandbox, blocking,
    list::{ListFilesArgs, list},
    listed,
};

/// The number of files whose text is searched, the newest ones.
const MOST_FILES: usize = 500;
/// The number of files that are returned.
const MOST_FOUND: usize = 5;
/// The number of lines that are returned of a file.
const MOST_LINES: usize = 4;
/// The longest line that is returned, in characters.
const LONGEST: usize = 200;
/// The largest file whose text is searched, in bytes.
const MOST_BYTES: u64 = 1024 * 1024;
/// The least share of what is sought that a file must hold, in percent.
const LEAST: usize = 60;

/// The tool `search_files`, which finds what files say.
#[derive(Debug, Clone)]
pub struct SearchFiles {
    sandbox: Sandbox,
}

/// The text to look for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchFilesArgs {
    /// Words that a file holds, in its name or its text.
    #[schemars(extend("x-zh" = "文件的名字或内容里有的词。"))]
    pub query: String,
    /// The folder to look in, with all folders below it; everything if left out.
    #[schemars(extend("x-zh" = "要查的文件夹，连同其下所有文件夹；不写则查全部。"))]
    #[serde(default)]
    pub path: String,
}

impl SearchFiles {
    /// Creates the tool for the files of this sandbox.
    pub fn new(sandbox: Sandbox) -> Self {
        Self { sandbox }
    }
}

#[async_trait]
impl<S: Sync, U> Tool<S, U> for SearchFiles {
    type Input = SearchFilesArgs;

    fn spec(&self) -> ToolSpec {
        let text = "Finds the lines of files that say something about words, best first.";
        ToolSpec::read("search_files", text)
            .chinese("查找文件里提到这些词的行，最合适的在前。")
            .titled("Search in files", "在文件里查找")
            .label("query", "words", "内容")
            .label("path", "folder", "文件夹")
            .effect(EffectClass::Idempotent)
            .argument_alias("keywords", "query")
            .argument_alias("pattern", "query")
            .argument_alias("folder", "path")
            .preview(["query", "path"])
    }

    async fn call(
        &self,
        _: ToolContext<'_, S>,
        args: SearchFilesArgs,
    ) -> Result<ToolOutput<U>, ToolFailure> {
        let sandbox = self.sandbox.clone();
        let found = blocking(move || search(&sandbox, &args)).await??;
        let line =
            |file: &TextMatch| format!("- {}: {}", listed(&file.path), file.lines.join(" … "));
        let text = match found.len() {
            0 => say!("no file says anything about it", "没有文件提到它"),
            _ => found.iter().map(line).collect::<Vec<_>>().join("\n"),
        };
        let files = found
            .iter()
            .map(|file| json!({ "path": file.path, "lines": file.lines }));
        let files: Vec<_> = files.collect();
        let output = ToolOutput::new(text).summary(say!("{} files", "{} 个文件", files.len()));
        Ok(output.data(json!({ "files": files })))
    }
}

/// A file that says something, and the lines that do.
struct TextMatch {
    path: String,
    /// The number of terms that the file holds.
    terms: usize,
    lines: Vec<String>,
}

fn search(sandbox: &Sandbox, args: &SearchFilesArgs) -> Result<Vec<TextMatch>, ToolFailure> {
    let sought = terms(&args.query);
    let path = args.path.clone();
    let all = ListFilesArgs {
        path,
        ..ListFilesArgs::default()
    };
    let files = list(sandbox, &all, std::time::SystemTime::now(), MOST_FILES)?.found;
    let small = files.into_iter().filter(|file| file.bytes <= MOST_BYTES);
    // What is no text says nothing.
    let matches = small.filter_map(|file| {
        let text = sandbox.text(&file.path, MOST_BYTES).ok()?;
        matched(file.path, &text, &sought)
    });
    let mut found: Vec<TextMatch> = matches.collect();
    // The files are newest first, and the sort is stable.
    found.sort_by_key(|file| std::cmp::Reverse(file.terms));
    let best = found.first().map_or(0, |file| file.terms);
    found.retain(|file| file.terms == best || !file.lines.is_empty());
    found.truncate(MOST_FOUND);
    Ok(found)
}

/// Returns the match of a file that holds enough of what is sought.
fn matched(path: String, text: &str, sought: &BTreeSet<String>) -> Option<TextMatch> {
    let held = |text: &str| {
        let there = terms(text);
        sought
            .intersection(&there)
            .cloned()
            .collect::<BTreeSet<_>>()
    };
    let mut lines: Vec<(usize, usize, &str)> = vec![];
    let mut all = held(&path);
    for (at, line) in text.lines().enumerate() {
        let terms = held(line);
        if !terms.is_empty() {
            lines.push((terms.len(), at, line));
            all.extend(terms);
        }
    }
    if sought.is_empty() || all.len() * 100 < sought.len() * LEAST {
        return None;
    }
    lines.sort_by_key(|(terms, at, _)| (std::cmp::Reverse(*terms), *at));
    lines.truncate(MOST_LINES);
    // What follows a line belongs to it, as to a heading.
    let first = lines.iter().map(|(_, at, _)| *at).min().unwrap_or_default();
    for (at, line) in text.lines().enumerate().skip(first) {
        let known = line.trim().is_empty() || lines.iter().any(|(_, there, _)| *there == at);
        if lines.len() < MOST_LINES && !known {
            lines.push((0, at, line));
        }
    }
    lines.sort_by_key(|(_, at, _)| *at);
    let clip = |line: &str| line.trim().chars().take(LONGEST).collect();
    let lines = lines.into_iter().map(|(.., line)| clip(line)).collect();
    Some(TextMatch {
        path,
        terms: all.len(),
        lines,
    })
}

/// Returns the words of a text in lower case and without the ending of a plural, and of scripts
/// without spaces each pair of characters.
fn terms(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let lower = text.to_lowercase();
    for run in lower.split(|c: char| !c.is_alphanumeric()) {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let unspaced = is_unspaced(first);
            let end = rest.find(|c| is_unspaced(c) != unspaced);
            let (word, behind) = rest.split_at(end.unwrap_or(rest.len()));
            rest = behind;
            if unspaced && word.chars().nth(1).is_some() {
                let all: Vec<char> = word.chars().collect();
                found.extend(all.windows(2).map(|pair| pair.iter().collect::<String>()));
            } else {
                let stem = word.strip_suffix('s').filter(|stem| stem.len() > 2);
                found.insert(stem.unwrap_or(word).to_owned());
            }
        }
    }
    found
}

fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}
