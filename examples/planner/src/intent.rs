//! What a message is about, by rule: in English and in Chinese.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{
    desk::Side,
    figures::{Figures, ends_in, figures},
};

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
        /// How much, and at which price.
        figures: Figures,
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

/// Whether a message asks for something that can be looked up, with or without a question mark.
pub fn asks_about(message: &str) -> bool {
    const WITHIN: [&str; 6] = ["哪些", "哪个", "有没有", "多少", "什么", "看看"];
    let is_question =
        asks(message) || is_ability(message) || WITHIN.iter().any(|part| message.contains(part));
    is_question && !topics(message).is_empty()
}

/// What a message wants to be done.
pub fn wish(message: &str) -> Wish {
    let words = words(message);
    let any = |all: &[&str]| all.iter().any(|word| mentions(message, &words, word));
    if any(CANCELLING) && (any(Topic::Orders.words()) || order_number(message).is_some()) {
        if asks(message) || is_denied(message, CANCELLING) {
            return Wish::Told;
        }
        return Wish::Cancellation(order_number(message));
    }
    if any(Topic::Traders.words()) && any(MAKING) && !is_ability(message) {
        if is_denied(message, MAKING) {
            return Wish::Told;
        }
        return Wish::Trader(named(message));
    }
    let side = match (any(&["buy", "买"]), any(&["sell", "卖"])) {
        (true, false) => Side::Buy,
        (false, true) => Side::Sell,
        _ => return Wish::Told,
    };
    if asks(message) || is_denied(message, TRADING) {
        return Wish::Told;
    }
    let figures = figures(message, side);
    Wish::Order { side, figures }
}

const CANCELLING: &[&str] = &["cancel", "withdraw", "取消", "撤"];
const TRADING: &[&str] = &["buy", "sell", "买", "卖"];
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

/// Whether somebody wants to know something: by its end, or by its first word.
fn asks(message: &str) -> bool {
    const FIRST: [&str; 16] = [
        "did", "do", "does", "have", "has", "had", "is", "are", "was", "were", "why", "when",
        "how", "what", "which", "should",
    ];
    let words = words(message);
    let first = words.split_whitespace().next();
    is_question(message) || first.is_some_and(|word| FIRST.contains(&word))
}

/// Whether one of these is what is not to be done, or what was not done.
fn is_denied(message: &str, verbs: &[&str]) -> bool {
    const NOT: [&str; 14] = [
        "不", "别", "没", "勿", "未", "不要", "没有", "不想", "不用", "不必", "不能", "不会",
        "不再", "别再",
    ];
    let lower = message.to_lowercase().replace('’', "'");
    let denies = |before: &str| {
        let before = before.trim_end();
        let before = before.trim_end_matches("帮我").trim_end_matches("给我");
        NOT.iter().any(|not| before.ends_with(not)) || says_not(before)
    };
    let mut clauses = lower.split([',', ';', '!', '，', '；', '！', '。', '\n']);
    clauses.any(|clause| {
        let verbs = verbs.iter().flat_map(|verb| clause.match_indices(verb));
        let mut before = verbs.filter_map(|(at, _)| clause.get(..at));
        before.any(denies)
    })
}

/// Whether there is a "not", and not one of "not below 3".
fn says_not(before: &str) -> bool {
    const NOT: [&str; 5] = ["not", "never", "dont", "cannot", "without"];
    const BOUND: [&str; 7] = ["below", "above", "under", "over", "less", "more", "only"];
    let words: Vec<&str> = before.split_whitespace().collect();
    let mut pairs = words.iter().zip(words.iter().skip(1).chain([&""]));
    pairs.any(|(word, next)| {
        let is_not = NOT.contains(word) || word.ends_with("n't");
        is_not && !BOUND.contains(next)
    })
}

/// The number of an order: the only one directly after a word for an order or for a number.
pub fn order_number(message: &str) -> Option<i64> {
    const BEFORE: [&str; 10] = [
        "order", "#", "no.", "number", "id", "订单", "挂单", "委托", "编号", "号",
    ];
    let lower = message.to_lowercase();
    let (mut found, mut at) = (BTreeSet::new(), 0);
    while let Some(from) = lower.get(at..).and_then(|rest| rest.find(is_digit)) {
        let (before, rest) = lower.split_at(at + from);
        let end = rest.find(|c| !is_digit(c)).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        at = lower.len() - after.len();
        let goes_on = after.trim_start_matches(['.', ',']);
        let is_whole = !goes_on.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '%');
        let before = before.trim_end_matches(|c: char| c.is_whitespace() || ":：".contains(c));
        if is_whole && BEFORE.iter().any(|word| ends_in(before, word).is_some()) {
            found.insert(digits.parse().ok()?);
        }
    }
    found.pop_first().filter(|_| found.is_empty())
}

/// The number that an answer to "which order" names.
pub fn answered_number(reply: &str) -> Option<i64> {
    let alone = reply.trim_matches(|c: char| c.is_whitespace() || "#.。号".contains(c));
    order_number(reply).or_else(|| alone.parse().ok().filter(|number| *number >= 0))
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
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

#[cfg(test)]
mod tests {
    use super::*;

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
            let amount = |text: &str| text.parse().expect("an amount");
            let figures = Figures {
                quantity: quantity.map(amount),
                price: price.map(amount),
                is_unclear: false,
            };
            Wish::Order { side, figures }
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
            ("Cancel my 2 BTC order #7.", Wish::Cancellation(Some(7))),
            ("cancel my 2 BTC order", Wish::Cancellation(None)),
            ("cancel orders 7 and 8", Wish::Cancellation(None)),
            ("cancel order 7 and order 8", Wish::Cancellation(None)),
            ("cancel order 0.5", Wish::Cancellation(None)),
            ("撤销订单", Wish::Cancellation(None)),
            ("取消编号：12 的挂单", Wish::Cancellation(Some(12))),
            ("Did you cancel order 7?", Wish::Told),
            ("did you cancel order 7", Wish::Told),
            ("don't cancel order 7", Wish::Told),
            ("Please do not yet cancel order 7", Wish::Told),
            ("不要取消订单 7", Wish::Told),
            ("订单 7 撤了吗", Wish::Told),
            ("Don’t sell 1 ETH", Wish::Told),
            ("先别卖 1 ETH", Wish::Told),
            ("do not create a trader", Wish::Told),
            (
                "Don't worry, sell 1 ETH",
                order(Side::Sell, Some("1"), None),
            ),
            (
                "以不低于 4000 卖 1 ETH",
                order(Side::Sell, Some("1"), Some("4000")),
            ),
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
