//! The tools of MCP servers.
use std::path::Path;

use fugato::{
    graph::BoxError,
    mcp::{HttpOptions, McpOptions, McpServer, McpTools, Program},
};

use crate::Settings;

/// The servers that the settings name. None is reached yet.
pub(super) fn servers(settings: &Settings) -> Result<Vec<McpServer>, BoxError> {
    let programs = settings.mcp.iter().map(|command| program(command));
    let urls = settings.mcp_url.iter().map(|url| Ok(behind(url)));
    programs.chain(urls).collect()
}

fn program(command: &str) -> Result<McpServer, BoxError> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let mut words = words
        .ok_or_else(|| format!("--mcp {command:?} is no command; allowed is a program with its arguments, quoted as in a shell"))?
        .into_iter();
    let name = words.next().unwrap_or_default();
    let stem = Path::new(&name).file_stem().unwrap_or_default();
    let stem = stem.to_string_lossy().into_owned();
    let program = Program::new(name).args(words).inherit(["PATH"]);
    Ok(McpServer::stdio(stem, program, McpOptions::new()))
}

fn behind(url: &str) -> McpServer {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', ':', '?']).next().unwrap_or_default();
    McpServer::http(host, url, HttpOptions::new(), McpOptions::new())
}

pub(super) async fn tools(server: &McpServer) -> Result<McpTools, BoxError> {
    Ok(server.tools().await?)
}
