//! Tests of the planner without a model.
use crate::common::{TestResult, World, say, status};
use expect_test::expect;
use fugato::memory::ExecutionStatus;
use fugato_testkit::assert_contains;
use planner::{
    exchange::{Config, Kind},
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
        let said = [
            "Which models and traders are there?",
            "Create a trader named alpha",
        ];
        planner.say_all(said).await;
        planner.say_all(["harbour", "是"]).await;
        world.desk.unconfigure(Kind::Model, "glimmer").await?;
        world.desk.unconfigure(Kind::Model, "harbour").await?;
        planner
            .say_all(["现在可以创建交易员吗？", "buy 0.25 BTC"])
            .await;
        planner.say_all(["yes", "我的余额", "positions?"]).await;
        expect![[r"
            > Which models and traders are there?
            = Models: glimmer, harbour
              Traders: none
            > Create a trader named alpha
            ? Which model? There are: glimmer, harbour
            > harbour
            ? [<code 2>] Create a trader
              exchange replay, model harbour, name alpha
              yes / no
            > 是
            = Done: made the trader alpha with harbour on replay
            > 现在可以创建交易员吗？
            = 现在不能创建交易员：没有可用的模型。
              模型：没有
              交易所：backtest（已停用）, replay
              交易员：alpha (harbour, replay)
            > buy 0.25 BTC
            ? [<code 3>] Place an order
              buy 0.25 BTC-USDT at the market price: about 16002.5 USDT in all, at most 64650.1 each
              yes / no
            > yes
            = Done: order #1 is filled: buy 0.25 BTC-USDT, 0.25 done for 16002.5
            > 我的余额
            = 余额：0.75 BTC; 4 ETH; 83997.5 USDT
            > positions?
            = Positions: 0.25 BTC-USDT @ 64010 → 63990
        "]]
        .assert_eq(&planner.transcript());
        assert_eq!(status(&planner).await, ExecutionStatus::Completed);
    }
    Ok(())
}

#[tokio::test]
async fn pln_19_pln_20_an_answer_belongs_to_its_question_and_leads_on() -> TestResult {
    let planner = World::new()?.talk();
    // PLN-C1, PLN-C3: a word for another try and a word about configurations are answers here.
    planner.say_all(["create a trader", "continue"]).await;
    planner.reopen().await;
    planner.say_all(["the model glimmer", "beta"]).await;
    let status = status(&planner).await;
    assert_eq!(status, ExecutionStatus::WaitingUserConfirmation);
    planner.reopen().await;
    planner.say("好的").await;
    expect![[r"
        > create a trader
        ? Which model? There are: glimmer, harbour
        > continue
        ? That model is not there now. There are: glimmer, harbour
        ~ the process is gone, and another one opens the agent
        > the model glimmer
        ? What shall the trader be called?
        > beta
        ? [<code 4>] Create a trader
          exchange replay, model glimmer, name beta
          yes / no
        ~ the process is gone, and another one opens the agent
        > 好的
        = Done: made the trader beta with glimmer on replay
    "]]
    .assert_eq(&planner.transcript());
    Ok(())
}

#[tokio::test]
async fn pln_20_another_request_interrupts_and_cancel_cancels() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    planner
        .say_all(["create a trader", "What is the price of BTC?"])
        .await;
    planner.say_all(["sell 1 ETH", "取消"]).await;
    expect![[r"
        > create a trader
        ? Which model? There are: glimmer, harbour
        > What is the price of BTC?
        = Prices: BTC-USDT 63990 / 64010
        > sell 1 ETH
        ? [<code 2>] Place an order
          sell 1 ETH-USDT at the market price: about 3199 USDT in all, at least 3167.01 each
          yes / no
        > 取消
        = 已取消。
    "]]
    .assert_eq(&planner.transcript());
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
    planner.say("create a trader named alpha").await;
    world.desk.unconfigure(Kind::Model, "harbour").await?;
    world.desk.configure(Kind::Model, config("meadow")).await?;
    planner.say_all(["harbour", "meadow"]).await;
    world.desk.unconfigure(Kind::Model, "meadow").await?;
    planner.say("yes").await;
    expect![[r#"
        > create a trader named alpha
        ? Which model? There are: glimmer, harbour
        > harbour
        ? That model is not there now. There are: glimmer, meadow
        > meadow
        ? [<code 3>] Create a trader
          exchange replay, model meadow, name alpha
          yes / no
        > yes
        = Not done: there is no model "meadow" that is enabled; there is: glimmer
    "#]]
    .assert_eq(&planner.transcript());
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
        let card = "Place an order: sell 0.5 BTC-USDT at 70000 USDT each? (yes / no)";
        assert_eq!(told, card, "{words:?}");
    }
    let asked = say(&planner, "sell 0,5 BTC").await;
    assert_contains(&asked, "more than one way");
    let card = say(&planner, "0.5").await;
    let expected = "Place an order: sell 0.5 BTC-USDT at the market price: about \
                    31992.5 USDT in all, at least 63340.2 each? (yes / no)";
    assert_eq!(card, expected);
    Ok(())
}

#[tokio::test]
async fn the_card_of_a_cancellation_says_what_the_order_is() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    planner.say_all(["buy 2 BTC at 10000", "yes"]).await;
    planner
        .say_all(["cancel my 2 BTC order", "the one of 2 BTC", "#1"])
        .await;
    planner
        .say_all(["Did you cancel order 1?", "cancel order 7"])
        .await;
    expect![[r"
        > buy 2 BTC at 10000
        ? [<code 1>] Place an order
          buy 2 BTC-USDT at 10000 USDT each
          yes / no
        > yes
        = Done: order #1 is open: buy 2 BTC-USDT, 0 done for 0
        > cancel my 2 BTC order
        ? Which order, by its number?
        > the one of 2 BTC
        ? Which order, by its number?
        > #1
        ? [<code 4>] Cancel an order
          order #1 buy 0/2 BTC-USDT @ 10000
          yes / no
        > Did you cancel order 1?
        = Open orders: #1 buy 0/2 BTC-USDT @ 10000
          The card still waits: answer it as it says.
        > cancel order 7
        = Not done: there is no open order #7. There is: #1
    "]]
    .assert_eq(&planner.transcript());
    assert_eq!(world.desk.open_orders().await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn what_is_excepted_timed_or_addressed_is_not_placed_without_it() -> TestResult {
    let world = World::new()?;
    let planner = world.talk();
    planner
        .say_all(["buy 1 ETH at 2000", "yes", "buy 0.1 BTC at 50000", "yes"])
        .await;
    for (words, told) in [
        ("sell all my ETH except 1", "“except 1”"),
        ("除了1个以太都卖掉", "“除了1个以太”"),
        (
            "cancel everything except the ETH order",
            "“except the ETH order”",
        ),
        ("明早九点买一个以太", "什么都没有做"),
        ("buy 1 ETH for my trader alpha", "“for my trader alpha”"),
        (
            "buy 2k worth of ETH",
            "2000 USDT come to about 0.624804 ETH",
        ),
        (
            "buy bitcoin for 500 dollars",
            "500 USDT come to about 0.00781 BTC",
        ),
        ("花一千块买以太坊", "1000 USDT 约合 0.312402 ETH"),
        ("不要", "已取消"),
        (
            "do I have enough money for 2 BTC?",
            "93000 are free: not enough",
        ),
        ("买1个SOL再卖10个比特币", "这里没有 SOL"),
    ] {
        assert_contains(&say(&planner, words).await, told);
        assert!(
            !planner
                .state()
                .await
                .work
                .status()
                .eq(&ExecutionStatus::WaitingUserConfirmation),
            "{words}"
        );
    }
    say(&planner, "buy 1 SOL and sell 0.01 BTC").await;
    let told = say(&planner, "yes").await;
    assert_contains(&told, "Done: order #3 is filled: sell 0.01 BTC-USDT");
    assert_contains(&told, "SOL is not traded here");
    assert_eq!(world.desk.open_orders().await?.len(), 2);
    Ok(())
}
