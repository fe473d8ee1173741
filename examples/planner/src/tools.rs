//! The tools of the desk. What reads says so; what writes has its idempotency key in the very
//! transaction that writes.
use async_trait::async_trait;
use fugato::{
    agent::{Deeds, Toolbox},
    state::ToolCall,
    tool::{
        EffectClass, NoArguments, Registry, RegistryError, ToolContext, ToolFailure, ToolOutput,
        ToolSpec, async_tool_fn,
    },
    words::Amount,
};
use futures::FutureExt as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    answer,
    desk::{Desk, DeskError, NewOrder, Order, Trader},
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

/// All tools of a desk.
pub fn registry(desk: &Desk) -> Result<Registry<Session, SessionUpdate>, RegistryError> {
    let mut registry = Registry::<Session, SessionUpdate>::builder();
    for (name, about) in facts::tools() {
        let (spec, desk) = (ToolSpec::read(name, about), desk.clone());
        registry = registry.tool(Look { spec, desk });
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
        let found = looked_up(&self.desk, |fact| fact.tool == self.spec.name).await;
        let found = Value::Object(found.map_err(ToolFailure::internal)?);
        Ok(ToolOutput::new(found.to_string()).data(found))
    }
}

fn create_trader(desk: Desk) -> impl fugato::Tool<Session, SessionUpdate, Input = Trader> {
    let spec = ToolSpec::write("create_trader", "Makes a trader of what is configured.")
        .effect(EffectClass::Keyed)
        .preview(["name", "model", "exchange", "strategy"]);
    async_tool_fn(spec, move |cx: ToolContext<'_, Session>, new: Trader| {
        let (desk, key) = (desk.clone(), cx.key().map(str::to_owned));
        async move {
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
            let text = format!(
                "made the trader {} with {} on {}",
                made.name, made.model, made.exchange
            );
            Ok(ToolOutput::new(text).data(json!(made)).updates(updates))
        }
        .boxed()
    })
}

fn place_order(desk: Desk) -> impl fugato::Tool<Session, SessionUpdate, Input = NewOrder> {
    let spec = ToolSpec::write(
        "place_order",
        "Places an order, which matches with the book at once.",
    )
    .effect(EffectClass::Keyed)
    .preview(["side", "quantity", "symbol", "price"]);
    async_tool_fn(spec, move |cx: ToolContext<'_, Session>, new: NewOrder| {
        let (desk, key) = (desk.clone(), cx.key().map(str::to_owned));
        async move {
            let placed = desk.place(&keyed(key)?, new).await.map_err(failure)?;
            Ok(ToolOutput::new(placed_text(&placed)).data(json!(placed)))
        }
        .boxed()
    })
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

fn failure(error: DeskError) -> ToolFailure {
    match error {
        DeskError::Refused(why) => ToolFailure::blocked(why),
        other => ToolFailure::internal(other),
    }
}

/// The tools behind their gate: a person agrees to each write, and what was done in a request is
/// not done again by whoever takes it over.
pub fn toolbox(desk: &Desk) -> Result<Toolbox<Session>, RegistryError> {
    let shown = |session: &Session, call: &ToolCall| {
        cancelled(session, call).unwrap_or_else(|| shown(call))
    };
    let deeds = Deeds::new(registry(desk)?).shown(shown).alike(plainly);
    Ok(deeds.toolbox().live_reads())
}

/// Writes the amounts of an order in one way.
fn plainly(arguments: &mut Value) {
    for name in ["quantity", "price"] {
        let amount = arguments.get(name).and_then(Value::as_str);
        let amount = amount.and_then(|text| text.parse::<Amount>().ok());
        if let (Some(amount), Some(place)) = (amount, arguments.get_mut(name)) {
            *place = amount.to_string().into();
        }
    }
}

/// What an order is whose number somebody gives, as far as it was looked up.
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
