//! The live facts: their list, the tools that need them, and their sources. All of it is data, in
//! `facts.toml`.
use std::{collections::BTreeMap, sync::LazyLock, time::Duration};

use fugato::{BoxError, agent::plan::LiveFacts, memory::TaskUpdate};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    exchange::{Exchange, Kind},
    intent,
};

/// Something that changes outside of the conversation, and that a message can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// The configured models.
    Models,
    /// The configured exchanges.
    Exchanges,
    /// The configured strategies.
    Strategies,
    /// The existing traders.
    Traders,
    /// The balance of each asset.
    Balances,
    /// The positions.
    Positions,
    /// The newest trades, at most [`MOST_TRADES`].
    Trades,
    /// The prices of the symbols.
    Prices,
    /// The open orders.
    Orders,
}

/// The declaration of a topic in `facts.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FactDeclaration {
    /// Its name among the snapshots.
    pub kind: String,
    /// The title, in English and in Chinese.
    pub title: [String; 2],
    /// The words by which people ask for it.
    pub words: Vec<String>,
    /// The tool that reads it.
    pub tool: String,
    /// The other tools that need it.
    #[serde(default)]
    pub needed_by: Vec<String>,
    /// The name for one item of it, if words such as "it" can refer to one.
    #[serde(default)]
    pub is_named: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    tools: BTreeMap<String, [String; 2]>,
    facts: BTreeMap<Topic, FactDeclaration>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    toml::from_str(include_str!("../facts.toml")).expect("the table is part of the program")
});

/// Returns all facts.
pub fn all() -> &'static BTreeMap<Topic, FactDeclaration> {
    &TABLE.facts
}

/// Returns the read tools by name, with their descriptions in English and in Chinese.
pub fn tools() -> &'static BTreeMap<String, [String; 2]> {
    &TABLE.tools
}

/// Returns true if a tool only reads live facts.
pub fn is_read(tool: &str) -> bool {
    TABLE.tools.contains_key(tool)
}

/// The most trades that one look-up returns.
pub const MOST_TRADES: usize = 10;

impl Topic {
    /// Returns the declaration of this topic.
    pub(crate) fn fact(self) -> &'static FactDeclaration {
        all().get(&self).expect("the table has all topics")
    }

    /// Returns true if it is about what exists or what can be done: only a look-up can answer it.
    pub fn is_existence(self) -> bool {
        self.fact().is_named.is_some()
    }
}

/// Returns the topic whose fact shows whether the referent of this kind still exists.
pub fn of_reference(kind: &str) -> Option<Topic> {
    let mut facts = all().iter();
    let found = facts.find(|(_, fact)| fact.is_named.as_deref() == Some(kind));
    found.map(|(topic, _)| *topic)
}

/// Returns the declared facts. No snapshot is reused: each is looked up again rather than dropped.
pub fn declared() -> LiveFacts {
    all().values().fold(LiveFacts::new(), |facts, fact| {
        let tools = fact.needed_by.iter().chain([&fact.tool]);
        facts.fact(&fact.kind, Duration::ZERO, tools)
    })
}

impl Exchange {
    /// Looks up the present value of a declared kind of fact.
    pub async fn fetch(&self, kind: &str) -> Result<Value, BoxError> {
        let mut facts = all().iter();
        let found = facts.find(|(_, fact)| fact.kind == kind);
        let (topic, _) = found.ok_or_else(|| format!("nobody looks up {kind:?}"))?;
        Ok(match topic {
            Topic::Models => json!(self.configs(Kind::Model).await?),
            Topic::Exchanges => json!(self.configs(Kind::Exchange).await?),
            Topic::Strategies => json!(self.configs(Kind::Strategy).await?),
            Topic::Traders => json!(self.traders().await?),
            Topic::Balances => json!(self.balances().await?),
            Topic::Positions => json!(self.positions().await?),
            Topic::Trades => json!(self.trades(MOST_TRADES).await?),
            Topic::Prices => json!(self.prices().await?),
            Topic::Orders => json!(self.open_orders().await?),
        })
    }
}

/// Looks up all facts that are chosen, and returns them by kind.
pub async fn looked_up(
    desk: &Exchange,
    chosen: impl Fn(&FactDeclaration) -> bool,
) -> Result<Map<String, Value>, BoxError> {
    let mut found = Map::new();
    for fact in all().values().filter(|fact| chosen(fact)) {
        found.insert(fact.kind.clone(), desk.fetch(&fact.kind).await?);
    }
    Ok(found)
}

/// Returns true if a line states something that can be looked up, such as what exists: a summary
/// must not contain it.
pub fn is_live(line: &str) -> bool {
    // A person's wishes about an order or a trade are their own words, and no live fact.
    let is_own = |topic: &Topic| matches!(topic, Topic::Orders | Topic::Trades);
    intent::topics(line).iter().any(|topic| !is_own(topic))
}

/// Returns a change of the task state without the facts that can be looked up. Goals and open
/// questions may name anything: they are wishes, not facts.
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
    use std::collections::BTreeSet;

    use fugato::memory::TaskSummary;

    use super::*;

    #[tokio::test]
    async fn pln_w11_every_declared_fact_can_be_looked_up() {
        let desk = Exchange::in_memory().expect("a desk");
        let facts = declared();
        for kind in facts.kinds() {
            let found = desk.fetch(kind).await;
            assert!(found.is_ok_and(|value| value.is_array()), "{kind}");
        }
        assert!(desk.fetch("weather").await.is_err());
        // Every topic has its table, and every tool something to read.
        assert_eq!((all().len(), facts.kinds().count()), (9, 9));
        let read: BTreeSet<&String> = all().values().map(|fact| &fact.tool).collect();
        assert!(read.into_iter().eq(tools().keys()));
    }

    #[test]
    fn pln_16b_these_kinds_are_looked_up() {
        let facts = declared();
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
        let configured = [
            "current_exchange_configs",
            "current_model_configs",
            "current_strategies",
            "current_traders",
        ];
        for topic in [Topic::Models, Topic::Traders] {
            let due = facts.due(&[&topic.fact().tool], |_| Some(7), 7);
            assert_eq!(due, configured);
        }
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
