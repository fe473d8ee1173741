//! The agent, tested as a conversation: the model is scripted, everything else is real.
use std::fs;

use fugato::{
    BoxError, Runner, ToolCall,
    agent::{React, ReactUpdate},
    serde_json::json,
};
use fugato_testkit::{Scripted, ScriptedReply, session::Session};
use my_agent::{Shop, graph};

/// A session with the agent, whose model says what the script says.
fn session(shop: &Shop, script: [ScriptedReply; 2]) -> Session<React> {
    let (shop, model) = (shop.clone(), Scripted::new(script));
    Session::new(
        move |log| {
            Runner::new(
                graph(model.clone(), shop.clone()).expect("the graph is built"),
                log,
            )
        },
        |words| ReactUpdate::user(words),
    )
}

fn order() -> ScriptedReply {
    let call = ToolCall::new("c1", "order", json!({ "name": "tea", "count": 2 }));
    ScriptedReply::tool_calls([call])
}

#[tokio::test]
async fn an_order_waits_until_a_person_agrees() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let shop = Shop {
        orders: folder.path().join("orders.txt"),
    };
    let session = session(
        &shop,
        [order(), ScriptedReply::text("Two teas are on their way.")],
    );
    session.say("Order two teas.").await;
    assert!(!shop.orders.exists());
    // The process ends, and another one goes on with the card.
    session.reopen().await;
    session.approve().await;
    assert_eq!(fs::read_to_string(&shop.orders)?, "2 tea\n");
    let history = session.state().await.conversation.history;
    let last = history.last().map(|message| message.content.as_str());
    // What was done is told by the receipts, whatever the model says.
    let told = "Done: ordered 2 tea for 700 cents\n\nTwo teas are on their way.";
    assert_eq!(last, Some(told));
    Ok(())
}

#[tokio::test]
async fn a_declined_order_is_not_placed() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let shop = Shop {
        orders: folder.path().join("orders.txt"),
    };
    let session = session(&shop, [order(), ScriptedReply::text("Nothing is ordered.")]);
    session.say("Order two teas.").await;
    session.reject().await;
    assert!(!shop.orders.exists());
    Ok(())
}
