//! The workloads on fugato.
mod chat;
mod durable;
mod effects;
pub mod encode;
mod events;
pub mod graphs;
mod recover;
mod remote;
mod repair;
mod search;
mod steps;
mod tools;

use fugato_state::EffectClass::{Idempotent, Keyed, Once};

pub use self::recover::survive;
use crate::{
    BoxError,
    measure::{Measurement, Setting},
    report::FUGATO,
    survivor,
    workload::{STATE_STEPS, Workload},
};

/// Runs a workload.
pub fn run(workload: Workload, size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    use fugato_sqlite::Synchronous::{Full, Normal};
    match workload {
        Workload::Start => steps::start(size, setting),
        Workload::Build => steps::build(size, setting),
        Workload::Chain => steps::chain(size, 0, setting),
        Workload::HeavyChain => steps::chain(size, 100_000, setting),
        Workload::State => steps::chain(STATE_STEPS, 1000 * usize::try_from(size)?, setting),
        Workload::Cycle => steps::cycle(size, setting),
        Workload::Loop | Workload::React => steps::talk(workload, size, setting),
        Workload::LoopMemory => durable::talk_in_memory(size, setting),
        Workload::LoopNormal => durable::talk(size, Normal, setting),
        Workload::LoopFull => durable::talk(size, Full, setting),
        Workload::Grouped => durable::talks(size, setting),
        Workload::FanOut => steps::fan_out(graphs::fan_out()?, size, setting),
        Workload::Subgraph => steps::fan_out(graphs::subgraph()?, size, setting),
        Workload::FanOutSubgraph => steps::campaign(size, setting),
        Workload::Wide => steps::wide(size, setting),
        Workload::WideState => steps::ticket(size, setting),
        Workload::Idempotent => effects::in_memory(Idempotent, size, setting),
        Workload::Keyed => effects::in_memory(Keyed, size, setting),
        Workload::Once => effects::in_memory(Once, size, setting),
        Workload::IdempotentFull => effects::on_disk(Idempotent, size, setting),
        Workload::KeyedFull => effects::on_disk(Keyed, size, setting),
        Workload::OnceFull => effects::on_disk(Once, size, setting),
        Workload::Interrupt => durable::interrupts(size, setting),
        Workload::Parked => durable::parked(size, setting),
        Workload::Postgres => remote::postgres(size, setting),
        Workload::Redis => remote::redis(size, setting),
        Workload::Events => events::events(size, setting),
        Workload::Readers => events::readers(size, setting),
        Workload::Tools => tools::calls(size, setting),
        Workload::Repair => repair::answers(size, setting),
        Workload::Encode => encode::chunks("openai", size, setting),
        Workload::EncodeNamed => encode::chunks("named", size, setting),
        Workload::EncodeAgUi => encode::chunks("ag-ui", size, setting),
        Workload::EncodeAiSdk => encode::chunks("ai-sdk", size, setting),
        Workload::EncodeEnvelope => encode::chunks("envelope", size, setting),
        Workload::ChatStream => chat::stream(size, setting),
        Workload::ChatDecode => chat::decode(size, setting),
        Workload::Relay => chat::relay(size, setting),
        Workload::SearchText => search::by_text(size, setting),
        Workload::SearchVectors => search::by_vectors(size, setting),
        Workload::Open => durable::open(size, setting),
        Workload::Recover => survivor::recover(FUGATO, size, setting),
    }
}
