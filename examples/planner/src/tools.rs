//! The tools of the desk. Read tools are declared as such; a write stores its idempotency key in
//! the same transaction.
use fugato::{
    agent::{Toolbox, plan::WriteLedger},
    state::ToolCall,
    tool::{
        EffectClass, NoArguments, Registry, RegistryError, ToolContext, ToolFailure, ToolOutput,
        ToolSpec, async_tool_fn,
    },
    words::Amount,
};
use futures::FutureExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    answer,
    exchange::{Exchange, ExchangeError, NewOrder, Order, Trader},
    facts::{self, Topic, looked_up},
    session::{Session, SessionUpdate, referred},
};

/// An order that is given up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OrderNumber {
    /// Its number.
    order: i64,
}

/// The work of each tool as a short phrase, in English and Chinese.
pub const WORDS: [(&str, &str, &str); 9] = [
    ("get_configs", "looking at what is configured", "查看配置"),
    ("get_balances", "looking at the balances", "查看余额"),
    ("get_positions", "looking at the positions", "查看持仓"),
    ("get_trade_history", "looking at the trades", "查看成交"),
    ("get_prices", "looking at the prices", "查看价格"),
    ("get_open_orders", "looking at the open orders", "查看挂单"),
    ("create_trader", "making a trader", "创建交易员"),
    ("place_order", "placing an order", "下单"),
    ("cancel_order", "giving up an order", "撤单"),
];

/// The tools that change the desk.
pub(crate) const WRITES: [&str; 3] = ["create_trader", "place_order", "cancel_order"];

/// Returns all tools of a desk.
pub fn registry(desk: &Exchange) -> Result<Registry<Session, SessionUpdate>, RegistryError> {
    let mut registry = Registry::<Session, SessionUpdate>::builder();
    for (name, about) in facts::tools() {
        let spec = ToolSpec::read(name, about);
        let read = move |desk: Exchange, _, _: NoArguments| async move {
            let found = looked_up(&desk, |fact| fact.tool == *name).await;
            let found = Value::Object(found.map_err(ToolFailure::internal)?);
            Ok(ToolOutput::new(found.to_string()).data(found))
        };
        registry = registry.tool(tool(desk.clone(), spec, read));
    }
    let create = ToolSpec::write("create_trader", "Makes a trader of what is configured.");
    let place = "Places an order, which matches with the book at once.";
    let place = ToolSpec::write("place_order", place);
    let cancel = ToolSpec::write("cancel_order", "Gives up what is left of an order.");
    let create = create.preview(["name", "model", "exchange", "strategy"]);
    let place = place.preview(["side", "quantity", "symbol", "price"]);
    let cancel = cancel.preview(["order"]);
    let (keyed, idempotent) = (EffectClass::Keyed, EffectClass::Idempotent);
    registry
        .tool(tool(desk.clone(), create.effect(keyed), create_trader))
        .tool(tool(desk.clone(), place.effect(keyed), place_order))
        .tool(tool(desk.clone(), cancel.effect(idempotent), cancel_order))
        .build()
}

/// The result of a tool: its text and the changes that it makes, or a failure.
type ToolAnswer = Result<ToolOutput<SessionUpdate>, ToolFailure>;

/// Wraps a function as a tool of a desk. The function gets the desk, the effect's key and the
/// input.
fn tool<I, F>(
    desk: Exchange,
    spec: ToolSpec,
    act: impl Fn(Exchange, Option<String>, I) -> F + Send + Sync,
) -> impl fugato::Tool<Session, SessionUpdate, Input = I>
where
    I: DeserializeOwned + JsonSchema + Send,
    F: Future<Output = ToolAnswer> + Send + 'static,
{
    async_tool_fn(spec, move |cx: ToolContext<'_, Session>, input: I| {
        act(desk.clone(), cx.key().map(str::to_owned), input).boxed()
    })
}

async fn create_trader(desk: Exchange, key: Option<String>, new: Trader) -> ToolAnswer {
    let made = desk
        .create_trader(&keyed(key)?, new)
        .await
        .map_err(failure)?;
    let parts = [
        ("trader", &made.name),
        ("model", &made.model),
        ("exchange", &made.exchange),
        ("strategy", &made.strategy),
    ];
    let parts = parts.into_iter().filter(|(_, name)| !name.is_empty());
    let updates = parts.map(|(kind, name)| referred(kind, name));
    let of = format!("{} on {}", made.model, made.exchange);
    let text = format!("made the trader {} with {of}", made.name);
    Ok(ToolOutput::new(text).data(json!(made)).updates(updates))
}

async fn place_order(desk: Exchange, key: Option<String>, new: NewOrder) -> ToolAnswer {
    let placed = desk.place(&keyed(key)?, new).await.map_err(failure)?;
    Ok(ToolOutput::new(placed_text(&placed)).data(json!(placed)))
}

async fn cancel_order(desk: Exchange, _: Option<String>, given: OrderNumber) -> ToolAnswer {
    let order = desk.cancel(given.order).await.map_err(failure)?;
    Ok(ToolOutput::new(placed_text(&order)).data(json!(order)))
}

fn placed_text(it: &Order) -> String {
    let (side, status) = (it.side.as_str(), it.status.as_str());
    let order = format!("{side} {} {}", it.quantity, it.symbol);
    format!(
        "order #{} is {status}: {order}, {} done for {}",
        it.id, it.filled, it.cost
    )
}

fn keyed(key: Option<String>) -> Result<String, ToolFailure> {
    key.ok_or_else(|| ToolFailure::failed("it was not called by way of an effect"))
}

fn failure(error: ExchangeError) -> ToolFailure {
    match error {
        ExchangeError::Refused(why) => ToolFailure::blocked(why),
        other => ToolFailure::internal(other),
    }
}

/// Returns the tools behind their gate: a person agrees to each write, and a write of this request
/// is not repeated by the loop that takes over.
pub fn toolbox(desk: &Exchange) -> Result<Toolbox<Session>, RegistryError> {
    let shown = |session: &Session, call: &ToolCall| {
        cancelled(session, call).unwrap_or_else(|| shown(call))
    };
    let request = |session: &Session| session.message.number.to_string();
    let deeds = WriteLedger::new(registry(desk)?, request)
        .earlier(|session| &session.done)
        .shown(shown)
        .alike(plainly);
    Ok(deeds.toolbox().live_reads())
}

/// Writes the numbers of an order in their canonical form.
fn plainly(arguments: &mut Value) {
    for name in ["quantity", "price"] {
        let amount = arguments.get(name).and_then(Value::as_str);
        let amount = amount.and_then(|text| text.parse::<Amount>().ok());
        if let (Some(amount), Some(place)) = (amount, arguments.get_mut(name)) {
            *place = amount.to_string().into();
        }
    }
}

/// Returns a description of the order that is to be cancelled, if the open orders were looked up.
fn cancelled(session: &Session, call: &ToolCall) -> Option<String> {
    let number = call.arguments.get("order").and_then(Value::as_i64);
    let number = number.filter(|_| call.name == "cancel_order")?;
    let open: Vec<Order> = session.seen(Topic::Orders)?;
    let found = open.iter().find(|order| order.id == number);
    Some(found.map_or_else(
        || format!("order #{number}, which is not open"),
        |order| format!("order {}", answer::order(order)),
    ))
}

/// Returns everything that the person agrees to, with "price: market" for an order without a price.
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
