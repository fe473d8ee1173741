//! The tools of MCP servers.
use std::path::Path;

use fugato::{
    graph::BoxError,
    mcp::{HttpOptions, McpOptions, McpServer, McpTools, ServerProgram},
};

use crate::Settings;

/// Returns the servers that the settings name, without connecting to them.
pub(super) fn servers(settings: &Settings) -> Result<Vec<McpServer>, BoxError> {
    let mut names = Names::default();
    let mut servers = vec![];
    for command in &settings.mcp {
        servers.push(program(command, &mut names)?);
    }
    for url in &settings.mcp_url {
        servers.push(behind(url, &mut names));
    }
    Ok(servers)
}

fn program(command: &str, names: &mut Names) -> Result<McpServer, BoxError> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let mut words = words
        .ok_or_else(|| format!("--mcp {command:?} is no command; allowed is a program with its arguments, quoted as in a shell"))?
        .into_iter();
    let file = words.next().unwrap_or_default();
    let stem = Path::new(&file).file_stem().unwrap_or_default();
    let name = names.fresh(&stem.to_string_lossy());
    let program = ServerProgram::new(file).args(words).inherit(["PATH"]);
    Ok(McpServer::stdio(name, program, McpOptions::new()))
}

fn behind(url: &str, names: &mut Names) -> McpServer {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', ':', '?']).next().unwrap_or_default();
    McpServer::http(
        names.fresh(host),
        url,
        HttpOptions::new(),
        McpOptions::new(),
    )
}

/// The names of servers, which distinguish their tools: one program may be several servers.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn fresh(&mut self, name: &str) -> String {
        let numbered = (2..).map(|n| format!("{name}-{n}"));
        let mut all = std::iter::once(name.to_owned()).chain(numbered);
        let fresh = all.find(|name| !self.0.contains(name)).unwrap_or_default();
        self.0.push(fresh.clone());
        fresh
    }
}

pub(super) async fn tools(server: &McpServer) -> Result<McpTools, BoxError> {
    Ok(server.tools().await?)
}
