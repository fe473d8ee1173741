//! What the desk says without a model: what was looked up, in the language of the person.
use fugato::{agent::StopWords, cli::Lang};
use serde::Deserialize;

use crate::{
    amount::Amount,
    desk::{Balance, Config, Order, Position, Side, Trade, Trader},
    facts,
    intent::Topic,
    session::Session,
};

/// The best offers, as they were looked up.
#[derive(Debug, Deserialize)]
pub(crate) struct Offer {
    pub(crate) symbol: String,
    bid: Option<Amount>,
    ask: Option<Amount>,
}

/// What was looked up about a topic, in one line or a few.
pub fn told(session: &Session, topic: Topic, lang: Lang) -> String {
    let configs = |kind| {
        session
            .seen::<Vec<Config>>(kind)
            .map(|all| configured(&all, lang))
    };
    let (title, text) = match topic {
        Topic::Models => (lang.pick("Models", "模型"), configs(facts::MODELS)),
        Topic::Exchanges => (lang.pick("Exchanges", "交易所"), configs(facts::EXCHANGES)),
        Topic::Strategies => (lang.pick("Strategies", "策略"), configs(facts::STRATEGIES)),
        Topic::Traders => (
            lang.pick("Traders", "交易员"),
            lines(session, facts::TRADERS, trader),
        ),
        Topic::Ability => return ability(session, lang),
        Topic::Balances => (
            lang.pick("Balances", "余额"),
            lines(session, facts::BALANCES, balance),
        ),
        Topic::Positions => (
            lang.pick("Positions", "持仓"),
            lines(session, facts::POSITIONS, position),
        ),
        Topic::Trades => (
            lang.pick("Trades", "成交"),
            lines(session, facts::TRADES, trade),
        ),
        Topic::Prices => (
            lang.pick("Prices", "价格"),
            lines(session, facts::PRICES, offer),
        ),
        Topic::Orders => (
            lang.pick("Open orders", "挂单"),
            lines(session, facts::ORDERS, order),
        ),
    };
    let unknown = lang.pick("it could not be looked up", "现在查不到");
    let text = match text {
        None => unknown.to_owned(),
        Some(text) if text.is_empty() => lang.pick("none", "没有").to_owned(),
        Some(text) => text,
    };
    format!("{title}{}{text}", lang.pick(": ", "："))
}

/// Whether a trader can be made now, and of what.
fn ability(session: &Session, lang: Lang) -> String {
    let usable = |kind| {
        let all = session.seen::<Vec<Config>>(kind)?;
        Some(all.iter().filter(|config| config.enabled).count())
    };
    let known = usable(facts::MODELS).zip(usable(facts::EXCHANGES));
    let missing = match known {
        None => {
            let en = "Whether a trader can be made could not be looked up.";
            return lang.pick(en, "现在查不到能否创建交易员。").to_owned();
        }
        Some((0, 0)) => lang.pick("no model and no exchange is", "没有可用的模型和交易所"),
        Some((0, _)) => lang.pick("no model is", "没有可用的模型"),
        Some((_, 0)) => lang.pick("no exchange is", "没有可用的交易所"),
        Some(_) => {
            let en = "Yes, a trader can be made now.";
            return lang.pick(en, "可以，现在能创建交易员。").to_owned();
        }
    };
    match lang {
        Lang::En => format!("No trader can be made now: {missing} enabled."),
        Lang::Zh => format!("现在不能创建交易员：{missing}。"),
    }
}

fn lines<T: serde::de::DeserializeOwned>(
    session: &Session,
    kind: &str,
    line: impl Fn(&T) -> String,
) -> Option<String> {
    let all = session.seen::<Vec<T>>(kind)?;
    let all: Vec<String> = all.iter().map(line).collect();
    Some(all.join("; "))
}

fn configured(all: &[Config], lang: Lang) -> String {
    let line = |config: &Config| {
        let off = lang.pick(" (disabled)", "（已停用）");
        format!("{}{}", config.name, if config.enabled { "" } else { off })
    };
    all.iter().map(line).collect::<Vec<_>>().join(", ")
}

fn trader(trader: &Trader) -> String {
    let Trader {
        name,
        model,
        exchange,
        strategy,
    } = trader;
    let strategy = if strategy.is_empty() {
        String::new()
    } else {
        format!(", {strategy}")
    };
    format!("{name} ({model}, {exchange}{strategy})")
}

fn balance(balance: &Balance) -> String {
    let Balance { asset, free, held } = balance;
    if *held == Amount::ZERO {
        format!("{free} {asset}")
    } else {
        format!("{free} {asset} (+ {held})")
    }
}

fn position(position: &Position) -> String {
    let Position {
        symbol,
        quantity,
        entry,
        price,
    } = position;
    let now = price.map_or("?".to_owned(), |price| price.to_string());
    format!("{quantity} {symbol} @ {entry} → {now}")
}

fn trade(trade: &Trade) -> String {
    let Trade {
        symbol,
        side,
        price,
        quantity,
        order,
        ..
    } = trade;
    format!("#{order} {} {quantity} {symbol} @ {price}", verb(*side))
}

fn offer(offer: &Offer) -> String {
    let price = |price: Option<Amount>| price.map_or("-".to_owned(), |price| price.to_string());
    format!(
        "{} {} / {}",
        offer.symbol,
        price(offer.bid),
        price(offer.ask)
    )
}

pub(crate) fn order(order: &Order) -> String {
    let Order {
        id,
        symbol,
        side,
        price,
        quantity,
        filled,
        ..
    } = order;
    let at = price.map_or(String::new(), |price| format!(" @ {price}"));
    format!("#{id} {} {filled}/{quantity} {symbol}{at}", verb(*side))
}

pub(crate) fn verb(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}

/// What the person is told when the loop that takes over stops, by what was asked for.
pub fn stopped(asked: &str) -> StopWords {
    let lang = Lang::of(asked);
    StopWords {
        stopped: lang.pick(
            "I could not finish this: {why}. Nothing is lost: say \"try again\" to have me try once more.",
            "没能做完：{why}。已有的进度都在：说“再试一次”我就重试。",
        ),
        used: "",
        ..lang.pick(StopWords::EN, StopWords::ZH)
    }
}

/// What the person is told who said nothing that a rule knows.
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
