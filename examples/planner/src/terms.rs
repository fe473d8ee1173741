//! The terms of what is to be done, against the facts that were looked up: what an order comes to,
//! and what is not possible.
use fugato::{cli::Lang, state::ToolCall, words::Amount};
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::{
    answer::there_is,
    exchange::{Balance, NewOrder, Order, Price, Side, Trader},
    facts::Topic,
    session::PlannerSession,
};

/// The estimate of a market order, by the offers that were looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// The quantity that is offered, at most that of the order.
    pub offered: Amount,
    /// The cost of that quantity, or its proceeds.
    pub total: Amount,
    /// The worst price that is taken: a hundredth beyond that of the last offer it needs.
    pub limit: Amount,
}

/// Returns what an order comes to; none if its symbol was not looked up, or nobody offers it.
pub fn estimate(
    session: &PlannerSession,
    symbol: &str,
    side: Side,
    quantity: Amount,
) -> Option<Estimate> {
    let prices: Vec<Price> = session.seen(Topic::Prices)?;
    let price = prices.into_iter().find(|price| price.symbol == symbol)?;
    let (mut offered, mut total, mut last) = (Amount::ZERO, Amount::ZERO, None);
    for (at, much) in price.offers(side) {
        let taken = (*much).min(quantity.minus(offered));
        if taken == Amount::ZERO {
            break;
        }
        (offered, total) = (offered.plus(taken), total.plus(taken.times(*at)));
        last = Some(*at);
    }
    let last = last?;
    let beyond = Amount::from_millionths(last.millionths() / 100);
    let limit = match side {
        Side::Buy => last.plus(beyond),
        Side::Sell => last.minus(beyond),
    };
    Some(Estimate {
        offered,
        total,
        limit,
    })
}

/// Returns the worst price of an order without a price.
pub fn limit(session: &PlannerSession, order: &NewOrder) -> Option<Amount> {
    let found = estimate(session, &order.symbol, order.side, order.quantity);
    found.filter(|_| order.price.is_none()).map(|it| it.limit)
}

/// Returns the order of a call; none if it is another one.
pub fn order(call: &ToolCall) -> Option<NewOrder> {
    let is_order = call.name == "place_order";
    NewOrder::deserialize(&call.arguments)
        .ok()
        .filter(|_| is_order)
}

/// Returns the amount of an asset that can be used.
pub fn free(session: &PlannerSession, asset: &str) -> Option<Amount> {
    let balances: Vec<Balance> = session.seen(Topic::Balances)?;
    let found = balances.into_iter().find(|it| it.asset == asset);
    Some(found.map_or(Amount::ZERO, |it| it.free))
}

/// Returns the reason why a call is not possible as things are; none if nothing is known against
/// it. It is asked before the person is.
pub fn obstacle(session: &PlannerSession, call: &ToolCall, lang: Lang) -> Option<String> {
    match call.name.as_str() {
        "place_order" => against_order(session, &order(call)?, lang),
        "cancel_order" => {
            let number = call.arguments.get("order").and_then(Value::as_i64)?;
            let open: Vec<Order> = session.seen(Topic::Orders)?;
            if open.iter().any(|order| order.id == number) {
                return None;
            }
            let all: Vec<_> = open.iter().map(|order| format!("#{}", order.id)).collect();
            let there = there_is(&all, lang);
            Some(lang.pick(
                format!("there is no open order #{number}. {there}"),
                format!("没有编号 {number} 的挂单。{there}"),
            ))
        }
        "delete_trader" => {
            let name = call.arguments.get("name").and_then(Value::as_str)?;
            let there: Vec<Trader> = session.seen(Topic::Traders)?;
            if there.iter().any(|trader| trader.name == name) {
                return None;
            }
            let there: Vec<_> = there.into_iter().map(|it| it.name).collect();
            let there = there_is(&there, lang);
            Some(lang.pick(
                format!("there is no trader {name}. {there}"),
                format!("没有交易员 {name}。{there}"),
            ))
        }
        _ => None,
    }
}

/// Returns the text that something is not traded, with what is.
pub fn not_traded(session: &PlannerSession, what: &str, lang: Lang) -> String {
    let prices: Vec<Price> = session.seen(Topic::Prices).unwrap_or_default();
    let symbols: Vec<_> = prices.into_iter().map(|it| it.symbol).collect();
    let there = there_is(&symbols, lang);
    lang.pick(
        format!("{what} is not traded here. {there}"),
        format!("这里没有 {what} 可以交易。{there}"),
    )
}

fn against_order(session: &PlannerSession, order: &NewOrder, lang: Lang) -> Option<String> {
    let NewOrder {
        symbol,
        side,
        quantity,
        price,
        ..
    } = order;
    let prices: Vec<Price> = session.seen(Topic::Prices)?;
    let Some(offered) = prices.iter().find(|it| it.symbol == *symbol) else {
        return Some(not_traded(session, symbol, lang));
    };
    // A look of an older version knows the best offers only.
    let knows_all = !offered.bids.is_empty() || !offered.asks.is_empty();
    if *quantity == Amount::ZERO || *price == Some(Amount::ZERO) {
        let zh = "数量和价格都必须大于零";
        return Some(
            lang.pick("the quantity and the price must be above zero", zh)
                .to_owned(),
        );
    }
    let (base, quote) = symbol.split_once('-')?;
    let found = estimate(session, symbol, *side, *quantity);
    let offered = found.map_or(Amount::ZERO, |it| it.offered);
    if price.is_none() && knows_all && offered < *quantity {
        return Some(lang.pick(
            format!("not enough is offered: {offered} {base} can be traded at the market now, not {quantity}"),
            format!("现在按市价只能成交 {offered} {base}，不够 {quantity}"),
        ));
    }
    let (asset, needed) = match (side, price) {
        (Side::Sell, _) => (base, *quantity),
        (Side::Buy, Some(price)) => (quote, quantity.times(*price)),
        (Side::Buy, None) => (quote, found?.total),
    };
    let free = free(session, asset)?;
    (free < needed).then(|| {
        lang.pick(
            format!("{needed} {asset} are needed, and {free} are free: not enough"),
            format!("需要 {needed} {asset}，可用 {free}：不够"),
        )
    })
}

/// Returns a sentence on what an order would come to, as far as it is offered, and on what there is
/// for it.
pub fn quote(
    session: &PlannerSession,
    symbol: &str,
    side: Side,
    quantity: Amount,
    lang: Lang,
) -> Option<String> {
    let Estimate { offered, total, .. } = estimate(session, symbol, side, quantity)?;
    let (base, quote) = symbol.split_once('-')?;
    let asset = if side == Side::Buy { quote } else { base };
    let free = free(session, asset)?;
    let call = json!({ "symbol": symbol, "side": side, "quantity": quantity });
    let against = obstacle(session, &ToolCall::new("", "place_order", call), lang);
    let against = against.map_or_else(String::new, |why| format!("\n{why}"));
    Some(match (side, lang) {
        (Side::Buy, Lang::En) => format!(
            "{offered} {base} cost about {total} {quote} now; {free} {asset} are free.{against}"
        ),
        (Side::Sell, Lang::En) => format!(
            "{offered} {base} bring about {total} {quote} now; {free} {asset} are free.{against}"
        ),
        (Side::Buy, Lang::Zh) => {
            format!("现在买 {offered} {base} 约需 {total} {quote}；可用 {free} {asset}。{against}")
        }
        (Side::Sell, Lang::Zh) => {
            format!("现在卖 {offered} {base} 约得 {total} {quote}；可用 {free} {asset}。{against}")
        }
    })
}
