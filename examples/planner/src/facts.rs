//! Live facts: which there are, what needs them, and where they come from. All of it is data.
use std::time::Duration;

use async_trait::async_trait;
use fugato::{
    BoxError,
    agent::preflight::{FactError, FactSource, LiveFacts},
    memory::TaskUpdate,
};
use serde_json::{Value, json};

use crate::{
    desk::{Desk, Kind},
    intent::{self, Topic},
};

/// The kinds of facts, and which topics and tools need each.
///
/// A question about what exists or can be done needs all that is configured: what a trader can be
/// made of is one question.
pub const NEEDED_BY: [(&str, &[&str]); 9] = [
    (MODELS, CONFIGURED),
    (EXCHANGES, CONFIGURED),
    (TRADERS, CONFIGURED),
    (STRATEGIES, CONFIGURED),
    (BALANCES, &["balances", "place_order", "get_balances"]),
    (POSITIONS, &["positions", "get_positions"]),
    (TRADES, &["trades", "get_trade_history"]),
    (PRICES, &["prices", "place_order", "get_prices"]),
    (ORDERS, &["orders", "cancel_order", "get_open_orders"]),
];

const CONFIGURED: &[&str] = &[
    "models",
    "exchanges",
    "strategies",
    "traders",
    "ability",
    "create_trader",
    "get_configs",
];

/// Which models are configured.
pub const MODELS: &str = "current_model_configs";
/// Which exchanges are configured.
pub const EXCHANGES: &str = "current_exchange_configs";
/// Which traders there are.
pub const TRADERS: &str = "current_traders";
/// Which strategies are configured.
pub const STRATEGIES: &str = "current_strategies";
/// How much there is of each asset.
pub const BALANCES: &str = "current_balances";
/// What is held of each symbol.
pub const POSITIONS: &str = "current_positions";
/// The newest trades: at most [`MOST_TRADES`].
pub const TRADES: &str = "recent_trade_history";
/// The best offers.
pub const PRICES: &str = "current_prices";
/// The orders that wait.
pub const ORDERS: &str = "current_orders";

/// How many trades a look at them shows.
pub const MOST_TRADES: usize = 10;

/// Which fact tells whether what a word stands for is there.
pub fn of_reference(kind: &str) -> Option<&'static str> {
    match kind {
        "model" => Some(MODELS),
        "exchange" => Some(EXCHANGES),
        "strategy" => Some(STRATEGIES),
        "trader" => Some(TRADERS),
        _ => None,
    }
}

/// What is declared. No look is young enough to be believed a second time, and what is in view is
/// looked up again rather than dropped.
pub fn declared() -> Result<LiveFacts, FactError> {
    let mut facts = LiveFacts::new();
    for (kind, needed_by) in NEEDED_BY {
        facts = facts.fact(kind, Duration::ZERO).needed_by(kind, [kind]);
        for name in needed_by {
            facts = facts.needed_by(*name, [kind]);
        }
    }
    facts.checked()
}

#[async_trait]
impl FactSource for Desk {
    async fn fetch(&self, kind: &str) -> Result<Value, BoxError> {
        let configs = async |kind| Ok::<_, BoxError>(json!(self.configs(kind).await?));
        Ok(match kind {
            MODELS => configs(Kind::Model).await?,
            EXCHANGES => configs(Kind::Exchange).await?,
            STRATEGIES => configs(Kind::Strategy).await?,
            TRADERS => json!(self.traders().await?),
            BALANCES => json!(self.balances().await?),
            POSITIONS => json!(self.positions().await?),
            TRADES => json!(self.trades(MOST_TRADES).await?),
            PRICES => json!(self.prices().await?),
            ORDERS => json!(self.open_orders().await?),
            other => return Err(format!("nobody knows how to look up {other:?}").into()),
        })
    }
}

/// Whether a line tells what can be looked up, such as what exists: a summary must not hold it.
pub fn is_live(line: &str) -> bool {
    let about = |topic: &Topic| {
        // What somebody wants done with an order or a trade is theirs to say.
        topic.is_existence() || matches!(topic, Topic::Balances | Topic::Positions | Topic::Prices)
    };
    intent::topics(line).iter().any(about)
}

/// A change of what is known of the task, without what can be looked up. Goals and open questions
/// may name anything: they say what is wanted, not what is.
#[must_use]
pub fn without_live(update: TaskUpdate) -> TaskUpdate {
    match update {
        TaskUpdate::Merged { mut summary, at } => {
            summary.facts.retain(|fact| !is_live(fact));
            TaskUpdate::Merged { summary, at }
        }
        TaskUpdate::Learnt { fact, at } if is_live(&fact) => TaskUpdate::Learnt {
            fact: String::new(),
            at,
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use fugato::memory::TaskSummary;

    use super::*;

    #[test]
    fn pln_w11_every_declared_fact_can_be_looked_up() {
        let desk = Desk::in_memory().expect("a desk");
        let facts = declared().expect("they are meant");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        for kind in facts.kinds() {
            let found = runtime.block_on(desk.fetch(kind));
            assert!(found.is_ok_and(|value| value.is_array()), "{kind}");
        }
        assert!(runtime.block_on(desk.fetch("weather")).is_err());
    }

    #[test]
    fn pln_16b_these_kinds_are_looked_up() {
        let facts = declared().expect("they are meant");
        let kinds: Vec<&str> = facts.kinds().collect();
        for kind in [
            "current_model_configs",
            "current_exchange_configs",
            "current_traders",
            "current_strategies",
            "current_balances",
            "current_positions",
            "recent_trade_history",
        ] {
            assert!(kinds.contains(&kind), "{kind} is not among {kinds:?}");
        }
        assert_eq!(MOST_TRADES, 10);
        // PLN-21: one question about what is configured looks at all of it.
        let due = facts.due(&["ability"], |_| Some(7), 7);
        assert_eq!(due, [EXCHANGES, MODELS, STRATEGIES, TRADERS]);
    }

    #[test]
    fn pln_4_what_can_be_looked_up_is_no_fact_of_a_task() {
        for live in ["there are two traders", "余额是 100", "BTC price is 64000"] {
            assert!(is_live(live), "{live}");
        }
        for own in ["wants at most 2 % risk", "只做白天"] {
            assert!(!is_live(own), "{own}");
        }
        let summary = TaskSummary {
            facts: vec![
                "the trader alpha exists".into(),
                "risk is at most 2 %".into(),
            ],
            ..TaskSummary::default()
        };
        let TaskUpdate::Merged { summary, .. } =
            without_live(TaskUpdate::Merged { summary, at: 0 })
        else {
            panic!("it is another change");
        };
        assert_eq!(summary.facts, ["risk is at most 2 %"]);
    }
}
