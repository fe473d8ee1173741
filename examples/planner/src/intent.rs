//! The topics and wishes of a message, read by rule in English and in Chinese. The words are in
//! `words.toml` and `facts.toml`.
mod limits;
mod names;
mod questions;
mod several;
mod things;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use fugato::agent::memory::to_recall;
use fugato::words::{
    OrderTerms, RestrictionKind, after_word, corrected, has_any_word, is_negated, is_question,
    is_wanted, normalize, number_after, numerals, restriction, strip_phrase,
};
use serde::Deserialize;

use crate::{
    exchange::Side,
    facts::{self, Topic},
};

pub(crate) use several::one_by_one;
pub use {
    names::{name_after, removed, unread_of_trader},
    questions::{unread_limits, unread_questions},
    several::{order_behind, wishes},
    things::{assets, speaks_of, unknown_thing, untraded},
};

use limits::{unclear, waits};
use names::{trader_name, uncertain_name};
use several::{another, asked_behind};

/// A wish of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserWish {
    /// To get an answer.
    Told,
    /// A trader, with the name that they gave.
    Trader(Option<String>),
    /// To remove a trader, or several.
    Removal,
    /// An order: how much, and at which price.
    Order(Side, OrderTerms),
    /// To give an order up, with its number.
    Cancellation(Option<i64>),
    /// Something that is to be done later, or on a condition.
    Later,
    /// Something that is limited by these words, which are not understood.
    Unclear(String),
    /// One wish beside others of another kind, by its words.
    Several(String),
    /// Something that this desk does not do.
    Beyond,
}

impl UserWish {
    /// Returns the tool that fulfils it.
    pub fn tool(&self) -> Option<&'static str> {
        match self {
            Self::Told | Self::Later | Self::Unclear(_) | Self::Several(_) | Self::Beyond => None,
            Self::Trader(_) => Some("create_trader"),
            Self::Removal => Some("delete_trader"),
            Self::Order(..) => Some("place_order"),
            Self::Cancellation(_) => Some("cancel_order"),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    buy: Vec<String>,
    sell: Vec<String>,
    cancel: Vec<String>,
    number: Vec<String>,
    that: Vec<String>,
    create: Vec<String>,
    remove: Vec<String>,
    able: Vec<String>,
    able_in_question: Vec<String>,
    opinion: Vec<String>,
    tell: Vec<String>,
    have: Vec<String>,
    balance: Vec<String>,
    later: Vec<String>,
    other_time: Vec<String>,
    periods: Vec<String>,
    currencies: Vec<String>,
    beyond: Vec<String>,
    around: Vec<String>,
    operate: Vec<String>,
    runs: Vec<String>,
    around_trader: Vec<String>,
    unread: Vec<String>,
    in_total: Vec<String>,
    tell_too: Vec<String>,
    counted: Vec<String>,
    change: Vec<String>,
    unfilled: Vec<String>,
    past: Vec<String>,
    all: Vec<String>,
    half: Vec<String>,
    again: Vec<String>,
    correct: Vec<String>,
    market: Vec<String>,
    agrees: Vec<String>,
    kept: Vec<String>,
    said: Vec<String>,
    denies: Vec<String>,
    afford: Vec<String>,
    changes_mind: Vec<String>,
    around_order: Vec<String>,
    status: Vec<String>,
    greeting: Vec<String>,
    assets: BTreeMap<String, Vec<String>>,
    elsewhere: BTreeMap<String, Vec<String>>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    toml::from_str(include_str!("../words.toml")).expect("the words are part of the program")
});

fn says(message: &str, words: &[String]) -> bool {
    has_any_word(message, words)
}

/// Returns the topics of a message, those of each of its questions. In doubt it returns more: an extra
/// look-up does no harm.
pub fn topics(message: &str) -> BTreeSet<Topic> {
    let parts = questions::parts(message).into_iter();
    parts.flat_map(topics_of_one).collect()
}

