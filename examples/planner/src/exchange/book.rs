//! The order book, replayed from a file.
use std::collections::BTreeMap;

use fugato::{
    state::Millis,
    words::{Amount, Limit},
};
use serde::{Deserialize, Serialize};

use super::ExchangeError;

/// The side of a trade; of an order, its action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// It buys.
    Buy,
    /// It sells.
    Sell,
}

impl Side {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Buy => "buy",
            Self::Sell => "sell",
        }
    }

    /// Returns the side that a word names.
    pub(super) fn of(word: &str) -> Self {
        if word == "buy" { Self::Buy } else { Self::Sell }
    }

    /// Returns the kind of limit that a price is on this side: the most for a buyer, the least for
    /// a seller.
    pub fn limit(self) -> Limit {
        match self {
            Self::Buy => Limit::Most,
            Self::Sell => Limit::Least,
        }
    }
}

/// A line of the file: from then on there is so much at this price.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quote {
    at: Millis,
    symbol: String,
    side: QuoteSide,
    price: Amount,
    quantity: Amount,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum QuoteSide {
    Bid,
    Ask,
}

/// The bids and asks of others, by symbol. Orders of this desk do not change it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Book(BTreeMap<String, [BTreeMap<Amount, Amount>; 2]>);

/// The best offers for a symbol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// The symbol.
    pub symbol: String,
    /// The best bid.
    pub bid: Option<Amount>,
    /// The best ask.
    pub ask: Option<Amount>,
    /// All bids, best first: price and quantity.
    #[serde(default)]
    pub bids: Vec<(Amount, Amount)>,
    /// All asks, best first: price and quantity.
    #[serde(default)]
    pub asks: Vec<(Amount, Amount)>,
}

impl Price {
    /// Returns the offers to a buyer or a seller, best first: price and quantity.
    pub fn offers(&self, side: Side) -> &[(Amount, Amount)] {
        match side {
            Side::Buy => &self.asks,
            Side::Sell => &self.bids,
        }
    }
}

impl Book {
    /// Returns all symbols with their best offers.
    pub(super) fn prices(&self) -> Vec<Price> {
        let price = |symbol: &String| Price {
            symbol: symbol.clone(),
            bid: self.best(symbol, Side::Sell),
            ask: self.best(symbol, Side::Buy),
            bids: self.offers(symbol, Side::Sell).collect(),
            asks: self.offers(symbol, Side::Buy).collect(),
        };
        self.0.keys().map(price).collect()
    }

    /// Returns the best price for a buyer or a seller.
    pub(super) fn best(&self, symbol: &str, side: Side) -> Option<Amount> {
        self.offers(symbol, side).next().map(|(price, _)| price)
    }

    /// Returns the offers to a buyer or a seller, best first: price and quantity.
    pub(super) fn offers(
        &self,
        symbol: &str,
        side: Side,
    ) -> impl Iterator<Item = (Amount, Amount)> {
        let levels = self.0.get(symbol).map(|[bids, asks]| match side {
            Side::Buy => asks.clone().into_iter().collect(),
            Side::Sell => bids.clone().into_iter().rev().collect::<Vec<_>>(),
        });
        levels.unwrap_or_default().into_iter()
    }

    fn quote(&mut self, quote: &Quote) {
        let [bids, asks] = self.0.entry(quote.symbol.clone()).or_default();
        let levels = match quote.side {
            QuoteSide::Bid => bids,
            QuoteSide::Ask => asks,
        };
        if quote.quantity == Amount::ZERO {
            levels.remove(&quote.price);
        } else {
            levels.insert(quote.price, quote.quantity);
        }
    }
}

/// The file with the quotes. After its end it starts again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replay {
    quotes: Vec<Quote>,
    length: Millis,
}

impl Replay {
    /// Reads lines of JSON, in the order of their times.
    pub(super) fn read(lines: &str) -> Result<Self, ExchangeError> {
        let wrong = |line: usize, why: String| ExchangeError::Book {
            line: line + 1,
            why,
        };
        let mut quotes: Vec<Quote> = vec![];
        let lines = lines.lines().enumerate();
        for (at, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let quote: Result<Quote, _> = serde_json::from_str(line);
            let quote = quote.map_err(|error| wrong(at, error.to_string()))?;
            if quotes.last().is_some_and(|last| last.at > quote.at) {
                return Err(wrong(at, "it is earlier than the line before".into()));
            }
            quotes.push(quote);
        }
        let Some(last) = quotes.last() else {
            return Err(wrong(0, "there is no quote in it".into()));
        };
        let length = last.at.saturating_add(1);
        Ok(Self { quotes, length })
    }

    /// Returns the book at a time, in milliseconds since the beginning.
    pub(super) fn at(&self, since: Millis) -> Book {
        let within = since.rem_euclid(self.length);
        let mut book = Book::default();
        self.quotes
            .iter()
            .take_while(|quote| quote.at <= within)
            .for_each(|quote| book.quote(quote));
        book
    }

    /// Returns the moments after `from` and up to `to` at which the book changes; if that is longer
    /// than the file, the last ones.
    pub(super) fn moments(&self, from: Millis, to: Millis) -> Vec<Millis> {
        let from = from.max(to.saturating_sub(self.length));
        let mut times: Vec<Millis> = self.quotes.iter().map(|quote| quote.at).collect();
        times.dedup();
        let rounds = (from / self.length)..=(to / self.length);
        let all = rounds.flat_map(|round| {
            let start = round.saturating_mul(self.length);
            times.iter().map(move |at| start.saturating_add(*at))
        });
        all.filter(|at| (from + 1..=to).contains(at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = r#"{"at":0,"symbol":"A-B","side":"ask","price":"10","quantity":"1"}
{"at":0,"symbol":"A-B","side":"bid","price":"8","quantity":"2"}
{"at":5,"symbol":"A-B","side":"bid","price":"9","quantity":"1"}
{"at":7,"symbol":"A-B","side":"ask","price":"10","quantity":"0"}"#;

    fn amount(text: &str) -> Amount {
        text.parse().expect("an amount")
    }

    #[test]
    fn a_book_is_what_the_file_says_up_to_now_and_begins_anew() {
        let replay = Replay::read(LINES).expect("quotes");
        let best = |since| {
            let book = replay.at(since);
            (book.best("A-B", Side::Sell), book.best("A-B", Side::Buy))
        };
        assert_eq!(best(0), (Some(amount("8")), Some(amount("10"))));
        assert_eq!(best(7), (Some(amount("9")), None));
        assert_eq!(best(8), best(0), "it begins anew");
        assert_eq!(replay.moments(0, 8), [5, 7, 8]);
        assert_eq!(replay.moments(5, 5), Vec::<Millis>::new());
        assert_eq!(
            replay.moments(0, 8_000_005),
            [7_999_999, 8_000_000, 8_000_005]
        );
    }

    #[test]
    fn a_line_that_cannot_be_used_is_named() {
        let error = |lines: &str| Replay::read(lines).expect_err("it is refused").to_string();
        assert!(error("{}").starts_with("line 1 of the book cannot be used"));
        let late = LINES.lines().rev().collect::<Vec<_>>().join("\n");
        assert!(error(&late).contains("line 2"), "{}", error(&late));
        assert!(error("").contains("no quote"));
    }
}
