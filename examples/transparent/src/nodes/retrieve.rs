use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use fugato::{
    BoxError, Context, Node, Outcome,
    memory::{Found, Fusion, HybridSearch, MemoryIndex, NoteFile, SearchHit, chunks},
};
use serde_json::json;

use super::note;
use crate::{
    agent::{Agent, Memory, Update},
    deps::Deps,
    log_key,
};

/// Searches the memory: by words and, if there is an embedder, by meaning.
#[derive(Debug)]
pub struct Retrieve(pub Deps);

/// How many pieces are found at most.
const TOP: usize = 10;

#[async_trait]
impl Node<Agent> for Retrieve {
    async fn run(&self, cx: Context<Agent>) -> Result<Outcome<Update>, BoxError> {
        let query = cx.state().turn.queries.last().cloned().unwrap_or_default();
        let asked = note("rag_query", json!({ "query": query }));
        let files = self.0.desk.notebook.files()?;
        let found = self.search(&query, &files).await?;
        let text_alone = found.text_alone.map(|why| why.to_string());
        let found = memories(found.hits, &files);
        let scores: Vec<f64> = found.iter().map(|memory| memory.score).collect();
        let results: Vec<_> = found
            .iter()
            .map(|memory| json!({ "id": memory.id, "text": memory.text }))
            .collect();
        let told = note(
            "rag_result",
            json!({ "results": results, "scores": scores, "text_alone": text_alone }),
        );
        Ok(Outcome::done([Update::Retrieved { query, found }])
            .note(asked)
            .note(told))
    }
}

impl Retrieve {
    /// The notes are the source: what was edited is indexed first. An index that cannot be used
    /// costs time and no answer.
    async fn search(&self, query: &str, files: &[NoteFile]) -> Result<Found, BoxError> {
        let search = |search: HybridSearch| async move {
            search.sync(files).await?;
            search.search(search.query(query).limit(TOP)).await
        };
        match search(self.0.desk.search.clone()).await {
            Ok(found) => Ok(found),
            Err(error) => {
                tracing::warn!(%error, "{}", log_key::SEARCHED_WITHOUT_THE_INDEX);
                let fresh =
                    HybridSearch::new(Arc::new(MemoryIndex::default())).fused_by(Fusion::WEIGHTS);
                Ok(search(fresh).await?)
            }
        }
    }
}

/// What was found, in the words of the notes.
fn memories(hits: Vec<SearchHit>, files: &[NoteFile]) -> Vec<Memory> {
    let chunks = files.iter().flat_map(|file| chunks(&file.path, &file.text));
    let texts: HashMap<String, String> = chunks.map(|chunk| (chunk.id, chunk.text)).collect();
    let found = hits.into_iter().filter_map(|hit| {
        let id = hit.id.strip_prefix("md:")?;
        let text = texts.get(id)?.clone();
        Some(Memory {
            id: id.to_owned(),
            text,
            score: hit.score,
        })
    });
    found.collect()
}
