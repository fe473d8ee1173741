use std::{future::Future, marker::PhantomData, sync::Arc, time::Duration};

use fugato_state::{JsonType, Millis, State};
use serde::Serialize;

use crate::{
    BoxError, Context, Graph, InitialState, IntoNode, IntoOutcome, IntoTargets, IntoUpdates,
    NodePolicy, SubgraphInput,
    check::{self, BuildIssue, Topology},
    graph::{Edge, GraphInner, Join, NodeEntry, NodeWork, Outgoing, Output, PauseNode},
    machine::NodeIx,
    pause::{Expiry, FnPause, OnExpiry},
    route::{END, Router, Scatter, items},
    subgraph::MappedGraph,
};

/// A builder of a graph. It collects problems, and [`build`](Self::build) returns all of them.
#[derive(derive_more::Debug)]
#[debug(
    "GraphBuilder {{ nodes: {:?}, .. }}",
    self.nodes.iter().map(|(name, _)| name).collect::<Vec<_>>()
)]
pub struct GraphBuilder<S: State> {
    pub(crate) start: String,
    pub(crate) initial: Arc<dyn Fn() -> S + Send + Sync>,
    pub(crate) nodes: Vec<(String, NodeWork<S>)>,
    pub(crate) ways: Vec<OutgoingSpec<S>>,
    pub(crate) renamed: Vec<(String, String)>,
    pub(crate) policies: Vec<(String, NodePolicy)>,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) guards: Vec<DeclaredGuard<S>>,
    output: Option<Box<Output<S>>>,
}

type DeclaredGuard<S> = (String, Box<dyn Fn(&S) -> bool + Send + Sync>);

/// A way out of a node, as it was declared.
pub(crate) enum OutgoingSpec<S: State> {
    Edge {
        from: String,
        to: String,
    },
    Branch {
        from: String,
        to: Vec<String>,
        router: Box<Router<S>>,
    },
    Scatter {
        from: String,
        to: String,
        items: Box<Scatter<S>>,
    },
    Join {
        from: Vec<String>,
        to: String,
    },
}

impl<S: State> Graph<S> {
    /// Creates the builder of a graph whose runs begin at the node `start`, on threads that begin
    /// with the default state. A state without a default begins
    /// [with a value](Self::with_initial).
    pub fn starting_at(start: impl Into<String>) -> GraphBuilder<S>
    where
        S: InitialState,
    {
        Self::with_initial(start, S::initial)
    }

    /// Creates the builder of a graph whose runs begin at the node `start`, on threads that begin
    /// with `initial()`.
    pub fn with_initial(
        start: impl Into<String>,
        initial: impl Fn() -> S + Send + Sync + 'static,
    ) -> GraphBuilder<S> {
        GraphBuilder {
            start: start.into(),
            initial: Arc::new(initial),
            nodes: vec![],
            ways: vec![],
            renamed: vec![],
            policies: vec![],
            labels: vec![],
            guards: vec![],
            output: None,
        }
    }
}

impl<S: State> GraphBuilder<S> {
    /// Adds a node: a struct that implements [`Node`](crate::Node), or an async function or
    /// closure of a [`Context`](crate::Context).
    #[must_use]
    pub fn node<M>(mut self, name: impl Into<String>, node: impl IntoNode<S, M>) -> Self {
        self.nodes
            .push((name.into(), NodeWork::Node(Arc::new(node.into_node()))));
        self
    }

