//! Orders: those that match at once, and those that wait for the book.
use fugato::sqlite::rusqlite::{self, OptionalExtension as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Desk, DeskError, Moment, Side, account::side, refused};
use crate::amount::Amount;

/// An order that somebody wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewOrder {
    /// What is traded, such as `BTC-USDT`.
    pub symbol: String,
    /// Whether it buys or sells.
    pub side: Side,
    /// How much.
    pub quantity: Amount,
    /// The worst price that is taken; none to take what is there, and no more.
    pub price: Option<Amount>,
}

/// An order as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Its number.
    pub id: i64,
    /// What is traded.
    pub symbol: String,
    /// Whether it buys or sells.
    pub side: Side,
    /// The worst price that is taken, if there is one.
    pub price: Option<Amount>,
    /// How much is wanted.
    pub quantity: Amount,
    /// How much of it there was.
    pub filled: Amount,
    /// What that has cost, or brought.
    pub cost: Amount,
    /// Where it stands.
    pub status: OrderStatus,
}

/// Where an order stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrderStatus {
    /// It waits for somebody who takes the rest.
    Open,
    /// All of it was there.
    Filled,
    /// The rest of it is not wanted any more.
    Cancelled,
}

impl OrderStatus {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Filled => "filled",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Desk {
    /// Places an order, once for each key. It is matched with the book at once; what is left of one
    /// with a price waits, and what is left of another is cancelled.
    pub async fn place(&self, key: &str, new: NewOrder) -> Result<Order, DeskError> {
        let key = key.to_owned();
        self.with(move |moment| moment.place(&key, &new)).await
    }

    /// Gives up what is left of an order. Done again it changes nothing.
    pub async fn cancel(&self, id: i64) -> Result<Order, DeskError> {
        self.with(move |moment| moment.cancel(id)).await
    }

