//! Changes of the desk outside of all conversations.
use clap::Subcommand;
use fugato::state::say;
use fugato::{BoxError, words::Amount};
use planner::{
    exchange::{Config, Exchange, ExchangeError, Kind},
    facts::looked_up,
};
use serde_json::Value;

/// A change of the desk, or a look at it.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Change {
    /// Prints everything as JSON
    Show,
    /// Configures a model, an exchange or a strategy, or changes it
    Set {
        /// The kind of part
        #[arg(value_parser = KINDS)]
        kind: String,
        /// Its name
        name: String,
        /// A note on its purpose
        #[arg(long, default_value = "")]
        note: String,
        /// Leaves it unusable
        #[arg(long)]
        disabled: bool,
    },
    /// Removes what is configured, or a trader
    Remove {
        /// The kind of part
        #[arg(value_parser = KINDS)]
        kind: String,
        /// Its name
        name: String,
    },
    /// Pays something in
    Pay {
        /// The asset
        asset: String,
        /// The amount
        amount: Amount,
    },
}

const KINDS: [&str; 4] = ["model", "exchange", "strategy", "trader"];

/// Returns the kind that a word names; none for a trader.
fn kind(word: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| kind.as_str() == word)
}

impl Change {
    /// Carries the change out, and returns a text about the result.
    pub(crate) async fn execute(self, desk: &Exchange) -> Result<String, BoxError> {
        Ok(match self {
            Self::Show => format!("{:#}", Value::Object(looked_up(desk, |_| true).await?)),
            Self::Set {
                kind: word,
                name,
                note,
                disabled,
            } => {
                let Some(kind) = kind(&word) else {
                    let why = say!("a trader is made in a conversation", "交易员要在对话里创建");
                    return Err(ExchangeError::Refused(why).into());
                };
                let word = kind.word();
                let told = say!("{word} {name} is configured", "已配置 {word} {name}");
                let enabled = !disabled;
                let config = Config {
                    name,
                    note,
                    enabled,
                };
                desk.configure(kind, config).await?;
                told
            }
            Self::Remove { kind: word, name } => {
                let there = match kind(&word) {
                    Some(kind) => desk.unconfigure(kind, &name).await?,
                    None => desk.remove_trader(&name, None).await?,
                };
                if there {
                    say!("{name} is removed", "已移除 {name}")
                } else {
                    say!("{name} was not there", "没有 {name}")
                }
            }
            Self::Pay { asset, amount } => {
                desk.pay_in(&asset, amount).await?;
                say!("{amount} {asset} are paid in", "已存入 {amount} {asset}")
            }
        })
    }
}
