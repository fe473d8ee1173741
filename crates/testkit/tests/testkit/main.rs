//! Tests of the suites and doubles, in one binary.
mod broken_docs;
mod broken_logs;
mod chats;
mod consent_book;
mod corpus;
mod crash_sim;
mod encoder_pairs;
mod encoders;
mod kernel_broken_logs;
mod kernel_memory;
mod kernel_placed;
mod memory_docs;
mod memory_log;
mod random_graphs;
mod replay;
mod session;
