//! An agent that knows the prices of a shop, and orders what a person agrees to.
use std::{fs::OpenOptions, io::Write as _, path::PathBuf};

use fugato::{
    ChatModel, Graph, ToolFailure, ToolSpec, agent,
    agent::{React, ReplyError},
    schemars::{self, JsonSchema},
    tool::{GateChain, confirm_writes},
};
use serde::Deserialize;

const PRICES: [(&str, u32); 3] = [("tea", 350), ("coffee", 420), ("cake", 510)];

const SYSTEM: &str = "You serve a small shop. Look prices up before you name them.";

/// The shop, as the tools know it: a file with a line for each order.
#[derive(Debug, Clone)]
pub struct Shop {
    /// The file.
    pub orders: PathBuf,
}

#[derive(Deserialize, JsonSchema)]
struct Item {
    /// The name of the item, in lower case.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// The name of the item, in lower case.
    name: String,
    /// The number of pieces.
    count: u32,
}

/// A failure is told to the model, which can try again.
fn cents(name: &str) -> Result<u32, ToolFailure> {
    let found = PRICES.iter().find(|(known, _)| *known == name);
    let names = PRICES.map(|(known, _)| known).join(", ");
    let missing = || ToolFailure::failed(format!("there is no {name:?}; there are: {names}"));
    found.map(|(_, cents)| *cents).ok_or_else(missing)
}

async fn price(_: Shop, Item { name }: Item) -> Result<String, ToolFailure> {
    Ok(format!("{name}: {} cents", cents(&name)?))
}

async fn order(shop: Shop, Order { name, count }: Order) -> Result<String, ToolFailure> {
    let sum = cents(&name)?.saturating_mul(count);
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&shop.orders);
    file.and_then(|mut file| writeln!(file, "{count} {name}"))
        .map_err(|error| ToolFailure::failed(format!("the order was not written: {error}")))?;
    Ok(format!("ordered {count} {name} for {sum} cents"))
}

/// Builds the graph of the agent: a loop of the model and its tools, in which a person confirms
/// each write.
///
/// # Errors
/// The tools or the graph are refused.
pub fn graph(model: impl ChatModel + 'static, shop: Shop) -> Result<Graph<React>, ReplyError> {
    let read = ToolSpec::read("price", "The price of an item.");
    let write = ToolSpec::write("order", "Orders an item.");
    agent(model)
        .system(SYSTEM)
        .function_with(read, shop.clone(), price)
        .function_with(write, shop, order)
        .gates(GateChain::new().with(confirm_writes))
        .into_graph()
}