    /// Adds a node that is an async function of what it depends on, such as a client, and of a
    /// [`Context`]. Each call gets a clone of `deps`; several are a tuple.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use fugato_graph::{BoxError, Context, END, Graph, Runner};
    /// # use fugato_state::State;
    /// # #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
    /// # struct Text(String);
    /// # impl State for Text {
    /// #     type Update = String;
    /// #     fn apply(&mut self, text: String) { self.0 = text }
    /// # }
    ///
    /// async fn greet(greeting: Arc<str>, cx: Context<Text>) -> Result<String, BoxError> {
    ///     Ok(format!("{greeting}, {}", cx.state().0))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), BoxError> {
    /// let graph = Graph::<Text>::starting_at("greet")
    ///     .node_with("greet", Arc::from("Hello"), greet)
    ///     .edge("greet", END)
    ///     .build()?;
    /// let ended = Runner::ephemeral(graph).run("Ada".to_owned()).await?;
    /// assert_eq!(ended.state().0, "Hello, Ada");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn node_with<D, F, Fut, Shape>(self, name: impl Into<String>, deps: D, function: F) -> Self
    where
        D: Clone + Send + Sync + 'static,
        F: Fn(D, Context<S>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output: IntoOutcome<S::Update, Shape> + Send> + Send + 'static,
        Shape: 'static,
    {
        self.node(name, move |cx: Context<S>| function(deps.clone(), cx))
    }

    /// Adds a node that is a graph with a state of its own: `enter` makes that state, and `leave`
    /// turns its end into updates of this state. The subgraph shares the thread's log under a
    /// scope; its questions, events and history appear there.
    #[must_use]
    pub fn subgraph<I, E, L, R, Shape>(
        mut self,
        name: impl Into<String>,
        graph: &Graph<I>,
        enter: E,
        leave: L,
    ) -> Self
    where
        I: State,
        E: Fn(SubgraphInput<'_, S>) -> Result<I, BoxError> + Send + Sync + 'static,
        L: Fn(&S, &I) -> R + Send + Sync + 'static,
        R: IntoUpdates<S::Update, Shape> + 'static,
        Shape: 'static,
    {
        let mapped = MappedGraph {
            inner: graph.clone(),
            enter,
            leave,
            marker: PhantomData,
        };
        self.nodes
            .push((name.into(), NodeWork::Sub(Box::new(mapped))));
        self
    }

    fugato_state::setters! {
        /// Sets the retries and time limits of a node. Without a policy it is tried once, with no
        /// limit.
        pub fn policy(node: impl Into<String>, policy: NodePolicy) {
            policies.push((node.into(), policy))
        }

        /// Sets a description of a node, for traces. It has no other effect; a later one for the
        /// same node replaces it.
        pub fn label(node: impl Into<String>, label: impl Into<String>) {
            labels.push((node.into(), label.into()))
        }

        /// Adds an edge: after `from` always comes `to`, or the [`END`]. Several edges from one
        /// node start all their targets in the same step.
        pub fn edge(from: impl Into<String>, to: impl Into<String>) {
            ways.push(OutgoingSpec::Edge {
                from: from.into(),
                to: to.into(),
            })
        }

        /// Adds a guard: if `when` holds before a router is called, the thread goes to `target`
        /// instead.
        pub fn guard(target: impl Into<String>, when: impl Fn(&S) -> bool + Send + Sync + 'static) {
            guards.push((target.into(), Box::new(when)))
        }

        /// Sets the output of a run, which is returned to the caller and stored with the end of the
        /// run.
        pub fn output<T: Serialize>(output: impl Fn(&S) -> T + Send + Sync + 'static) {
            output = Some(Box::new(move |state| {
                Ok(serde_json::value::to_raw_value(&output(state))?)
            }))
        }

        /// Declares that the node `new` was once called `old`: threads that wait at `old` go on at
        /// `new`.
        pub fn renamed(old: impl Into<String>, new: impl Into<String>) {
            renamed.push((old.into(), new.into()))
        }
    }

    /// Adds a node that asks a person. `question` makes the prompt, `answer` turns the typed answer
    /// into updates; both read only the state.
    #[must_use]
    pub fn pause<Q, P, F, A, R, Shape>(
        self,
        name: impl Into<String>,
        question: Q,
        answer: F,
    ) -> Self
    where
        Q: Fn(&S) -> P + Send + Sync + 'static,
        P: Serialize + 'static,
        F: Fn(&S, A) -> R + Send + Sync + 'static,
        A: JsonType + 'static,
        R: IntoUpdates<S::Update, Shape> + 'static,
        Shape: 'static,
    {
        self.push_pause(
            name,
            FnPause {
                question,
                answer,
                expiry: None,
                digested: false,
                marker: PhantomData,
            },
        )
    }

    /// Adds a [`pause`](Self::pause) for an approval: the question carries a digest of its prompt,
    /// and an answer that approves something else is refused.
    #[must_use]
    pub fn approval<Q, P, F, A, R, Shape>(
        self,
        name: impl Into<String>,
        question: Q,
        answer: F,
    ) -> Self
    where
        Q: Fn(&S) -> P + Send + Sync + 'static,
        P: Serialize + 'static,
        F: Fn(&S, A) -> R + Send + Sync + 'static,
        A: JsonType + 'static,
        R: IntoUpdates<S::Update, Shape> + 'static,
        Shape: 'static,
    {
        self.push_pause(
            name,
            FnPause {
                question,
                answer,
                expiry: None,
                digested: true,
                marker: PhantomData,
            },
        )
    }

    /// Adds a [`pause`](Self::pause) whose question expires `after` it was asked. The updates of
    /// `then` apply on expiry; without `then` it is asked again under a new id.
    #[must_use]
    pub fn pause_for<Q, P, F, A, R, Shape>(
        self,
        name: impl Into<String>,
        after: Duration,
        question: Q,
        answer: F,
        then: Option<OnExpiry<S>>,
    ) -> Self
    where
        Q: Fn(&S) -> P + Send + Sync + 'static,
        P: Serialize + 'static,
        F: Fn(&S, A) -> R + Send + Sync + 'static,
        A: JsonType + 'static,
        R: IntoUpdates<S::Update, Shape> + 'static,
        Shape: 'static,
    {
        let after = Millis::try_from(after.as_millis()).unwrap_or(Millis::MAX);
        let expiry = Some(Expiry { after, then });
        self.push_pause(
            name,
            FnPause {
                question,
                answer,
                expiry,
                digested: false,
                marker: PhantomData,
            },
        )
    }

    fn push_pause(mut self, name: impl Into<String>, pause: impl PauseNode<S> + 'static) -> Self {
        self.nodes
            .push((name.into(), NodeWork::Pause(Box::new(pause))));
        self
    }

    /// Adds a branch: after `from` the router chooses among the declared targets.
    #[must_use]
    pub fn branch<T: Into<String>, R: IntoTargets>(
        mut self,
        from: impl Into<String>,
        to: impl IntoIterator<Item = T>,
        router: impl Fn(&S) -> R + Send + Sync + 'static,
    ) -> Self {
        self.ways.push(OutgoingSpec::Branch {
            from: from.into(),
            to: to.into_iter().map(Into::into).collect(),
            router: Box::new(move |state| router(state).into_targets()),
        });
        self
    }

    /// Adds a scatter: after `from` comes one task of `to` for each item. Without items, the thread
    /// takes the way out of `to` at once.
    #[must_use]
    pub fn scatter<I, T>(
        mut self,
        from: impl Into<String>,
        to: impl Into<String>,
        each: impl Fn(&S) -> I + Send + Sync + 'static,
    ) -> Self
    where
        I: IntoIterator<Item = T>,
        T: Serialize,
    {
        self.ways.push(OutgoingSpec::Scatter {
            from: from.into(),
            to: to.into(),
            items: Box::new(move |state| items(each(state))),
        });
        self
    }

    /// Adds a join: `to` comes when all of `from` are done, in whatever step each was.
    #[must_use]
    pub fn join<T: Into<String>>(
        mut self,
        from: impl IntoIterator<Item = T>,
        to: impl Into<String>,
    ) -> Self {
        let from = from.into_iter().map(Into::into).collect();
        self.ways.push(OutgoingSpec::Join {
            from,
            to: to.into(),
        });
        self
    }

    /// Checks the graph. The error names all problems at once.
    pub fn build(self) -> Result<Graph<S>, BuildError> {
        let wiring = check::check(&self).map_err(|problems| BuildError { problems })?;
        Ok(Graph::new(self.wire(wiring)))
    }

    /// Joins nodes and ways. All names have been checked.
    fn wire(self, wiring: Topology) -> GraphInner<S> {
        let find = |name: &str| wiring.names.find(name).unwrap_or(NodeIx(0));
        let guard = self.guards.into_iter().next();
        let guard = guard.map(|(to, when)| (find(&to), when));
        let labels = self.labels.into_iter();
        let labels = labels.map(|(node, label)| (find(&node), label)).collect();
        let nodes = self.nodes.into_iter();
        let mut nodes: Vec<_> = nodes.map(|(_, work)| NodeEntry::new(work)).collect();
        for (name, policy) in self.policies {
            if let Some(node) = nodes.get_mut(find(&name).at()) {
                node.policy = Some(Arc::new(policy));
            }
        }
        let mut joins = vec![];
        for (way, edges) in self.ways.into_iter().zip(wiring.ways()) {
            let [Edge { from, to, .. }, ..] = *edges else {
                continue;
            };
            let Some(node) = nodes.get_mut(from.at()) else {
                continue;
            };
            match way {
                OutgoingSpec::Edge { .. } => {
                    if let (Outgoing::Edges(targets), Some(to)) = (&mut node.way, to) {
                        targets.push(to);
                    }
                }
                OutgoingSpec::Branch { to, router, .. } => {
                    let end = |name: &String| (name != END).then(|| find(name));
                    let declared = to.iter().map(|to| (to.as_str().into(), end(to))).collect();
                    node.way = Outgoing::Branch { declared, router };
                }
                OutgoingSpec::Scatter { items, .. } => {
                    let to = to.unwrap_or(from);
                    node.way = Outgoing::Scatter { to, items };
                }
                OutgoingSpec::Join { .. } => {
                    let from: Vec<_> = edges.iter().map(|edge| edge.from).collect();
                    for source in &from {
                        if let Some(node) = nodes.get_mut(source.at()) {
                            node.joins.push(joins.len());
                        }
                    }
                    joins.extend(to.map(|to| Join { from, to }));
                }
            }
        }
        let start = find(&self.start);
        let Topology {
            mut names, edges, ..
        } = wiring;
        let mut picture = crate::draw::mermaid(&edges, &names, start, |_| false);
        for wire in &nodes {
            if let NodeWork::Sub(sub) = &wire.work {
                picture.push_str(&sub.picture());
            }
        }
        for (old, new) in &self.renamed {
            names.alias(old, new);
        }
        GraphInner {
            names: Arc::new(names),
            nodes,
            start,
            guard,
            joins,
            edges,
            initial: self.initial,
            output: self.output,
            labels,
            fingerprint: crate::digest::of(picture.as_bytes()).into(),
        }
    }
}

/// The error of a graph that cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the graph cannot be built: {}", problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct BuildError {
    /// All problems of the graph.
    pub problems: Vec<BuildIssue>,
}
