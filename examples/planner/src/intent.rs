//! What a message is about, by rule: in English and in Chinese.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{amount::Amount, desk::Side};

/// Something that a message can be about, and that changes outside of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// Which models are configured.
    Models,
    /// Which exchanges are configured.
    Exchanges,
    /// Which strategies are configured.
    Strategies,
    /// Which traders there are.
    Traders,
    /// Whether a trader can be made.
    Ability,
    /// How much there is of what.
    Balances,
    /// What is held.
    Positions,
    /// What was traded.
    Trades,
    /// What something costs.
    Prices,
    /// Which orders wait.
    Orders,
}

/// What a person wants to be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// To be told something.
    Told,
    /// A trader, with the name that they gave.
    Trader(Option<String>),
    /// An order: what they said of it.
    Order {
        /// Whether to buy or to sell.
        side: Side,
        /// How much.
        quantity: Option<Amount>,
        /// At which price.
        price: Option<Amount>,
    },
    /// To give an order up, with its number.
    Cancellation(Option<i64>),
}

impl Topic {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Models,
        Self::Exchanges,
        Self::Strategies,
        Self::Traders,
        Self::Ability,
        Self::Balances,
        Self::Positions,
        Self::Trades,
        Self::Prices,
        Self::Orders,
    ];

    /// The name under which it is declared what it needs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Models => "models",
            Self::Exchanges => "exchanges",
            Self::Strategies => "strategies",
            Self::Traders => "traders",
            Self::Ability => "ability",
            Self::Balances => "balances",
            Self::Positions => "positions",
            Self::Trades => "trades",
            Self::Prices => "prices",
            Self::Orders => "orders",
        }
    }

    /// Whether it is about what exists or what can be done: a look answers it, and nothing else.
    pub fn is_existence(self) -> bool {
        matches!(
            self,
            Self::Models | Self::Exchanges | Self::Strategies | Self::Traders | Self::Ability
        )
    }

    /// How English words about it begin, and Chinese ones are written.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Models => &["model", "模型"],
            Self::Exchanges => &["exchange", "交易所"],
            Self::Strategies => &["strateg", "策略"],
            Self::Traders => &["trader", "bot", "交易员", "機器人", "机器人"],
            Self::Ability => &[],
            Self::Balances => &[
                "balance", "fund", "cash", "money", "余额", "資金", "资金", "钱",
            ],
            Self::Positions => &["position", "holding", "持仓", "仓位"],
            Self::Trades => &["trades", "history", "成交", "交易记录"],
            Self::Prices => &["price", "quote", "cost", "价格", "行情", "报价", "多少钱"],
            Self::Orders => &["order", "挂单", "委托", "订单"],
        }
    }
}

/// What a message is about. When in doubt it is about more: a look too many does no harm.
pub fn topics(message: &str) -> BTreeSet<Topic> {
    let words = words(message);
    let about = |topic: &Topic| {
        topic
            .words()
            .iter()
            .any(|word| mentions(message, &words, word))
    };
    let mut topics: BTreeSet<Topic> = Topic::ALL.into_iter().filter(about).collect();
    if is_ability(message) {
        topics.insert(Topic::Ability);
    }
    topics
}

/// What a message wants to be done.
pub fn wish(message: &str) -> Wish {
    let words = words(message);
    let any = |all: &[&str]| all.iter().any(|word| mentions(message, &words, word));
    if any(&["cancel", "withdraw", "取消", "撤"]) && any(Topic::Orders.words()) {
        let mut digits = message.split(|c: char| !c.is_ascii_digit());
        return Wish::Cancellation(digits.find_map(|number| number.parse().ok()));
    }
    if any(Topic::Traders.words()) && any(MAKING) && !is_ability(message) {
        return Wish::Trader(named(message));
    }
    let side = match (any(&["buy", "买"]), any(&["sell", "卖"])) {
        (true, false) => Side::Buy,
        (false, true) => Side::Sell,
        _ => return Wish::Told,
    };
    if is_question(message) {
        return Wish::Told;
    }
    let (quantity, price) = numbers(message);
    Wish::Order {
        side,
        quantity,
        price,
    }
}

const MAKING: &[&str] = &[
    "create",
    "make",
    "add",
    "new",
    "set up",
    "创建",
    "新建",
    "建立",
    "新增",
    "加一个",
];

/// Whether somebody asks if a trader can be made, and does not ask for one.
fn is_ability(message: &str) -> bool {
    let words = words(message);
    let any = |all: &[&str]| all.iter().any(|word| mentions(message, &words, word));
    let asks = any(&[
        "can i",
        "could i",
        "can we",
        "am i able",
        "is it possible",
        "what do i need",
    ]) || (is_question(message) && any(&["能", "可以", "可否", "possible"]));
    asks && any(Topic::Traders.words()) && any(MAKING)
}

fn is_question(message: &str) -> bool {
    message.trim_end().ends_with(['?', '？', '吗', '么', '呢'])
}

/// The words of a message in lower case, with one space between them and around all.
fn words(message: &str) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let lower = message.to_ascii_lowercase();
    let words: Vec<_> = lower
        .split(|c| !part(c))
        .filter(|word| !word.is_empty())
        .collect();
    format!(" {} ", words.join(" "))
}

