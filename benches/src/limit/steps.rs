//! Nodes one after the other.
use fugato_state::State;
use futures::future::BoxFuture;

use crate::{
    BoxError,
    measure::{Measured, Setting, rounds, runtime, timed},
    subject::{Count, Nothing, Still, Talk, Tick, Wide, Widened},
    workload::{WIDE_NODES, Workload},
};

/// A node: a boxed asynchronous function from a state to a change of it.
pub(super) type Node<S> = Box<dyn Fn(&S) -> BoxFuture<'static, <S as State>::Update> + Send + Sync>;

fn still() -> Node<Still> {
    Box::new(|_| Box::pin(async { Nothing }))
}

/// The two nodes of the conversation.
pub(super) fn speakers() -> [Node<Talk>; 2] {
    let (agent, tool) = (Talk::agent_says(), Talk::tool_says());
    let speak = |message: fugato_state::Message| -> Node<Talk> {
        Box::new(move |_| {
            let message = message.clone();
            Box::pin(async move { message })
        })
    };
    [speak(agent), speak(tool)]
}

pub(super) fn start(size: u64, setting: &Setting) -> Result<Measured, BoxError> {
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

pub(super) fn chain(size: u64, weight: usize, setting: &Setting) -> Result<Measured, BoxError> {
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

pub(super) fn cycle(size: u64, setting: &Setting) -> Result<Measured, BoxError> {
    let runtime = runtime()?;
    let node: Node<Count> = Box::new(|_| Box::pin(async { Tick }));
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

pub(super) fn talk(size: u64, setting: &Setting) -> Result<Measured, BoxError> {
    let (runtime, nodes) = (runtime()?, speakers());
    rounds(setting, Workload::Loop.units(size), || {
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

pub(super) fn talk_in_memory(size: u64, setting: &Setting) -> Result<Measured, BoxError> {
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

pub(super) fn wide(size: u64, setting: &Setting) -> Result<Measured, BoxError> {
    let runtime = runtime()?;
    let nodes: Vec<Node<Wide>> = (0..WIDE_NODES)
        .map(|number| -> Node<Wide> {
            let keys = Wide::keys_of(number);
            Box::new(move |state| {
                let update: Widened = state.grown(&keys, number + 1 == WIDE_NODES);
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
