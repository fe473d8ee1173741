//! The topics and wishes of a message, read by rule in English and in Chinese. The words are in
//! `words.toml` and `facts.toml`.
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use fugato::agent::memory::to_recall;
use fugato::words::{
    DayReference, Lang, OrderTerms, RestrictionKind, TimeReference, after_word, clauses, corrected,
    day_mentions, has_any_word, is_negated, is_question, mentioned, named, normalize, number_after,
    numerals, respell, restriction,
};
use serde::Deserialize;

use crate::{
    exchange::Side,
    facts::{self, Topic},
};

/// A wish of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserWish {
    /// To get an answer.
    Told,
    /// A trader, with the name that they gave.
    Trader(Option<String>),
    /// To remove a trader, with its name.
    Removal(Option<String>),
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
            Self::Removal(_) => Some("delete_trader"),
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
    beyond: Vec<String>,
    around: Vec<String>,
    unread: Vec<String>,
    in_total: Vec<String>,
    tell_too: Vec<String>,
    all: Vec<String>,
    half: Vec<String>,
    again: Vec<String>,
    correct: Vec<String>,
    kept: Vec<String>,
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

/// Returns the topics of a message. In doubt it returns more: an extra look-up does no harm.
pub fn topics(message: &str) -> BTreeSet<Topic> {
    let all = facts::all().iter();
    let about = all.filter(|(_, fact)| says(message, &fact.words));
    let mut topics: BTreeSet<Topic> = about.map(|(topic, _)| *topic).collect();
    let asks = is_question(message) || says(message, &WORDS.tell);
    if asks && untraded(message, &[]).is_some() {
        topics.insert(Topic::Prices);
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

/// Returns the assets that a message names, in either language, other than those that it excludes:
/// "ETH, not BTC". A name that is nearly one of theirs is one.
pub fn assets(message: &str) -> Vec<&'static str> {
    let known = WORDS.assets.values().flatten().map(String::as_str);
    let latin: BTreeSet<&str> = known.filter(|name| name.is_ascii()).collect();
    // "Either" is a word, and no misspelled coin.
    let message = respell(&apart(&normalize(message)), &latin, |word| word == "either");
    let mut found = vec![];
    for (asset, names) in &WORDS.assets {
        if names_any(&message, names) && !is_excluded(&message, names) {
            found.push(asset.as_str());
        }
    }
    found
}

/// Returns a text with a space between a number and the word behind it: 0.1BTC.
fn apart(text: &str) -> String {
    let mut parted = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphabetic() && parted.ends_with(|c: char| c.is_ascii_digit()) {
            parted.push(' ');
        }
        parted.push(c);
    }
    parted
}

fn names_any(message: &str, names: &[String]) -> bool {
    mentioned(message, names.iter().map(String::as_str)).is_some()
}

/// Returns true if a clause of its own denies these: "not BTC", 不是比特币.
fn is_excluded(message: &str, names: &[String]) -> bool {
    let parts = message.split([',', '.', '?']).map(str::trim);
    let denies = |part: &str| {
        let not = ["not ", "no ", "不是", "不要", "别"];
        not.iter().any(|not| part.starts_with(not)) && names_any(part, names)
    };
    parts.into_iter().any(denies)
}

/// Returns what a message names that is not among these assets and symbols: a coin of elsewhere, or
/// a pair such as `BTC-EUR`.
pub fn untraded(message: &str, symbols: &[&str]) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '/';
    let plain = normalize(message);
    let pair = plain.split(|c| !is_part(c)).find_map(|word| {
        let (base, quote) = word.split_once(['-', '/'])?;
        let is_coin = |part: &str| {
            (2..=5).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphabetic())
        };
        let named = !assets(base).is_empty() || !assets(quote).is_empty();
        let symbol = format!("{base}-{quote}").to_uppercase();
        let known = symbols.contains(&symbol.as_str());
        (is_coin(base) && is_coin(quote) && named && !known).then_some(symbol)
    });
    let traded = |name: &str| {
        symbols
            .iter()
            .any(|it| it.split('-').any(|part| part == name))
    };
    let other = WORDS.elsewhere.iter();
    let mut other = other.filter(|(name, names)| !traded(name) && names_any(&plain, names));
    pair.or_else(|| other.next().map(|(name, _)| name.clone()))
}

