//! Our side of MCP, for the servers and clients of others.
//!
//! `mcp server` serves two tools over HTTP on a free port of this machine, prints the address, and
//! ends when its standard input does. `mcp client … <url>` calls each tool of a server. `mcp everything
//! <program> <arguments…>` calls the tools of the reference server, as a program and over HTTP.
#![expect(
    clippy::print_stdout,
    reason = "what it found is what this program prints"
)]
mod client;
mod everything;
mod server;

use fugato::BoxError;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let (what, rest) = (arguments.next(), arguments.collect::<Vec<_>>());
    match (what.as_deref(), rest.as_slice()) {
        (Some("server"), []) => server::run().await,
        (Some("client"), [url]) => client::run(url).await,
        (Some("everything"), [program, arguments @ ..]) => {
            everything::run(program, arguments).await
        }
        _ => Err("say server, client <url>, or everything <program> <arguments…>".into()),
    }
}
