//! The catalogue of workloads: what each one does, in which sizes, and what is to be reached.

/// A workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Workload {
    /// Runs of a graph with one node that does nothing.
    Start,
    /// Building a graph of n nodes.
    Build,
    /// A run through n nodes that do nothing.
    Chain,
    /// The same with 100 KB of state that no node touches.
    HeavyChain,
    /// A run through 1,000 nodes that do nothing, with n KB of state that no node touches.
    State,
    /// One node that counts and is entered n times.
    Cycle,
    /// Agent and tools take n turns of two steps, each step appending one message of 200 characters.
    Loop,
    /// The same with a log in memory.
    LoopMemory,
    /// The same with SQLite, `synchronous=NORMAL`.
    LoopNormal,
    /// The same with SQLite, `synchronous=FULL`.
    LoopFull,
    /// n threads of that loop at once, 25 turns each, on one SQLite file, `synchronous=FULL`.
    Grouped,
    /// n workers in one step, and a join.
    FanOut,
    /// n items, each through a subgraph of two nodes.
    Subgraph,
    /// n items, each through a subgraph of twelve steps, and a join.
    FanOutSubgraph,
    /// 1,000 keys; ten nodes in turn change 100 of them each, n times round.
    Wide,
    /// Fifteen fields of lists and maps; six nodes in a circle until there are n messages.
    WideState,
    /// n tool calls with arguments of 3.6 KB and results of 36 KB.
    React,
    /// n steps, each with an effect of class *Idempotent*, with a log in memory.
    Idempotent,
    /// The same with class *Keyed*.
    Keyed,
    /// The same with class *Once*.
    Once,
    /// n steps, each with an effect of class *Idempotent*, with SQLite, `synchronous=FULL`.
    IdempotentFull,
    /// The same with class *Keyed*.
    KeyedFull,
    /// The same with class *Once*.
    OnceFull,
    /// n threads, 64 at once, ask a question each; then all are answered. SQLite, `synchronous=FULL`.
    Interrupt,
    /// n threads that wait for an answer in SQLite, of which 1,000 get it, `synchronous=FULL`.
    Parked,
    /// n threads of that loop at once, 25 turns each, on PostgreSQL.
    Postgres,
    /// The same on Redis.
    Redis,
    /// n small events from a node to a reader.
    Events,
    /// n readers at once, each of the same small events.
    Readers,
    /// Calls of one of n tools.
    Tools,
    /// n pieces of text, each encoded as a chunk of OpenAI's protocol.
    Encode,
    /// n KB of what models answer, each answer with an object to be found and repaired.
    Repair,
    /// The same with named events.
    EncodeNamed,
    /// The same with AG-UI.
    EncodeAgUi,
    /// The same with the AI SDK's UI message stream.
    EncodeAiSdk,
    /// n lines of progress, each encoded as an envelope.
    EncodeEnvelope,
    /// One streamed answer of a model of n words, over HTTP.
    ChatStream,
    /// n kilobytes of such an answer, in memory.
    ChatDecode,
    /// n answers at once, each word after word, from the socket through a node to an encoder.
    Relay,
    /// Searches by text among n documents.
    SearchText,
    /// Searches by vectors among n documents.
    SearchVectors,
    /// Opening a thread that has n steps in its SQLite log.
    Open,
    /// From the start of a process to the next durable step of a thread of n steps whose process
    /// was killed.
    Recover,
}

/// What there is to know about a workload.
#[derive(Debug)]
pub struct Spec {
    /// Its name.
    pub name: &'static str,
    /// What is counted.
    pub unit: &'static str,
    /// The sizes to measure.
    pub sizes: &'static [u64],
    /// The size to measure when in a hurry.
    pub quick: u64,
    /// What to show of it, and what is to be reached.
    pub shown: &'static [(Measure, Goal)],
}

/// A measured quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Measure {
    /// CPU time a unit, in microseconds.
    Cpu,
    /// Elapsed time a unit, in microseconds.
    Wall,
    /// Bytes on disk, in units of 1,000,000.
    Disk,
    /// Peak memory, in units of 1,000,000 bytes.
    Memory,
    /// The elapsed time that half of the units keep below, in microseconds.
    P50,
    /// The elapsed time that 95 of 100 units keep below, in microseconds.
    P95,
    /// The elapsed time that 99 of 100 units keep below, in microseconds.
    P99,
}

