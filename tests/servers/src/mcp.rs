use std::{
    net::TcpStream,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    find,
    server::{Recipe, Server, folder, free_port, text},
};

/// Where `tests/peers/run` installs it.
const PACKAGES: &str = "fugato-ci/peers/node_modules/@modelcontextprotocol";
const EVERYTHING: &str = "server-everything/dist/index.js";
const KIT: &str = "sdk/dist/esm/types.js";

/// Tool servers of others: the reference server of the model context protocol, and its kit for
/// servers of one's own.
#[derive(Debug, Clone)]
pub struct Mcp {
    node: PathBuf,
    everything: PathBuf,
    kit: PathBuf,
}

impl Mcp {
    /// Those that are installed; none if they are not.
    pub fn installed() -> Option<Self> {
        let node = find::program("node", &[], "nodejs")?;
        let cached = |file: &str| find::cached(&format!("{PACKAGES}/{file}"), "tests/peers/run");
        let (everything, kit) = (cached(EVERYTHING)?, cached(KIT)?);
        let kit = kit.parent()?.to_owned();
        Some(Self {
            node,
            everything,
            kit,
        })
    }

    /// What runs both.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// The folder of the kit's modules.
    pub fn kit(&self) -> &Path {
        &self.kit
    }

    /// The command line of the reference server, over its standard input and output.
    pub fn everything(&self) -> String {
        format!("'{}' '{}'", self.node.display(), self.everything.display())
    }

    /// The reference server over HTTP; its endpoint is `/mcp`.
    pub fn everything_over_http(&self) -> Server {
        let (folder, port) = (folder("mcp"), free_port());
        let command = [
            "env".to_owned(),
            format!("PORT={port}"),
            text(&self.node),
            text(&self.everything),
            "streamableHttp".to_owned(),
        ];
        let listens = |port| {
            let address = ([127, 0, 0, 1], port).into();
            TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
        };
        Server::start(Recipe::http(command, folder, port, listens))
    }
}
