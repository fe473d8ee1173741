//! Hand-written programs that do only what cannot be avoided: the measure of what is possible.
//!
//! They keep the calls that an engine cannot avoid: a node is a boxed asynchronous function that
//! reads the state and returns a change, and the change is what is stored. They check nothing,
//! recover from nothing and can be asked for nothing.
mod chat;
mod encode;
mod events;
mod fan_out;
mod grouped;
mod nested;
mod remote;
mod repair;
mod rows;
mod search;
mod steps;
mod tools;

pub use self::rows::survive;
use crate::{
    BoxError,
    measure::{Measurement, Setting},
    report::LIMIT,
    survivor,
    workload::{STATE_STEPS, Workload},
};

/// Runs a workload.
pub fn run(workload: Workload, size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    match workload {
        Workload::Start => steps::start(size, setting),
        Workload::Build => steps::build(size, setting),
        Workload::Chain => steps::chain(size, 0, setting),
        Workload::HeavyChain => steps::chain(size, 100_000, setting),
        Workload::State => steps::chain(STATE_STEPS, 1000 * usize::try_from(size)?, setting),
        Workload::Cycle => steps::cycle(size, setting),
        Workload::Loop | Workload::React => steps::talk(workload, size, setting),
        Workload::LoopMemory => steps::talk_in_memory(size, setting),
        Workload::LoopNormal => rows::talk(size, rows::Sync::Normal, setting),
        Workload::LoopFull => rows::talk(size, rows::Sync::Full, setting),
        Workload::Grouped => grouped::talks(size, setting),
        Workload::FanOut => fan_out::fan_out(size, setting),
        Workload::Subgraph => nested::squares(size, setting),
        Workload::FanOutSubgraph => nested::campaign(size, setting),
        Workload::Wide => steps::wide(size, setting),
        Workload::WideState => nested::ticket(size, setting),
        Workload::Idempotent | Workload::Keyed => steps::acts_in_memory(size, 1, setting),
        Workload::Once => steps::acts_in_memory(size, 3, setting),
        Workload::IdempotentFull | Workload::KeyedFull => rows::acts(size, 1, setting),
        Workload::OnceFull => rows::acts(size, 3, setting),
        Workload::Interrupt => grouped::interrupts(size, setting),
        Workload::Parked => rows::parked(size, setting),
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
        Workload::SearchText => search::by_text(size),
        Workload::SearchVectors => search::by_vectors(size),
        Workload::Open => rows::open(size, setting),
        Workload::Recover => survivor::recover(LIMIT, size, setting),
    }
}
