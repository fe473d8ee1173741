//! The configuration: models, exchanges, strategies, and the traders made of them.
use fugato::{
    graph::digest,
    sqlite::rusqlite::{self, OptionalExtension as _, Row},
    state::{Lang, say},
};
use serde::{Deserialize, Serialize};

use super::{Exchange, ExchangeError, ExchangeState, refused};

/// A kind of configuration, other than traders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A model, which decides for a trader.
    Model,
    /// An exchange, on which a trader trades.
    Exchange,
    /// A strategy, by which a trader trades.
    Strategy,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Model, Self::Exchange, Self::Strategy];

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Exchange => "exchange",
            Self::Strategy => "strategy",
        }
    }

    /// Returns the word for it in the language that is spoken now.
    pub fn word(self) -> &'static str {
        let chinese = match self {
            Self::Model => "模型",
            Self::Exchange => "交易所",
            Self::Strategy => "策略",
        };
        Lang::current().pick(self.as_str(), chinese)
    }
}

/// Something that is configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Its name.
    pub name: String,
    /// A note on its purpose.
    pub note: String,
    /// True if it may be used.
    pub enabled: bool,
}

/// A trader, or one that somebody wants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trader {
    /// The name.
    #[schemars(extend("x-zh" = "名称。"))]
    pub name: String,
    /// The name of a model that is configured.
    #[schemars(extend("x-zh" = "已配置的模型的名称。"))]
    pub model: String,
    /// The name of an exchange that is configured.
    #[schemars(extend("x-zh" = "已配置的交易所的名称。"))]
    pub exchange: String,
    /// The name of a strategy that is configured; empty for none.
    #[schemars(extend("x-zh" = "已配置的策略的名称；没有则留空。"))]
    #[serde(default)]
    pub strategy: String,
    /// Tells it from another one that is made under its name when it is gone; empty for one that is not
    /// made yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(skip)]
    pub incarnation: String,
}

const TRADERS: &str = "SELECT name, model, exchange, strategy, made_by FROM traders";

impl Exchange {
    /// Returns the configurations of a kind, by name.
    pub async fn configs(&self, kind: Kind) -> Result<Vec<Config>, ExchangeError> {
        self.with(move |moment| moment.configs(kind)).await
    }

    /// Returns all traders, by name.
    pub async fn traders(&self) -> Result<Vec<Trader>, ExchangeError> {
        let query = format!("{TRADERS} ORDER BY name");
        self.with(move |moment| moment.rows(&query, [], trader))
            .await
    }

    /// Returns the incarnation of the trader of this name, at once; none if there is none.
    pub(crate) fn incarnation(&self, name: &str) -> Result<Option<String>, ExchangeError> {
        let query = format!("{TRADERS} WHERE name = ?1");
        self.tables.with_now(|connection| {
            let found = connection.query_row(&query, [name], trader).optional()?;
            Ok(found.map(|trader| trader.incarnation))
        })
    }

    /// Adds a configuration, or replaces the one of this name.
    pub async fn configure(&self, kind: Kind, config: Config) -> Result<(), ExchangeError> {
        if config.name.trim().is_empty() {
            return refused(say!("a {} needs a name", "{}要有名称", kind.word()));
        }
        let insert = "INSERT OR REPLACE INTO configs VALUES (?1, ?2, ?3, ?4)";
        let row = (kind.as_str(), config.name, config.note, config.enabled);
        self.with(|moment| moment.write(insert, row).map(drop))
            .await
    }

    /// Removes a configuration, and returns true if it existed.
    pub async fn unconfigure(&self, kind: Kind, name: &str) -> Result<bool, ExchangeError> {
        let delete = "DELETE FROM configs WHERE kind = ?1 AND name = ?2";
        let row = (kind.as_str(), name.to_owned());
        self.with(|moment| Ok(moment.write(delete, row)? > 0)).await
    }

