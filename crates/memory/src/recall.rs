use std::{collections::HashMap, sync::Arc};

use fugato_store::StoreError;
use serde::{Deserialize, Serialize};

use crate::{EmbedError, Found, HybridSearch, MemoryIndex, NoteFile, chunks, hybrid::MARKDOWN};

/// A piece of a note that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FoundNote {
    /// Where it stands: the file, its headings, and which piece it is.
    pub id: String,
    /// What it says.
    pub text: String,
    /// How well it matches; only scores of one search compare.
    pub score: f64,
}

/// What was found in notes.
#[derive(Debug)]
#[non_exhaustive]
pub struct FoundNotes {
    /// What matches, best first.
    pub notes: Vec<FoundNote>,
    /// Why text alone was searched although there is an embedder.
    pub text_alone: Option<EmbedError>,
    /// Why the notes were searched without the index, by text.
    pub without_index: Option<StoreError>,
}

impl HybridSearch {
    /// The best of these notes for a question, at most so many. They are the source: what was
    /// edited is indexed first, and an index that cannot be used costs time and no answer.
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
    ) -> Result<Found, StoreError> {
        self.sync(files).await?;
        let query = self.query(question).within(MARKDOWN).limit(limit);
        self.search(query).await
    }
}
