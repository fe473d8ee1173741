//! Words under a card that change what it would do: "make it 0.02".
use fugato::{
    agent::plan::{StepKind, StepStatus, WorkStep},
    cli::Lang,
    memory::ExecutionStatus,
    state::State as _,
    words::{Amount, decided, mentioned, without_code},
};
use serde_json::{Map, Value};

use crate::{
    exchange::{Config, Price, Side},
    facts::Topic,
    intent,
    rules::traded,
    session::PlannerSession,
};

/// Returns the request that the words make of the one whose card waits; none if no card waits, or
/// they do not change it. The other orders of the request stay.
pub fn corrected(session: &PlannerSession, words: &str) -> Option<String> {
    let waits = session.work.status() == ExecutionStatus::WaitingUserConfirmation;
    if !waits || !intent::corrects(words) {
        return None;
    }
    let lang = session.lang();
    let asked = session.work.running()?;
    let first = match asked.draft.tool_name.as_str() {
        "place_order" => order(session, &asked.draft.tool_args, words, lang)?,
        "create_trader" => trader(session, &asked.draft.tool_args, words, lang)?,
        _ => return None,
    };
    let is_order = |step: &&WorkStep| {
        let draft = &step.draft;
        draft.kind == StepKind::Tool
            && draft.tool_name == "place_order"
            && step.status == StepStatus::Pending
    };
    let rest = session.work.steps.iter().filter(is_order);
    let rest = rest.filter_map(|step| said(&step.draft.tool_args, lang));
    let all: Vec<String> = [first].into_iter().chain(rest).collect();
    Some(all.join(lang.pick(" and then ", "，")))
}

/// Returns what words want without the no to a card before them, "no K7F2, sell 1 ETH", unless the no
/// is a part of what they change: 不对，是以太坊.
pub fn wanted(session: &PlannerSession, words: &str) -> String {
    let whole = || without_code(words).0;
    match decided(words) {
        Some((false, _)) if corrected(session, &whole()).is_some() => whole(),
        Some((false, rest)) => rest,
        _ => words.to_owned(),
    }
}

fn text<'a>(arguments: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    let text = arguments.get(name)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// Returns an order as a request.
fn said(arguments: &Map<String, Value>, lang: Lang) -> Option<String> {
    let [side, quantity, symbol] = ["side", "quantity", "symbol"].map(|name| text(arguments, name));
    let (side, quantity, symbol) = (side?, quantity?, symbol?);
    let verb = lang.pick(side, if side == "buy" { "买" } else { "卖" });
    let price = text(arguments, "price").map_or_else(String::new, |price| {
        lang.pick(format!(" at {price}"), format!("，限价 {price}"))
    });
    Some(format!("{verb} {quantity} {symbol}{price}"))
}

fn order(
    session: &PlannerSession,
    before: &Map<String, Value>,
    words: &str,
    lang: Lang,
) -> Option<String> {
    let prices: Vec<Price> = session.seen(Topic::Prices)?;
    let symbols: Vec<String> = prices.into_iter().map(|price| price.symbol).collect();
    let was = if text(before, "side") == Some("buy") {
        Side::Buy
    } else {
        Side::Sell
    };
    let side = intent::side(words);
    let mut terms = intent::terms(words, side.unwrap_or(was));
    let symbol = traded(words, &symbols);
    if terms.is_unclear {
        return None;
    }
    // A number alone, such as "no wait, 3100", takes the place of the one that it is nearer to.
    if let (Some(number), None, None, None) = (terms.quantity, terms.price, side, &symbol)
        && let Some([much, price]) = numbers(before)
        && far(number, price) < far(number, much)
    {
        (terms.quantity, terms.price) = (None, Some(number));
    }
    let is_other = symbol.is_some() && symbol.as_deref() != text(before, "symbol");
    let mut order = before.clone();
    if is_other || side.is_some_and(|side| side != was) {
        // A price is one of this symbol, and of this side.
        order.remove("price");
    }
    let at_market = intent::takes_market(words);
    if at_market {
        order.remove("price");
    }
    let quantity = terms.quantity.map(|it| it.to_string());
    let price = terms.price.map(|it| it.to_string());
    let side = side.map(|side| side.as_str().to_owned());
    let new = [
        ("quantity", quantity),
        ("price", price),
        ("symbol", symbol),
        ("side", side),
    ];
    for (name, value) in new {
        if let Some(value) = value {
            order.insert(name.to_owned(), value.into());
        }
    }
    // Who agrees to the market is shown the order again.
    (order != *before || at_market)
        .then(|| said(&order, lang))
        .flatten()
}

/// Returns the quantity and the price of an order with a price.
fn numbers(order: &Map<String, Value>) -> Option<[Amount; 2]> {
    let number = |name: &str| text(order, name)?.parse::<Amount>().ok();
    Some([number("quantity")?, number("price")?])
}

/// Returns how many times an amount has to be taken to come to another one, in millionths.
fn far(one: Amount, other: Amount) -> i64 {
    let (less, more) = (one.min(other), one.max(other));
    if less == Amount::ZERO {
        return i64::MAX;
    }
    more.shared_by(less).millionths()
}

fn trader(
    session: &PlannerSession,
    before: &Map<String, Value>,
    words: &str,
    lang: Lang,
) -> Option<String> {
    let mut changed = false;
    let mut part = |name: &str, topic: Topic| {
        let all: Vec<Config> = session.seen(topic).unwrap_or_default();
        let meant = mentioned(words, all.iter().map(|it| it.name.as_str()));
        changed |= meant.is_some();
        let meant = meant.or_else(|| text(before, name));
        meant.unwrap_or_default().to_owned()
    };
    let model = part("model", Topic::Models);
    let exchange = part("exchange", Topic::Exchanges);
    let strategy = part("strategy", Topic::Strategies);
    let name = text(before, "name")?;
    let parts = [model, exchange, strategy].join(" ");
    changed.then(|| {
        lang.pick(
            format!("create a trader named {name} with {parts}"),
            format!("创建交易员，名叫 {name}，用 {parts}"),
        )
    })
}