    /// The orders that wait, oldest first.
    pub async fn open_orders(&self) -> Result<Vec<Order>, DeskError> {
        self.with(open_orders).await
    }
}

/// Matches what waits with the book of a moment.
pub(super) fn settle(moment: &Moment<'_>) -> Result<(), DeskError> {
    for order in open_orders(moment)? {
        moment.fill(&order)?;
    }
    Ok(())
}

/// What is traded for what.
fn assets(symbol: &str) -> Result<(&str, &str), DeskError> {
    let parts = symbol.split_once('-');
    let parts = parts.filter(|(base, quote)| !base.is_empty() && !quote.is_empty());
    parts.map_or_else(
        || refused(format!("{symbol:?} is no symbol; BTC-USDT is one")),
        Ok,
    )
}

const COLUMNS: &str = "SELECT id, symbol, side, price, quantity, filled, cost, status FROM orders";

impl Moment<'_> {
    fn place(&self, key: &str, new: &NewOrder) -> Result<Order, DeskError> {
        let query = format!("{COLUMNS} WHERE made_by = ?1");
        if let Some(known) = self
            .transaction
            .query_row(&query, [key], order)
            .optional()?
        {
            return Ok(known);
        }
        let (base, quote) = assets(&new.symbol)?;
        if !self
            .book
            .prices()
            .iter()
            .any(|price| price.symbol == new.symbol)
        {
            let known = self.book.prices();
            let known: Vec<_> = known.iter().map(|price| price.symbol.as_str()).collect();
            return refused(format!(
                "nobody trades {}; there is: {}",
                new.symbol,
                known.join(", ")
            ));
        }
        if new.quantity == Amount::ZERO || new.price == Some(Amount::ZERO) {
            return refused("an order needs a quantity and a price above zero");
        }
        let needed = match (new.side, new.price) {
            (Side::Sell, _) => new.quantity,
            (Side::Buy, Some(price)) => new.quantity.times(price),
            (Side::Buy, None) => self.cost_now(&new.symbol, new.quantity),
        };
        let asset = if new.side == Side::Sell { base } else { quote };
        self.add(asset, Amount::ZERO.minus(needed), needed)?;
        let side = if new.side == Side::Buy { "buy" } else { "sell" };
        let price = new.price.map(Amount::millionths);
        let insert =
            "INSERT INTO orders (made_by, symbol, side, price, quantity, filled, cost, status, at)
                      VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, 'open', ?6)";
        let row = (
            key,
            &new.symbol,
            side,
            price,
            new.quantity.millionths(),
            self.now,
        );
        self.transaction.execute(insert, row)?;
        let placed = self.fill(&self.order(self.transaction.last_insert_rowid())?)?;
        if new.price.is_some() || placed.status != OrderStatus::Open {
            return Ok(placed);
        }
        // What a market order still holds is given back by what it held, not by a price.
        let spent = if new.side == Side::Sell {
            placed.filled
        } else {
            placed.cost
        };
        let rest = needed.minus(spent);
        self.add(asset, rest, Amount::ZERO.minus(rest))?;
        self.set_status(placed.id, OrderStatus::Cancelled)?;
        self.order(placed.id)
    }

    /// What so much costs of what is offered now.
    fn cost_now(&self, symbol: &str, quantity: Amount) -> Amount {
        let (mut left, mut cost) = (quantity, Amount::ZERO);
        for (price, much) in self.book.offers(symbol, Side::Buy) {
            let taken = much.min(left);
            (left, cost) = (left.minus(taken), cost.plus(taken.times(price)));
        }
        cost
    }

    /// Matches an order with what is offered at its price or better.
    fn fill(&self, order: &Order) -> Result<Order, DeskError> {
        let (base, quote) = assets(&order.symbol)?;
        let mut left = order.quantity.minus(order.filled);
        let suits = |price: Amount| match (order.price, order.side) {
            (None, _) => true,
            (Some(limit), Side::Buy) => price <= limit,
            (Some(limit), Side::Sell) => price >= limit,
        };
        for (price, much) in self.book.offers(&order.symbol, order.side) {
            let taken = much.min(left);
            if taken == Amount::ZERO || !suits(price) {
                break;
            }
            let cost = taken.times(price);
            if order.side == Side::Sell {
                self.add(base, Amount::ZERO, Amount::ZERO.minus(taken))?;
                self.add(quote, cost, Amount::ZERO)?;
            } else {
                // What was held for a worse price is given back, to the last millionth.
                let held = order.price.map_or(cost, |limit| {
                    left.times(limit).minus(left.minus(taken).times(limit))
                });
                self.add(quote, held.minus(cost), Amount::ZERO.minus(held))?;
                self.add(base, taken, Amount::ZERO)?;
            }
            self.note(order, price, taken)?;
            left = left.minus(taken);
        }
        if left == Amount::ZERO {
            self.set_status(order.id, OrderStatus::Filled)?;
        }
        self.order(order.id)
    }

    fn note(&self, order: &Order, price: Amount, taken: Amount) -> Result<(), DeskError> {
        let update = "UPDATE orders SET filled = filled + ?2, cost = cost + ?3 WHERE id = ?1";
        let cost = taken.times(price).millionths();
        self.transaction
            .execute(update, (order.id, taken.millionths(), cost))?;
        let side = if order.side == Side::Buy {
            "buy"
        } else {
            "sell"
        };
        let insert = "INSERT INTO trades (order_id, symbol, side, price, quantity, at)
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let row = (
            order.id,
            &order.symbol,
            side,
            price.millionths(),
            taken.millionths(),
            self.now,
        );
        self.transaction.execute(insert, row)?;
        Ok(())
    }

    fn cancel(&self, id: i64) -> Result<Order, DeskError> {
        let order = self.order(id)?;
        if order.status == OrderStatus::Open {
            let (base, quote) = assets(&order.symbol)?;
            let left = order.quantity.minus(order.filled);
            let (asset, held) = match (order.side, order.price) {
                (Side::Buy, Some(price)) => (quote, left.times(price)),
                (Side::Buy, None) | (Side::Sell, _) => (base, left),
            };
            self.add(asset, held, Amount::ZERO.minus(held))?;
            self.set_status(id, OrderStatus::Cancelled)?;
        }
        self.order(id)
    }

    fn set_status(&self, id: i64, status: OrderStatus) -> Result<(), DeskError> {
        let update = "UPDATE orders SET status = ?2 WHERE id = ?1";
        self.transaction.execute(update, (id, status.as_str()))?;
        Ok(())
    }

    fn order(&self, id: i64) -> Result<Order, DeskError> {
        let query = format!("{COLUMNS} WHERE id = ?1");
        let found = self.transaction.query_row(&query, [id], order).optional()?;
        found.map_or_else(|| refused(format!("there is no order {id}")), Ok)
    }
}

fn open_orders(moment: &Moment<'_>) -> Result<Vec<Order>, DeskError> {
    let query = format!("{COLUMNS} WHERE status = 'open' ORDER BY id");
    let mut prepared = moment.transaction.prepare_cached(&query)?;
    let rows = prepared.query_map([], order)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn order(row: &rusqlite::Row<'_>) -> rusqlite::Result<Order> {
    let amount = |at| row.get::<_, i64>(at).map(Amount::from_millionths);
    Ok(Order {
        id: row.get(0)?,
        symbol: row.get(1)?,
        side: side(&row.get::<_, String>(2)?),
        price: row.get::<_, Option<i64>>(3)?.map(Amount::from_millionths),
        quantity: amount(4)?,
        filled: amount(5)?,
        cost: amount(6)?,
        status: match row.get::<_, String>(7)?.as_str() {
            "open" => OrderStatus::Open,
            "filled" => OrderStatus::Filled,
            _ => OrderStatus::Cancelled,
        },
    })
}