fn topics_of_one(message: &str) -> BTreeSet<Topic> {
    let all = facts::all().iter();
    let about = all.filter(|(_, fact)| says(message, &fact.words));
    let mut topics: BTreeSet<Topic> = about.map(|(topic, _)| *topic).collect();
    let asks = asks(message);
    if asks && untraded(message, &[]).is_some() {
        topics.insert(Topic::Prices);
    }
    if asks && says(message, &WORDS.unfilled) {
        return BTreeSet::from([Topic::Orders]);
    }
    if asks_of_the_past(message) {
        topics.remove(&Topic::Prices);
        topics.insert(Topic::Trades);
        return topics;
    }
    if asks && assets(message) == ["USDT"] {
        // It is what prices are in, and has none.
        topics.remove(&Topic::Prices);
        topics.insert(Topic::Balances);
        return topics;
    }
    if asks && !assets(message).is_empty() {
        if says(message, &WORDS.afford) {
            topics.extend([Topic::Balances, Topic::Prices]);
        } else if says(message, &WORDS.have) {
            topics.insert(Topic::Balances);
        } else if topics.contains(&Topic::Prices) && !says(message, &WORDS.balance) {
            // 多少钱 asks for a price, and not for money.
            topics.remove(&Topic::Balances);
        } else if topics.is_empty() {
            topics.insert(Topic::Prices);
        }
    }
    topics
}

/// Returns true if a question is about what was done: "what did I pay for BTC?", 我买过吗.
pub fn asks_of_the_past(message: &str) -> bool {
    asks(message) && says(message, &WORDS.past)
}

/// Returns true if a message asks for something to be told, with or without a question mark.
fn asks(message: &str) -> bool {
    is_question(message) || says(message, &WORDS.tell)
}

/// Returns true if a message wants an order or a trader changed that is there: "double order 1".
pub fn changes(message: &str) -> bool {
    let names_trader = says(message, &Topic::Traders.fact().words);
    let of_trader = names_trader || says(message, &Topic::Models.fact().words);
    let named = order_number(message).is_some() || of_trader && !says(message, &WORDS.create);
    named && !is_question(message) && is_wanted(message, &WORDS.change)
}

/// Returns true if a message starts or stops a trader: "stop the trader for BTC".
pub fn operates(message: &str) -> bool {
    let names_trader = says(message, &Topic::Traders.fact().words);
    let makes = says(message, &WORDS.create) || says(message, &WORDS.remove);
    names_trader && !makes && !is_question(message) && says(message, &WORDS.operate)
}

/// Returns true if a message asks whether a trader or a strategy runs.
pub fn asks_what_runs(message: &str) -> bool {
    let of = [Topic::Traders, Topic::Strategies];
    let names_one = of.iter().any(|topic| says(message, &topic.fact().words));
    names_one && is_question(message) && says(message, &WORDS.runs)
}

/// Returns true if a message denies that something is cancelled: "don't cancel order 1".
pub fn cancels_not(message: &str) -> bool {
    is_negated(message, &WORDS.cancel)
}

/// Returns true if the number of an order stands for money that is paid in all: "buy BTC for 6000".
pub fn pays_in_all(message: &str) -> bool {
    let plain = numerals(&normalize(message));
    let is_sum = |rest: &str| {
        rest.trim_start_matches([' ', '$'])
            .starts_with(|c: char| c.is_ascii_digit())
    };
    [" for ", "花", "用"]
        .iter()
        .any(|word| plain.split(word).skip(1).any(is_sum))
}

/// Returns true if a message asks for something that can be looked up, with or without a question
/// mark, or names it and says nothing else.
pub fn asks_about(message: &str) -> bool {
    let topics = topics(message);
    (asks(message) || asks_ability(message) || is_name_of(message, &topics)) && !topics.is_empty()
}

/// Returns true if a message is nothing but the name of one of these topics.
fn is_name_of(message: &str, topics: &BTreeSet<Topic>) -> bool {
    let own = topics.iter().flat_map(|topic| &topic.fact().words);
    let mut words: Vec<&str> = own.chain(&WORDS.around).map(String::as_str).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let mut rest = message.to_lowercase();
    for word in words {
        rest = rest.replace(word, " ");
    }
    rest.split(|c: char| !c.is_alphanumeric())
        .all(|left| left.is_empty() || left == "s")
}

/// Returns true if a message means every order that is open.
pub fn means_all_orders(message: &str) -> bool {
    says(message, &WORDS.all) && order_number(message).is_none()
}

