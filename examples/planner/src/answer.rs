//! The answers without a model: the facts that were looked up, in the language of the person.
use fugato::{cli::Lang, words::Amount};
use serde::de::DeserializeOwned;

use crate::{
    exchange::{Balance, Config, Order, Position, Price, Trade, Trader},
    facts::Topic,
    session::Session,
};

/// Returns the facts about a topic that were looked up, in one line.
pub fn told(session: &Session, topic: Topic, lang: Lang) -> String {
    let text = match topic {
        Topic::Models | Topic::Exchanges | Topic::Strategies => {
            lines(session, topic, ", ", |it: &Config| config(it, lang))
        }
        Topic::Traders => lines(session, topic, "; ", trader),
        Topic::Balances => lines(session, topic, "; ", balance),
        Topic::Positions => lines(session, topic, "; ", position),
        Topic::Trades => lines(session, topic, "; ", trade),
        Topic::Prices => lines(session, topic, "; ", offer),
        Topic::Orders => lines(session, topic, "; ", order),
    };
    let text = match text {
        None => lang.pick("it could not be looked up", "现在查不到").into(),
        Some(text) if text.is_empty() => lang.pick("none", "没有").into(),
        Some(text) => text,
    };
    let [en, zh] = &topic.fact().title;
    format!("{}{text}", lang.pick(format!("{en}: "), format!("{zh}：")))
}

fn lines<T: DeserializeOwned>(
    session: &Session,
    topic: Topic,
    between: &str,
    line: impl Fn(&T) -> String,
) -> Option<String> {
    let all = session.seen::<Vec<T>>(topic)?;
    let all: Vec<String> = all.iter().map(line).collect();
    Some(all.join(between))
}

/// Returns a sentence that says whether a trader can be made now, or what is missing for one.
pub fn ability(session: &Session, lang: Lang) -> String {
    let usable = |topic| {
        let all = session.seen::<Vec<Config>>(topic)?;
        Some(all.iter().any(|config| config.enabled))
    };
    let [en, zh] = match (usable(Topic::Models), usable(Topic::Exchanges)) {
        (Some(true), Some(true)) => ["Yes, a trader can be made now.", "可以，现在能创建交易员。"],
        (Some(false), Some(false)) => [
            "No trader can be made now: no model and no exchange is enabled.",
            "现在不能创建交易员：没有可用的模型和交易所。",
        ],
        (Some(false), Some(true)) => [
            "No trader can be made now: no model is enabled.",
            "现在不能创建交易员：没有可用的模型。",
        ],
        (Some(true), Some(false)) => [
            "No trader can be made now: no exchange is enabled.",
            "现在不能创建交易员：没有可用的交易所。",
        ],
        _ => [
            "Whether a trader can be made could not be looked up.",
            "现在查不到能否创建交易员。",
        ],
    };
    lang.pick(en, zh).to_owned()
}

fn config(config: &Config, lang: Lang) -> String {
    let off = lang.pick(" (disabled)", "（已停用）");
    format!("{}{}", config.name, if config.enabled { "" } else { off })
}

fn trader(trader: &Trader) -> String {
    let parts = [&trader.model, &trader.exchange, &trader.strategy];
    let parts = parts.map(String::as_str);
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let parts = parts.collect::<Vec<_>>().join(", ");
    format!("{} ({parts})", trader.name)
}

fn balance(Balance { asset, free, held }: &Balance) -> String {
    if *held == Amount::ZERO {
        format!("{free} {asset}")
    } else {
        format!("{free} {asset} (+ {held})")
    }
}

fn position(it: &Position) -> String {
    let now = it.price.map_or("?".into(), |price| price.to_string());
    format!("{} {} @ {} → {now}", it.quantity, it.symbol, it.entry)
}

fn trade(it: &Trade) -> String {
    let side = it.side.as_str();
    format!(
        "#{} {side} {} {} @ {}",
        it.order, it.quantity, it.symbol, it.price
    )
}

fn offer(it: &Price) -> String {
    let price = |price: Option<Amount>| price.map_or("-".into(), |price| price.to_string());
    format!("{} {} / {}", it.symbol, price(it.bid), price(it.ask))
}

pub(crate) fn order(it: &Order) -> String {
    let at = it
        .price
        .map_or(String::new(), |price| format!(" @ {price}"));
    let (side, filled) = (it.side.as_str(), it.filled);
    format!(
        "#{} {side} {filled}/{} {}{at}",
        it.id, it.quantity, it.symbol
    )
}

/// Returns the text for the person when work stops for this reason, in the language of the request.
pub fn stopped(asked: &str, why: &str) -> String {
    let text = Lang::of(asked).pick(
        "I could not finish this: {why}. Nothing is lost: say \"try again\" to have me try once more.",
        "没能做完：{why}。已有的进度都在：说“再试一次”我就重试。",
    );
    text.replace("{why}", why)
}

/// Returns the help text, for a message that no rule understands.
pub fn help(lang: Lang) -> &'static str {
    lang.pick(
        "I look after a paper-trading desk. Ask for balances, positions, prices, trades, open \
         orders, models, exchanges, strategies or traders; say \"create a trader named alpha\", \
         \"buy 0.1 BTC\", \"sell 1 ETH at 3300\" or \"cancel order 7\". /status, /new, /clear and \
         /prefer are commands.",
        "这里是模拟交易台。可以问余额、持仓、价格、成交、挂单、模型、交易所、策略和交易员；\
         也可以说“创建交易员，名叫 alpha”“买 0.1 BTC”“以 3300 卖 1 ETH”“撤销订单 7”。\
         命令有 /status、/new、/clear 和 /prefer。",
    )
}
