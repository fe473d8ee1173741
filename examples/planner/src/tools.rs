//! The tools of the desk. What reads says so; what writes has its idempotency key in the very
//! transaction that writes.
use async_trait::async_trait;
use fugato::{
    agent::{
        ToolUse, Toolbox,
        plan::{Step, StepStatus},
        preflight::FactSource as _,
    },
    graph::digest,
    state::ToolCall,
    tool::{
        Access, ConfirmCard, EffectClass, GateChain, GatePolicy, GatedCall, NoArguments, Registry,
        RegistryError, ToolContext, ToolFailure, ToolOutput, ToolSpec, Verdict, Visibility,
        async_tool_fn,
    },
};
use futures::FutureExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    amount::Amount,
    answer::{self, verb},
    desk::{Desk, DeskError, NewOrder, NewTrader, Order, Side},
    facts,
    session::{Session, SessionUpdate, referred},
};

/// What reads, by name: what it looks at, and what for.
const READS: [(&str, &[&str], &str); 6] = [
    (
        "get_configs",
        CONFIGS,
        "Which models, exchanges, strategies and traders there are.",
    ),
    (
        "get_balances",
        &[facts::BALANCES],
        "How much there is of each asset.",
    ),
    (
        "get_positions",
        &[facts::POSITIONS],
        "What is held of each symbol, and at which price.",
    ),
    ("get_trade_history", &[facts::TRADES], "The newest trades."),
    (
        "get_prices",
        &[facts::PRICES],
        "The best offers for each symbol.",
    ),
    (
        "get_open_orders",
        &[facts::ORDERS],
        "The orders that wait for the book.",
    ),
];

const CONFIGS: &[&str] = &[
    facts::MODELS,
    facts::EXCHANGES,
    facts::STRATEGIES,
    facts::TRADERS,
];

/// Whether a tool only reads what may change.
pub fn is_read(name: &str) -> bool {
    READS.iter().any(|(tool, ..)| *tool == name)
}

/// An order, as a model or a rule asks for it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OrderDraft {
    /// What is traded, such as "BTC-USDT".
    symbol: String,
    /// "buy" or "sell".
    side: Side,
    /// How much, as a decimal number in quotes, such as "0.25".
    quantity: String,
    /// The worst price that is taken, in quotes; left out to take what is there.
    #[serde(default)]
    price: Option<String>,
}

/// An order that is given up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OrderNumber {
    /// Its number.
    order: i64,
}

/// All tools of a desk.
pub fn registry(desk: &Desk) -> Result<Registry<Session, SessionUpdate>, RegistryError> {
    let mut registry = Registry::<Session, SessionUpdate>::builder();
    for (name, kinds, about) in READS {
        let (spec, desk) = (ToolSpec::read(name, about), desk.clone());
        registry = registry.tool(Look { spec, kinds, desk });
    }
    registry
        .tool(create_trader(desk.clone()))
        .tool(place_order(desk.clone()))
        .tool(cancel_order(desk.clone()))
        .build()
}

/// A tool that reads facts.
struct Look {
    spec: ToolSpec,
    kinds: &'static [&'static str],
    desk: Desk,
}

#[async_trait]
impl fugato::Tool<Session, SessionUpdate> for Look {
    type Input = NoArguments;

    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(
        &self,
        _: ToolContext<'_, Session>,
        _: NoArguments,
    ) -> Result<ToolOutput<SessionUpdate>, ToolFailure> {
        let mut found = Map::new();
        for kind in self.kinds {
            let value = self.desk.fetch(kind).await.map_err(ToolFailure::internal)?;
            found.insert((*kind).to_owned(), value);
        }
        let found = Value::Object(found);
        Ok(ToolOutput::new(found.to_string()).data(found))
    }
}

