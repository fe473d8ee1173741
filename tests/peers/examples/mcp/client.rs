//! A client of servers that nobody knows beforehand: it calls each tool once, with what its schema
//! asks for, or makes the calls that the conformance suite names.
use fugato::{
    BoxError, McpOptions, McpServer, Registry, ToolCall, ToolContext, Visibility,
    mcp::{Era, HttpOptions, ServerAnswer},
};
use serde_json::{Map, Value, json};

pub(crate) async fn run(url: &str) -> Result<(), BoxError> {
    // The suite plays servers of one era, some of which count what a client tries.
    let era = match std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").as_deref() {
        Ok("2025-11-25") => Era::Handshake,
        Ok("2026-07-28") => Era::Stateless,
        _ => Era::Either,
    };
    let options = McpOptions::new()
        .prefix("")
        .era(era)
        .answers(|_| async { ServerAnswer::Given(json!({})) });
    let server = McpServer::http("suite", url, HttpOptions::new(), options);
    let tools = server.tools().await?;
    let registry = Registry::<(), ()>::builder().tools(tools).build()?;
    for call in calls(&registry)? {
        let result = registry.call(&call, ToolContext::new(&())).await;
        println!("{} {}: {}", call.name, call.arguments, result.text);
    }
    server.close().await;
    Ok(())
}

fn calls(registry: &Registry) -> Result<Vec<ToolCall>, BoxError> {
    let named = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(context) => serde_json::from_str::<Value>(&context)?
            .get("toolCalls")
            .cloned(),
        Err(_) => None,
    };
    if let Some(Value::Array(named)) = named {
        let calls = named.iter().map(|call| {
            let name = call.get("name").and_then(Value::as_str);
            let arguments = call.get("arguments").cloned().unwrap_or_default();
            Ok(ToolCall::new(
                "c",
                name.ok_or("a call has a name")?,
                said(arguments),
            ))
        });
        return calls.collect();
    }
    let tools = registry.schemas(&Visibility::new());
    let calls = tools.into_iter().map(|tool| {
        let arguments = arguments(tool.parameters.as_value());
        ToolCall::new("c", tool.name, Value::Object(arguments))
    });
    Ok(calls.collect())
}

/// What has a value. The suite says null for what is left out, where the schema allows no null.
fn said(arguments: Value) -> Value {
    match arguments {
        Value::Object(arguments) => {
            let said = arguments.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(said.collect())
        }
        other => other,
    }
}

/// One value for everything that must be said.
fn arguments(schema: &Value) -> Map<String, Value> {
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let value = |name: &str| {
        let kind = schema.pointer(&format!("/properties/{name}/type"));
        match kind.and_then(Value::as_str) {
            Some("number" | "integer") => json!(5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("something"),
        }
    };
    required
        .map(|name| (name.to_owned(), value(name)))
        .collect()
}