    /// Creates a trader, once for each key. The configurations that it needs must exist and be
    /// enabled now.
    pub async fn create_trader(&self, key: &str, new: Trader) -> Result<Trader, ExchangeError> {
        let key = key.to_owned();
        self.with(move |moment| moment.create_trader(&key, new))
            .await
    }

    /// Removes a trader, and returns true if it existed. Of an incarnation that is named no other one
    /// of the name is removed.
    pub async fn remove_trader(
        &self,
        name: &str,
        incarnation: Option<&str>,
    ) -> Result<bool, ExchangeError> {
        let (name, agreed) = (name.to_owned(), incarnation.map(str::to_owned));
        self.with(move |moment| moment.remove_trader(&name, agreed.as_deref()))
            .await
    }
}

impl ExchangeState<'_> {
    fn configs(&self, kind: Kind) -> Result<Vec<Config>, ExchangeError> {
        let query = "SELECT name, note, enabled FROM configs WHERE kind = ?1 ORDER BY name";
        self.rows(query, [kind.as_str()], |row| {
            Ok(Config {
                name: row.get(0)?,
                note: row.get(1)?,
                enabled: row.get(2)?,
            })
        })
    }

    fn create_trader(&self, key: &str, new: Trader) -> Result<Trader, ExchangeError> {
        let made = format!("{TRADERS} WHERE made_by = ?1");
        if let Some(made) = self.rows(&made, [key], trader)?.pop() {
            return Ok(made);
        }
        if new.name.trim().is_empty() {
            return refused(say!("a trader needs a name", "交易员要有名称"));
        }
        let named = format!("{TRADERS} WHERE name = ?1");
        if !self.rows(&named, [&new.name], trader)?.is_empty() {
            return refused(say!(
                "there is a trader {:?} already",
                "已经有交易员 {:?}",
                new.name
            ));
        }
        self.must_be_usable(Kind::Model, &new.model)?;
        self.must_be_usable(Kind::Exchange, &new.exchange)?;
        if !new.strategy.is_empty() {
            self.must_be_usable(Kind::Strategy, &new.strategy)?;
        }
        let Trader {
            name,
            model,
            exchange,
            strategy,
            incarnation: _,
        } = &new;
        let insert = "INSERT INTO traders VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.write(insert, (name, model, exchange, strategy, key, self.now))?;
        let incarnation = digest(key.as_bytes());
        Ok(Trader { incarnation, ..new })
    }

    fn remove_trader(&self, name: &str, agreed: Option<&str>) -> Result<bool, ExchangeError> {
        let named = format!("{TRADERS} WHERE name = ?1");
        let there = self.rows(&named, [name], trader)?.pop();
        let is_other = |there: &Trader| agreed.is_some_and(|agreed| there.incarnation != agreed);
        if there.as_ref().is_some_and(is_other) {
            return refused(say!(
                "the trader {name} of the card is gone, and another trader was made under its name",
                "卡片上的交易员 {name} 已经不在，现在用这个名字的是另一个交易员"
            ));
        }
        Ok(self.write("DELETE FROM traders WHERE name = ?1", [name])? > 0)
    }

    fn must_be_usable(&self, kind: Kind, name: &str) -> Result<(), ExchangeError> {
        let there = self.configs(kind)?.into_iter();
        let usable = there.filter(|config| config.enabled);
        let names: Vec<String> = usable.map(|config| config.name).collect();
        if names.iter().any(|there| there == name) {
            return Ok(());
        }
        let (kind, mut allowed) = (kind.word(), names.join(", "));
        if allowed.is_empty() {
            allowed = say!("none", "无");
        }
        refused(say!(
            "there is no {kind} {name:?} that is enabled; there is: {allowed}",
            "没有启用的{kind} {name:?}；现有：{allowed}"
        ))
    }
}

fn trader(row: &Row<'_>) -> rusqlite::Result<Trader> {
    Ok(Trader {
        name: row.get(0)?,
        model: row.get(1)?,
        exchange: row.get(2)?,
        strategy: row.get(3)?,
        incarnation: digest(row.get::<_, String>(4)?.as_bytes()),
    })
}
