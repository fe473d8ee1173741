use fugato::{
    BoxError, Context, END, EventKind, Graph, Node, Outcome, Registry, State, Tool, ToolCall,
    ToolContext, ToolFailure, ToolOutput, ToolSpec, async_trait,
    graph::BuildError,
    schemars::{self, JsonSchema},
    serde_json::json,
    tool::{EffectClass, RegistryError},
};
use serde::{Deserialize, Serialize};

/// An order on its way to a decision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// What is wanted.
    pub wish: String,
    /// The cost in cents, once it is known.
    pub cost: Option<u32>,
    /// What there is to say to who ordered.
    pub said: Vec<String>,
    /// Whether it was approved, once it was judged.
    pub approved: Option<bool>,
}

/// What can change in an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Something is wanted.
    Wished(String),
    /// The cost is known.
    Priced(u32),
    /// Who ordered is told something.
    Said(String),
    /// A person has judged.
    Judged(bool),
}

impl State for Order {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Wished(wish) => {
                *self = Self {
                    wish,
                    ..Self::default()
                }
            }
            Change::Priced(cents) => self.cost = Some(cents),
            Change::Said(text) => self.said.push(text),
            Change::Judged(approved) => self.approved = Some(approved),
        }
    }
}

/// A tool: what is in stock, and what it costs.
#[derive(Debug, Clone)]
pub struct Stock(pub Vec<(String, u32)>);

/// What to look up.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct LookUp {
    /// The name of the thing.
    item: String,
}

#[async_trait]
impl Tool<Order, Change> for Stock {
    type Input = LookUp;

    fn spec(&self) -> ToolSpec {
        ToolSpec::read("price", "Looks up what a thing costs.").effect(EffectClass::Pure)
    }

    async fn call(
        &self,
        _: ToolContext<'_, Order>,
        LookUp { item }: LookUp,
    ) -> Result<ToolOutput<Change>, ToolFailure> {
        let found = self.0.iter().find(|(name, _)| *name == item);
        let (_, cents) = found.ok_or_else(|| {
            let names: Vec<_> = self.0.iter().map(|(name, _)| name.as_str()).collect();
            ToolFailure::blocked(format!(
                "there is no {item}; there are: {}",
                names.join(", ")
            ))
        })?;
        Ok(ToolOutput::new(format!("{item} costs {cents} cents")).update(Change::Priced(*cents)))
    }
}

/// A node: has the tool look up the price, and tells what came out.
#[derive(Debug)]
pub struct OrderAgent {
    tools: Registry<Order, Change>,
}

impl OrderAgent {
    /// A clerk who knows the stock.
    pub fn new(stock: Stock) -> Result<Self, RegistryError> {
        Ok(Self {
            tools: Registry::builder().tool(stock).build()?,
        })
    }
}

#[async_trait]
impl Node<Order> for OrderAgent {
    async fn run(&self, cx: Context<Order>) -> Result<Outcome<Change>, BoxError> {
        let call = ToolCall::new(cx.task(), "price", json!({ "item": cx.state().wish }));
        let result = self.tools.call(&call, ToolContext::new(cx.state())).await;
        cx.emit(EventKind::TextDelta {
            block: cx.task().into(),
            text: result.text.as_str().into(),
        });
        let note = EventKind::Status {
            code: "priced".into(),
            summary: result.summary.clone(),
        };
        let told = [Change::Said(result.text)];
        Ok(Outcome::done(result.updates.into_iter().chain(told)).note(note))
    }
}

/// The graph: the clerk, then a person for what has a price.
pub fn desk(clerk: OrderAgent) -> Result<Graph<Order>, BuildError> {
    // A trait object is no different from the struct itself.
    let clerk: Box<dyn Node<Order>> = Box::new(clerk);
    Graph::<Order>::starting_at("clerk")
        .node("clerk", BoxedNode(clerk))
        .pause(
            "approve",
            |order: &Order| json!({ "wish": order.wish, "cents": order.cost }),
            |_, approved: bool| Change::Judged(approved),
        )
        .branch("clerk", ["approve", END], |order| {
            if order.cost.is_some() { "approve" } else { END }
        })
        .edge("approve", END)
        .output(|order| order.approved)
        .build()
}

struct BoxedNode(Box<dyn Node<Order>>);

#[async_trait]
impl Node<Order> for BoxedNode {
    async fn run(&self, cx: Context<Order>) -> Result<Outcome<Change>, BoxError> {
        self.0.run(cx).await
    }
}
