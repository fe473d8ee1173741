//! Orders: those that match at once, and those that wait for the book.
use fugato::{
    sqlite::rusqlite::{self, Row},
    state::say,
    words::Amount,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Exchange, ExchangeError, ExchangeState, Side, account::amount, refused};

/// An order that somebody wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOrder {
    /// What is traded, such as "BTC-USDT".
    #[schemars(extend("x-zh" = "交易的标的，例如 \"BTC-USDT\"。"))]
    pub symbol: String,
    /// "buy" or "sell".
    #[schemars(extend("x-zh" = "\"buy\"（买）或 \"sell\"（卖）。"))]
    pub side: Side,
    /// How much, as a decimal number in quotes, such as "0.25".
    #[schemars(with = "String", extend("x-zh" = "数量，带引号的小数，例如 \"0.25\"。"))]
    pub quantity: Amount,
    /// The worst price that is taken, in quotes; left out to take what is there, and no more.
    #[serde(default)]
    #[schemars(
        with = "Option<String>",
        extend("x-zh" = "可接受的最差价格，带引号；不写则按现有报价成交，剩下的放弃。")
    )]
    pub price: Option<Amount>,
    /// The worst price that an order without a price takes, as its card says.
    #[serde(skip)]
    pub limit: Option<Amount>,
}

/// An order with its present status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Its number.
    pub id: i64,
    /// The symbol that is traded, such as `BTC-USDT`.
    pub symbol: String,
    /// The side: buy or sell.
    pub side: Side,
    /// The worst price that is taken, if there is one.
    pub price: Option<Amount>,
    /// The quantity that is wanted.
    pub quantity: Amount,
    /// The quantity that was traded so far.
    pub filled: Amount,
    /// The cost of the traded quantity, or its proceeds.
    pub cost: Amount,
    /// The status.
    pub status: OrderStatus,
}

/// The status of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderStatus {
    /// It waits for offers for the rest.
    Open,
    /// All of it was traded.
    Filled,
    /// The rest was cancelled.
    Cancelled,
}

impl OrderStatus {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Filled => "filled",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Exchange {
    /// Places an order, once for each key. It is matched with the book at once. The rest of an
    /// order with a price stays open, and the rest of an order without one is cancelled.
    pub async fn place(&self, key: &str, new: NewOrder) -> Result<Order, ExchangeError> {
        let key = key.to_owned();
        self.with(move |moment| moment.place(&key, &new)).await
    }

    /// Cancels the rest of an order. A repeat changes nothing.
    pub async fn cancel(&self, id: i64) -> Result<Order, ExchangeError> {
        self.with(move |moment| moment.cancel(id)).await
    }

    /// Returns all orders, oldest first.
    pub async fn orders(&self) -> Result<Vec<Order>, ExchangeError> {
        let query = format!("{ORDERS} ORDER BY id");
        self.with(move |moment| moment.rows(&query, [], order))
            .await
    }

    /// Returns the open orders, oldest first.
    pub async fn open_orders(&self) -> Result<Vec<Order>, ExchangeError> {
        self.with(open_orders).await
    }
}

/// Splits a symbol into its base and quote assets.
fn assets(symbol: &str) -> Result<(&str, &str), ExchangeError> {
    let parts = symbol.split_once('-');
    let parts = parts.filter(|(base, quote)| !base.is_empty() && !quote.is_empty());
    parts.map_or_else(
        || {
            refused(say!(
                "{symbol:?} is no symbol; BTC-USDT is one",
                "{symbol:?} 不是标的；例如 BTC-USDT 才是"
            ))
        },
        Ok,
    )
}

impl ExchangeState<'_> {
    /// Matches the open orders with the book of this moment.
    pub(super) fn settle(&self) -> Result<(), ExchangeError> {
        let mut open = open_orders(self)?.into_iter();
        open.try_for_each(|order| self.fill(&order, None).map(drop))
    }

    fn order(&self, id: i64) -> Result<Order, ExchangeError> {
        let query = format!("{ORDERS} WHERE id = ?1");
        let found = self.rows(&query, [id], order)?.pop();
        found.map_or_else(
            || refused(say!("there is no order {id}", "没有订单 {id}")),
            Ok,
        )
    }

