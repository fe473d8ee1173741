use std::sync::Arc;

use async_trait::async_trait;
use fugato_graph::BoxError;
use fugato_memory::{HybridSearch, IndexEntry, MemoryIndex, Notebook};
use fugato_state::Lang;
use fugato_tool::{EffectClass, Tool, ToolContext, ToolFailure, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;

/// Returns the tool `recall`, which finds notes that people asked to remember in this notebook.
pub fn recall<S: Sync, U>(notebook: Notebook) -> impl Tool<S, U> {
    Recall { notebook }
}

struct Recall {
    notebook: Notebook,
}

/// What to look for.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct RecallArgs {
    /// Words of what is looked for; left out for everything.
    #[schemars(extend("x-zh" = "要找的内容中的词；不写则列出全部。"))]
    query: String,
}

/// The result that no note was found, in both languages.
const NOTHING: [&str; 2] = [
    "nothing of the kind was to be remembered",
    "没有要记住的这类内容",
];

/// Returns true for the result of `recall` that no note was found.
pub fn is_no_note(result: &str) -> bool {
    NOTHING.contains(&result)
}

/// The maximum number of notes in a result.
const MOST: usize = 10;

impl Recall {
    /// Returns the matching notes, the best first. The notebook is small, and is read on each call.
    async fn notes(&self, query: &str) -> Result<Vec<String>, BoxError> {
        let files = self.notebook.files()?;
        let lines = files.iter().flat_map(|file| file.text.lines());
        let mut notes: Vec<String> = lines
            .filter_map(|line| line.strip_prefix("- "))
            .map(str::to_owned)
            .collect();
        if query.trim().is_empty() {
            notes.truncate(MOST);
            return Ok(notes);
        }
        let search = HybridSearch::new(Arc::new(MemoryIndex::default()));
        let entry = |(at, note): (usize, &String)| IndexEntry::new(format!("note:{at}"), note);
        let entries = notes.iter().enumerate().map(entry).collect();
        search.sync_entries("note:", entries).await?;
        let found = search.search(search.query(query).limit(MOST)).await?;
        let at = |id: &str| id.strip_prefix("note:")?.parse::<usize>().ok();
        let hits = found.hits.iter().filter_map(|hit| notes.get(at(&hit.id)?));
        Ok(hits.cloned().collect())
    }
}

#[async_trait]
impl<S: Sync, U> Tool<S, U> for Recall {
    type Input = RecallArgs;

    fn spec(&self) -> ToolSpec {
        let what = "Finds notes that the person asked to be remembered, in any conversation.";
        ToolSpec::read("recall", what)
            .chinese("查找用户要求记住的笔记，不限于本次对话。")
            .titled("Look into the notes", "查看笔记")
            .effect(EffectClass::Idempotent)
            .preview(["query"])
    }

    async fn call(
        &self,
        _: ToolContext<'_, S>,
        RecallArgs { query }: RecallArgs,
    ) -> Result<ToolOutput<U>, ToolFailure> {
        let notes = self.notes(&query).await.map_err(ToolFailure::internal)?;
        Ok(if notes.is_empty() {
            let [en, zh] = NOTHING;
            ToolOutput::new(Lang::current().pick(en, zh))
        } else {
            ToolOutput::new(notes.join("\n"))
        })
    }
}
