use async_trait::async_trait;
use fugato::{
    BoxError, Context, Node, Outcome,
    memory::{FoundNote, FoundNotes, NoteFile, chunks},
};
use serde_json::json;

use super::note;
use crate::{
    agent::{AgentState, Update},
    deps::Deps,
    nodes::keep::is_own,
    rules::EVERYTHING,
};

/// The node that searches the memory: by words and, if there is an embedder, by meaning.
#[derive(Debug)]
pub struct Retrieve(pub Deps);

/// The maximum number of notes in a result.
const TOP: usize = 10;

#[async_trait]
impl Node<AgentState> for Retrieve {
    async fn run(&self, cx: Context<AgentState>) -> Result<Outcome<Update>, BoxError> {
        let query = cx.state().turn.queries.last().cloned().unwrap_or_default();
        let mut files = self.0.desk.notebook.files()?;
        files.iter_mut().for_each(without_own_lines);
        let found = if query == EVERYTHING {
            FoundNotes::of(everything(&files))
        } else {
            let search = self.0.desk.search.search_notes(&files, &query, TOP);
            search.await?
        };
        if let Some(error) = found.without_index {
            tracing::warn!(%error, "search without index");
        }
        let notes = found.notes.iter();
        let results = notes.map(|note| json!({ "id": note.id, "text": note.text }));
        let results: Vec<_> = results.collect();
        let scores: Vec<f64> = found.notes.iter().map(|note| note.score).collect();
        let text_alone = found.text_alone.map(|why| why.to_string());
        let asked = note("rag_query", json!({ "query": query }));
        let told = note(
            "rag_result",
            json!({ "results": results, "scores": scores, "text_alone": text_alone }),
        );
        let found = found.notes;
        Ok(Outcome::done([Update::Retrieved { query, found }])
            .note(asked)
            .note(told))
    }
}

/// Removes the lines that the agent itself has logged: they would answer a question with itself, and
/// give what a document said the looks of what the person said. A log that had nothing else is empty:
/// its day alone says nothing.
fn without_own_lines(file: &mut NoteFile) {
    let (own, mut lines): (Vec<&str>, Vec<&str>) = file.text.lines().partition(|line| is_own(line));
    let says = |line: &&str| !line.trim().is_empty() && !line.starts_with("# ");
    if !own.is_empty() && !lines.iter().any(says) {
        lines.clear();
    }
    file.text = lines.join("\n");
}

/// Returns all parts of the notes, at most as many as a search may find.
fn everything(files: &[NoteFile]) -> Vec<FoundNote> {
    let chunks = files.iter().flat_map(|file| chunks(&file.path, &file.text));
    let notes = chunks.map(|chunk| FoundNote::new(chunk.id, chunk.text));
    notes.take(TOP).collect()
}
