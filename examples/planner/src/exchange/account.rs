//! The accounts of the desk: balances, positions and trades.
use std::collections::BTreeMap;

use fugato::{
    sqlite::rusqlite::{self, Row},
    state::{Millis, say},
    words::Amount,
};
use serde::{Deserialize, Serialize};

use super::{Exchange, ExchangeError, ExchangeState, Side, refused};

/// The balance of an asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balance {
    /// The asset.
    pub asset: String,
    /// The amount that can be used.
    pub free: Amount,
    /// The amount that open orders hold.
    pub held: Amount,
}

/// The quantity of a symbol that was bought and not sold again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The symbol.
    pub symbol: String,
    /// The quantity.
    pub quantity: Amount,
    /// The average price at which it was bought.
    pub entry: Amount,
    /// The best bid now, if there is one.
    pub price: Option<Amount>,
}

/// A trade that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trade {
    /// The order it belongs to.
    pub order: i64,
    /// The symbol.
    pub symbol: String,
    /// The side of the desk in the trade.
    pub side: Side,
    /// The price.
    pub price: Amount,
    /// The quantity.
    pub quantity: Amount,
    /// The time, in milliseconds since the Unix epoch.
    pub at: Millis,
}

impl Exchange {
    /// Returns all balances, by asset.
    pub async fn balances(&self) -> Result<Vec<Balance>, ExchangeError> {
        let query = "SELECT asset, free, held FROM balances ORDER BY asset";
        self.with(|moment| moment.rows(query, [], balance)).await
    }

    /// Returns the positions, computed from the trades.
    pub async fn positions(&self) -> Result<Vec<Position>, ExchangeError> {
        self.with(positions).await
    }

    /// Returns the newest trades, newest first.
    pub async fn trades(&self, most: usize) -> Result<Vec<Trade>, ExchangeError> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let query = format!("{TRADES} ORDER BY id DESC LIMIT ?1");
        self.with(move |moment| moment.rows(&query, [most], trade))
            .await
    }

    /// Adds an amount to an account, as if it had been paid in.
    pub async fn pay_in(&self, asset: &str, amount: Amount) -> Result<(), ExchangeError> {
        let asset = asset.to_owned();
        self.with(move |moment| moment.add(&asset, amount, Amount::ZERO))
            .await
    }
}

const TRADES: &str = "SELECT order_id, symbol, side, price, quantity, at FROM trades";

impl ExchangeState<'_> {
    /// Adds to the free and the held amount; refuses a result below zero.
    pub(super) fn add(&self, asset: &str, free: Amount, held: Amount) -> Result<(), ExchangeError> {
        let query = "SELECT asset, free, held FROM balances WHERE asset = ?1";
        let there = self.rows(query, [asset], balance)?.pop();
        let there = there.map_or_else(Default::default, |there| (there.free, there.held));
        let (new_free, new_held): (Amount, Amount) = (there.0.plus(free), there.1.plus(held));
        if new_free < Amount::ZERO || new_held < Amount::ZERO {
            let (needed, there) = (free.negative(), there.0);
            return refused(say!(
                "{needed} {asset} are needed, and {there} are free",
                "需要 {needed} {asset}，可用的有 {there}"
            ));
        }
        let row = (asset, new_free.millionths(), new_held.millionths());
        let insert = "INSERT OR REPLACE INTO balances VALUES (?1, ?2, ?3)";
        self.write(insert, row).map(drop)
    }
}

fn positions(moment: &ExchangeState<'_>) -> Result<Vec<Position>, ExchangeError> {
    let mut held: BTreeMap<String, (Amount, Amount)> = BTreeMap::new();
    for trade in moment.rows(&format!("{TRADES} ORDER BY id"), [], trade)? {
        let (quantity, cost) = held.entry(trade.symbol).or_default();
        if trade.side == Side::Buy {
            *quantity = quantity.plus(trade.quantity);
            *cost = cost.plus(trade.quantity.times(trade.price));
        } else {
            // The amount that was there before the first trade is not part of the position.
            let sold = trade.quantity.min(*quantity);
            *cost = cost.minus(sold.times(cost.shared_by(*quantity)));
            *quantity = quantity.minus(sold);
        }
    }
    held.retain(|_, (quantity, _)| *quantity > Amount::ZERO);
    let open = held.into_iter();
    let open = open.map(|(symbol, (quantity, cost))| Position {
        price: moment.book.best(&symbol, Side::Sell),
        entry: cost.shared_by(quantity),
        quantity,
        symbol,
    });
    Ok(open.collect())
}

/// Reads an amount of a row.
pub(super) fn amount(row: &Row<'_>, at: usize) -> rusqlite::Result<Amount> {
    row.get(at).map(Amount::from_millionths)
}

fn balance(row: &Row<'_>) -> rusqlite::Result<Balance> {
    Ok(Balance {
        asset: row.get(0)?,
        free: amount(row, 1)?,
        held: amount(row, 2)?,
    })
}

fn trade(row: &Row<'_>) -> rusqlite::Result<Trade> {
    Ok(Trade {
        order: row.get(0)?,
        symbol: row.get(1)?,
        side: Side::of(&row.get::<_, String>(2)?),
        price: amount(row, 3)?,
        quantity: amount(row, 4)?,
        at: row.get(5)?,
    })
}
