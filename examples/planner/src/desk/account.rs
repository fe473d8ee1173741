//! What the desk owns, and what it did.
use std::collections::BTreeMap;

use fugato::sqlite::rusqlite::OptionalExtension as _;
use fugato::state::Millis;
use serde::{Deserialize, Serialize};

use super::{Desk, DeskError, Moment, Side, refused};
use crate::amount::Amount;

/// How much there is of an asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// The asset.
    pub asset: String,
    /// What can be used.
    pub free: Amount,
    /// What open orders hold.
    pub held: Amount,
}

/// What was bought of a symbol and not sold again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The symbol.
    pub symbol: String,
    /// How much.
    pub quantity: Amount,
    /// What one has cost on average.
    pub entry: Amount,
    /// What somebody pays for one now, if somebody does.
    pub price: Option<Amount>,
}

/// A trade that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trade {
    /// The order it belongs to.
    pub order: i64,
    /// The symbol.
    pub symbol: String,
    /// What the desk did.
    pub side: Side,
    /// At which price.
    pub price: Amount,
    /// How much.
    pub quantity: Amount,
    /// When, in milliseconds since the Unix epoch.
    pub at: Millis,
}

impl Desk {
    /// All balances, by asset.
    pub async fn balances(&self) -> Result<Vec<Balance>, DeskError> {
        self.with(balances).await
    }

    /// What is held of each symbol, by what was traded.
    pub async fn positions(&self) -> Result<Vec<Position>, DeskError> {
        self.with(positions).await
    }

    /// The newest trades, newest first.
    pub async fn trades(&self, most: usize) -> Result<Vec<Trade>, DeskError> {
        self.with(move |moment| {
            let mut trades = all_trades(moment)?;
            trades.reverse();
            trades.truncate(most);
            Ok(trades)
        })
        .await
    }

    /// Puts so much on an account, as if it had been paid in.
    pub async fn pay_in(&self, asset: &str, amount: Amount) -> Result<(), DeskError> {
        let asset = asset.to_owned();
        self.with(move |moment| moment.add(&asset, amount, Amount::ZERO))
            .await
    }
}

impl Moment<'_> {
    /// Adds to what is free and to what is held; what would be below zero is refused.
    pub(super) fn add(&self, asset: &str, free: Amount, held: Amount) -> Result<(), DeskError> {
        let query = "SELECT free, held FROM balances WHERE asset = ?1";
        let there = self.transaction.query_row(query, [asset], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
        });
        let (was_free, was_held) = there.optional()?.unwrap_or_default();
        let new_free = Amount::from_millionths(was_free).plus(free);
        let new_held = Amount::from_millionths(was_held).plus(held);
        if new_free < Amount::ZERO || new_held < Amount::ZERO {
            let there = Amount::from_millionths(was_free);
            let needed = Amount::ZERO.minus(free);
            return refused(format!("{needed} {asset} are needed, and {there} are free"));
        }
        let row = (asset, new_free.millionths(), new_held.millionths());
        let insert = "INSERT OR REPLACE INTO balances VALUES (?1, ?2, ?3)";
        self.transaction.execute(insert, row)?;
        Ok(())
    }
}

fn balances(moment: &Moment<'_>) -> Result<Vec<Balance>, DeskError> {
    let query = "SELECT asset, free, held FROM balances ORDER BY asset";
    let mut prepared = moment.transaction.prepare_cached(query)?;
    let rows = prepared.query_map([], |row| {
        Ok(Balance {
            asset: row.get(0)?,
            free: Amount::from_millionths(row.get(1)?),
            held: Amount::from_millionths(row.get(2)?),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn positions(moment: &Moment<'_>) -> Result<Vec<Position>, DeskError> {
    let mut held: BTreeMap<String, (Amount, Amount)> = BTreeMap::new();
    for trade in all_trades(moment)? {
        let (quantity, cost) = held.entry(trade.symbol).or_default();
        if trade.side == Side::Buy {
            *quantity = quantity.plus(trade.quantity);
            *cost = cost.plus(trade.quantity.times(trade.price));
        } else {
            // What was there before the first trade was bought by somebody else.
            let sold = trade.quantity.min(*quantity);
            *cost = cost.minus(sold.times(cost.shared_by(*quantity)));
            *quantity = quantity.minus(sold);
        }
    }
    let open = held
        .into_iter()
        .filter(|(_, (quantity, _))| *quantity > Amount::ZERO);
    Ok(open
        .map(|(symbol, (quantity, cost))| Position {
            price: moment.book.best(&symbol, Side::Sell),
            entry: cost.shared_by(quantity),
            quantity,
            symbol,
        })
        .collect())
}

/// All trades, oldest first.
fn all_trades(moment: &Moment<'_>) -> Result<Vec<Trade>, DeskError> {
    let query = "SELECT order_id, symbol, side, price, quantity, at FROM trades ORDER BY id";
    let mut prepared = moment.transaction.prepare_cached(query)?;
    let rows = prepared.query_map([], |row| {
        Ok(Trade {
            order: row.get(0)?,
            symbol: row.get(1)?,
            side: side(&row.get::<_, String>(2)?),
            price: Amount::from_millionths(row.get(3)?),
            quantity: Amount::from_millionths(row.get(4)?),
            at: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn side(word: &str) -> Side {
    if word == "buy" { Side::Buy } else { Side::Sell }
}
