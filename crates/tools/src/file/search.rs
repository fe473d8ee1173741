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
/// The least share of a file that is only near what is sought.
const NEAR: usize = 20;

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
        let (found, near) = blocking(move || search(&sandbox, &args)).await??;
        let told = |files: &[TextMatch]| -> Vec<String> {
            let line = |file: &TextMatch| {
                let lines = file.lines.join(" … ");
                format!("- {}: {lines}", listed(&file.path))
            };
            files.iter().map(line).collect()
        };
        let data = |files: &[TextMatch]| -> Vec<_> {
            let file =
                |it: &TextMatch| json!({ "path": it.path, "lines": it.lines, "lacks": it.lacks });
            files.iter().map(file).collect()
        };
        let text = match (&*found, &*near) {
            ([], []) => say!("no file says anything about it", "没有文件提到它"),
            ([], near) => {
                let near = told(near).join("\n");
                say!(
                    "no file says all of it; these say a part of it:\n{near}",
                    "没有文件提到全部内容，这些提到一部分：\n{near}"
                )
            }
            (found, _) => told(found).join("\n"),
        };
        let output = ToolOutput::new(text).summary(say!("{} files", "{} 个文件", found.len()));
        Ok(output.data(json!({ "files": data(&found), "near": data(&near) })))
    }
}

/// A file that says something, and the lines that do.
struct TextMatch {
    path: String,
    /// The number of terms that the file holds.
    terms: usize,
    /// The words that were sought, and that the file does not hold as a whole.
    lacks: Vec<String>,
    lines: Vec<String>,
}

/// Returns the files that hold most of what is sought, and where there are none those that hold a
/// part of it.
fn search(
    sandbox: &Sandbox,
    args: &SearchFilesArgs,
) -> Result<(Vec<TextMatch>, Vec<TextMatch>), ToolFailure> {
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
        matched(file.path, &text, &args.query, &sought)
    });
    let enough = |file: &TextMatch| file.terms * 100 >= sought.len() * LEAST;
    let (mut found, mut near): (Vec<_>, Vec<_>) = matches.partition(enough);
    if !found.is_empty() {
        near.clear();
    }
    for files in [&mut found, &mut near] {
        // The files are newest first, and the sort is stable.
        files.sort_by_key(|file| std::cmp::Reverse(file.terms));
        let best = files.first().map_or(0, |file| file.terms);
        files.retain(|file| file.terms == best || !file.lines.is_empty());
        files.truncate(MOST_FOUND);
    }
    // Beside the nearest, the others say too little.
    let nearest = near.first().map_or(0, |file| file.terms);
    near.retain(|file| file.terms == nearest);
    Ok((found, near))
}

/// Returns the match of a file that holds something of what is sought by this query.
fn matched(path: String, text: &str, query: &str, sought: &BTreeSet<String>) -> Option<TextMatch> {
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
    if sought.is_empty() || all.len() * 100 < sought.len() * NEAR {
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
    let words = query.split_whitespace();
    let lacks = words.filter(|word| !terms(word).is_subset(&all));
    Some(TextMatch {
        path,
        terms: all.len(),
        lacks: lacks.map(str::to_owned).collect(),
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
