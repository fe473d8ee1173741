//! The tools of the desk. Read tools are declared as such; a write stores its idempotency key in
//! the same transaction.
use fugato::{
    agent::{Toolbox, plan::WriteLedger},
    cli::Lang,
    state::{State as _, ToolCall, say},
    tool::{
        EffectClass, GateChain, GatePolicy as _, GatedCall, NoArguments, Registry, RegistryError,
        ToolContext, ToolFailure, ToolOutput, ToolSpec, Verdict, async_tool_fn,
    },
    words::Amount,
};
use futures::FutureExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    answer,
    exchange::{Exchange, ExchangeError, NewOrder, Order, Side, Trader},
    facts::{self, Topic, looked_up},
    intent,
    session::{PlannerSession, SessionUpdate, referred},
    terms,
};

/// An order that is given up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OrderNumber {
    /// Its number.
    #[schemars(extend("x-zh" = "它的编号。"))]
    order: i64,
}

/// The work of each tool as a short phrase, in English and Chinese.
pub const WORDS: [(&str, &str, &str); 10] = [
    ("get_configs", "looking at what is configured", "查看配置"),
    ("get_balances", "looking at the balances", "查看余额"),
    ("get_positions", "looking at the positions", "查看持仓"),
    ("get_trade_history", "looking at the trades", "查看成交"),
    ("get_prices", "looking at the prices", "查看价格"),
    ("get_open_orders", "looking at the open orders", "查看挂单"),
    ("create_trader", "making a trader", "创建交易员"),
    ("delete_trader", "removing a trader", "删除交易员"),
    ("place_order", "placing an order", "下单"),
    ("cancel_order", "giving up an order", "撤单"),
];

/// A trader that is removed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TraderName {
    /// Its name.
    #[schemars(extend("x-zh" = "它的名字。"))]
    name: String,
}

/// Returns all tools of a desk.
pub fn registry(desk: &Exchange) -> Result<Registry<PlannerSession, SessionUpdate>, RegistryError> {
    let mut registry = Registry::<PlannerSession, SessionUpdate>::builder();
    for (name, about) in facts::tools() {
        let [en, zh] = about;
        let spec = named(ToolSpec::read(name, en).chinese(zh));
        let read = move |desk: Exchange, _: CallContext, _: NoArguments| async move {
            let found = looked_up(&desk, |fact| fact.tool == *name).await;
            let found = Value::Object(found.map_err(ToolFailure::internal)?);
            // What was read is told in words, once it is all there.
            Ok(ToolOutput::new(found.to_string()).summary("").data(found))
        };
        registry = registry.tool(tool(desk.clone(), spec, read));
    }
    let create = ToolSpec::write("create_trader", "Makes a trader of what is configured.")
        .chinese("用已配置的内容创建一个交易员。");
    let delete = ToolSpec::write("delete_trader", "Removes a trader.")
        .chinese("删除一个交易员。")
        .preview(["name"]);
    let place = "Places an order, which matches with the book at once.";
    let place = ToolSpec::write("place_order", place)
        .chinese("下一个订单，立即与盘口撮合。")
        .value_label("side", "buy", "buy", answer::side(Side::Buy, Lang::Zh))
        .value_label("side", "sell", "sell", answer::side(Side::Sell, Lang::Zh));
    let cancel = ToolSpec::write("cancel_order", "Gives up what is left of an order.")
        .chinese("撤销订单中还没成交的部分。");
    let create = create.preview(["name", "model", "exchange", "strategy"]);
    let place = place.preview(["side", "quantity", "symbol", "price"]);
    let cancel = cancel.preview(["order"]);
    let [create, delete, place, cancel] = [create, delete, place, cancel].map(named);
    let (keyed, idempotent) = (EffectClass::Keyed, EffectClass::Idempotent);
    registry
        .tool(tool(desk.clone(), create.effect(keyed), create_trader))
        .tool(tool(desk.clone(), delete.effect(idempotent), delete_trader))
        .tool(tool(desk.clone(), place.effect(keyed), place_order))
        .tool(tool(desk.clone(), cancel.effect(idempotent), cancel_order))
        .build()
}