/// Returns true if a message asks whether a trader can be made, and does not ask for one.
pub fn asks_ability(message: &str) -> bool {
    let in_question = is_question(message) && says(message, &WORDS.able_in_question);
    (says(message, &WORDS.able) || in_question) && names_new_trader(message)
}

/// Returns true if a message asks for more than the facts: for advice, or for a reason.
pub fn asks_opinion(message: &str) -> bool {
    says(message, &WORDS.opinion)
}

/// Returns true if a message is about a time that is not now.
pub fn is_of_another_time(message: &str) -> bool {
    says(message, &WORDS.other_time)
}

/// Returns what of the things that are kept of the person a message asks for; empty for everything,
/// and none if it asks for nothing of the kind.
pub fn asks_what_is_kept(message: &str) -> Option<String> {
    // What can be looked up is answered from the desk.
    let live = || {
        let mut facts = facts::all().values();
        facts.any(|fact| says(message, &fact.words))
    };
    let asked = to_recall(message).filter(|_| !live());
    asked.or_else(|| says(message, &WORDS.kept).then(String::new))
}

/// Returns true if a message asks what the person said before.
pub fn asks_what_was_said(message: &str) -> bool {
    says(message, &WORDS.said) && is_question(message)
}

/// Returns what follows a word that denies it.
pub(crate) fn denied(reply: &str) -> Option<&str> {
    let denies: Vec<&str> = WORDS.denies.iter().map(String::as_str).collect();
    strip_phrase(reply.trim(), &denies)
}

/// Returns true if a message asks how far the work is.
pub fn asks_status(message: &str) -> bool {
    says(message, &WORDS.status)
}

/// Returns true if a message only greets, thanks, or asks for help.
pub fn greets(message: &str) -> bool {
    says(message, &WORDS.greeting)
}

/// Returns true if a message asks for another order like the last one.
pub fn wants_more(message: &str) -> bool {
    says(message, &WORDS.again)
}

/// Returns true if a message points to the only order that can be meant.
pub fn points_to_an_order(message: &str) -> bool {
    says(message, &WORDS.that)
}

/// Returns the part of a holding that a message names: one, or two for a half.
pub fn share(message: &str) -> Option<i64> {
    let half = says(message, &WORDS.half);
    (half || says(message, &WORDS.all)).then_some(if half { 2 } else { 1 })
}

/// Returns true if words change what a card would do, or what was said before.
pub fn corrects(message: &str) -> bool {
    let changes = says(message, &WORDS.correct) && !is_question(message);
    changes || takes_market(message)
}

/// Returns true if words agree to the price of the market: "the market price is fine", 市价就行.
pub fn takes_market(message: &str) -> bool {
    says(message, &WORDS.market) && says(message, &WORDS.agrees) && !asks(message)
}

/// Returns the side of the order that a question is about: that of what it asks to afford is to buy.
pub fn asked_side(message: &str) -> Option<Side> {
    let buys = || says(message, &WORDS.afford).then_some(Side::Buy);
    side(message).or_else(buys)
}

/// Returns the side that a message names, if it is only one.
pub fn side(message: &str) -> Option<Side> {
    match (says(message, &WORDS.buy), says(message, &WORDS.sell)) {
        (true, false) => Some(Side::Buy),
        (false, true) => Some(Side::Sell),
        _ => None,
    }
}

/// Returns true if a message says that nothing is to be bought or sold: "don't buy 0.5 BTC".
pub fn trades_not(message: &str) -> bool {
    is_negated(message, &WORDS.buy) || is_negated(message, &WORDS.sell)
}

/// Returns true if a message only takes an order back that was not complete: "I'd rather not buy any",
/// 我改主意了，不买了.
pub fn takes_back(message: &str) -> bool {
    let changes = says(message, &WORDS.changes_mind) && side(message).is_none();
    let whole = terms(message, Side::Buy);
    let is_new = whole.quantity.is_some() || is_question(message);
    !is_new && (changes || trades_not(message)) || cancels_not(message) && !is_question(message)
}

/// Returns true if a message is about buying or selling.
pub fn trades(message: &str) -> bool {
    says(message, &WORDS.buy) || says(message, &WORDS.sell)
}

