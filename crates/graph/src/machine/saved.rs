use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::{
    BadPath, BudgetUsage, EffectRecord, Json, KeyedRequest, Machine, Names, NodeIx, ProgramVersion,
    Task, TaskPath, TaskStatus, ThreadPhase,
};

/// The stored form of a machine: nodes by name, so that it outlives a change of the graph.
///
/// Version 2 adds effects, budgets, named requests and tasks that sleep. Version 1 has none of them,
/// and is read as such.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedMachine {
    version: u32,
    run: u64,
    steps: u64,
    phase: ThreadPhase,
    under: Option<ProgramVersion>,
    visits: BTreeMap<String, u32>,
    frontier: Vec<Task<String>>,
    joins: BTreeMap<String, Vec<String>>,
    asked: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<(String, String)>,
    /// The failures after the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    failures: Vec<(String, String)>,
    output: Option<Json>,
    #[serde(default, rename = "birth", skip_serializing_if = "is_zero")]
    incarnation: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    effects: Vec<EffectRecord>,
    #[serde(default, skip_serializing_if = "BudgetUsage::is_empty")]
    spent: BudgetUsage,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    keys: BTreeMap<String, KeyedRequest>,
    #[serde(default)]
    left: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl SavedMachine {
    /// The version that this program writes. It reads this one and all before.
    pub(crate) const VERSION: u32 = 2;

    /// Returns the stored form of a machine.
    pub(crate) fn of(machine: &Machine, names: &Names) -> Self {
        let visits = (0..)
            .zip(&machine.visits)
            .filter(|(_, visits)| **visits > 0);
        let rest = |task: &Task<TaskPath>| {
            let mut task = task.clone().with_path(names.text(task.path));
            if task.state == TaskStatus::Running {
                task.state = TaskStatus::Ready;
            }
            task
        };
        let failures = machine.failures.iter();
        let mut failures = failures.map(|(task, error)| (names.text(*task), error.clone()));
        Self {
            version: Self::VERSION,
            run: machine.run,
            steps: machine.steps,
            phase: machine.phase.clone(),
            under: machine.under.clone(),
            visits: visits
                .map(|(ix, n)| (names.name(NodeIx(ix)).to_string(), *n))
                .collect(),
            frontier: machine.frontier.iter().map(rest).collect(),
            joins: machine.joins.clone(),
            asked: machine.asked,
            failure: failures.next(),
            failures: failures.collect(),
            output: machine.output.clone(),
            incarnation: machine.incarnation,
            effects: machine.effects.clone(),
            spent: machine.spent.clone(),
            keys: machine.keys.clone(),
            left: machine.left,
        }
    }

    /// Restores the machine. Names that the graph no longer has are added to `names`.
    pub(crate) fn wake(self, names: &mut Arc<Names>) -> Result<Machine, SavedMachineError> {
        if !(1..=Self::VERSION).contains(&self.version) {
            return Err(SavedMachineError::Version(self.version));
        }
        let mut machine = Machine {
            run: self.run,
            steps: self.steps,
            phase: self.phase,
            under: self.under,
            joins: self
                .joins
                .into_iter()
                .map(|(mut join, mut arrived)| {
                    names.renew(&mut join);
                    for from in &mut arrived {
                        names.renew(from);
                    }
                    (join, arrived)
                })
                .collect(),
            asked: self.asked,
            output: self.output,
            incarnation: self.incarnation,
            effects: self.effects,
            spent: self.spent,
            keys: self.keys,
            left: self.left,
            ..Machine::default()
        };
        for (task, error) in self.failure.into_iter().chain(self.failures) {
            machine.failures.push((names.path(&task)?, error));
        }
        for (name, n) in self.visits {
            let at = names.path(&format!("{name}#{n}"))?.node.at();
            if machine.visits.len() <= at {
                machine.visits.resize(at + 1, 0);
            }
            if let Some(visits) = machine.visits.get_mut(at) {
                *visits = n;
            }
        }
        for (task, position) in self.frontier.into_iter().zip(0..) {
            let path = names.path(&task.path)?;
            *machine.counts.of(task.state) += 1;
            if machine.positions.insert(path, position).is_some() {
                return Err(SavedMachineError::Twice(task.path));
            }
            machine.frontier.push(task.with_path(path));
        }
        Ok(machine)
    }
}

