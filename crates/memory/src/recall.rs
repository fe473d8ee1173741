use std::{collections::HashMap, sync::Arc};

use fugato_store::StoreError;
use serde::{Deserialize, Serialize};

use crate::{
    EmbedError, HybridSearch, MemoryIndex, NoteFile, SearchResult, chunks, hybrid::MARKDOWN,
};

/// A part of a note that a search found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FoundNote {
    /// The place of the note: the file, its headings, and the number of the part.
    pub id: String,
    /// The text of the part, with its headings.
    pub text: String,
    /// The score. Only scores of the same search can be compared.
    pub score: f64,
}

impl FoundNote {
    /// Creates a note that was found without a search, with a score of 1.
    pub fn new(id: impl Into<String>, text: impl Into<String>) -> Self {
        let (id, text) = (id.into(), text.into());
        Self {
            id,
            text,
            score: 1.0,
        }
    }
}

/// The result of a search in notes.
#[derive(Debug)]
#[non_exhaustive]
pub struct FoundNotes {
    /// The notes, best first.
    pub notes: Vec<FoundNote>,
    /// The error of the embedder, if therefore text alone was searched.
    pub text_alone: Option<EmbedError>,
    /// The error of the index, if therefore the notes were searched in memory.
    pub without_index: Option<StoreError>,
}

impl FoundNotes {
    /// Creates a result of these notes, best first.
    pub fn of(notes: Vec<FoundNote>) -> Self {
        Self {
            notes,
            text_alone: None,
            without_index: None,
        }
    }
}

impl HybridSearch {
    /// Returns the best of these notes for a question, at most `limit`.
    ///
    /// The files are the source. Edited files are indexed first; if the index fails, a new index in
    /// memory is used, which takes longer.
    pub async fn search_notes(
        &self,
        files: &[NoteFile],
        question: &str,
        limit: usize,
    ) -> Result<FoundNotes, StoreError> {
        let (found, without_index) = match self.synced(files, question, limit).await {
            Ok(found) => (found, None),
            Err(error) => {
                let fresh = Self::new(Arc::new(MemoryIndex::default())).fused_by(self.fusion());
                (fresh.synced(files, question, limit).await?, Some(error))
            }
        };
        let chunks = files.iter().flat_map(|file| chunks(&file.path, &file.text));
        let mut texts: HashMap<String, String> =
            chunks.map(|chunk| (chunk.id, chunk.text)).collect();
        let notes = found.hits.into_iter().filter_map(|hit| {
            let id = hit.id.strip_prefix(MARKDOWN)?.to_owned();
            let (text, score) = (texts.remove(&id)?, hit.score);
            Some(FoundNote { id, text, score })
        });
        Ok(FoundNotes {
            notes: notes.collect(),
            text_alone: found.text_alone,
            without_index,
        })
    }

    async fn synced(
        &self,
        files: &[NoteFile],
        question: &str,
        limit: usize,
    ) -> Result<SearchResult, StoreError> {
        self.sync(files).await?;
        let query = self.query(question).within(MARKDOWN).limit(limit);
        self.search(query).await
    }
}
