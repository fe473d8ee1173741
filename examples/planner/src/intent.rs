//! The topics and wishes of a message, read by rule in English and in Chinese. The words are in
//! `words.toml` and `facts.toml`.
use std::{collections::BTreeSet, sync::LazyLock};

use fugato::words::{OrderTerms, has_word, is_negated, is_question, named, number_after};
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
    /// An order: how much, and at which price.
    Order(Side, OrderTerms),
    /// To give an order up, with its number.
    Cancellation(Option<i64>),
}

impl UserWish {
    /// Returns the tool that fulfils it.
    pub fn tool(&self) -> Option<&'static str> {
        match self {
            Self::Told => None,
            Self::Trader(_) => Some("create_trader"),
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
    create: Vec<String>,
    able: Vec<String>,
    able_in_question: Vec<String>,
    opinion: Vec<String>,
    tell: Vec<String>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    toml::from_str(include_str!("../words.toml")).expect("the words are part of the program")
});

fn says(message: &str, words: &[String]) -> bool {
    let lower = message.to_lowercase();
    words.iter().any(|word| has_word(&lower, word))
}

/// Returns the topics of a message. In doubt it returns more: an extra look-up does no harm.
pub fn topics(message: &str) -> BTreeSet<Topic> {
    let all = facts::all().iter();
    let about = all.filter(|(_, fact)| says(message, &fact.words));
    about.map(|(topic, _)| *topic).collect()
}

/// Returns true if a message asks for something that can be looked up, with or without a question
/// mark.
pub fn asks_about(message: &str) -> bool {
    let asks = is_question(message) || asks_ability(message) || says(message, &WORDS.tell);
    asks && !topics(message).is_empty()
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

fn names_new_trader(message: &str) -> bool {
    says(message, &Topic::Traders.fact().words) && says(message, &WORDS.create)
}

/// Returns the wish of a message.
pub fn wish(message: &str) -> UserWish {
    let number = order_number(message);
    let names_order = number.is_some() || says(message, &Topic::Orders.fact().words);
    let (wish, verbs, is_asked) = if says(message, &WORDS.cancel) && names_order {
        (
            UserWish::Cancellation(number),
            &WORDS.cancel,
            is_question(message),
        )
    } else if names_new_trader(message) {
        let is_asked = asks_ability(message);
        (UserWish::Trader(named(message)), &WORDS.create, is_asked)
    } else {
        let (side, verbs) = match (says(message, &WORDS.buy), says(message, &WORDS.sell)) {
            (true, false) => (Side::Buy, &WORDS.buy),
            (false, true) => (Side::Sell, &WORDS.sell),
            _ => return UserWish::Told,
        };
        let order = UserWish::Order(side, OrderTerms::of(message, side.limit()));
        (order, verbs, is_question(message))
    };
    if is_asked || is_negated(message, verbs) {
        UserWish::Told
    } else {
        wish
    }
}

/// Returns the number of an order: the only one directly after a word for an order or for a number.
pub fn order_number(message: &str) -> Option<i64> {
    number_after(message, &WORDS.number)
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

    /// Returns a wish in a few words.
    fn wished(message: &str) -> String {
        let shown = |amount: Option<Amount>| amount.map_or("?".into(), |it| it.to_string());
        match wish(message) {
            UserWish::Told => "told".into(),
            UserWish::Trader(name) => format!("trader {}", name.unwrap_or("?".into())),
            UserWish::Cancellation(None) => "cancel ?".into(),
            UserWish::Cancellation(Some(number)) => format!("cancel {number}"),
            UserWish::Order(side, it) => {
                let (side, much, price) = (side.as_str(), shown(it.quantity), shown(it.price));
                format!("{side} {much} at {price}")
            }
        }
    }

    #[test]
    fn what_a_message_wants() {
        for (message, expected) in [
            ("Which traders are there?", "told"),
            ("Can I create a trader?", "told"),
            ("create a trader named alpha-1, please", "trader alpha-1"),
            ("新建一个交易员", "trader ?"),
            ("创建交易员，名叫小明，用 glimmer", "trader 小明"),
            ("do not create a trader", "told"),
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
        ] {
            assert_eq!(wished(message), expected, "{message}");
        }
    }
}