    fn place(&self, key: &str, new: &NewOrder) -> Result<Order, ExchangeError> {
        let query = format!("{ORDERS} WHERE made_by = ?1");
        if let Some(known) = self.rows(&query, [key], order)?.pop() {
            return Ok(known);
        }
        let (base, quote) = assets(&new.symbol)?;
        let known: Vec<_> = self.book.prices().into_iter().map(|it| it.symbol).collect();
        if !known.contains(&new.symbol) {
            let (wanted, known) = (&new.symbol, known.join(", "));
            return refused(say!(
                "nobody trades {wanted}; there is: {known}",
                "没有人交易 {wanted}；现有：{known}"
            ));
        }
        if new.quantity == Amount::ZERO || new.price == Some(Amount::ZERO) {
            return refused(say!(
                "an order needs a quantity and a price above zero",
                "订单的数量和价格都要大于零"
            ));
        }
        let (asset, needed) = match (new.side, new.price) {
            (Side::Sell, _) => (base, new.quantity),
            (Side::Buy, Some(price)) => (quote, new.quantity.times(price)),
            (Side::Buy, None) => (quote, self.cost_now(new)),
        };
        self.add(asset, needed.negative(), needed)?;
        let (side, quantity) = (new.side.as_str(), new.quantity.millionths());
        let price = new.price.map(Amount::millionths);
        let insert =
            "INSERT INTO orders (made_by, symbol, side, price, quantity, filled, cost, status, at)
                      VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, 'open', ?6)";
        self.write(insert, (key, &new.symbol, side, price, quantity, self.now))?;
        let order = self.order(self.transaction.last_insert_rowid())?;
        let placed = self.fill(&order, new.limit)?;
        if new.price.is_some() || placed.status != OrderStatus::Open {
            return Ok(placed);
        }
        // The rest of a market order releases exactly what it held, independent of the price.
        let spent = match new.side {
            Side::Sell => placed.filled,
            Side::Buy => placed.cost,
        };
        self.give_up(&placed, asset, needed.minus(spent))
    }

    /// Returns the cost of an order without a price at the present offers.
    fn cost_now(&self, new: &NewOrder) -> Amount {
        let (mut left, mut cost) = (new.quantity, Amount::ZERO);
        let offers = self.book.offers(&new.symbol, Side::Buy);
        let suits = |price: Amount| new.limit.is_none_or(|limit| price <= limit);
        for (price, much) in offers.take_while(|(price, _)| suits(*price)) {
            let taken = much.min(left);
            (left, cost) = (left.minus(taken), cost.plus(taken.times(price)));
        }
        cost
    }

    /// Matches an order with the offers at its price or better; without a price, at this limit.
    fn fill(&self, order: &Order, limit: Option<Amount>) -> Result<Order, ExchangeError> {
        let mut left = order.quantity.minus(order.filled);
        let suits = |price: Amount| match (order.price.or(limit), order.side) {
            (None, _) => true,
            (Some(limit), Side::Buy) => price <= limit,
            (Some(limit), Side::Sell) => price >= limit,
        };
        let offers = self.book.offers(&order.symbol, order.side);
        for (price, much) in offers.take_while(|(price, _)| suits(*price)) {
            let taken = much.min(left);
            if taken == Amount::ZERO {
                break;
            }
            self.trade(order, price, taken, left)?;
            left = left.minus(taken);
        }
        if left == Amount::ZERO {
            self.set_status(order.id, OrderStatus::Filled)?;
        }
        self.order(order.id)
    }

    /// Trades a part of the rest of an order.
    fn trade(
        &self,
        order: &Order,
        price: Amount,
        taken: Amount,
        left: Amount,
    ) -> Result<(), ExchangeError> {
        let (base, quote) = assets(&order.symbol)?;
        let cost = taken.times(price);
        if order.side == Side::Sell {
            self.add(base, Amount::ZERO, taken.negative())?;
            self.add(quote, cost, Amount::ZERO)?;
        } else {
            // The amount held for a worse price is released, to the last millionth.
            let held = order.price.map_or(cost, |limit| {
                left.times(limit).minus(left.minus(taken).times(limit))
            });
            self.add(quote, held.minus(cost), held.negative())?;
            self.add(base, taken, Amount::ZERO)?;
        }
        let update = "UPDATE orders SET filled = filled + ?2, cost = cost + ?3 WHERE id = ?1";
        self.write(update, (order.id, taken.millionths(), cost.millionths()))?;
        let insert = "INSERT INTO trades (order_id, symbol, side, price, quantity, at)
                      VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let (side, price, taken) = (order.side.as_str(), price.millionths(), taken.millionths());
        let row = (order.id, &order.symbol, side, price, taken, self.now);
        self.write(insert, row).map(drop)
    }

    fn cancel(&self, id: i64) -> Result<Order, ExchangeError> {
        let order = self.order(id)?;
        if order.status != OrderStatus::Open {
            return Ok(order);
        }
        let (base, quote) = assets(&order.symbol)?;
        let left = order.quantity.minus(order.filled);
        let (asset, held) = match (order.side, order.price) {
            (Side::Buy, Some(price)) => (quote, left.times(price)),
            (Side::Buy, None) | (Side::Sell, _) => (base, left),
        };
        self.give_up(&order, asset, held)
    }

    /// Releases the amount that an order holds, and ends the order.
    fn give_up(&self, order: &Order, asset: &str, held: Amount) -> Result<Order, ExchangeError> {
        self.add(asset, held, held.negative())?;
        self.set_status(order.id, OrderStatus::Cancelled)?;
        self.order(order.id)
    }

    fn set_status(&self, id: i64, status: OrderStatus) -> Result<(), ExchangeError> {
        let update = "UPDATE orders SET status = ?2 WHERE id = ?1";
        self.write(update, (id, status.as_str())).map(drop)
    }
}

const ORDERS: &str = "SELECT id, symbol, side, price, quantity, filled, cost, status FROM orders";

fn open_orders(moment: &ExchangeState<'_>) -> Result<Vec<Order>, ExchangeError> {
    let query = format!("{ORDERS} WHERE status = 'open' ORDER BY id");
    moment.rows(&query, [], order)
}

fn order(row: &Row<'_>) -> rusqlite::Result<Order> {
    Ok(Order {
        id: row.get(0)?,
        symbol: row.get(1)?,
        side: Side::of(&row.get::<_, String>(2)?),
        price: row.get::<_, Option<i64>>(3)?.map(Amount::from_millionths),
        quantity: amount(row, 4)?,
        filled: amount(row, 5)?,
        cost: amount(row, 6)?,
        status: match row.get::<_, String>(7)?.as_str() {
            "open" => OrderStatus::Open,
            "filled" => OrderStatus::Filled,
            _ => OrderStatus::Cancelled,
        },
    })
}