/// Returns the terms of an order on this side; numbers may be in words, and one directly before the
/// verb is a price: 70000卖0.1个.
pub fn terms(message: &str, side: Side) -> OrderTerms {
    let mut plain = numerals(message);
    if says(message, &WORDS.afford) {
        // Money for 2 BTC, and no price of 2.
        plain = plain.replace(" for ", " ");
    }
    let verb = plain.find(['买', '卖']);
    let before = verb.and_then(|at| plain.get(..at)).unwrap_or_default();
    let digits = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (lead, rest) = plain.split_at(digits.len());
    if digits.len() < before.len() {
        return OrderTerms::of(&format!("{lead}以 {rest}"), side.limit());
    }
    OrderTerms::of(&plain, side.limit())
}

fn names_new_trader(message: &str) -> bool {
    says(message, &Topic::Traders.fact().words) && says(message, &WORDS.create)
}

/// Returns the wish of a message.
pub fn wish(message: &str) -> UserWish {
    let number = order_number(message);
    let names_order = number.is_some() || says(message, &Topic::Orders.fact().words);
    let means_order = names_order || means_all_orders(message) && side(message).is_none();
    let names_trader = says(message, &Topic::Traders.fact().words);
    let asked = is_question(message);
    if takes_market(message) && side(message).is_none() {
        return UserWish::Unclear(message.to_owned());
    }
    if (changes(message) || operates(message)) && side(message).is_none() {
        return UserWish::Beyond;
    }
    let (wish, verbs, is_asked) = if says(message, &WORDS.cancel) && means_order {
        let number = number.filter(|number| is_only_one(message, *number));
        (UserWish::Cancellation(number), &WORDS.cancel, asked)
    } else if says(message, &WORDS.remove) && names_trader {
        (UserWish::Removal, &WORDS.remove, asked)
    } else if side(message).is_none() && names_new_trader(message) {
        let is_asked = asks_ability(message);
        let name = trader_name(message);
        (UserWish::Trader(name), &WORDS.create, is_asked)
    } else if says(message, &WORDS.beyond) && !asked {
        return UserWish::Beyond;
    } else {
        let Some(side) = side(message) else {
            return UserWish::Told;
        };
        let verbs = match side {
            Side::Buy => &WORDS.buy,
            Side::Sell => &WORDS.sell,
        };
        let terms = terms(message, side);
        let asks_much =
            terms.quantity.is_none() && has_any_word(message, &["多少", "how much", "how many"]);
        (UserWish::Order(side, terms), verbs, asked || asks_much)
    };
    let limit = restriction(message);
    let excepted = limit.filter(|it| it.kind == RestrictionKind::Exception);
    if is_asked
        && matches!(wish, UserWish::Order(..))
        && let Some(words) = asked_behind(message)
    {
        return UserWish::Several(words);
    }
    // "Don't sell everything but 1" denies no sale.
    if is_asked || is_negated(message, verbs) && excepted.is_none() {
        return UserWish::Told;
    }
    if let Some(limit) = excepted {
        return UserWish::Unclear(limit.words.to_owned());
    }
    let is_order = matches!(wish, UserWish::Order(..));
    match corrected(message) {
        Err(words) => return UserWish::Unclear(words.to_owned()),
        Ok(Cow::Owned(meant)) => return self::wish(&meant),
        Ok(Cow::Borrowed(_)) => {}
    }
    let unread = WORDS.unread.iter().filter(|_| is_order);
    let in_total = WORDS.in_total.iter().filter(|_| {
        matches!(&wish, UserWish::Order(_, terms) if terms.quantity.is_some() && terms.price.is_some())
    });
    let mut unread = unread.chain(in_total);
    if let Some(words) = unread.find(|word| has_any_word(message, &[word.as_str()])) {
        return UserWish::Unclear(words.clone());
    }
    if let Some(words) = another(message) {
        return UserWish::Several(words);
    }
    if matches!(wish, UserWish::Trader(_))
        && let Some(words) = uncertain_name(message)
    {
        return UserWish::Unclear(words);
    }
    if limit.is_some() || is_order && waits(message) {
        return UserWish::Later;
    }
    match unclear(message).filter(|_| is_order) {
        Some(words) => UserWish::Unclear(words),
        None => wish,
    }
}

