//! Messages that wish for several things.
use fugato::words::{Lang, OrderTerms, clauses, is_question, numerals};

use super::{
    UserWish, WORDS, assets, names_new_trader, order_number, says, trades, trades_not, untraded,
    wish,
};
use crate::{exchange::Side, facts::Topic};

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
    if matches!(whole, UserWish::Order(..))
        && let Some(words) = of_another_asset(message)
    {
        return vec![(UserWish::Several(words), message.to_owned())];
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
pub(super) fn another(message: &str) -> Option<String> {
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
    let mut again = names.iter().filter_map(|word| {
        let (last, first) = (message.rfind(word)?, message.find(word)?);
        (last > first).then_some(last)
    });
    let second = again.next().filter(|_| names_new_trader(message));
    let second = second.and_then(|last| message.get(last..));
    parts
        .into_iter()
        .nth(1)
        .map(|(_, part)| part)
        .or(second.map(str::to_owned))
}

/// Returns the part of an order that tells how much of another asset than the first: "BTC for 1000".
fn of_another_asset(message: &str) -> Option<String> {
    let asset = |part: &str| assets(part).into_iter().find(|asset| *asset != "USDT");
    let parts = clauses(message, &BREAKS, asset, |before, next, _| before == next);
    let counts = |(_, part): &(&str, String)| numerals(part).contains(|c: char| c.is_ascii_digit());
    let mut counted = parts.into_iter().filter(counts);
    counted.nth(1).map(|(_, part)| part)
}

/// Returns the question of a message that begins with an order: "buy 0.1 BTC, and what is my balance?".
pub(super) fn asked_behind(message: &str) -> Option<String> {
    let asks = |part: &str| Some(is_question(part));
    let parts = clauses(message, &BREAKS, asks, |_, _, _| false);
    let mut parts = parts.into_iter();
    let (_, first) = parts.next().filter(|(asks, _)| !asks)?;
    let lower = first.trim_start().to_lowercase();
    let lower = lower.strip_prefix("please ").unwrap_or(&lower);
    let mut verbs = WORDS.buy.iter().chain(&WORDS.sell);
    let begins = verbs.any(|verb| lower.starts_with(verb.as_str()));
    let (_, question) = parts.find(|(asks, _)| *asks).filter(|_| begins)?;
    let is_whole = matches!(wish(&first), UserWish::Order(_, terms) if terms.quantity.is_some());
    is_whole.then_some(question)
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
