//! Tests of the planner without a model.
use crate::common::{TestResult, World, say, status};
use fugato::memory::ExecutionStatus;
use fugato_testkit::{assert_contains, assert_starts_with};
use planner::{
    desk::{Config, Kind},
    graph::PlanningMode,
};

fn config(name: &str) -> Config {
    Config {
        name: name.into(),
        note: String::new(),
        enabled: true,
    }
}

/// The reference scenario: a look, a trader, an order, and a world that changes meanwhile.
#[tokio::test]
async fn the_reference_scenario_by_rules() -> TestResult {
    for manner in [PlanningMode::default(), PlanningMode::NextBatch] {
        let world = World::new()?;
        let planner = world.in_manner(manner);
        let told = say(&planner, "Which models and traders are there?").await;
        assert_eq!(told, "Models: glimmer, harbour\nTraders: none");

        let asked = say(&planner, "Create a trader named alpha").await;
        assert_eq!(asked, "Which model? There is: glimmer, harbour");
        let card = say(&planner, "harbour").await;
        assert!(
            card.starts_with("create_trader: ") && card.contains("harbour"),
            "{card}"
        );
        let done = say(&planner, "是").await;
        assert_eq!(done, "Done: made the trader alpha with harbour on replay");

        world.desk.unconfigure(Kind::Model, "glimmer").await?;
        world.desk.unconfigure(Kind::Model, "harbour").await?;
        let able = say(&planner, "现在可以创建交易员吗？").await;
        assert_contains(&able, "现在不能创建交易员：没有可用的模型");

        let card = say(&planner, "buy 0.25 BTC").await;
        assert!(card.contains("0.25") && card.contains("BTC-USDT"), "{card}");
        let done = say(&planner, "yes").await;
        assert_eq!(
            done,
            "Done: order #1 is filled: buy 0.25 BTC-USDT, 0.25 done for 16002.5"
        );
        let balances = say(&planner, "我的余额").await;
        assert_eq!(balances, "余额：0.75 BTC; 4 ETH; 83997.5 USDT");
        let positions = say(&planner, "positions?").await;
        assert_starts_with(&positions, "Positions: 0.25 BTC-USDT @ 64010 → ");
        assert_eq!(status(&planner).await, ExecutionStatus::Completed);
    }
    Ok(())
}

#[tokio::test]
async fn pln_19_pln_20_an_answer_belongs_to_its_question_and_leads_on() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    say(&planner, "create a trader").await;
    // PLN-C1, PLN-C3: a word for another try and a word about configurations are answers here.
    let again = say(&planner, "continue").await;
    assert_eq!(
        again,
        "That model is not there now. There is: glimmer, harbour"
    );
    let named = say(&planner, "the model glimmer").await;
    assert_eq!(named, "What shall the trader be called?");
    let card = say(&planner, "beta").await;
    assert_contains(&card, "beta");
    assert_eq!(
        status(&planner).await,
        ExecutionStatus::WaitingUserConfirmation
    );
    let done = say(&planner, "好的").await;
    assert_eq!(done, "Done: made the trader beta with glimmer on replay");
    Ok(())
}

#[tokio::test]
async fn pln_20_another_request_interrupts_and_cancel_cancels() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    say(&planner, "create a trader").await;
    let prices = say(&planner, "What is the price of BTC?").await;
    assert_starts_with(&prices, "Prices: BTC-USDT 63990 / 64010");
    say(&planner, "sell 1 ETH").await;
    planner.card();
    assert_eq!(say(&planner, "取消").await, "已取消。");
    assert_eq!(world.desk.trades(10).await?, []);
    assert_eq!(planner.state().await.work.execution.goal, "");
    Ok(())
}

#[tokio::test]
async fn pln_w7_pln_w13_a_no_is_a_no() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    say(&planner, "sell 1 ETH").await;
    assert_eq!(say(&planner, "不要").await, "Not done: you did not agree.");
    assert_eq!(world.desk.trades(10).await?, []);
    Ok(())
}

#[tokio::test]
async fn pln_t3_a_choice_that_is_gone_meanwhile_is_not_believed() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    say(&planner, "create a trader named alpha").await;
    world.desk.unconfigure(Kind::Model, "harbour").await?;
    world.desk.configure(Kind::Model, config("meadow")).await?;
    let asked = say(&planner, "harbour").await;
    assert_eq!(
        asked,
        "That model is not there now. There is: glimmer, meadow"
    );
    say(&planner, "meadow").await;
    world.desk.unconfigure(Kind::Model, "meadow").await?;
    let refused = say(&planner, "yes").await;
    assert_starts_with(&refused, "Not done: there is no model \"meadow\"");
    assert_eq!(world.desk.traders().await?, []);
    Ok(())
}

#[tokio::test]
async fn a_price_is_never_lost_and_a_card_says_where_there_is_none() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    let said: [&[&str]; 4] = [
        &["sell 0.5 BTC for 70k"],
        &["sell BTC", "0.5 at 70,000"],
        &["sell something", "BTC at least 70000", "0.5"],
        &["sell 0,5 BTC at 64 000", "很多", "0.5 at 70000"],
    ];
    for words in said {
        let mut told = String::new();
        for word in words {
            told = say(&planner, word).await;
        }
        let card = "place_order: price 70000, quantity 0.5, side sell, symbol BTC-USDT? (yes / no)";
        assert_eq!(told, card, "{words:?}");
    }
    let asked = say(&planner, "sell 0,5 BTC").await;
    assert_contains(&asked, "more than one way");
    let card = say(&planner, "0.5").await;
    let expected =
        "place_order: quantity 0.5, side sell, symbol BTC-USDT, price: market? (yes / no)";
    assert_eq!(card, expected);
    Ok(())
}

#[tokio::test]
async fn the_card_of_a_cancellation_says_what_the_order_is() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    say(&planner, "buy 2 BTC at 10000").await;
    say(&planner, "yes").await;
    let asked = say(&planner, "cancel my 2 BTC order").await;
    assert_eq!(asked, "Which order, by its number?");
    let again = say(&planner, "the one of 2 BTC").await;
    assert_eq!(again, asked);
    let card = say(&planner, "#1").await;
    let expected = "cancel_order: order #1 buy 0/2 BTC-USDT @ 10000? (yes / no)";
    assert_eq!(card, expected);
    let told = planner.say("Did you cancel order 1?").await;
    assert!(told.is_finished(), "{told:?}");
    let card = say(&planner, "cancel order 7").await;
    assert_eq!(
        card,
        "cancel_order: order #7, which is not open? (yes / no)"
    );
    assert_eq!(world.desk.open_orders().await?.len(), 1);
    Ok(())
}
