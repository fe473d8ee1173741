//! The planner with model servers of others: one that answers as it is told, and a small model that
//! mostly answers garbage. Where they are not installed there is nothing to ask.
use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use fugato::{
    BoxError, ChatModel, ChatRequest, MemoryLog, OpenAi,
    llm::{ApiKey, DeltaStream, ModelError},
    store::MemoryDocs,
};
use planner::{exchange::Exchange, graph::Deps, service::Planner};
use servers::{Aimock, Llama};
use tokio::time::timeout;

const KEY: &str = "sk-desk-0123456789";
/// Far more than the stages of a few messages may take together.
const PATIENCE: Duration = Duration::from_mins(15);

fn planner(desk: &Exchange, model: impl ChatModel + 'static) -> Result<Planner, BoxError> {
    let docs = Arc::new(MemoryDocs::default());
    let deps = Deps::new(desk.clone(), docs).model(model);
    Ok(Planner::new(&deps, Arc::new(MemoryLog::default()))?)
}

async fn say(planner: &Planner, text: &str) -> Result<String, BoxError> {
    Ok(planner.handle_message("ada", "one", text).await?.text)
}

#[tokio::test]
async fn the_reference_scenario_with_aimock() -> Result<(), BoxError> {
    let Some(server) = Aimock::start(include_str!("planner/fixtures.json")) else {
        return Ok(());
    };
    let model = OpenAi::new(server.url(), "small").key(ApiKey::new(KEY));
    let desk = Exchange::in_memory()?;
    let planner = planner(&desk, model)?;
    assert_eq!(
        say(&planner, "Hello, how are you").await?,
        "Well, thank you."
    );
    let card = say(&planner, "Buy a quarter of a bitcoin").await?;
    assert!(card.starts_with("Place an order: "), "{card}");
    assert_eq!(desk.trades(10).await?, []);
    let (_, code) = card.split_once("(yes ").ok_or("the card has no code")?;
    let code = code.split_once(' ').map_or("", |(code, _)| code);
    let done = say(&planner, &format!("yes {code}")).await?;
    // The receipt comes first, and then the model's words.
    assert!(done.starts_with("Done: order #1 is filled"), "{done}");
    assert!(
        done.ends_with("You have bought a quarter of a bitcoin."),
        "{done}"
    );
    assert_eq!(desk.trades(10).await?.len(), 1);
    let told = say(&planner, "Which models are there?").await?;
    assert_eq!(told, "Models: glimmer, harbour");
    // The server is down, and a rule answers.
    let told = say(&planner, "my balance").await?;
    assert!(told.starts_with("Balances: 0.75 BTC"), "{told}");
    Ok(())
}

/// A model that is given few tokens: it has nothing to say that is worth the time.
struct Terse<M>(M);

#[async_trait]
impl<M: ChatModel> ChatModel for Terse<M> {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        self.0.stream(request.max_tokens(48)).await
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

#[tokio::test]
async fn the_reference_scenario_with_a_small_model_ends_in_honest_words() -> Result<(), BoxError> {
    let Some(server) = Llama::start(KEY) else {
        return Ok(());
    };
    let model = OpenAi::new(server.url(), "small").key(ApiKey::new(KEY));
    let desk = Exchange::in_memory()?;
    let planner = planner(&desk, Terse(model))?;
    // What exists is read out as it was looked up, whatever the model makes of it.
    let told = timeout(PATIENCE, say(&planner, "Which models are there?")).await??;
    println!("models: {told}");
    let honest =
        |text: &str| text.contains("I could not finish") || text.contains("longer than I may wait");
    assert!(
        told == "Models: glimmer, harbour" || honest(&told),
        "{told}"
    );
    let told = timeout(PATIENCE, say(&planner, "buy 0.25 BTC")).await??;
    println!("order: {told}");
    assert!(!told.is_empty());
    // Nobody has agreed to anything.
    assert_eq!(desk.trades(10).await?, []);
    Ok(())
}
