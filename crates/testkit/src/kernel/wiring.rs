//! Graphs in words, for scripts.
//!
//! A line such as `open -> a b -> last -> again` has an edge between the parts beside each arrow,
//! and joins several nodes before an arrow; `plan -> worker*3` is a scatter over 0, 1 and 2. A node
//! from which no arrow leaves ends the graph, unless it has a `!`: the caller adds its branch.
//!
//! A node notes its task, and says its name. A line such as `a: fail on try 1, once mail` adds what
//! it does before that, in order:
//!
//! | | |
//! |---|---|
//! | `fail`, `panic`, `die`, `hang` | it fails, panics, kills its process, or never ends and notes its drop |
//! | `door`, `beat` | it waits at the script's door, or for 60 ms with heartbeats |
//! | `ask ok` | it asks midway, and says the answer |
//! | `once mail`, `keyed mail`, `thread mail` | it acts, and says the result; the last is of the whole thread |
//! | `say x`, `item`, `try`, `nothing` | it says that, its item, its attempt, or nothing |
//! | `… on try 1`, `… until mended`, `… for x` | it does so at that attempt only, until the script mends it, or if x is the first line |
//! | `pause`, `pause 5` | it is a pause, which expires after so many seconds |
//! | `tries 2`, `tries 2 after 50` | its policy, with the milliseconds of the first back-off |
//! | `elsewhere` | it is added by the caller |
//!
//! Lines after `name/` wire a subgraph of that name. A line after `@name` belongs to the program of that name alone, and replaces an earlier one.
use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use fugato_graph::{
    BoxError, BuildError, Context, END, Effect, Graph, GraphBuilder, Node, NodePolicy, Outcome,
    SubgraphInput,
};
use fugato_state::{EffectClass, Question};

use super::{
    AppendFault, RecordingLog,
    fixture::{Calls, Change, Page, Switch, line},
    world::{Stage, TestGate},
};

/// A node that does what its words say.
#[derive(Clone)]
struct WordedNode {
    name: String,
    words: Vec<String>,
    calls: Calls,
    world: Calls,
    broken: Switch,
    door: TestGate,
    log: RecordingLog,
}

#[async_trait]
impl Node<Page> for WordedNode {
    async fn run(&self, cx: Context<Page>) -> Result<Outcome<Change>, BoxError> {
        self.calls.note(match cx.attempt() {
            1 => cx.task(),
            attempt => format!("{} try {attempt}", cx.task()),
        });
        let mut said = vec![];
        for words in &self.words {
            let Some(words) = self.now(&cx, words) else {
                continue;
            };
            let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
            match verb {
                "fail" => return Err("boom".into()),
                "panic" => std::panic::panic_any("boom"),
                "die" => self.log.cut(1, AppendFault::DiesBefore),
                "hang" => {
                    let _note = DropNote(self.calls.clone());
                    std::future::pending::<()>().await;
                }
                "beat" => {
                    for _ in 0..12 {
                        cx.heartbeat();
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                }
                "door" => self.door.pass().await,
                "nothing" => return Ok(Outcome::done([])),
                "say" => said.push(rest.to_owned()),
                "item" => said.push(cx.item::<u64>()?.to_string()),
                "try" => said.push(format!("try {}", cx.attempt())),
                "ask" => {
                    let Some(answer) = cx.answer::<bool>(rest)? else {
                        let asked = Question::new::<bool>(rest, format!("{rest}?"));
                        return Ok(Outcome::ask(asked));
                    };
                    said.push(answer.to_string());
                }
                _ => said.push(self.act(&cx, verb, rest).await?),
            }
        }
        if said.is_empty() {
            said.push(self.name.clone());
        }
        Ok(Outcome::done([line(said.join(" "))]))
    }
}

/// A guard that notes its drop.
pub(crate) struct DropNote(pub(crate) Calls);

impl Drop for DropNote {
    fn drop(&mut self) {
        self.0.note("dropped");
    }
}

impl WordedNode {
    /// Returns words without their condition, if it holds.
    fn now<'w>(&self, cx: &Context<Page>, words: &'w str) -> Option<&'w str> {
        if let Some((words, attempt)) = words.split_once(" on try ") {
            return (attempt == cx.attempt().to_string()).then_some(words);
        }
        let words = match words.strip_suffix(" until mended") {
            Some(words) => self.broken.is_on().then_some(words)?,
            None => words,
        };
        match words.split_once(" for ") {
            Some((words, first)) => (cx.state().lines.first()? == first).then_some(words),
            None => Some(words),
        }
    }

    async fn act(&self, cx: &Context<Page>, verb: &str, key: &str) -> Result<String, BoxError> {
        let effect = match verb {
            "pure" => EffectClass::Pure.into(),
            "idempotent" => EffectClass::Idempotent.into(),
            "keyed" => EffectClass::Keyed.into(),
            "once" => Effect::once(),
            "thread" => Effect::once().whole_thread(),
            _ => return Err(format!("no node can {verb}").into()),
        };
        let world = self.world.clone();
        let act = move |key| async move {
            world.note(key);
            Ok::<_, BoxError>("sent".to_owned())
        };
        Ok(cx.effect(key, effect, &"to all", act).await?)
    }
}

/// Returns the first state of a subgraph, made of the item, or of the lines outside.
#[expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "that is what a mapping looks like"
)]
pub(crate) fn enter(at: SubgraphInput<'_, Page>) -> Result<Page, BoxError> {
    let first = match at.item::<u32>() {
        Ok(item) => item.to_string(),
        Err(_) => at.state().lines.join("+"),
    };
    let lines = vec![first];
    Ok(Page {
        lines,
        ..Page::default()
    })
}