/// What fugato is to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// This much, absolutely.
    AtMost(f64),
    /// This many times what the hand-written program needs.
    TimesLimit(f64),
    /// This much absolutely, and at most so many times what the smallest size needs.
    Flat(f64, f64),
    /// Less than every other engine.
    Ahead,
    /// This much absolutely, and every other engine needs at least so many times as much.
    FarAhead(f64, f64),
}

/// The server that a workload needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// PostgreSQL.
    Postgres,
    /// Redis.
    Redis,
    /// A model server.
    Chat,
}

/// The nodes of [`Workload::State`].
pub const STATE_STEPS: u64 = 1000;
/// The events that each reader of [`Workload::Readers`] reads.
pub const EVENTS_READ: u64 = 2000;
/// The calls that [`Workload::Tools`] makes.
pub const CALLS: u64 = 10_000;
/// The words of each answer of [`Workload::Relay`].
pub const PACED_WORDS: u64 = 20;
/// How many searches [`Workload::SearchText`] and [`Workload::SearchVectors`] make.
pub const SEARCHES: u64 = 240;
/// The threads that work at once in [`Workload::Interrupt`].
pub const AT_ONCE: u8 = 64;
/// How many threads of [`Workload::Parked`] are answered.
pub const ANSWERED: u64 = 1000;
/// How many tasks an item of [`Workload::FanOutSubgraph`] needs: the subgraph and its steps.
pub const TASKS_PER_ITEM: u64 = 13;
/// The turns that each thread of [`Workload::Grouped`] takes.
pub const GROUPED_TURNS: u64 = 25;
/// The keys in the state of [`Workload::Wide`].
pub const WIDE_KEYS: u64 = 1000;
/// The nodes in the circle of [`Workload::Wide`].
pub const WIDE_NODES: u64 = 10;

macro_rules! spec {
    ($name:literal, $unit:literal, $sizes:expr, $quick:expr, $($shown:expr),+) => {
        &const { Spec {
            name: $name, unit: $unit, sizes: &$sizes, quick: $quick, shown: &[$($shown),+],
        } }
    };
}

impl Workload {
    /// How many units a round of this size has.
    pub fn units(self, size: u64) -> u64 {
        match self {
            Self::Loop | Self::LoopMemory | Self::LoopNormal | Self::LoopFull => 2 * size,
            Self::Grouped | Self::Postgres | Self::Redis => size * GROUPED_TURNS * 2,
            Self::FanOutSubgraph => size * TASKS_PER_ITEM,
            Self::Wide => size * WIDE_NODES,
            Self::State => STATE_STEPS,
            Self::Readers => size * EVENTS_READ,
            Self::Tools => CALLS,
            Self::Parked => size.min(ANSWERED),
            Self::Relay => size * PACED_WORDS,
            Self::SearchText | Self::SearchVectors => SEARCHES,
            Self::Open | Self::Recover | Self::WideState => 1,
            _ => size,
        }
    }

    /// The server that it needs.
    pub fn host(self) -> Option<Host> {
        match self {
            Self::Postgres => Some(Host::Postgres),
            Self::Redis => Some(Host::Redis),
            Self::ChatStream | Self::Relay => Some(Host::Chat),
            _ => None,
        }
    }