/// The words of people for what the tools do, in English and in Chinese.
const TITLES: [(&str, &str, &str); 10] = [
    ("get_configs", "Look at what is configured", "查看配置"),
    ("get_balances", "Look at the balances", "查看余额"),
    ("get_positions", "Look at the positions", "查看持仓"),
    ("get_trade_history", "Look at the trades", "查看成交"),
    ("get_prices", "Look at the prices", "查看价格"),
    ("get_open_orders", "Look at the open orders", "查看挂单"),
    ("create_trader", "Create a trader", "创建交易员"),
    ("delete_trader", "Remove a trader", "删除交易员"),
    ("place_order", "Place an order", "下单"),
    ("cancel_order", "Cancel an order", "撤单"),
];

/// Returns what people call what a tool does.
pub(crate) fn title(tool: &str, lang: Lang) -> Option<&'static str> {
    let (_, en, zh) = TITLES.iter().find(|(name, ..)| *name == tool)?;
    Some(lang.pick(*en, *zh))
}

/// Names what a tool does, and its arguments, as people do.
fn named(spec: ToolSpec) -> ToolSpec {
    let title = [Lang::En, Lang::Zh].map(|lang| title(&spec.name, lang));
    let spec = match title {
        [Some(en), Some(zh)] => spec.titled(en, zh),
        _ => spec,
    };
    let names = NAMES.iter();
    names.fold(spec, |spec, (name, en, zh)| spec.label(*name, *en, *zh))
}

/// The result of a tool: its text and the changes that it makes, or a failure.
type ToolAnswer = Result<ToolOutput<SessionUpdate>, ToolFailure>;

/// The context of a tool's call: the effect's key, what was agreed to, whether it has begun before,
/// and the session.
struct CallContext {
    key: Option<String>,
    agreed: Option<String>,
    repeat: bool,
    session: PlannerSession,
}

impl CallContext {
    fn key(&self) -> Result<&str, ToolFailure> {
        let none = || {
            ToolFailure::failed(say!(
                "it was not called by way of an effect",
                "它没有以记录在案的方式调用"
            ))
        };
        self.key.as_deref().ok_or_else(none)
    }
}

/// Wraps a function as a tool of a desk.
fn tool<I, F>(
    desk: Exchange,
    spec: ToolSpec,
    act: impl Fn(Exchange, CallContext, I) -> F + Send + Sync,
) -> impl fugato::Tool<PlannerSession, SessionUpdate, Input = I>
where
    I: DeserializeOwned + JsonSchema + Send,
    F: Future<Output = ToolAnswer> + Send + 'static,
{
    async_tool_fn(
        spec,
        move |cx: ToolContext<'_, PlannerSession>, input: I| {
            let key = cx.key().map(str::to_owned);
            let agreed = cx.agreed_version().map(str::to_owned);
            let called = cx.state().map(|session| CallContext {
                key,
                agreed,
                repeat: cx.is_repeat(),
                session: session.clone(),
            });
            let act = called.map(|called| act(desk.clone(), called, input));
            async move { act?.await }.boxed()
        },
    )
}

async fn create_trader(desk: Exchange, called: CallContext, new: Trader) -> ToolAnswer {
    let made = desk.create_trader(called.key()?, new).await;
    let made = made.map_err(failure)?;
    let parts = [
        ("trader", &made.name),
        ("model", &made.model),
        ("exchange", &made.exchange),
        ("strategy", &made.strategy),
    ];
    let parts = parts.into_iter().filter(|(_, name)| !name.is_empty());
    let updates = parts.map(|(kind, name)| referred(kind, name));
    let text = called.session.lang().pick(
        format!(
            "made the trader {} with {} on {}",
            made.name, made.model, made.exchange
        ),
        format!(
            "创建了交易员 {}，模型 {}，交易所 {}",
            made.name, made.model, made.exchange
        ),
    );
    Ok(ToolOutput::new(text).data(json!(made)).updates(updates))
}

