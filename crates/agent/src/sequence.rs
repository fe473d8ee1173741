//! Actions in an order that the program fixes: neither a model nor a client can add one.
//!
//! [`GuardedSequences`] names the tools of each action, in order. An [`ActionRequest`] is carried
//! out step by step, each behind the gates of its tool, and [`Actions`] is the part of the state
//! that says how far it is.
mod state;

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use async_trait::async_trait;
use fugato_graph::{BoxError, BuildError, Context, END, Graph, GraphBuilder, Node, Outcome};
use fugato_state::{ToolCall, ToolStatus, say};
use fugato_tool::AnsweredCall;
use serde_json::{Map, Value};

use crate::{Embeds, Toolbox, toolbox::finished};

pub use state::{ActionDone, ActionEnd, ActionRequest, Actions, ActionsUpdate};

/// The names of the nodes.
const PLAN: &str = "action_plan";
const ACT: &str = "action_execute";

/// Guarded sequences of actions: for each allowed action, the tools that carry it out, in order.
///
/// Each tool is a step of its own, with its gates: a call that a gate wants confirmed waits for a
/// person, and a call that needs evidence of a check is blocked without it. A step that does not
/// end well ends the sequence, so no later step begins. A tool gets the arguments of the request
/// that its schema names.
///
/// The keys of actions are valid in the whole thread, and consist of the request's id and the tool:
/// a repeated request, in another run or on another path, gets their receipts. The same id with
/// other arguments is an error. To replay the end of a request as well, start its run with
/// [`start_keyed`](fugato_graph::Runner::start_keyed).
///
/// *Contract*
/// - **whitelist**: an action without a sequence is rejected, and no tool is called.
/// - **nothing before consent**: an action that needs consent has no effect while it waits.
/// - **stop at the first**: after a step that did not end well no other step begins.
/// - **once**: a step that must not be repeated is not repeated after a crash.
#[derive(derive_more::Debug)]
pub struct GuardedSequences<S: Embeds<Actions>> {
    #[debug(skip)]
    toolbox: Toolbox<S>,
    sequences: BTreeMap<String, Vec<String>>,
}

impl<S: Embeds<Actions>> GuardedSequences<S> {
    /// Creates an empty set of sequences over these tools.
    pub fn new(toolbox: Toolbox<S>) -> Self {
        let key = |state: &S, call: &ToolCall| {
            let request = state.part().request.as_ref();
            let id = request.map_or("", |request| request.id.as_str());
            format!("{id}/{}", call.name)
        };
        Self {
            toolbox: toolbox.keyed_by(key),
            sequences: BTreeMap::new(),
        }
    }

    /// Adds an action with the tools that carry it out.
    #[must_use]
    pub fn action<T: Into<String>>(
        mut self,
        action: impl Into<String>,
        tools: impl IntoIterator<Item = T>,
    ) -> Self {
        let tools = tools.into_iter().map(Into::into).collect();
        self.sequences.insert(action.into(), tools);
        self
    }

    /// Builds the sequences as a graph of their own, with the [`ActionEnd`] as its output.
    pub fn build(self) -> Result<Graph<S>, BuildError>
    where
        S: Default,
    {
        let graph = Graph::<S>::starting_at(PLAN).output(|state: &S| state.part().end.clone());
        self.add_to(graph, END).build()
    }

    /// Adds the sequences to a graph: an edge to `action_plan` begins one, and its end leads to
    /// `next`.
    pub fn add_to(self, graph: GraphBuilder<S>, next: &str) -> GraphBuilder<S> {
        let sequences = Arc::new(self);
        let (after, next) = (next.to_owned(), next.to_owned());
        let goes_on = move |state: &S| {
            let is_over = state.part().end.is_some();
            if is_over {
                after.clone()
            } else {
                ACT.to_owned()
            }
        };
        graph
            .node(PLAN, Plan(Arc::clone(&sequences)))
            .node(ACT, Act(sequences))
            .branch(PLAN, [ACT.to_owned(), next.clone()], goes_on.clone())
            .branch(ACT, [ACT.to_owned(), next], goes_on)
    }