/// Returns false if a number goes on to another one: "order 1 or 2".
fn is_only_one(message: &str, number: i64) -> bool {
    let number = number.to_string();
    let mut behind = message
        .match_indices(&number)
        .filter_map(|(at, it)| message.get(at + it.len()..));
    let goes_on = |rest: &str| {
        let joined = after_word(
            rest.trim_start(),
            &["and", "or", "和", "或", "、", ",", "，", "&"],
        );
        joined.is_some_and(|rest| rest.trim_start().starts_with(|c: char| c.is_ascii_digit()))
    };
    !behind.any(goes_on)
}

/// Returns the number of an order: the only one directly after a word for an order or for a number,
/// or directly before one.
pub fn order_number(message: &str) -> Option<i64> {
    number_after(message, &WORDS.number).or_else(|| {
        let at = message.find("号")?;
        let before = message.get(..at)?;
        let digits = before.trim_end_matches(|c: char| c.is_ascii_digit());
        before.get(digits.len()..)?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use fugato::words::Amount;

    use super::*;

    #[test]
    fn pln_21_what_a_message_is_about() {
        use Topic::{Balances, Exchanges, Models, Orders, Prices, Traders};
        let cases: [(&str, &[Topic], bool); 9] = [
            (
                "Which models and traders are there?",
                &[Models, Traders],
                false,
            ),
            ("现在有哪些交易所？", &[Exchanges], false),
            ("Can I create a trader now?", &[Traders], true),
            ("现在可以创建交易员吗", &[Traders], true),
            ("Create a trader named alpha", &[Traders], false),
            ("我的余额是多少", &[Balances], false),
            ("What is the price of BTC?", &[Prices], false),
            ("show my open orders", &[Orders], false),
            ("Good morning to both of you!", &[], false),
        ];
        for (message, expected, ability) in cases {
            let about = expected.iter().copied().collect();
            assert_eq!(topics(message), about, "{message}");
            assert_eq!(asks_ability(message), ability, "{message}");
        }
    }

    #[test]
    fn a_message_with_several_whole_orders_has_several_wishes() {
        for (message, expected) in [
            ("buy 0.01 BTC and sell 1 ETH", 2),
            ("先卖1个以太坊，再买0.02个比特币", 2),
            ("buy 1 ETH, not BTC", 1),
            ("sell 0.5 BTC, not below 70000", 1),
            ("buy and sell", 1),
            ("buy 1 SOL and sell 0.01 BTC", 2),
            ("买1个SOL再卖0.01个比特币", 2),
            ("buy 0.5 BTC, 1 ETH", 2),
            ("should I buy 1 BTC and sell 1 ETH?", 1),
        ] {
            assert_eq!(wishes(message).len(), expected, "{message}");
        }
    }

    #[test]
    fn instruments_have_names_in_both_languages() {
        for (message, expected) in [
            ("买0.1个比特币", &["BTC"][..]),
            ("0.1 bitcion", &["BTC"]),
            ("ether and 比特币", &["BTC", "ETH"]),
            ("ETH, not BTC", &["ETH"]),
            ("不对，是以太坊", &["ETH"]),
            ("ＢＴＣ", &["BTC"]),
            ("together", &[]),
        ] {
            assert_eq!(assets(message), expected, "{message}");
        }
        let there = ["BTC-USDT", "ETH-USDT"];
        for (message, expected) in [
            ("buy 1 BTC-EUR", Some("BTC-EUR")),
            ("what does solana trade at?", Some("SOL")),
            ("买100个狗狗币", Some("DOGE")),
            ("buy 1 BTC-USDT", None),
            ("grid-2 on replay", None),
        ] {
            assert_eq!(untraded(message, &there).as_deref(), expected, "{message}");
        }
        assert_eq!(unknown_thing("buy 5 florins").as_deref(), Some("florins"));
        assert_eq!(unknown_thing("buy 0.1 at 5"), None);
    }

    /// Returns a wish in a few words.
    fn wished(message: &str) -> String {
        let shown = |amount: Option<Amount>| amount.map_or("?".into(), |it| it.to_string());
        match wish(message) {
            UserWish::Told => "told".into(),
            UserWish::Later => "later".into(),
            UserWish::Unclear(words) => format!("unclear {words}"),
            UserWish::Several(words) => format!("several {words}"),
            UserWish::Beyond => "beyond".into(),
            UserWish::Removal => "remove".into(),
            UserWish::Trader(name) => format!("trader {}", name.unwrap_or("?".into())),
            UserWish::Cancellation(None) => "cancel ?".into(),
            UserWish::Cancellation(Some(number)) => format!("cancel {number}"),
            UserWish::Order(side, it) => {
                let (side, much, price) = (side.as_str(), shown(it.quantity), shown(it.price));
                format!("{side} {much} at {price}")
            }
        }
    }

    /// Messages, and the wishes that they are.
    const MESSAGES: &[(&str, &str)] = &[
        ("Which traders are there?", "told"),
        ("Can I create a trader?", "told"),
        ("sell all my ETH except 1", "unclear except 1"),
        ("sell all BTC but 0.1", "unclear but 0.1"),
        ("sell all my ETH, keep 1", "unclear keep 1"),
        ("除了1个以太都卖掉", "unclear 除了1个以太"),
        ("全部以太卖掉，留1个", "unclear 留1个"),
        (
            "cancel everything except the ETH order",
            "unclear except the ETH order",
        ),
        ("撤掉所有订单，除了以太的", "unclear 除了以太的"),
        ("cancel all my orders unless they are old", "later"),
        ("明早九点买一个以太", "later"),
        ("九点半卖0.1个比特币", "later"),
        ("两个小时后买1个以太", "later"),
        ("buy 1 ETH at 9 am", "later"),
        ("buy 1 ETH in an hour", "later"),
        ("下午三点卖一个以太", "later"),
        ("buy 1 ETH at 3000", "buy 1 at 3000"),
        ("买一点BTC", "buy ? at ?"),
        (
            "buy 1 ETH for my trader alpha",
            "unclear for my trader alpha",
        ),
        ("buy 1 ETH for alpha at 3000", "unclear for alpha"),
        (
            "buy 1 ETH with the grid strategy",
            "unclear with the grid strategy",
        ),
        ("keep 1 ETH and sell the rest", "unclear the rest"),
        ("留1个ETH，剩下的卖掉", "unclear 剩下的"),
        ("sell one and a half ETH", "unclear and a half"),
        ("buy 0.1 BTC twice", "unclear twice"),
        ("buy 0.1 BTC without fees", "unclear without fees"),
        ("buy 0.1 BTC now, and again at 50000", "unclear and again"),
        ("每天买0.1个BTC", "unclear 每天"),
        ("buy 0.1 BTC for 6000 dollars total", "unclear total"),
        ("花6000买0.1个BTC", "unclear 花"),
        (
            "I decided against buying 0.1 BTC",
            "unclear decided against",
        ),
        ("buy 0.1 BTC, no, 0.2", "unclear no, 0.2"),
        (
            "create a trader named alpha with glimmer and buy 0.1 BTC",
            "several buy 0.1 BTC",
        ),
        ("cancel order 1 and buy 1 ETH", "several buy 1 ETH"),
        ("撤销订单1，再买1个ETH", "several 买1个ETH"),
        (
            "sell 0.1 BTC at 64500 and cancel all other orders",
            "several cancel all other orders",
        ),
        (
            "buy 0.1 BTC and then tell me my balance",
            "several tell me my balance",
        ),
        (
            "create a trader named alpha with glimmer and another named beta with harbour",
            "several named beta with harbour",
        ),
        ("撤销订单1和2", "cancel ?"),
        ("cancel order 1 or 2", "cancel ?"),
        ("buy 1 ETH for me, please", "buy 1 at ?"),
        (
            "put in an order to buy 1 ETH for 3000 dollars",
            "buy 1 at 3000",
        ),
        ("let alpha buy 1 ETH", "unclear let alpha"),
        ("alpha should buy 1 ETH", "unclear alpha should"),
        ("tell alpha to buy 1 ETH", "unclear tell alpha"),
        ("I want to buy 1 ETH", "buy 1 at ?"),
        ("let me buy 1 ETH", "buy 1 at ?"),
        ("帮阿尔法买一个以太", "unclear 帮阿尔法"),
        ("帮我买一个以太", "buy 1 at ?"),
        ("等会儿再买一个以太", "later"),
        ("给阿尔法买一个以太", "unclear 给阿尔法"),
        ("用阿尔法卖0.1个比特币", "unclear 用阿尔法"),
        ("给我买一个以太", "buy 1 at ?"),
        ("create a trader named alpha-1, please", "trader alpha-1"),
        ("新建一个交易员", "trader ?"),
        ("创建交易员，名叫小明，用 glimmer", "trader 小明"),
        ("do not create a trader", "told"),
        ("create trader alpha with glimmer", "trader alpha"),
        ("创建一个叫小明的交易员，用harbour模型", "trader 小明"),
        ("删除交易员阿尔法", "remove"),
        ("buy 0.1 BTC tomorrow", "later"),
        ("如果跌到 3000 就买 1 ETH", "later"),
        ("buy 0.1 BTC with 10x leverage", "beyond"),
        ("transfer 100 USDT to bob", "beyond"),
        ("买零点零五个比特币", "buy 0.05 at ?"),
        ("买入０．１个ＢＴＣ", "buy 0.1 at ?"),
        ("取消42号订单", "cancel 42"),
        ("buy 0.25 BTC", "buy 0.25 at ?"),
        ("Sell 1 ETH-USDT at 3210.5.", "sell 1 at 3210.5"),
        ("以 60000 买 0.1 BTC", "buy 0.1 at 60000"),
        ("以不低于 4000 卖 1 ETH", "sell 1 at 4000"),
        ("买一点 BTC", "buy ? at ?"),
        ("Should I buy BTC?", "told"),
        ("Don’t sell 1 ETH", "told"),
        ("先别卖 1 ETH", "told"),
        ("Don't worry, sell 1 ETH", "sell 1 at ?"),
        ("cancel order 7", "cancel 7"),
        ("Cancel my 2 BTC order #7.", "cancel 7"),
        ("cancel my 2 BTC order", "cancel ?"),
        ("cancel orders 7 and 8", "cancel ?"),
        ("cancel order 7 and order 8", "cancel ?"),
        ("cancel order 0.5", "cancel ?"),
        ("撤销订单", "cancel ?"),
        ("取消编号：12 的挂单", "cancel 12"),
        ("Did you cancel order 7?", "told"),
        ("did you cancel order 7", "told"),
        ("don't cancel order 7", "told"),
        ("Please do not yet cancel order 7", "told"),
        ("不要取消订单 7", "told"),
        ("订单 7 撤了吗", "told"),
    ];

    #[test]
    fn the_traders_that_a_message_removes() {
        let there = ["alpha", "beta", "阿尔法"].map(str::to_owned);
        for (message, expected) in [
            ("delete trader alpha", Ok(&["alpha"][..])),
            ("please delete the trader named Beta now", Ok(&["beta"])),
            ("delete trader alpha and beta", Ok(&["alpha", "beta"])),
            ("delete trader alpha and gamma", Err("gamma")),
            ("delete trader alpha-2", Ok(&["alpha-2"])),
            ("delete trader gamma", Ok(&["gamma"])),
            ("delete a trader", Ok(&[])),
            ("delete all my traders", Ok(&["alpha", "beta", "阿尔法"])),
            ("把所有交易员都删了", Ok(&["alpha", "beta", "阿尔法"])),
            ("交易员都删了吧", Ok(&["alpha", "beta", "阿尔法"])),
            ("delete all traders with glimmer", Err("glimmer")),
            ("删了交易员阿尔法吧", Ok(&["阿尔法"])),
            ("把交易员阿尔法和贝塔删了", Err("贝塔")),
            ("删除交易员贝塔", Ok(&["贝塔"])),
        ] {
            let expected = expected.map(|names| names.iter().map(ToString::to_string).collect());
            assert_eq!(
                removed(message, &there),
                expected.map_err(str::to_owned),
                "{message}"
            );
        }
    }

    #[test]
    fn what_a_message_wants() {
        for (message, expected) in MESSAGES {
            assert_eq!(wished(message), *expected, "{message}");
        }
    }
}
