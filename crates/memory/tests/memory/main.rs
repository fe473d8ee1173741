//! Tests of memory: layers, compaction, archives and search, in one binary.

mod archive;
mod compaction;
mod layers;
mod search;
mod sources;
