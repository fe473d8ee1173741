//! A model that calls a tool: an async function of what it depends on, and of its arguments.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{collections::BTreeMap, sync::Arc};

use fugato::{
    Report, ToolCall, ToolFailure, ToolSpec, agent,
    schemars::{self, JsonSchema},
    serde_json::json,
};
use fugato_testkit::{Scripted, ScriptedReply};
use serde::Deserialize;

type Stock = Arc<BTreeMap<&'static str, u32>>;

#[derive(Deserialize, JsonSchema)]
struct Item {
    /// The name of the item, in lower case.
    name: String,
}

async fn price(stock: Stock, Item { name }: Item) -> Result<String, ToolFailure> {
    let cents = stock.get(&*name);
    let cents = cents.ok_or_else(|| ToolFailure::failed(format!("there is no {name}")))?;
    Ok(format!("{name}: {cents} cents"))
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Report> {
    let call = |id, name| ToolCall::new(id, "price", json!({ "name": name }));
    let model = Scripted::new([
        ScriptedReply::tool_calls([call("c1", "tea"), call("c2", "gold")]),
        ScriptedReply::text("Tea is 3.50; we have no gold."),
    ]);
    let reply = agent(model)
        .function_with(
            ToolSpec::read("price", "The price of an item."),
            Arc::new(BTreeMap::from([("tea", 350)])),
            price,
        )
        .run("What do tea and gold cost?")
        .await?;
    println!("{reply}");
    assert_eq!(reply, "Tea is 3.50; we have no gold.");
    Ok(())
}
