//! The reference server with everything, as a program and over HTTP.
use std::{
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
};

use fugato::{
    BoxError, EffectClass, McpOptions, McpServer, Registry, ToolCall, ToolContext,
    mcp::{HttpOptions, ServerAnswer, ServerProgram},
    tool::{Access, ToolResult},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    net::TcpListener,
    process::Command,
};

type Steps = Arc<Mutex<Vec<f64>>>;

pub(crate) async fn run(program: &str, arguments: &[String]) -> Result<(), BoxError> {
    let steps = Steps::default();
    let started = ServerProgram::new(program)
        .args(arguments)
        .arg("stdio")
        .env("ROOM", "7");
    let server = McpServer::stdio("all", started, options(&steps));
    check(&server, &steps).await?;
    let registry = registry(&server).await?;
    let env = call(&registry, "all_get-env", json!({})).await.text;
    // The script sets this one, so that there is something to keep from the program.
    same("what we know", std::env::var("FUGATO_SECRET").is_ok(), true)?;
    same(
        "what the program knows",
        (env.contains("ROOM"), env.contains("SECRET")),
        (true, false),
    )?;

    let free = TcpListener::bind(("127.0.0.1", 0))
        .await?
        .local_addr()?
        .port();
    let mut child = Command::new(program)
        .args(arguments)
        .arg("streamableHttp")
        .env("PORT", free.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let errors = child.stderr.take().ok_or("it was asked for")?;
    let mut lines = BufReader::new(errors).lines();
    while let Some(line) = lines.next_line().await? {
        if line.contains("listening") {
            break;
        }
    }
    let url = format!("http://127.0.0.1:{free}/mcp");
    let server = McpServer::http("all", url, HttpOptions::new(), options(&steps));
    check(&server, &steps).await?;

    // It is lost without a word.
    let registry = registry_of(&server).await?;
    child.kill().await?;
    let lost = call(&registry, "all_echo", json!({ "message": "anybody?" })).await;
    same("a lost server", lost.is_ok(), false)?;
    println!("{}", lost.text);
    Ok(())
}

fn options(steps: &Steps) -> McpOptions {
    let steps = Arc::clone(steps);
    McpOptions::new()
        .answers(|_| async { ServerAnswer::Given(json!({ "name": "Ada" })) })
        .on_progress(move |at| {
            steps
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(at.done);
        })
}

async fn registry_of(server: &McpServer) -> Result<Registry, BoxError> {
    let tools = server.tools().await?;
    same("refused tools", tools.refused(), &[])?;
    Ok(Registry::builder().tools(tools).build()?)
}

/// Some tools come only when the server has learnt what the client can do.
async fn registry(server: &McpServer) -> Result<Registry, BoxError> {
    loop {
        let registry = registry_of(server).await?;
        if registry.spec("all_trigger-elicitation-request").is_some() {
            return Ok(registry);
        }
        server.changed().await;
    }
}

async fn check(server: &McpServer, steps: &Steps) -> Result<(), BoxError> {
    let registry = registry(server).await?;
    let class = |name| registry.spec(name).map(|spec| (spec.access, spec.effect));
    same(
        "the class of echo",
        class("all_echo"),
        Some((Access::Read, EffectClass::Pure)),
    )?;

    let echo = call(&registry, "all_echo", json!({ "message": "你好" })).await;
    same("echo", echo.text.as_str(), "Echo: 你好")?;
    let sum = call(&registry, "all_get-sum", json!({ "a": 2, "b": 3 })).await;
    same("sum", sum.text.as_str(), "The sum of 2 and 3 is 5.")?;
    let wrong = call(&registry, "all_get-sum", json!({ "a": 2, "c": 3 })).await;
    same(
        "a wrong argument is named",
        wrong.text.contains("there is no argument `c`"),
        true,
    )?;

    let weather = call(
        &registry,
        "all_get-structured-content",
        json!({ "location": "Chicago" }),
    )
    .await;
    same(
        "structured content",
        weather
            .data
            .get("temperature")
            .is_some_and(Value::is_number),
        true,
    )?;
    let image = call(&registry, "all_get-tiny-image", json!({})).await;
    same("an image", image.text.contains("[image: image/png]"), true)?;
    same(
        "its data",
        image
            .data
            .pointer("/content/0/data")
            .is_some_and(Value::is_string),
        true,
    )?;

    steps.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let long = json!({ "duration": 0.2, "steps": 2 });
    let long = call(&registry, "all_trigger-long-running-operation", long).await;
    same("a long operation", long.is_ok(), true)?;
    // The last one may be overtaken by the answer.
    let first = steps
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .first()
        .copied();
    same("its first step", first, Some(1.0))?;

    let asked = call(&registry, "all_trigger-elicitation-request", json!({})).await;
    same(
        "what was answered arrived",
        asked.text.contains("Ada"),
        true,
    )?;
    Ok(())
}

async fn call(registry: &Registry, tool: &str, arguments: Value) -> ToolResult {
    let call = ToolCall::new("c1", tool, arguments);
    registry.call(&call, ToolContext::new(&())).await
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it reads better where it is called"
)]
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), BoxError> {
    if found == expected {
        println!("{what}: {found:?}");
        return Ok(());
    }
    Err(format!("{what}: {found:?} instead of {expected:?}").into())
}