    /// Returns the two nodes that carry out a request, for a graph that wires them itself: the
    /// first looks the sequence up and carries out nothing, the second carries out one step. Such a
    /// graph can put another node before each step, such as a pause.
    pub fn into_nodes(self) -> (impl Node<S>, impl Node<S>) {
        let sequences = Arc::new(self);
        (Plan(Arc::clone(&sequences)), Act(sequences))
    }

    fn planned(&self, request: &ActionRequest, state: &S) -> ActionsUpdate {
        let Some(tools) = self.sequences.get(&request.action) else {
            let allowed: Vec<_> = self.sequences.keys().map(String::as_str).collect();
            let why = say!(
                "there is no action {:?}; allowed are {}",
                "没有操作 {:?}；允许的有 {}",
                request.action,
                allowed.join(", ")
            );
            return ActionsUpdate::Ended(ActionEnd::Rejected { why });
        };
        let schemas = self.toolbox.schemas(state);
        let call = |tool: &String| {
            let schema = schemas.iter().find(|schema| schema.name == *tool);
            let names = schema.and_then(|schema| schema.parameters.as_value().get("properties"));
            let arguments = named(&request.arguments, names);
            ToolCall::new(format!("{}/{tool}", request.id), tool, arguments)
        };
        ActionsUpdate::Planned(tools.iter().map(call).collect())
    }
}

/// Returns the arguments that are in a tool's schema.
fn named(arguments: &Value, names: Option<&Value>) -> Value {
    let (Some(arguments), Some(names)) = (arguments.as_object(), names) else {
        return Value::Object(Map::new());
    };
    let known = arguments
        .iter()
        .filter(|(name, _)| names.get(name).is_some());
    Value::Object(known.map(|(k, v)| (k.clone(), v.clone())).collect())
}

/// The node that looks the sequence up. It carries out nothing.
struct Plan<S: Embeds<Actions>>(Arc<GuardedSequences<S>>);

#[async_trait]
impl<S: Embeds<Actions>> Node<S> for Plan<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let state = cx.state();
        let request = state.part().request.as_ref();
        let request = request.ok_or("no action is requested")?;
        Ok(Outcome::done([S::embed(self.0.planned(request, state))]))
    }
}

/// The node that carries out the next step.
struct Act<S: Embeds<Actions>>(Arc<GuardedSequences<S>>);

#[async_trait]
impl<S: Embeds<Actions>> Node<S> for Act<S> {
    async fn run(&self, cx: Context<S>) -> Result<Outcome<S::Update>, BoxError> {
        let actions = cx.state().part();
        let Some(call) = actions.steps.get(actions.done.len()) else {
            return Ok(Outcome::done([S::embed(ActionsUpdate::Ended(
                ActionEnd::Done,
            ))]));
        };
        let called = match self
            .0
            .toolbox
            .execute(&cx, std::slice::from_ref(call))
            .await?
        {
            ControlFlow::Continue(called) => called,
            ControlFlow::Break(asks) => return Ok(asks),
        };
        let is_last = actions.done.len() + 1 == actions.steps.len();
        let notes: Vec<_> = called.iter().map(finished).collect();
        let updates = called
            .into_iter()
            .flat_map(|one| changes::<S>(one, is_last));
        let done = Outcome::done(updates);
        Ok(notes.into_iter().fold(done, Outcome::note))
    }
}

fn changes<S: Embeds<Actions>>(called: AnsweredCall<S::Update>, is_last: bool) -> Vec<S::Update> {
    let AnsweredCall { call, result, .. } = called;
    let (at, why) = (call.name.clone(), result.text.clone());
    let end = match result.status {
        ToolStatus::Ok if is_last => Some(ActionEnd::Done),
        ToolStatus::Ok => None,
        ToolStatus::Blocked => Some(ActionEnd::Blocked { at, why }),
        ToolStatus::Failed => Some(ActionEnd::Failed { at, why }),
    };
    let done = ActionDone {
        action: call.name,
        status: result.status,
        text: result.text,
        data: result.data,
    };
    let told = [ActionsUpdate::Performed(done)];
    let ended = end.map(ActionsUpdate::Ended);
    let own = told.into_iter().chain(ended).map(S::embed);
    result.updates.into_iter().chain(own).collect()
}