async fn delete_trader(desk: Exchange, called: CallContext, named: TraderName) -> ToolAnswer {
    let name = named.name;
    let agreed = called.agreed.as_deref();
    let there = desk.remove_trader(&name, agreed).await;
    let there = there.map_err(failure)?;
    let (en, zh) = if there || called.repeat {
        (
            format!("removed the trader {name}"),
            format!("删除了交易员 {name}"),
        )
    } else {
        (
            format!("the trader {name} was not there"),
            format!("没有交易员 {name}"),
        )
    };
    Ok(ToolOutput::new(called.session.lang().pick(en, zh)))
}

async fn place_order(desk: Exchange, called: CallContext, mut new: NewOrder) -> ToolAnswer {
    let session = &called.session;
    new.limit = terms::limit(session, &new);
    let placed = desk.place(called.key()?, new).await.map_err(failure)?;
    let update = referred("symbol", &placed.symbol);
    let text = answer::placed(&placed, session.lang());
    Ok(ToolOutput::new(text).data(json!(placed)).updates([update]))
}

async fn cancel_order(desk: Exchange, called: CallContext, given: OrderNumber) -> ToolAnswer {
    let order = desk.cancel(given.order).await.map_err(failure)?;
    let text = answer::placed(&order, called.session.lang());
    Ok(ToolOutput::new(text).data(json!(order)))
}

fn failure(error: ExchangeError) -> ToolFailure {
    match error {
        ExchangeError::Refused(why) => ToolFailure::blocked(why),
        other => ToolFailure::internal(other),
    }
}

/// Returns the tools behind their gate: a person agrees to each write, and a write of this request
/// is not repeated by the loop that takes over.
pub fn toolbox(desk: &Exchange) -> Result<Toolbox<PlannerSession>, RegistryError> {
    let shown = |session: &PlannerSession, call: &ToolCall| {
        cancelled(session, call)
            .or_else(|| removed(session, call))
            .unwrap_or_else(|| shown(session, call))
    };
    let request = |session: &PlannerSession| session.message.number.to_string();
    let deeds = WriteLedger::new(registry(desk)?, request)
        .earlier(|session| &session.done)
        .shown(shown)
        .alike(plainly);
    let toolbox = deeds.clone().toolbox();
    let desk = desk.clone();
    // What is not possible is refused before anybody is asked to agree to it.
    let gate =
        move |call: &GatedCall<'_>, session: &PlannerSession| match deeds.judge(call, session) {
            Verdict::NeedConfirm(mut card) => {
                if let Some(why) = terms::obstacle(session, call.call, session.lang()) {
                    return Verdict::Block(why);
                }
                card.version = version(&desk, session, call.call).unwrap_or_default();
                Verdict::NeedConfirm(card)
            }
            other => other,
        };
    Ok(toolbox.gates(GateChain::new().with(gate)).live_reads())
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
fn cancelled(session: &PlannerSession, call: &ToolCall) -> Option<String> {
    let number = call.arguments.get("order").and_then(Value::as_i64);
    let number = number.filter(|_| call.name == "cancel_order")?;
    let open: Vec<Order> = session.seen(Topic::Orders)?;
    let found = open.iter().find(|order| order.id == number)?;
    let (lang, word) = (session.lang(), session.lang().pick("order", "订单"));
    Some(format!("{word} {}", answer::order(found, lang)))
}

/// Returns the trader that is to be removed, if the traders were looked up.
fn meant(session: &PlannerSession, call: &ToolCall) -> Option<Trader> {
    let name = call.arguments.get("name").and_then(Value::as_str);
    let name = name.filter(|_| call.name == "delete_trader")?;
    let there: Vec<Trader> = session.seen(Topic::Traders)?;
    there.into_iter().find(|trader| trader.name == name)
}

/// Returns a description of the trader that is to be removed, if the traders were looked up.
fn removed(session: &PlannerSession, call: &ToolCall) -> Option<String> {
    let (trader, word) = (
        meant(session, call)?,
        session.lang().pick("trader ", "交易员 "),
    );
    Some(format!("{word}{}", answer::trader(&trader)))
}