/// Returns the word of an order in the place of what is to be traded, if it is none: in "buy 5
/// florins" it is "florins".
pub fn unknown_thing(message: &str) -> Option<String> {
    const NOTHING: [&str; 22] = [
        "of", "at", "for", "please", "now", "units", "unit", "coins", "coin", "some", "market",
        "thousand", "million", "hundred", "share", "shares", "stocks", "worth", "dollars", "euros",
        "bucks", "usd",
    ];
    let plain = numerals(&normalize(message));
    let mut words = plain.split([' ', ',', '?']).filter(|word| !word.is_empty());
    words.find(|word| word.bytes().all(|b| b.is_ascii_digit() || b == b'.'))?;
    let word = words.find(|word| !NOTHING.contains(word))?;
    let is_word = word.len() > 2 && word.bytes().all(|b| b.is_ascii_alphabetic());
    is_word.then(|| word.to_owned())
}

/// Returns true if a message asks for something that can be looked up, with or without a question
/// mark, or names it and says nothing else.
pub fn asks_about(message: &str) -> bool {
    let asks = is_question(message) || asks_ability(message) || says(message, &WORDS.tell);
    let topics = topics(message);
    (asks || is_name_of(message, &topics)) && !topics.is_empty()
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

/// Returns true if words under a card change what it would do.
pub fn corrects(message: &str) -> bool {
    says(message, &WORDS.correct) && !is_question(message)
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
    !is_new && (changes || trades_not(message))
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

/// Returns the name of a trader that a message gives: "named alpha", or the word after "trader".
fn trader_name(message: &str) -> Option<String> {
    const NONE: [&str; 10] = [
        "with", "using", "on", "for", "please", "now", "and", "that", "in", "to",
    ];
    named(message).or_else(|| {
        let lower = message.to_lowercase();
        let words = Topic::Traders.fact().words.iter();
        let mut after = words.filter_map(|word| {
            let at = lower.find(word.as_str())? + word.len();
            message.get(at..)
        });
        let is_name = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_');
        after.find_map(|rest| {
            let name: String = rest.trim_start().chars().take_while(is_name).collect();
            let is_name = name.len() > 1 && !NONE.contains(&name.to_lowercase().as_str());
            is_name.then_some(name)
        })
    })
}

/// Returns the name that a message gives right after one of these words, such as `momentum` after
/// "strategy".
pub fn name_after(message: &str, words: &[&str]) -> Option<String> {
    const NONE: [&str; 16] = [
        "the", "a", "an", "and", "with", "on", "for", "of", "please", "is", "named", "called",
        "my", "to", "in", "any",
    ];
    let lower = message.to_lowercase();
    let mut places = words.iter().flat_map(|word| {
        let places = lower.match_indices(word);
        places.filter_map(|(at, word)| {
            let (before, rest) = (lower.get(..at)?, lower.get(at + word.len()..)?);
            let letter = |c: char| c.is_ascii_alphanumeric();
            let begins = !word.starts_with(letter) || !before.ends_with(letter);
            begins.then(|| rest.trim_start_matches([' ', ':', '：', '是', '用']))
        })
    });
    places.find_map(|rest| {
        let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let name: String = rest.chars().take_while(is_part).collect();
        (name.len() > 1 && !NONE.contains(&name.as_str())).then_some(name)
    })
}

/// Returns a message in which each thing to buy or to sell has its verb: "buy 0.01 BTC and buy 0.5
/// ETH" for "buy 0.01 BTC and 0.5 ETH".
fn with_verbs(message: &str) -> String {
    let verbs = || WORDS.buy.iter().chain(&WORDS.sell);
    let joined = |at: &str| {
        let mut parts = message.split(at);
        let first = parts.next().unwrap_or_default();
        let verb = verbs().find(|verb| says(first, std::slice::from_ref(verb)))?;
        let whole = |part: &str| {
            let begins = part.trim_start().starts_with(|c: char| c.is_numeric());
            let terms = OrderTerms::of(&numerals(part), Side::Buy.limit());
            begins && terms.quantity.is_some() && assets(part).len() == 1
        };
        let rest: Vec<&str> = parts.collect();
        let is_list = !rest.is_empty() && rest.iter().all(|part| whole(part) && !trades(part));
        is_list.then(|| {
            let rest = rest
                .iter()
                .map(|part| format!("{at}{verb} {}", part.trim_start()));
            format!("{first}{}", rest.collect::<String>())
        })
    };
    let ways = [" and ", "和", "、", ", ", "，"]
        .into_iter()
        .find_map(joined);
    ways.unwrap_or_else(|| message.to_owned())
}

/// The words between two wishes.
const BREAKS: [&str; 13] = [
    "再",
    "然后",
    "同时",
    "和",
    "、",
    " and then ",
    " then ",
    " and ",
    ", ",
    "，",
    "；",
    "; ",
    "。",
];

/// Returns the wishes of a message, each with the part of it that says so: several if each part is
/// a whole order, else one.
pub fn wishes(message: &str) -> Vec<(UserWish, String)> {
    let message = &with_verbs(message);
    let order = |part: &str| Some(wish(part)).filter(|it| matches!(it, UserWish::Order(..)));
    let parts = clauses(message, &BREAKS, order, |_, _, _| false);
    let parts = parts.into_iter().map(|(_, part)| (wish(&part), part));
    let parts: Vec<_> = parts.collect();
    let is_whole = |(wish, part): &(UserWish, String)| match wish {
        UserWish::Order(_, terms) => {
            let named = !assets(part).is_empty() || untraded(part, &[]).is_some();
            terms.quantity.is_some() && !terms.is_unclear && named
        }
        _ => false,
    };
    let whole = wish(message);
    let asks = is_question(message)
        || matches!(
            whole,
            UserWish::Later | UserWish::Unclear(_) | UserWish::Several(_) | UserWish::Beyond
        );
    if parts.len() > 1 && !asks && parts.iter().all(is_whole) {
        return parts;
    }
    // To buy and to sell is no question: one of the orders is not whole.
    let part = parts.iter().find(|part| !is_whole(part));
    let is_lost = parts.len() > 1 && whole == UserWish::Told;
    if let Some((_, part)) = part.filter(|_| is_lost && !asks && !trades_not(message)) {
        return vec![(UserWish::Unclear(part.clone()), message.to_owned())];
    }
    vec![(whole, message.to_owned())]
}

/// Returns the answer to a message in which this wish stands beside another.
pub(crate) fn one_by_one(words: &str, lang: Lang) -> String {
    lang.pick(
        format!(
            "These are several wishes, of which “{words}” is one. Nothing was done, so that none is \
             lost; say one after the other."
        ),
        format!("这里有几件事，其中一件是“{words}”。为了不漏掉，什么都没有做；请一件一件说。"),
    )
}

/// The kinds of wishes that do not go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Order,
    Cancellation,
    Trader,
    Question,
}

/// Returns the words of a further wish of another kind, or for another trader.
fn another(message: &str) -> Option<String> {
    let kind = |part: &str| {
        let of_orders = says(part, &Topic::Orders.fact().words) || order_number(part).is_some();
        let of_traders = says(part, &Topic::Traders.fact().words);
        Some(match () {
            () if says(part, &WORDS.cancel) && of_orders => Kind::Cancellation,
            () if of_traders && (says(part, &WORDS.create) || says(part, &WORDS.remove)) => {
                Kind::Trader
            }
            () if trades(part) => Kind::Order,
            () if says(part, &WORDS.tell_too) => Kind::Question,
            () => return None,
        })
    };
    let parts = clauses(message, &BREAKS, kind, |before, next, _| before == next);
    let names = ["named ", "called ", "名叫", "名为", "创建", "新建"];
    let again = names
        .iter()
        .find_map(|word| Some((message.rfind(word)?, message.find(word)?)));
    let second = again.filter(|(last, first)| last > first && names_new_trader(message));
    let second = second.and_then(|(last, _)| message.get(last..));
    parts
        .into_iter()
        .nth(1)
        .map(|(_, part)| part)
        .or(second.map(str::to_owned))
}

/// Returns the whole order that stands behind other words: "remember that …, and buy 1 ETH".
pub fn order_behind(message: &str) -> Option<String> {
    let order = |part: &str| Some(wish(part)).filter(|it| matches!(it, UserWish::Order(..)));
    let (_, rest) = message.split_once(|c: char| c.is_whitespace() || ":：，".contains(c))?;
    let parts = clauses(rest, &BREAKS, order, |_, _, _| false);
    let begins = |part: &str| {
        let lower = part.trim().to_lowercase();
        let mut verbs = WORDS.buy.iter().chain(&WORDS.sell);
        verbs.any(|verb| lower.starts_with(verb.as_str()) || lower.contains(&format!("，{verb}")))
            || verbs.any(|verb| lower.contains(&format!(" and {verb}")))
    };
    parts.into_iter().find_map(|(wish, part)| match wish {
        UserWish::Order(_, terms) if terms.quantity.is_some() => {
            let said = part.split('，').next_back().unwrap_or(&part);
            (begins(said) || begins(&part)).then(|| said.to_owned())
        }
        _ => None,
    })
}

/// Returns the wish of a message.
pub fn wish(message: &str) -> UserWish {
    let number = order_number(message);
    let names_order = number.is_some() || says(message, &Topic::Orders.fact().words);
    let means_order = names_order || means_all_orders(message) && side(message).is_none();
    let names_trader = says(message, &Topic::Traders.fact().words);
    let asked = is_question(message);
    let (wish, verbs, is_asked) = if says(message, &WORDS.cancel) && means_order {
        let number = number.filter(|number| is_only_one(message, *number));
        (UserWish::Cancellation(number), &WORDS.cancel, asked)
    } else if says(message, &WORDS.remove) && names_trader {
        (
            UserWish::Removal(trader_name(message)),
            &WORDS.remove,
            asked,
        )
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
        (UserWish::Order(side, terms(message, side)), verbs, asked)
    };
    let limit = restriction(message);
    let excepted = limit.filter(|it| it.kind == RestrictionKind::Exception);
    // "Don't sell everything but 1" denies no sale.
    if is_asked || is_negated(message, verbs) && excepted.is_none() {
        return UserWish::Told;
    }
    if let Some(limit) = excepted {
        return UserWish::Unclear(limit.words.to_owned());
    }
    let is_order = matches!(wish, UserWish::Order(..));
    if let Err(words) = corrected(message) {
        return UserWish::Unclear(words.to_owned());
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

/// Returns true if an order is to wait: for a time, or for the market.
fn waits(message: &str) -> bool {
    let plain = numerals(&message.to_lowercase());
    let days = day_mentions(&plain).into_iter();
    let mut days = days.filter(|day| day.days != DayReference::FromToday(0));
    // 买一点 is a little, and no time of the day.
    let a_little = plain
        .split(['1', '一'])
        .zip(plain.split(['1', '一']).skip(1));
    let mut a_little = a_little.filter(|(before, after)| {
        before.ends_with(['买', '卖', '来', '入', '出', '有']) && after.starts_with('点')
    });
    let little = a_little.next().is_some() && !plain.contains("点钟");
    let clock = || !little && TimeReference::of(&plain).is_some() && names_time(&plain);
    says(message, &WORDS.later) || days.next().is_some() || clock()
}

/// Returns true if a number has a word beside it that makes it a time: "at 15" may be a price.
fn names_time(plain: &str) -> bool {
    const UNITS: [&str; 17] = [
        "am", "pm", "a.m.", "p.m.", "o'clock", "minute", "hour", "second", "morning", "noon",
        "midnight", "evening", "点", "分钟", "小时", "早", "晚",
    ];
    let mut words = plain.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '\''));
    let unit = |word: &str| {
        let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let word = word.trim_end_matches('s');
        UNITS.contains(&word)
    };
    let is_clock = plain.as_bytes().windows(3);
    let mut is_clock = is_clock.filter(|it| {
        it.first().is_some_and(u8::is_ascii_digit)
            && it.get(1) == Some(&b':')
            && it.get(2).is_some_and(u8::is_ascii_digit)
    });
    words.any(unit)
        || UNITS
            .iter()
            .any(|unit| !unit.is_ascii() && plain.contains(unit))
        || is_clock.next().is_some()
}

/// Returns the words of an order that say for whom or with which means it is placed: this desk
/// places every order for the person, and would lose them.
fn unclear(message: &str) -> Option<String> {
    const BEFORE: [&str; 16] = [
        "for", "with", "using", "via", "through", "on", "in", "from", "into", "to", "by", "under",
        "as", "per", "every", "each",
    ];
    let is_part = |c: char| c.is_alphanumeric() || "-_'’.".contains(c);
    let plain = message.to_lowercase();
    let mut words: Vec<(usize, &str)> = vec![];
    let mut end = 0;
    for part in plain.split(|c: char| !is_part(c)) {
        let at = plain
            .get(end..)
            .and_then(|rest| rest.find(part))
            .unwrap_or(0)
            + end;
        end = at + part.len();
        if !part.is_empty() {
            words.push((at, part));
        }
    }
    let known = |word: &str| {
        let word = word.trim_matches(['.', '\'']);
        WORDS.around_order.iter().any(|known| known == word)
            || word.contains(|c: char| c.is_ascii_digit())
            || !word.is_ascii()
            || !assets(word).is_empty()
    };
    let mut at = 0;
    while let Some((from, word)) = words.get(at) {
        at += 1;
        if !BEFORE.contains(word) {
            continue;
        }
        let object = words.iter().skip(at).take_while(|(place, word)| {
            let between = plain.get(*from..*place).unwrap_or_default();
            !BEFORE.contains(word)
                && *word != "at"
                && !between.contains([',', '，', ';', ':', '。'])
        });
        let object: Vec<_> = object.collect();
        let numbers = numerals(
            &object
                .iter()
                .map(|(_, word)| *word)
                .collect::<Vec<_>>()
                .join(" "),
        );
        if object.is_empty() || numbers.split(' ').all(known) {
            continue;
        }
        // A price, or what is traded, is read; what stands before either is not.
        if numbers
            .split(' ')
            .any(|word| !WORDS.around_order.iter().any(|known| known == word) && known(word))
        {
            continue;
        }
        let (last, word) = object.last()?;
        return message.get(*from..last + word.len()).map(str::to_owned);
    }
    ordered(&words)
        .and_then(|(from, end)| message.get(from..end).map(str::to_owned))
        .or_else(|| addressed(message))
}

/// Returns the place of the words that have somebody else place an order: "let alpha buy", "alpha
/// should buy".
fn ordered(words: &[(usize, &str)]) -> Option<(usize, usize)> {
    const ASKS: [&str; 5] = ["let", "have", "make", "ask", "tell"];
    const SHALL: [&str; 5] = ["should", "shall", "must", "will", "to"];
    const PERSON: [&str; 8] = ["i", "we", "you", "us", "me", "please", "it", "order"];
    let trades = |word: &&str| {
        WORDS
            .buy
            .iter()
            .chain(&WORDS.sell)
            .any(|verb| verb == *word)
    };
    let verb = words.iter().position(|(_, word)| trades(word))?;
    let before = words.get(..verb)?;
    let before = match before {
        [before @ .., (_, "to")] => before,
        _ => before,
    };
    let is_named = |word: &str| !PERSON.contains(&word) && !SHALL.contains(&word);
    let (from, (end, word)) = match before {
        [.., (from, asks), (_, _), (end, name)] if ASKS.contains(asks) && is_named(name) => {
            (from, (end, name))
        }
        [.., (from, asks), (end, name)] if ASKS.contains(asks) && is_named(name) => {
            (from, (end, name))
        }
        [.., (from, name), (end, shall)] if SHALL.contains(shall) && is_named(name) => {
            (from, (end, shall))
        }
        _ => return None,
    };
    Some((*from, end + word.len()))
}

/// Returns the words between 给 or 用 and the verb of an order, if they name anybody or anything but
/// the person and an amount.
fn addressed(message: &str) -> Option<String> {
    const BEFORE: [&str; 9] = ["给", "替", "帮", "用", "让", "为", "通过", "叫", "按照"];
    let verb = message.find(['买', '卖'])?;
    let (from, word) = BEFORE.iter().find_map(|word| {
        let at = message.get(..verb)?.find(word)?;
        Some((at, *word))
    })?;
    let named = message.get(from + word.len()..verb)?;
    let mut rest = numerals(&named.to_lowercase());
    let own = WORDS.around_order.iter().filter(|word| !word.is_ascii());
    let assets = WORDS.assets.values().flatten();
    let mut own: Vec<&String> = own.chain(assets).collect();
    own.sort_by_key(|word| std::cmp::Reverse(word.len()));
    for word in own {
        rest = rest.replace(word.as_str(), " ");
    }
    let is_named = rest.contains(|c: char| c.is_alphabetic()) && !named.contains(['，', '。', ',']);
    is_named.then(|| format!("{word}{}", named.trim()))
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
            UserWish::Removal(name) => format!("remove {}", name.unwrap_or("?".into())),
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
        ("delete trader alpha", "remove alpha"),
        ("删除交易员阿尔法", "remove 阿尔法"),
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
    fn what_a_message_wants() {
        for (message, expected) in MESSAGES {
            assert_eq!(wished(message), *expected, "{message}");
        }
    }
}
