//! Tests of the ready-made nodes and graphs, in one binary.
mod candidates;
mod compaction;
mod crashes;
mod direct;
mod fallback;
mod judge;
mod person;
mod plan;
mod preflight;
mod react;
mod remember;
mod sequence;
mod silence;
mod tagged;
mod trace;
mod write_ledger;
