//! Tests of MCP as a client and as a server, in one binary.

mod agreement;
mod both_sides;
mod program;
mod rough_servers;