fn create_trader(desk: Desk) -> impl fugato::Tool<Session, SessionUpdate, Input = NewTrader> {
    let spec = ToolSpec::write("create_trader", "Makes a trader of what is configured.")
        .effect(EffectClass::Keyed)
        .preview(["name", "model", "exchange", "strategy"]);
    async_tool_fn(spec, move |cx: ToolContext<'_, Session>, new: NewTrader| {
        let (desk, key) = (desk.clone(), cx.key().map(str::to_owned));
        async move {
            let made = desk
                .create_trader(&keyed(key)?, new)
                .await
                .map_err(failure)?;
            let mut updates = vec![
                referred("trader", &made.name),
                referred("model", &made.model),
                referred("exchange", &made.exchange),
            ];
            if !made.strategy.is_empty() {
                updates.push(referred("strategy", &made.strategy));
            }
            let text = format!(
                "made the trader {} with {} on {}",
                made.name, made.model, made.exchange
            );
            Ok(ToolOutput::new(text).data(json!(made)).updates(updates))
        }
        .boxed()
    })
}

fn place_order(desk: Desk) -> impl fugato::Tool<Session, SessionUpdate, Input = OrderDraft> {
    let spec = ToolSpec::write(
        "place_order",
        "Places an order, which matches with the book at once.",
    )
    .effect(EffectClass::Keyed)
    .preview(["side", "quantity", "symbol", "price"]);
    async_tool_fn(
        spec,
        move |cx: ToolContext<'_, Session>, draft: OrderDraft| {
            let (desk, key) = (desk.clone(), cx.key().map(str::to_owned));
            async move {
                let amount = |text: &str| {
                    let amount = text.parse::<Amount>();
                    amount.map_err(|error| ToolFailure::blocked(error.to_string()))
                };
                let new = NewOrder {
                    quantity: amount(&draft.quantity)?,
                    price: draft.price.as_deref().map(amount).transpose()?,
                    symbol: draft.symbol,
                    side: draft.side,
                };
                let placed = desk.place(&keyed(key)?, new).await.map_err(failure)?;
                Ok(ToolOutput::new(placed_text(&placed)).data(json!(placed)))
            }
            .boxed()
        },
    )
}

fn cancel_order(desk: Desk) -> impl fugato::Tool<Session, SessionUpdate, Input = OrderNumber> {
    let spec = ToolSpec::write("cancel_order", "Gives up what is left of an order.")
        .effect(EffectClass::Idempotent)
        .preview(["order"]);
    async_tool_fn(
        spec,
        move |_: ToolContext<'_, Session>, OrderNumber { order }: OrderNumber| {
            let desk = desk.clone();
            async move {
                let order = desk.cancel(order).await.map_err(failure)?;
                Ok(ToolOutput::new(placed_text(&order)).data(json!(order)))
            }
            .boxed()
        },
    )
}

fn placed_text(order: &Order) -> String {
    let Order {
        id,
        symbol,
        side,
        quantity,
        filled,
        cost,
        status,
        ..
    } = order;
    let (verb, status) = (verb(*side), status.as_str());
    format!("order #{id} is {status}: {verb} {quantity} {symbol}, {filled} done for {cost}")
}

fn keyed(key: Option<String>) -> Result<String, ToolFailure> {
    key.ok_or_else(|| ToolFailure::failed("it was not called by way of an effect"))
}

fn failure(error: DeskError) -> ToolFailure {
    match error {
        DeskError::Refused(why) => ToolFailure::blocked(why),
        other => ToolFailure::internal(other),
    }
}

/// The tools behind their gate: a person agrees to each write, and what was done in a request is
/// not done again by whoever takes it over.
pub fn toolbox(desk: &Desk) -> Result<Toolbox<Session>, RegistryError> {
    let registry = registry(desk)?;
    let deeds = Deeds(registry.clone());
    let gates = GateChain::new().with(deeds.clone());
    Ok(Toolbox::new(registry)
        .gates(gates)
        .keyed_by(move |session, call| deeds.key(session, call)))
}

/// What is done in a request, whoever decides it.
#[derive(Clone)]
struct Deeds(Registry<Session, SessionUpdate>);

/// A person agrees to what writes, once.
impl GatePolicy<Session> for Deeds {
    fn judge(&self, call: &GatedCall<'_>, session: &Session) -> Verdict {
        if call.spec.access != Access::Write {
            return Verdict::Allow;
        }
        match self.done(session, call.call) {
            // It has the name of what was done, and is given its receipt.
            Some(step) if self.is_written_as(&step.call(), call.call) => Verdict::Allow,
            Some(step) => Verdict::Block(format!("this was done already: {}", step.output_summary)),
            None => Verdict::NeedConfirm(ConfirmCard {
                title: call.spec.name.clone(),
                summary: self.summary(session, call.call),
                call: call.call.clone(),
            }),
        }
    }
}