/// The error of a stored machine that cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SavedMachineError {
    /// Another version wrote it.
    #[error("the machine has version {0}; this program reads versions up to {version}", version = SavedMachine::VERSION)]
    Version(u32),
    /// Two open tasks have one address.
    #[error("the machine has two open tasks {0:?}")]
    Twice(String),
    /// A task has no valid address.
    #[error("the machine has a task without a valid address")]
    Path(#[from] BadPath),
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use fugato_state::{State, ThreadId};
    use fugato_store::MemoryLog;

    use super::*;
    use crate::{Answers, BoxError, Context, END, Effect, Graph, Runner, machine::Fact};

    #[derive(Debug, Clone, Default, Serialize, Deserialize)]
    struct Page(Vec<String>);

    impl State for Page {
        type Update = String;

        fn apply(&mut self, line: String) {
            self.0.push(line);
        }
    }

    async fn fails(cx: Context<Page>, broken: bool) -> Result<String, BoxError> {
        let item: String = cx.item()?;
        if broken && item == "y" {
            return Err("it is broken".into());
        }
        let act = |_| async { Ok::<_, BoxError>(1) };
        let one = cx.effect("act", Effect::once(), &item, act).await?;
        Ok(format!("{item} {one}"))
    }

    fn graph(broken: &Arc<AtomicBool>) -> Graph<Page> {
        let broken = broken.clone();
        let says = |name: &'static str| move |_: Context<Page>| async move { name.to_owned() };
        Graph::starting_at("plan")
            .node("plan", says("plan"))
            .node("worker", move |cx: Context<Page>| {
                fails(cx, broken.load(Ordering::Relaxed))
            })
            .node("a", says("a"))
            .pause("ask", |_| "sure?", |_, yes: bool| yes.to_string())
            .node("last", says("last"))
            .scatter("plan", "worker", |_| ["x", "y", "z"])
            .edge("worker", "a")
            .edge("worker", "ask")
            .join(["a", "ask"], "last")
            .edge("last", END)
            .build()
            .unwrap()
    }

    /// A machine at rest, at every point of a log, is restored as the same machine: of a run that
    /// fails and is tried again, of one that waits for an answer, and of the run after it.
    #[tokio::test]
    async fn k23_a_machine_wakes_as_it_was() {
        let broken = Arc::new(AtomicBool::new(true));
        let runner = Runner::new(graph(&broken), Arc::new(MemoryLog::default()));
        let thread = ThreadId::new("thread").unwrap();
        runner.start(&thread, ()).await.unwrap_err();
        broken.store(false, Ordering::Relaxed);
        runner.retry(&thread).await.unwrap();
        let yes = Answers::only(true).unwrap();
        runner.resume(&thread, yes).await.unwrap();
        runner.start(&thread, ()).await.unwrap();

        let mut names = Arc::new(Names::default());
        let (mut lived, mut woken) = (Machine::default(), Machine::default());
        let mut seen = vec![];
        for entry in runner.history(&thread, 1, 1_000).await.unwrap() {
            let fact = entry
                .fact
                .map(&mut |text: String| names.path(&text))
                .unwrap();
            lived.evolve(&fact);
            woken.evolve(&fact);
            let text = |machine| serde_json::to_string(&SavedMachine::of(machine, &names));
            let saved = text(&lived).unwrap();
            assert_eq!(text(&woken).unwrap(), saved, "after {fact:?}");
            assert_eq!(woken.directive(), lived.directive(), "after {fact:?}");
            seen.push(fact);
            // Another process has nothing but the text.
            let mut anew = Arc::new((*names).clone());
            let stored: SavedMachine = serde_json::from_str(&saved).unwrap();
            woken = stored.wake(&mut anew).unwrap();
        }
        let has = |wanted: fn(&Fact<TaskPath>) -> bool| assert!(seen.iter().any(wanted));
        has(|fact| matches!(fact, Fact::RunFailed { .. }));
        has(|fact| matches!(fact, Fact::Intended { .. }));
        has(|fact| matches!(fact, Fact::Asked { .. }));
        has(|fact| matches!(fact, Fact::RunEnded { .. }));
    }
}
