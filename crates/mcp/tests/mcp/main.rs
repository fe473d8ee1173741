//! Tests of MCP as a client and as a server, in one binary.

mod agreement;
mod both_sides;
#[cfg(feature = "http-server")]
mod hostile;
mod program;
mod rough_servers;