/// Whether a message has a word that begins so, or these Chinese characters.
fn mentions(message: &str, words: &str, word: &str) -> bool {
    if word.is_ascii() {
        words.contains(&format!(" {word}"))
    } else {
        message.contains(word)
    }
}

/// Which of these names a message mentions, as a whole word; the longest, if several.
pub fn mentioned<'a>(message: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = message.to_lowercase();
    let is_mentioned = |name: &&str| {
        let name = name.to_lowercase();
        let inner = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        lower.match_indices(&name).any(|(at, found)| {
            let before = lower.get(..at).and_then(|text| text.chars().next_back());
            let after = lower
                .get(at + found.len()..)
                .and_then(|text| text.chars().next());
            !name.is_empty() && !inner(before) && !inner(after)
        })
    };
    names
        .into_iter()
        .filter(is_mentioned)
        .max_by_key(|name| name.len())
}

/// What somebody says that something is called.
pub fn named(message: &str) -> Option<String> {
    const BEFORE: [&str; 8] = [
        "named",
        "called",
        "名字是",
        "名字叫",
        "名为",
        "名叫",
        "叫做",
        "叫",
    ];
    let lower = message.to_ascii_lowercase();
    let after = BEFORE.iter().find_map(|word| {
        let at = lower.find(word)?;
        message.get(at + word.len()..)
    })?;
    let after = after.trim_start_matches(|c: char| c.is_whitespace() || "\"'“「:：".contains(c));
    let name: String = after.chars().take_while(|c| is_name(*c)).collect();
    (!name.is_empty()).then_some(name)
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_')
}

/// How much, and at which price: a number after one of the words for a price is one.
pub fn numbers(message: &str) -> (Option<Amount>, Option<Amount>) {
    const PRICE: [&str; 8] = ["at", "@", "limit", "price", "价格", "限价", "价", "以"];
    let lower = message.to_lowercase();
    let (mut quantity, mut price) = (None, None);
    let mut rest = lower.as_str();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c: char| !(c.is_ascii_digit() || c == '.'));
        let (number, after) = from.split_at(end.unwrap_or(from.len()));
        let before = before.trim_end();
        let is_price = PRICE.iter().any(|word| {
            let head = before.strip_suffix(word);
            // "what 5" does not end in "at".
            let inner = |head: &str| head.ends_with(|c: char| c.is_ascii_alphabetic());
            head.is_some_and(|head| !word.is_ascii() || *word == "@" || !inner(head))
        });
        if let Ok(amount) = number.trim_end_matches('.').parse::<Amount>() {
            let place = if is_price { &mut price } else { &mut quantity };
            place.get_or_insert(amount);
        }
        rest = after;
    }
    (quantity, price)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Amount {
        text.parse().expect("an amount")
    }

    #[test]
    fn pln_21_what_a_message_is_about() {
        use Topic::{Ability, Balances, Exchanges, Models, Orders, Prices, Traders};
        let cases: [(&str, &[Topic]); 9] = [
            ("Which models and traders are there?", &[Models, Traders]),
            ("现在有哪些交易所？", &[Exchanges]),
            ("Can I create a trader now?", &[Traders, Ability]),
            ("现在可以创建交易员吗", &[Traders, Ability]),
            ("Create a trader named alpha", &[Traders]),
            ("我的余额是多少", &[Balances]),
            ("What is the price of BTC?", &[Prices]),
            ("show my open orders", &[Orders]),
            ("Good morning!", &[]),
        ];
        for (message, expected) in cases {
            assert_eq!(
                topics(message),
                expected.iter().copied().collect(),
                "{message}"
            );
        }
    }

    #[test]
    fn what_a_message_wants() {
        let order = |side, quantity: Option<&str>, price: Option<&str>| {
            let (quantity, price) = (quantity.map(amount), price.map(amount));
            Wish::Order {
                side,
                quantity,
                price,
            }
        };
        let cases = [
            ("Which traders are there?", Wish::Told),
            ("Can I create a trader?", Wish::Told),
            (
                "create a trader named alpha-1, please",
                Wish::Trader(Some("alpha-1".into())),
            ),
            ("新建一个交易员", Wish::Trader(None)),
            (
                "创建交易员，名叫小明，用 glimmer",
                Wish::Trader(Some("小明".into())),
            ),
            ("buy 0.25 BTC", order(Side::Buy, Some("0.25"), None)),
            (
                "Sell 1 ETH-USDT at 3210.5.",
                order(Side::Sell, Some("1"), Some("3210.5")),
            ),
            (
                "以 60000 买 0.1 BTC",
                order(Side::Buy, Some("0.1"), Some("60000")),
            ),
            ("买一点 BTC", order(Side::Buy, None, None)),
            ("Should I buy BTC?", Wish::Told),
            ("cancel order 7", Wish::Cancellation(Some(7))),
            ("撤销订单", Wish::Cancellation(None)),
        ];
        for (message, expected) in cases {
            assert_eq!(wish(message), expected, "{message}");
        }
    }

    #[test]
    fn a_name_is_mentioned_as_a_whole_word() {
        let names = ["grid", "grid-2", "trend"];
        assert_eq!(mentioned("use grid-2", names), Some("grid-2"));
        assert_eq!(mentioned("用grid吧", names), Some("grid"));
        assert_eq!(mentioned("gridlock", names), None);
        assert_eq!(mentioned("nothing", [""]), None);
    }
}