pub(crate) fn leave(_: &Page, inner: &Page) -> Change {
    line(format!("({})", inner.lines.join(" ")))
}

/// The lines of a graph in words.
#[derive(Default)]
struct Lines<'t> {
    chains: Vec<Vec<Vec<&'t str>>>,
    words: BTreeMap<&'t str, Vec<String>>,
    inner: BTreeMap<&'t str, String>,
}

impl<'t> Lines<'t> {
    /// Reads the lines that belong to this program.
    fn of(text: &'t str, stage: &Stage) -> Self {
        let mut lines = Self::default();
        for text in text.lines().flat_map(|line| line.split(';')) {
            let text = text.trim();
            match text.strip_prefix('@').map(|text| text.split_once(' ')) {
                Some(Some((program, text))) if stage.is(program) => lines.read(text),
                Some(_) => {}
                None => lines.read(text),
            }
        }
        lines
    }

    fn read(&mut self, text: &'t str) {
        if let Some((name, text)) = text.split_once("/ ") {
            let inner = match name.split_once('/') {
                Some((name, deeper)) => (name, [deeper, "/ ", text, "\n"].concat()),
                None => (name, [text, "\n"].concat()),
            };
            self.inner.entry(inner.0).or_default().push_str(&inner.1);
        } else if let Some((name, does)) = text.split_once(':') {
            let does = does.split(',').map(|word| word.trim().to_owned());
            self.words.insert(name.trim(), does.collect());
        } else if !text.is_empty() {
            let parts = text
                .split("->")
                .map(|part| part.split_whitespace().collect());
            self.chains.push(parts.collect());
        }
    }

    fn parts(&self) -> impl Iterator<Item = &&'t str> {
        self.chains.iter().flatten().flatten()
    }

    /// Returns the names of the nodes, in the order of their first mention.
    fn names(&self) -> Vec<String> {
        let mut names = vec![];
        for name in self.parts().map(|part| name(part)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// Returns the name of a part without its number of tasks or its mark of a branch.
fn name(part: &str) -> String {
    let name = part.split(['*', '!']).next();
    name.unwrap_or_default().to_owned()
}

impl Stage {
    /// Wires the graph that these words describe.
    pub(crate) fn wire(&self, text: &str) -> Result<GraphBuilder<Page>, BuildError> {
        let mut lines = Lines::of(text, self);
        let mut leaves = lines.names();
        let mut graph = Graph::starting_at(leaves.first().cloned().unwrap_or_default());
        for name in &leaves {
            graph = match lines.inner.get(name.as_str()) {
                Some(inside) => graph.subgraph(name, &self.wire(inside)?.build()?, enter, leave),
                None => self.add(graph, name, lines.words.remove(&**name).unwrap_or_default()),
            };
        }
        let branching = lines.parts().filter(|part| part.ends_with('!'));
        let branching: Vec<_> = branching.map(|part| name(part)).collect();
        leaves.retain(|leaf| !branching.contains(leaf));
        for pair in lines.chains.iter().flat_map(|chain| chain.windows(2)) {
            let [from, to] = pair else { continue };
            let from: Vec<_> = from.iter().map(|from| name(from)).collect();
            leaves.retain(|leaf| !from.contains(leaf));
            for to in to {
                graph = match (from.as_slice(), to.split_once('*')) {
                    ([one], Some((worker, items))) => {
                        let items: u64 = items.parse().unwrap_or_default();
                        graph.scatter(one.clone(), worker, move |_| 0..items)
                    }
                    ([one], None) => graph.edge(one.clone(), name(to)),
                    _ => graph.join(from.clone(), name(to)),
                };
            }
        }
        let end = |graph: GraphBuilder<Page>, leaf| graph.edge(leaf, END);
        Ok(leaves.into_iter().fold(graph, end))
    }

    fn add(
        &self,
        graph: GraphBuilder<Page>,
        name: &str,
        mut words: Vec<String>,
    ) -> GraphBuilder<Page> {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        match words
            .first()
            .map(|word| word.split_once(' ').unwrap_or((word, "")))
        {
            Some(("elsewhere", _)) => return graph,
            Some(("pause", "")) => {
                return graph.pause(name, |_| "ok?", |_, ok: bool| line(ok.to_string()));
            }
            Some(("pause", seconds)) => {
                let wait = Duration::from_secs(number(seconds).unwrap_or_default());
                let expires = |_: &Page| vec![line("nobody")];
                let said = |_: &Page, ok: bool| line(ok.to_string());
                return graph.pause_for(name, wait, |_| "ok?", said, Some(Box::new(expires)));
            }
            _ => {}
        }
        let mut policy = None;
        words.retain(|word| {
            let Some(tries) = word.strip_prefix("tries ") else {
                return true;
            };
            let (tries, after) = tries.split_once(" after ").unwrap_or((tries, "0"));
            let after = Duration::from_millis(number(after).unwrap_or_default());
            let tries = number(tries).and_then(|tries| tries.try_into().ok());
            let attempts = NodePolicy::default().attempts(tries.unwrap_or_default());
            policy = Some(attempts.backoff(after, after * 5 / 2));
            false
        });
        let node = WordedNode {
            name: name.to_owned(),
            words,
            calls: self.calls.clone(),
            world: self.world.clone(),
            broken: self.broken.clone(),
            door: self.door.clone(),
            log: self.desk.log.clone(),
        };
        let graph = graph.node(name, node);
        match policy {
            Some(policy) => graph.policy(name, policy),
            None => graph,
        }
    }
}
