//! The answers without a model: the facts that were looked up, in the language of the person.
use fugato::{
    cli::Lang,
    state::say,
    words::{Amount, courtesy},
};
use serde::de::DeserializeOwned;

use crate::{
    exchange::{Balance, Config, Order, OrderStatus, Position, Price, Side, Trade, Trader},
    facts::Topic,
    intent,
    session::PlannerSession,
};

/// Returns the facts about a topic that were looked up, in one line.
/// Of balances, positions, prices and orders only those of the assets that the question names, if
/// it names any.
pub fn told(session: &PlannerSession, asked: &str, topic: Topic, lang: Lang) -> String {
    // "My balance and the price of BTC" asks for the whole balance.
    let is_of_price = topic == Topic::Balances && intent::topics(asked).contains(&Topic::Prices);
    let assets = intent::assets(asked);
    let is_asked = |name: &str| {
        let base = name.split('-').next().unwrap_or_default();
        is_of_price || assets.is_empty() || assets.contains(&base)
    };
    let text = match topic {
        Topic::Models | Topic::Exchanges | Topic::Strategies => {
            lines(session, topic, ", ", |it: &Config| Some(config(it, lang)))
        }
        Topic::Traders => lines(session, topic, "; ", |it| Some(trader(it))),
        Topic::Balances => lines(session, topic, "; ", |it: &Balance| {
            is_asked(&it.asset).then(|| balance(it))
        }),
        Topic::Positions => lines(session, topic, "; ", |it: &Position| {
            is_asked(&it.symbol).then(|| position(it))
        }),
        Topic::Trades => lines(session, topic, "; ", |it| Some(trade(it, lang))),
        Topic::Prices => lines(session, topic, "; ", |it: &Price| {
            is_asked(&it.symbol).then(|| offer(it))
        }),
        Topic::Orders => lines(session, topic, "; ", |it: &Order| {
            is_asked(&it.symbol).then(|| order(it, lang))
        }),
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
    session: &PlannerSession,
    topic: Topic,
    between: &str,
    line: impl Fn(&T) -> Option<String>,
) -> Option<String> {
    let all = session.seen::<Vec<T>>(topic)?;
    let all: Vec<String> = all.iter().filter_map(line).collect();
    Some(all.join(between))
}

/// Returns a sentence that says whether a trader can be made now, or what is missing for one.
pub fn ability(session: &PlannerSession, lang: Lang) -> String {
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

pub(crate) fn trader(trader: &Trader) -> String {
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

/// Returns the word for a side.
pub(crate) fn side(side: Side, lang: Lang) -> &'static str {
    lang.pick(side.as_str(), if side == Side::Buy { "买" } else { "卖" })
}

fn trade(it: &Trade, lang: Lang) -> String {
    let side = side(it.side, lang);
    format!(
        "#{} {side} {} {} @ {}",
        it.order, it.quantity, it.symbol, it.price
    )
}

fn offer(it: &Price) -> String {
    let price = |price: Option<Amount>| price.map_or("-".into(), |price| price.to_string());
    format!("{} {} / {}", it.symbol, price(it.bid), price(it.ask))
}

pub(crate) fn order(it: &Order, lang: Lang) -> String {
    let at = it
        .price
        .map_or(String::new(), |price| format!(" @ {price}"));
    let (side, filled) = (side(it.side, lang), it.filled);
    format!(
        "#{} {side} {filled}/{} {}{at}",
        it.id, it.quantity, it.symbol
    )
}

/// Returns what came of an order.
pub(crate) fn placed(it: &Order, lang: Lang) -> String {
    let (side, done, cost) = (side(it.side, lang), it.filled, it.cost);
    let order = format!("{side} {} {}", it.quantity, it.symbol);
    let status = it.status.as_str();
    let zh = match it.status {
        OrderStatus::Open => "未成交完，仍在挂单",
        OrderStatus::Filled => "已全部成交",
        OrderStatus::Cancelled => "余下部分已撤销",
    };
    lang.pick(
        format!(
            "order #{} is {status}: {order}, {done} done for {cost}",
            it.id
        ),
        format!("订单 #{} {zh}：{order}，成交 {done}，金额 {cost}", it.id),
    )
}

/// Returns the text that what runs is not known.
pub(crate) fn not_run(lang: Lang) -> &'static str {
    lang.pick(
        "Nothing is started or stopped here, so I cannot tell what runs; this is what there is.",
        "这里不启动也不停止任何东西，所以不知道哪个在运行；现有的是：",
    )
}

/// Returns a sentence with the names of what there is.
pub(crate) fn there_is(names: &[String], lang: Lang) -> String {
    let all = names.join(", ");
    let [en, zh] = match names {
        [] => ["There is none.", "现在没有。"].map(str::to_owned),
        [_] => [format!("There is: {all}"), format!("现在有：{all}")],
        _ => [format!("There are: {all}"), format!("现在有：{all}")],
    };
    lang.pick(en, zh)
}

/// Returns the text that the desk has no prices of another time.
pub(crate) fn not_now(lang: Lang) -> &'static str {
    lang.pick(
        "I do not know prices of another time; these are the ones of now.",
        "我不知道过去或将来的价格，只知道现在的：",
    )
}

/// Returns the text for the person when work stops for this reason.
pub fn stopped(why: &str) -> String {
    say!(
        "I could not finish this: {why}. Nothing is lost: say \"try again\" to have me try once more.",
        "没能做完：{why}。已有的进度都在：说“再试一次”我就重试。"
    )
}

/// Returns the answer to a message that asks for nothing of the desk: a courtesy in return, or the
/// help text.
pub fn small_talk(message: &str, lang: Lang) -> String {
    let polite = courtesy(message).map(|courtesy| courtesy.reply(lang).to_owned());
    polite.unwrap_or_else(|| help(lang, intent::greets(message)))
}

/// Returns the help text; if nobody asked for it, after a line that the message was not understood.
pub fn help(lang: Lang, is_asked: bool) -> String {
    let unread = lang.pick(
        "I did not understand that, and did nothing. ",
        "没听懂，什么都没有做。",
    );
    let help = lang.pick(
        "I look after a paper-trading desk. Ask for balances, positions, prices, trades, open \
         orders, models, exchanges, strategies or traders; say \"create a trader named alpha\", \
         \"buy 0.1 BTC\", \"sell 1 ETH at 3300\" or \"cancel order 7\". /status, /new, /clear and \
         /prefer are commands.",
        "这里是模拟交易台。可以问余额、持仓、价格、成交、挂单、模型、交易所、策略和交易员；\
         也可以说“创建交易员，名叫 alpha”“买 0.1 BTC”“以 3300 卖 1 ETH”“撤销订单 7”。\
         命令有 /status、/new、/clear 和 /prefer。",
    );
    let unread = if is_asked { "" } else { unread };
    format!("{unread}{help}")
}