impl Deeds {
    /// What would be done, and that it was done before.
    fn summary(&self, session: &Session, call: &ToolCall) -> String {
        let summary = cancelled(session, call).unwrap_or_else(|| shown(call));
        let is_same = |done: &&ToolUse| {
            let one = ToolCall::new("", &done.name, done.arguments.clone());
            one.name == call.name && self.deed(&one) == self.deed(call)
        };
        let done = session.done.iter().rev().find(is_same);
        done.map_or(summary.clone(), |done| {
            format!("done already: {}; again? {summary}", done.result)
        })
    }

    /// The name of an action in its thread: the request, the tool, its arguments, and how many of
    /// the same came before it. The planner and the loop that takes over name an action the same.
    fn key(&self, session: &Session, call: &ToolCall) -> String {
        let arguments = digest(self.normal(call).to_string().as_bytes());
        let n = before(session, call, |one| self.is_written_as(one, call));
        format!("{}/{}/{arguments}/{n}", session.message.number, call.name)
    }

    /// The step of the plan that has done what the loop wants now, if it was not wanted before.
    fn done<'a>(&self, session: &'a Session, call: &ToolCall) -> Option<&'a Step> {
        session.work.planner_failure.as_ref()?;
        let is_same = |one: &ToolCall| one.name == call.name && self.deed(one) == self.deed(call);
        let done = session.work.steps.iter();
        let mut done =
            done.filter(|step| step.status == StepStatus::Completed && is_same(&step.call()));
        done.nth(before(session, call, is_same))
    }

    fn is_written_as(&self, one: &ToolCall, other: &ToolCall) -> bool {
        one.name == other.name && self.normal(one) == self.normal(other)
    }

    /// The arguments of a call as the registry reads them.
    fn normal(&self, call: &ToolCall) -> Value {
        let admitted = self.0.admit(call, &Visibility::new());
        admitted.map_or_else(
            |_| call.arguments.clone(),
            |admitted| admitted.call().arguments.clone(),
        )
    }

    /// What a call does, however its numbers are written.
    fn deed(&self, call: &ToolCall) -> Value {
        let mut arguments = self.normal(call);
        for name in ["quantity", "price"] {
            let amount = arguments.get(name).and_then(Value::as_str);
            let amount = amount.and_then(|text| text.parse::<Amount>().ok());
            if let (Some(amount), Some(place)) = (amount, arguments.get_mut(name)) {
                *place = amount.to_string().into();
            }
        }
        arguments
    }
}

/// How many such calls came before this one, by whoever decides now.
fn before(session: &Session, call: &ToolCall, is_such: impl Fn(&ToolCall) -> bool) -> usize {
    if session.work.planner_failure.is_none() {
        let steps = session.work.steps.iter();
        let steps = steps.take_while(|step| step.id != call.id);
        return steps.filter(|step| is_such(&step.call())).count();
    }
    let used = session.rescue.run.uses.iter();
    let used = used.map(|used| ToolCall::new("", &used.name, used.arguments.clone()));
    used.filter(is_such).count()
}

/// What an order is whose number somebody gives, as far as it was looked up.
fn cancelled(session: &Session, call: &ToolCall) -> Option<String> {
    let number = call.arguments.get("order").and_then(Value::as_i64);
    let number = number.filter(|_| call.name == "cancel_order")?;
    let open: Vec<Order> = session.seen(facts::ORDERS)?;
    let found = open.iter().find(|order| order.id == number);
    Some(found.map_or_else(
        || format!("order #{number}, which is not open"),
        |order| format!("order {}", answer::order(order)),
    ))
}

/// All of what somebody agrees to; also that they name no price.
fn shown(call: &ToolCall) -> String {
    let argument = |(name, value): (&String, &Value)| match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(format!("{name} {text}")),
        other => Some(format!("{name} {other}")),
    };
    let arguments = call.arguments.as_object().into_iter().flatten();
    let has_price = call
        .arguments
        .get("price")
        .is_some_and(|price| !price.is_null());
    let market = (call.name == "place_order" && !has_price).then(|| "price: market".to_owned());
    let all = arguments.filter_map(argument).chain(market);
    all.collect::<Vec<_>>().join(", ")
}