/// Returns the incarnation of the trader that is to be removed: as it was looked up, so that an answer
/// to the card is about the trader that it shows, and without a look as it is now.
fn version(desk: &Exchange, session: &PlannerSession, call: &ToolCall) -> Option<String> {
    let looked_up = meant(session, call).map(|trader| trader.incarnation);
    let looked_up = looked_up.filter(|incarnation| !incarnation.is_empty());
    let name = call.arguments.get("name").and_then(Value::as_str);
    let name = name.filter(|_| call.name == "delete_trader");
    // A desk that cannot be read is told by the call itself.
    looked_up.or_else(|| desk.incarnation(name?).ok().flatten())
}

/// The words of people for the arguments, in English and in Chinese.
const NAMES: [(&str, &str, &str); 9] = [
    ("symbol", "symbol", "品种"),
    ("side", "side", "方向"),
    ("quantity", "quantity", "数量"),
    ("price", "price", "价格"),
    ("order", "order", "订单"),
    ("name", "name", "名字"),
    ("model", "model", "模型"),
    ("exchange", "exchange", "交易所"),
    ("strategy", "strategy", "策略"),
];

/// Returns everything that the person agrees to: the arguments, for an order without a price what
/// it comes to and the worst price that it takes, and what the person told about such orders.
fn shown(session: &PlannerSession, call: &ToolCall) -> String {
    let lang = session.lang();
    let argument = |(name, value): (&String, &Value)| {
        let known = NAMES.iter().find(|(known, ..)| known == name);
        let label = known.map_or(name.as_str(), |(_, en, zh)| lang.pick(*en, *zh));
        let text = match value {
            Value::Null => return None,
            Value::String(text) if text.is_empty() => return None,
            Value::String(text) => text.as_str(),
            other => return Some(format!("{label} {other}")),
        };
        Some(format!("{label} {text}"))
    };
    let Some(order) = terms::order(call) else {
        let arguments = call.arguments.as_object().into_iter().flatten();
        let arguments: Vec<_> = arguments.filter_map(argument).collect();
        return arguments.join(lang.pick(", ", "，"));
    };
    let mut all = vec![terms_of(session, &order, lang)];
    all.extend(told_before(session, &order, lang));
    all.join(lang.pick("; ", "；"))
}

/// Returns an order in a sentence: what is bought or sold, and at which price.
fn terms_of(session: &PlannerSession, order: &NewOrder, lang: Lang) -> String {
    let NewOrder {
        symbol,
        side,
        quantity,
        price,
        ..
    } = order;
    let done = format!("{} {quantity} {symbol}", answer::side(*side, lang));
    let quote = symbol.split('-').next_back().unwrap_or_default();
    if let Some(price) = price {
        return lang.pick(
            format!("{done} at {price} {quote} each"),
            format!("{done}，单价 {price} {quote}"),
        );
    }
    let Some(found) = terms::estimate(session, symbol, *side, *quantity) else {
        return lang.pick(
            format!("{done} at the market price"),
            format!("{done}，市价"),
        );
    };
    let (total, limit) = (found.total, found.limit);
    let bound = match side {
        Side::Buy => lang.pick("at most", "最高"),
        Side::Sell => lang.pick("at least", "最低"),
    };
    lang.pick(
        format!("{done} at the market price: about {total} {quote} in all, {bound} {limit} each"),
        format!("{done}，市价：共约 {total} {quote}，单价{bound} {limit}"),
    )
}

/// Returns what the person asked to be kept about the asset of an order.
fn told_before(session: &PlannerSession, order: &NewOrder, lang: Lang) -> Vec<String> {
    let base = order.symbol.split('-').next().unwrap_or_default();
    let person = &session.person;
    let wishes = person.preferences.iter().map(|(_, wish)| wish);
    let kept = person.task.facts.iter().map(String::as_str).chain(wishes);
    let about = kept.filter(|text| intent::speaks_of(text, base));
    let told = lang.pick("you told me", "您说过");
    about.map(|text| format!("{told}: {text}")).collect()
}
