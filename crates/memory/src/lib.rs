#![doc = include_str!("../README.md")]

mod archive;
mod compaction;
mod digest;
mod docs;
mod embed;
mod extract;
mod hybrid;
mod importance;
mod layer;
mod long_term;
mod markdown;
mod notebook;
mod person;
mod recall;
mod search;
mod term;

pub use archive::{Archive, ArchiveEntry, ArchiveError, ArchiveWriter};
pub use compaction::{CompactionPolicy, SummaryError, SummaryRequest, Trigger, Unit};
pub use docs::IndexedDocs;
pub use embed::{EmbedError, Embedder, Embeddings, HashedNgrams};
// A prompt reads the summary and its watermark, too, so these types are in `fugato_state`.
pub use fugato_state::{Compaction, CompactionUpdate, Segment};
pub use hybrid::{HybridSearch, SearchResult, SyncReport};
pub use importance::importance;
pub use layer::{
    DialogueTurn, Execution, ExecutionStatus, ExecutionUpdate, History, HistoryUpdate, Memory,
    MemoryUpdate, Observation, PendingQuestion, PreferenceUpdate, Preferences, Reference, Speaker,
    TaskDecision, TaskState, TaskSummary, TaskUpdate, WorldSnapshot, cut,
};
pub use long_term::{LongTermMemory, RememberError};
pub use markdown::{Chunk, chunks};
pub use notebook::{NoteFile, Notebook, NotebookError};
pub use person::{PersonCopy, PersonLayers, PersonUpdate};
pub use recall::{FoundNote, FoundNotes};
pub use search::{
    Bm25, Fusion, IndexEntry, IndexUpdate, MemoryIndex, SearchHit, SearchIndex, SearchQuery,
    VectorError, Vectors,
};
pub use term::{QueryTerm, sought, terms};
