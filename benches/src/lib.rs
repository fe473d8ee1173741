#![doc = include_str!("../README.md")]

pub mod contest;
pub mod engine;
pub mod host;
pub mod limit;
pub mod machine;
pub mod measure;
pub mod peer;
pub mod report;
pub mod subject;
pub mod survivor;
pub mod workload;

/// What can go wrong while a workload runs.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
