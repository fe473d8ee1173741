//! Nodes one after the other.
use std::{collections::HashMap, sync::Arc};

use fugato_state::{Message, State};
use futures::future::BoxFuture;

use crate::{
    BoxError,
    measure::{Measurement, Setting, rounds, runtime, timed},
    subject::{Count, Nothing, Still, Talk, Tick, Wide, WideUpdate},
    workload::{WIDE_NODES, Workload},
};

/// A node: a boxed asynchronous function from a state to a change of it.
pub(super) type Node<S> = Box<dyn Fn(&S) -> BoxFuture<'static, <S as State>::Update> + Send + Sync>;

fn still() -> Node<Still> {
    Box::new(|_| Box::pin(async { Nothing }))
}

/// The two nodes of the conversation.
pub(super) fn speakers() -> [Node<Talk>; 2] {
    speakers_of(Talk::agent_says(), Talk::tool_says())
}

fn speakers_of(agent: Message, tool: Message) -> [Node<Talk>; 2] {
    let speak = |message: Message| -> Node<Talk> {
        Box::new(move |_| {
            let message = message.clone();
            Box::pin(async move { message })
        })
    };
    [speak(agent), speak(tool)]
}

pub(super) fn start(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, node) = (runtime()?, still());
    rounds(setting, size, || {
        let ((), spent) = timed(|| {
            runtime.block_on(async {
                for _ in 0..size {
                    let mut state = Still::default();
                    let update = node(&state).await;
                    state.apply(update);
                    std::hint::black_box(state);
                }
            });
        });
        Ok(spent)
    })
}

pub(super) fn chain(size: u64, weight: usize, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let nodes: Vec<Node<Still>> = (0..size).map(|_| still()).collect();
    rounds(setting, size, || {
        let mut state = Still {
            weight: "x".repeat(weight),
        };
        let ((), spent) = timed(|| {
            runtime.block_on(async {
                for node in &nodes {
                    let update = node(&state).await;
                    state.apply(update);
                }
            });
        });
        std::hint::black_box(state);
        Ok(spent)
    })
}

/// A table of nodes by name, and for each the position of the next.
pub(super) fn build(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    rounds(setting, size, || {
        let (graph, spent) = timed(|| {
            let mut names: HashMap<Arc<str>, usize> = HashMap::new();
            let mut nodes: Vec<(Node<Still>, Option<usize>)> = vec![];
            for number in 0..size {
                names.insert(format!("node-{number}").into(), nodes.len());
                nodes.push((still(), None));
            }
            for (number, (_, next)) in (1..).zip(&mut nodes) {
                *next = names.get(format!("node-{number}").as_str()).copied();
            }
            (names, nodes)
        });
        assert_eq!(graph.1.len() as u64, size, "every node is there");
        Ok(spent)
    })
}

/// Steps of a node that acts, with so many rows each.
pub(super) fn acts_in_memory(
    size: u64,
    rows: u64,
    setting: &Setting,
) -> Result<Measurement, BoxError> {
    let (runtime, node) = (runtime()?, ticking());
    rounds(setting, size, || {
        let mut state = Count {
            reached: 0,
            wanted: size,
        };
        let mut log: Vec<Vec<u8>> = vec![];
        let (done, spent) = timed(|| {
            runtime.block_on(async {
                while state.reached < state.wanted {
                    let update = node(&state).await;
                    for _ in 0..rows {
                        log.push(serde_json::to_vec(&(state.reached, update))?);
                    }
                    state.apply(update);
                }
                Ok::<_, BoxError>(())
            })
        });
        done?;
        std::hint::black_box(log);
        Ok(spent)
    })
}

/// The node that counts.
pub(super) fn ticking() -> Node<Count> {
    Box::new(|_| Box::pin(async { Tick }))
}

pub(super) fn cycle(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let node = ticking();
    rounds(setting, size, || {
        let mut state = Count {
            reached: 0,
            wanted: size,
        };
        let ((), spent) = timed(|| {
            runtime.block_on(async {
                while state.reached < state.wanted {
                    let update = node(&state).await;
                    state.apply(update);
                }
            });
        });
        Ok(spent)
    })
}

pub(super) fn talk(
    workload: Workload,
    size: u64,
    setting: &Setting,
) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let nodes = match workload {
        Workload::React => speakers_of(Talk::agent_calls(), Talk::tool_returns()),
        _ => speakers(),
    };
    rounds(setting, workload.units(size), || {
        let (runtime, nodes) = (&runtime, &nodes);
        let mut state = Talk::of_turns(size);
        let ((), spent) = timed(move || {
            runtime.block_on(async {
                while !state.is_over() {
                    for node in nodes {
                        let update = node(&state).await;
                        state.apply(update);
                    }
                }
            });
        });
        Ok(spent)
    })
}

pub(super) fn talk_in_memory(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let (runtime, nodes) = (runtime()?, speakers());
    rounds(setting, Workload::LoopMemory.units(size), || {
        let mut state = Talk::of_turns(size);
        let mut log: Vec<Vec<u8>> = vec![];
        let (done, spent) = timed(|| {
            runtime.block_on(async {
                while !state.is_over() {
                    for node in &nodes {
                        let update = node(&state).await;
                        log.push(serde_json::to_vec(&update)?);
                        state.apply(update);
                    }
                }
                Ok::<_, BoxError>(())
            })
        });
        done?;
        std::hint::black_box(log);
        Ok(spent)
    })
}

pub(super) fn wide(size: u64, setting: &Setting) -> Result<Measurement, BoxError> {
    let runtime = runtime()?;
    let nodes: Vec<Node<Wide>> = (0..WIDE_NODES)
        .map(|number| -> Node<Wide> {
            let keys = Wide::keys_of(number);
            Box::new(move |state| {
                let update: WideUpdate = state.grown(&keys, number + 1 == WIDE_NODES);
                Box::pin(async move { update })
            })
        })
        .collect();
    rounds(setting, Workload::Wide.units(size), || {
        let (runtime, nodes) = (&runtime, &nodes);
        let mut state = Wide::of_rounds(size);
        let ((), spent) = timed(move || {
            runtime.block_on(async {
                while state.rounds < state.wanted {
                    for node in nodes {
                        let update = node(&state).await;
                        state.apply(update);
                    }
                }
            });
        });
        Ok(spent)
    })
}
