//! The workloads on fugato.
mod durable;
pub mod encode;
mod events;
pub mod graphs;
mod steps;

use crate::{
    BoxError,
    measure::{Measured, Setting},
    workload::Workload,
};

/// Runs a workload.
pub fn run(workload: Workload, size: u64, setting: &Setting) -> Result<Measured, BoxError> {
    use fugato_sqlite::Synchronous::{Full, Normal};
    match workload {
        Workload::Start => steps::start(size, setting),
        Workload::Chain => steps::chain(size, 0, setting),
        Workload::HeavyChain => steps::chain(size, 100_000, setting),
        Workload::Cycle => steps::cycle(size, setting),
        Workload::Loop => steps::talk(size, setting),
        Workload::LoopMemory => durable::talk_in_memory(size, setting),
        Workload::LoopNormal => durable::talk(size, Normal, setting),
        Workload::LoopFull => durable::talk(size, Full, setting),
        Workload::Grouped => durable::talks(size, setting),
        Workload::FanOut => steps::fan_out(size, setting),
        Workload::Wide => steps::wide(size, setting),
        Workload::Interrupt => durable::interrupts(size, setting),
        Workload::Events => events::events(size, setting),
        Workload::Encode => encode::chunks(size, setting),
        Workload::Open => durable::open(size, setting),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::ValueEnum;

    use super::*;

    /// Every workload checks what came of it, on both sides.
    #[test]
    fn each_workload_runs_and_does_what_it_should() {
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting {
            budget: Duration::ZERO,
            folder: folder.path().into(),
        };
        for workload in Workload::value_variants() {
            for system in [run, crate::limit::run] {
                let measured = system(*workload, 4, &setting).unwrap();
                let has_disk = matches!(workload, Workload::LoopNormal | Workload::LoopFull);
                assert_eq!(measured.bytes.is_some(), has_disk, "{workload:?}");
                assert!(measured.us_wall > 0.0, "{workload:?}");
            }
        }
        let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
        assert!(left.is_empty(), "databases are removed: {left:?}");
    }
}
