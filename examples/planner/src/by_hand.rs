//! Changes of the desk that no conversation knows of.
use clap::{Subcommand, ValueEnum};
use planner::{
    amount::Amount,
    desk::{Config, Desk, DeskError, Kind},
};
use serde_json::json;

/// A change of the desk, or a look at it.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Change {
    /// Prints everything as JSON
    Show,
    /// Configures a model, an exchange or a strategy, or changes it
    Set {
        /// What it is
        kind: What,
        /// Its name
        name: String,
        /// What it is for
        #[arg(long, default_value = "")]
        note: String,
        /// Leaves it unusable
        #[arg(long)]
        disabled: bool,
    },
    /// Removes what is configured, or a trader
    Remove {
        /// What it is
        kind: What,
        /// Its name
        name: String,
    },
    /// Pays something in
    Pay {
        /// The asset
        asset: String,
        /// How much
        amount: Amount,
    },
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum What {
    Model,
    Exchange,
    Strategy,
    Trader,
}

impl What {
    fn kind(self) -> Option<Kind> {
        match self {
            Self::Model => Some(Kind::Model),
            Self::Exchange => Some(Kind::Exchange),
            Self::Strategy => Some(Kind::Strategy),
            Self::Trader => None,
        }
    }
}

impl Change {
    /// Carries it out, and says what became of it.
    pub(crate) async fn carry_out(self, desk: &Desk) -> Result<String, DeskError> {
        Ok(match self {
            Self::Show => show(desk).await?,
            Self::Set {
                kind,
                name,
                note,
                disabled,
            } => {
                let Some(kind) = kind.kind() else {
                    let why = "a trader is made in a conversation".to_owned();
                    return Err(DeskError::Refused(why));
                };
                let told = format!("{} {name} is configured", kind.as_str());
                desk.configure(
                    kind,
                    Config {
                        name,
                        note,
                        enabled: !disabled,
                    },
                )
                .await?;
                told
            }
            Self::Remove { kind, name } => {
                let there = match kind.kind() {
                    Some(kind) => desk.unconfigure(kind, &name).await?,
                    None => desk.remove_trader(&name).await?,
                };
                let told = if there { "is removed" } else { "was not there" };
                format!("{name} {told}")
            }
            Self::Pay { asset, amount } => {
                desk.pay_in(&asset, amount).await?;
                format!("{amount} {asset} are paid in")
            }
        })
    }
}

async fn show(desk: &Desk) -> Result<String, DeskError> {
    let all = json!({
        "models": desk.configs(Kind::Model).await?,
        "exchanges": desk.configs(Kind::Exchange).await?,
        "strategies": desk.configs(Kind::Strategy).await?,
        "traders": desk.traders().await?,
        "balances": desk.balances().await?,
        "positions": desk.positions().await?,
        "orders": desk.open_orders().await?,
        "prices": desk.prices().await?,
    });
    Ok(format!("{all:#}"))
}
