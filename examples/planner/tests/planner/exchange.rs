//! The exchange: nothing is lost, nothing is done twice, and time fills what waits.
use crate::common::{TestResult, World};
use fugato::words::Amount;
use fugato_testkit::assert_contains;
use planner::exchange::{ExchangeError, NewOrder, OrderStatus, Side};
use proptest::prelude::*;

fn amount(text: &str) -> Amount {
    text.parse().expect("an amount")
}

fn order(side: Side, quantity: &str, price: Option<&str>) -> NewOrder {
    NewOrder {
        symbol: "BTC-USDT".into(),
        side,
        quantity: amount(quantity),
        price: price.map(amount),
        limit: None,
    }
}

#[tokio::test]
async fn an_order_with_the_same_key_is_placed_once() -> TestResult {
    let desk = World::new()?.desk;
    let first = desk.place("k", order(Side::Buy, "1", None)).await?;
    assert_eq!(
        (first.status, first.filled),
        (OrderStatus::Filled, amount("1"))
    );
    // 0.25 at 64010, 0.6 at 64020, 0.15 at 64030
    assert_eq!(first.cost, amount("64019"));
    assert_eq!(desk.place("k", order(Side::Buy, "1", None)).await?, first);
    assert_eq!(desk.trades(10).await?.len(), 3);
    Ok(())
}

#[tokio::test]
async fn what_waits_is_filled_when_the_book_comes_to_it_and_what_is_left_is_given_back()
-> TestResult {
    let world = World::new()?;
    let desk = &world.desk;
    let waits = desk
        .place("a", order(Side::Sell, "0.5", Some("64020")))
        .await?;
    assert_eq!(
        (waits.status, waits.filled),
        (OrderStatus::Open, Amount::ZERO)
    );
    let far = desk.place("b", order(Side::Buy, "1", Some("1"))).await?;
    let mut passed = 0;
    while desk.open_orders().await?.len() > 1 && passed < 60 {
        world.wait(3_000);
        passed += 1;
    }
    let open: Vec<_> = desk
        .open_orders()
        .await?
        .iter()
        .map(|order| order.id)
        .collect();
    assert_eq!(
        open,
        [far.id],
        "the book came to 64020 within {passed} steps"
    );
    assert!(
        desk.trades(10)
            .await?
            .iter()
            .all(|trade| trade.price >= amount("64020"))
    );
    let gone = desk.cancel(far.id).await?;
    assert_eq!(gone.status, OrderStatus::Cancelled);
    assert_eq!(desk.cancel(far.id).await?, gone);
    assert!(
        desk.balances()
            .await?
            .iter()
            .all(|balance| balance.held == Amount::ZERO)
    );
    Ok(())
}

#[tokio::test]
async fn what_is_not_possible_is_refused_in_words_and_changes_nothing() -> TestResult {
    let desk = World::new()?.desk;
    let before = desk.balances().await?;
    let refused = async |order: NewOrder| match desk.place("k", order).await {
        Err(ExchangeError::Refused(why)) => why,
        other => panic!("{other:?} is not refused"),
    };
    let much = refused(order(Side::Sell, "2", None)).await;
    assert_eq!(much, "2 BTC are needed, and 0.5 are free");
    let mut unknown = order(Side::Buy, "1", None);
    unknown.symbol = "XRP-USDT".into();
    let unknown = refused(unknown).await;
    assert_eq!(
        unknown,
        "nobody trades XRP-USDT; there is: BTC-USDT, ETH-USDT"
    );
    assert_contains(&refused(order(Side::Buy, "0", None)).await, "above zero");
    assert_eq!(desk.balances().await?, before);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(fugato_testkit::share_of(48)))]

    /// For any orders, cancellations and waits: the sums paid and received match, no balance is
    /// below zero, and the held amounts are those of the open orders.
    #[test]
    fn assets_are_neither_made_nor_lost(
        orders in proptest::collection::vec((any::<bool>(), 1_i64..2_000_000, proptest::option::of(60_000_i64..68_000), 0_i64..40_000, any::<bool>()), 1..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let world = World::new().expect("a world");
            let desk = &world.desk;
            for (n, (buys, quantity, price, wait, cancels)) in orders.into_iter().enumerate() {
                let new = NewOrder {
                    symbol: "BTC-USDT".into(),
                    side: if buys { Side::Buy } else { Side::Sell },
                    quantity: Amount::from_millionths(quantity),
                    price: price.map(|price| Amount::from_millionths(price * 1_000_000 + 10_000)),
                    limit: None,
                };
                let placed = desk.place(&n.to_string(), new).await;
                if let Some(placed) = placed.ok().filter(|_| cancels) {
                    desk.cancel(placed.id).await.expect("it is there");
                }
                world.wait(wait);
            }
            let (mut btc, mut usdt) = (amount("0.5"), amount("100000"));
            for trade in desk.trades(10_000).await.expect("trades") {
                let cost = trade.quantity.times(trade.price);
                (btc, usdt) = match trade.side {
                    Side::Buy => (btc.plus(trade.quantity), usdt.minus(cost)),
                    Side::Sell => (btc.minus(trade.quantity), usdt.plus(cost)),
                };
            }
            let balances = desk.balances().await.expect("balances");
            let all = |asset: &str| {
                let one = balances.iter().find(|balance| balance.asset == asset).expect("an asset");
                one.free.plus(one.held)
            };
            assert_eq!((all("BTC"), all("USDT")), (btc, usdt));
            for order in desk.open_orders().await.expect("orders") {
                desk.cancel(order.id).await.expect("it is open");
            }
            let balances = desk.balances().await.expect("balances");
            assert!(balances.iter().all(|balance| balance.held == Amount::ZERO), "{balances:?}");
        });
    }
}

#[tokio::test]
async fn an_order_without_a_price_takes_none_beyond_its_limit() -> TestResult {
    let desk = World::new()?.desk;
    let limited = |limit: &str| NewOrder {
        limit: Some(amount(limit)),
        ..order(Side::Buy, "0.4", None)
    };
    let placed = desk.place("k", limited("64015")).await?;
    assert_eq!(
        (placed.filled, placed.cost, placed.status),
        (amount("0.25"), amount("16002.5"), OrderStatus::Cancelled)
    );
    let placed = desk.place("l", limited("64000")).await?;
    assert_eq!((placed.filled, placed.cost), (Amount::ZERO, Amount::ZERO));
    let free: Vec<_> = desk
        .balances()
        .await?
        .into_iter()
        .map(|it| it.held)
        .collect();
    assert_eq!(free, [Amount::ZERO; 3]);
    Ok(())
}
