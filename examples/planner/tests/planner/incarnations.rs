//! A card is about the trader that it shows, and about no other of its name.
use axum::Router;
use fugato::{
    BoxError,
    axum::{AgentRoutes, AllowAll},
};
use fugato_testkit::assert_contains;
use serde_json::{Value, json};

use crate::{
    common::{TestResult, World},
    served::{code, post},
};

/// Says something in a thread, and returns what was told at the end.
async fn say(app: &Router, thread: &str, text: &str) -> Result<String, BoxError> {
    let (_, events) = post(app, &json!({ "thread": thread, "text": text })).await?;
    Ok(json!(events).to_string())
}

async fn agree(app: &Router, thread: &str) -> Result<String, BoxError> {
    let code = code(app, thread).await?;
    say(app, thread, &format!("yes {code}")).await
}

async fn makes(app: &Router, thread: &str, model: &str) -> TestResult {
    let wish = format!("create a trader named alpha with {model} on replay");
    say(app, thread, &wish).await?;
    agree(app, thread).await?;
    Ok(())
}

#[tokio::test]
async fn k35_a_card_removes_no_other_trader_of_the_same_name() -> TestResult {
    for (wish, card, refused) in [
        ("delete trader alpha", "alpha", "another trader"),
        ("删除交易员 alpha", "alpha", "另一个交易员"),
    ] {
        let world = World::new()?;
        let app = AgentRoutes::new(world.planner()?)
            .authenticate(AllowAll)
            .router();
        makes(&app, "made", "harbour").await?;
        assert_eq!(world.desk.traders().await?.len(), 1);
        for thread in ["old", "other"] {
            assert_contains(&say(&app, thread, wish).await?, card);
        }
        agree(&app, "other").await?;
        assert_eq!(world.desk.traders().await?, []);
        makes(&app, "made-again", "harbour").await?;
        let there = world.desk.traders().await?;
        assert_eq!(there.len(), 1);
        assert_contains(&agree(&app, "old").await?, refused);
        assert_eq!(world.desk.traders().await?, there);
        // Who is asked about this one removes it.
        say(&app, "old", wish).await?;
        agree(&app, "old").await?;
        assert_eq!(world.desk.traders().await?, []);
    }
    Ok(())
}

#[tokio::test]
async fn k35_a_card_shows_what_the_trader_is_made_of() -> TestResult {
    let world = World::new()?;
    let app = AgentRoutes::new(world.planner()?)
        .authenticate(AllowAll)
        .router();
    makes(&app, "made", "harbour").await?;
    let card = say(&app, "t", "delete trader alpha").await?;
    let card: Value = serde_json::from_str(&card)?;
    assert_contains(&card.to_string(), ["alpha", "harbour", "replay"]);
    Ok(())
}

#[tokio::test]
async fn k35_a_yes_with_a_no_is_asked_again() -> TestResult {
    for words in [
        "no CODE, but yes",
        "yes CODE, but no",
        "不要 CODE，但是好的",
        "好的 CODE，但不要",
    ] {
        let world = World::new()?;
        let app = AgentRoutes::new(world.planner()?)
            .authenticate(AllowAll)
            .router();
        say(&app, "t", "sell 0.25 BTC").await?;
        let before = code(&app, "t").await?;
        say(&app, "t", &words.replace("CODE", &before)).await?;
        assert_eq!(code(&app, "t").await?, before, "{words}");
        assert_eq!(world.desk.orders().await?, [], "{words}");
    }
    Ok(())
}
