//! The tools that the conformance suite calls by their names.
use std::io::{self, Write as _};

use axum::Router;
use fugato::{
    BoxError, Registry, ToolFailure, ToolServer, ToolSpec,
    mcp::{HttpServing, Stateless},
    tool::NoArguments,
};
use tokio::net::TcpListener;

pub(crate) async fn run() -> Result<(), BoxError> {
    let registry = Registry::<(), ()>::builder()
        .function(
            ToolSpec::read("test_simple_text", "Says something simple."),
            |_, NoArguments {}| Ok("This is a simple text response for testing."),
        )
        .function(
            ToolSpec::read("test_error_handling", "Fails."),
            |_, NoArguments {}| -> Result<&str, ToolFailure> {
                Err(ToolFailure::failed(
                    "This tool intentionally returns an error for testing",
                ))
            },
        )
        .build()?;
    let server = ToolServer::new("fugato", registry, Stateless::new());
    let routes = Router::new().route_service("/mcp", server.http(HttpServing::new()));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    writeln!(io::stdout(), "http://{}/mcp", listener.local_addr()?)?;
    let closed = tokio::task::spawn_blocking(|| io::copy(&mut io::stdin(), &mut io::sink()));
    tokio::select! {
        ended = axum::serve(listener, routes) => ended?,
        _ = closed => {}
    }
    Ok(())
}