    /// What there is to know about it.
    pub fn spec(self) -> &'static Spec {
        use Goal::{Ahead, AtMost, Flat, TimesLimit};
        use Measure::{Cpu, Disk, Memory, P50, P99, Wall};
        match self {
            Self::Start => spec!("start", "run", [1000], 1000, (Cpu, AtMost(2.0))),
            Self::Build => spec!("build", "node", [1000], 1000, (Cpu, Ahead)),
            Self::Chain => spec!("chain", "step", [1000, 3000], 1000, (Cpu, AtMost(0.25))),
            Self::HeavyChain => spec!("heavy-chain", "step", [1000], 1000, (Cpu, AtMost(0.25))),
            Self::State => spec!("state", "step", [1000], 10, (Cpu, AtMost(0.25))),
            Self::Cycle => spec!("cycle", "step", [100, 1_000_000], 100, (Cpu, AtMost(0.25))),
            Self::Loop => spec!("loop", "step", [1000, 10_000], 1000, (Cpu, Flat(0.4, 1.3))),
            Self::LoopMemory => {
                spec!(
                    "loop-memory",
                    "step",
                    [1000],
                    1000,
                    (Cpu, AtMost(1.0)),
                    (Memory, AtMost(10.0))
                )
            }
            Self::LoopNormal => {
                spec!(
                    "loop-normal",
                    "step",
                    [1000, 2000],
                    1000,
                    (Cpu, Flat(12.0, 1.3)),
                    (Disk, Flat(2.0, 2.2))
                )
            }
            Self::LoopFull => spec!("loop-full", "step", [200], 50, (Wall, TimesLimit(1.15))),
            Self::Grouped => spec!("grouped", "step", [64], 64, (Wall, TimesLimit(1.0 / 0.75))),
            Self::FanOut => spec!("fan-out", "task", [1000, 10_000], 1000, (Cpu, AtMost(1.5))),
            Self::Subgraph => spec!("subgraph", "item", [1000], 1000, (Cpu, AtMost(5.0))),
            Self::FanOutSubgraph => {
                spec!("fan-out-subgraph", "task", [10, 100], 100, (Cpu, Ahead))
            }
            Self::Wide => spec!("wide", "step", [50], 50, (Cpu, AtMost(8.0))),
            Self::WideState => spec!("wide-state", "run", [300, 600, 1200], 300, (Cpu, Ahead)),
            Self::React => spec!("react", "call", [10, 100], 100, (Cpu, Ahead)),
            Self::Idempotent => spec!("idempotent", "step", [1000], 1000, (Cpu, AtMost(3.0))),
            Self::Keyed => spec!("keyed", "step", [1000], 1000, (Cpu, AtMost(3.0))),
            Self::Once => spec!("once", "step", [1000], 1000, (Cpu, AtMost(3.0))),
            Self::IdempotentFull => {
                spec!(
                    "idempotent-full",
                    "step",
                    [200],
                    50,
                    (Wall, TimesLimit(1.15))
                )
            }
            Self::KeyedFull => spec!("keyed-full", "step", [200], 50, (Wall, TimesLimit(1.15))),
            Self::OnceFull => spec!("once-full", "step", [200], 50, (Wall, TimesLimit(1.15))),
            Self::Interrupt => spec!("interrupt", "thread", [1000], 128, (Wall, TimesLimit(1.3))),
            Self::Parked => spec!(
                "parked",
                "thread",
                [1000, 100_000],
                1000,
                (Memory, AtMost(50.0)),
                (P50, Ahead),
                (P99, AtMost(20_000.0))
            ),
            Self::Postgres => spec!("postgres", "step", [1, 32], 1, (Wall, TimesLimit(1.3))),
            Self::Redis => spec!("redis", "step", [1, 32], 1, (Wall, TimesLimit(1.3))),
            Self::Events => spec!("events", "event", [100_000], 100_000, (Cpu, AtMost(0.25))),
            Self::Readers => spec!("readers", "event", [10], 10, (Cpu, AtMost(0.25))),
            Self::Tools => spec!("tools", "call", [100], 10, (Cpu, AtMost(1.0))),
            // 60 MB a second.
            Self::Repair => spec!("repair", "KB", [1000], 1000, (Cpu, AtMost(16.6))),
            Self::Open => spec!("open", "thread", [10_000], 10_000, (Wall, AtMost(20_000.0))),
            Self::Recover => spec!(
                "recover",
                "thread",
                [10_000],
                10_000,
                (Wall, TimesLimit(1.3))
            ),
            _ => self.spec_of_wires(),
        }
    }

    /// The smallest of three sizes, each ten times the one before, over which a unit is to cost the
    /// same; none where its work grows with the size, or where it waits for a disk or a server.
    pub fn grows_from(self) -> Option<u64> {
        Some(match self {
            Self::Readers | Self::React | Self::Wide => 2,
            Self::State | Self::Tools | Self::FanOutSubgraph | Self::Repair => 10,
            Self::LoopNormal => 20,
            Self::Start
            | Self::Build
            | Self::Chain
            | Self::Loop
            | Self::LoopMemory
            | Self::FanOut
            | Self::Subgraph
            | Self::Idempotent
            | Self::Keyed
            | Self::Once => 100,
            Self::ChatDecode => 200,
            Self::Cycle
            | Self::Parked
            | Self::Events
            | Self::Encode
            | Self::EncodeNamed
            | Self::EncodeAgUi
            | Self::EncodeAiSdk
            | Self::EncodeEnvelope => 1000,
            Self::ChatStream => 2000,
            Self::HeavyChain
            | Self::LoopFull
            | Self::Grouped
            | Self::WideState
            | Self::IdempotentFull
            | Self::KeyedFull
            | Self::OnceFull
            | Self::Interrupt
            | Self::Postgres
            | Self::Redis
            | Self::Relay
            | Self::SearchText
            | Self::SearchVectors
            | Self::Open
            | Self::Recover => return None,
        })
    }

    /// What there is to know of what goes over a wire, or is searched.
    fn spec_of_wires(self) -> &'static Spec {
        use Goal::{Ahead, AtMost, FarAhead};
        use Measure::{Cpu, Memory, P50, P95, P99};
        match self {
            Self::EncodeNamed => {
                spec!(
                    "encode-named",
                    "chunk",
                    [100_000],
                    100_000,
                    (Cpu, AtMost(2.0))
                )
            }
            Self::EncodeAgUi => {
                spec!(
                    "encode-ag-ui",
                    "chunk",
                    [100_000],
                    100_000,
                    (Cpu, AtMost(2.0))
                )
            }
            Self::EncodeAiSdk => {
                spec!(
                    "encode-ai-sdk",
                    "chunk",
                    [100_000],
                    100_000,
                    (Cpu, AtMost(2.0))
                )
            }
            Self::EncodeEnvelope => {
                spec!(
                    "encode-envelope",
                    "chunk",
                    [100_000],
                    100_000,
                    (Cpu, AtMost(2.0))
                )
            }
            Self::ChatStream => spec!(
                "chat-stream",
                "event",
                [200_000],
                20_000,
                (Cpu, FarAhead(1.0 / 0.6, 5.0))
            ),
            Self::ChatDecode => {
                spec!(
                    "chat-decode",
                    "KB",
                    [20_000],
                    20_000,
                    (Cpu, AtMost(1000.0 / 350.0))
                )
            }
            Self::Relay => spec!(
                "relay",
                "word",
                [1000],
                100,
                (P50, AtMost(50.0)),
                (P99, AtMost(50.0)),
                (Memory, AtMost(20.0))
            ),
            Self::SearchText => spec!(
                "search-text",
                "search",
                [100_000],
                10_000,
                (P50, Ahead),
                (P95, AtMost(10_000.0))
            ),
            Self::SearchVectors => spec!(
                "search-vectors",
                "search",
                [100_000],
                10_000,
                (P50, AtMost(8_000.0))
            ),
            _ => spec!("encode", "chunk", [100_000], 100_000, (Cpu, AtMost(2.0))),
        }
    }
}

impl Measure {
    /// What it is called in a table.
    pub fn label(self, unit: &str) -> String {
        match self {
            Self::Cpu => format!("CPU µs/{unit}"),
            Self::Wall => format!("wall µs/{unit}"),
            Self::Disk => "disk MB".into(),
            Self::Memory => "peak memory MB".into(),
            Self::P50 => "p50 wall µs".into(),
            Self::P95 => "p95 wall µs".into(),
            Self::P99 => "p99 wall µs".into(),
        }
    }
}

impl Goal {
    /// What it is called in a table.
    pub fn label(self) -> String {
        match self {
            Self::AtMost(most) => format!("≤ {}", (most * 100.0).round() / 100.0),
            Self::TimesLimit(times) => format!("≤ {times:.2} × limit"),
            Self::Flat(most, times) => format!("≤ {most}, ≤ {times} × smallest"),
            Self::Ahead => "ahead of all".into(),
            Self::FarAhead(most, times) => format!("≤ {most:.2}, all others ≥ {times} ×"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn a_workload_bears_the_same_name_on_the_command_line_and_in_the_table() {
        for workload in Workload::value_variants() {
            let value = workload.to_possible_value().unwrap();
            assert_eq!(value.get_name(), workload.spec().name);
        }
    }
}
