//! Opening a thread: the fold of its log, and whether this graph can go on from there.
use std::sync::Arc;

use fugato_state::{Seq, State, ThreadId};
use fugato_store::{Snapshots, ThreadLog};

use crate::{
    Graph, RunError, RunErrorKind, codec,
    fold::Fold,
    graph::Work,
    machine::{Fact, Machine, Names, Path, Phase, TaskState},
    snapshot,
};

/// A thread as its log tells it.
pub(crate) struct Opened<S: State> {
    pub(crate) machine: Machine,
    pub(crate) fold: Fold<S>,
    pub(crate) names: Arc<Names>,
    /// The last position that was read; 0 if the thread does not exist.
    pub(crate) head: Seq,
    /// The version of the state that wrote last.
    pub(crate) version: u32,
    /// Bytes read after the snapshot.
    pub(crate) tail: usize,
    /// Bytes of the snapshot.
    pub(crate) snapshot: usize,
}

const PAGE: usize = 1024;

/// Reads a thread up to and including a position.
pub(crate) async fn open<S: State>(
    graph: &Graph<S>,
    log: &dyn ThreadLog,
    snapshots: Option<&dyn Snapshots>,
    thread: &ThreadId,
    upto: Seq,
) -> Result<Opened<S>, RunError> {
    if upto == 0 {
        return Ok(Opened::new(graph));
    }
    let opened = from_snapshot(graph, snapshots, thread, upto).await?;
    follow(opened, log, thread, upto).await
}

/// Follows the records after a fold.
async fn follow<S: State>(
    mut opened: Opened<S>,
    log: &dyn ThreadLog,
    thread: &ThreadId,
    upto: Seq,
) -> Result<Opened<S>, RunError> {
    loop {
        let page = log.read(thread, opened.head + 1, PAGE).await?;
        let read = page.len();
        for (seq, record) in page {
            if seq > upto {
                return Ok(opened);
            }
            let fact = codec::decode(&record, &mut opened.names)?;
            opened.tail += record.0.len();
            opened.follow(&fact)?;
            opened.head = seq;
        }
        if read < PAGE {
            return Ok(opened);
        }
    }
}

/// The newest readable fold, or an empty one. An unreadable snapshot only costs time.
async fn from_snapshot<S: State>(
    graph: &Graph<S>,
    snapshots: Option<&dyn Snapshots>,
    thread: &ThreadId,
    upto: Seq,
) -> Result<Opened<S>, RunError> {
    let mut names = graph.0.names.clone();
    let latest = match snapshots {
        Some(snapshots) => snapshots.latest_at(thread, upto).await?,
        None => None,
    };
    if let Some(latest) = latest {
        match snapshot::load(&latest.body, &mut names) {
            Ok((machine, fold, version)) => {
                let (head, snapshot) = (latest.seq, latest.body.len());
                return Ok(Opened {
                    machine,
                    fold,
                    names,
                    head,
                    version,
                    tail: 0,
                    snapshot,
                });
            }
            Err(error) => {
                tracing::warn!(%thread, seq = latest.seq, %error, "a snapshot cannot be read");
            }
        }
    }
    Ok(Opened::new(graph))
}

impl<S: State> Opened<S> {
    /// A thread that does not exist yet.
    fn new(graph: &Graph<S>) -> Self {
        Self {
            machine: Machine::default(),
            fold: Fold::new((graph.0.initial)()),
            names: graph.0.names.clone(),
            head: 0,
            version: S::VERSION,
            tail: 0,
            snapshot: 0,
        }
    }

    fn follow(&mut self, fact: &Fact<Path>) -> Result<(), RunError> {
        match fact {
            Fact::Created { version, .. } => self.version = *version,
            Fact::Started { under, .. } | Fact::Resumed { under, .. } => self.version = under.state,
            _ => {}
        }
        if self.version > S::VERSION {
            return Err(newer::<S>(self.version));
        }
        self.fold.follow(fact, &self.machine, self.version)?;
        self.machine.evolve(fact);
        if let Fact::Migrated { under } = fact {
            self.version = under.state;
        }
        if self.version > S::VERSION {
            return Err(newer::<S>(self.version));
        }
        Ok(())
    }

    /// What the thread refers to and the graph no longer has.
    pub(crate) fn check(&self, graph: &Graph<S>) -> Result<(), RunError> {
        if !matches!(self.machine.phase(), Phase::Running | Phase::Failed { .. }) {
            return Ok(());
        }
        let mut gone = vec![];
        for task in self.machine.frontier() {
            match graph
                .0
                .nodes
                .get(task.path.node.at())
                .map(|wire| &wire.work)
            {
                None => gone.push(format!("node {:?}", &*self.names.name(task.path.node))),
                Some(Work::Pause(pause)) if task.state == TaskState::Asking => {
                    let open = task.ask.iter().flat_map(|ask| &ask.open);
                    let schema = pause.schema();
                    gone.extend(
                        open.filter(|interrupt| interrupt.question.schema != schema)
                            .map(|interrupt| format!("the answer schema of {}", interrupt.id)),
                    );
                }
                Some(_) => {}
            }
        }
        for (join, arrived) in self.machine.half_filled() {
            let known = graph
                .0
                .joins
                .iter()
                .find(|known| *graph.0.names.name(known.to) == **join);
            let from = |name: &String| {
                let known = known.map(|known| &known.from);
                known.is_some_and(|from| {
                    from.iter().any(|from| *graph.0.names.name(*from) == **name)
                })
            };
            if !arrived.iter().all(from) {
                gone.push(format!(
                    "the join into {join:?} from {}",
                    arrived.join(", ")
                ));
            }
        }
        if gone.is_empty() {
            Ok(())
        } else {
            gone.sort();
            gone.dedup();
            Err(RunError::new(RunErrorKind::GraphChanged { gone }))
        }
    }
}

/// What a newer program wrote means something that this one does not know.
pub(crate) fn newer<S: State>(found: u32) -> RunError {
    let why = format!(
        "the thread was written by state version {found}; this program knows versions up to {}",
        S::VERSION
    );
    RunError::new(RunErrorKind::Migrate).because(why)
}
