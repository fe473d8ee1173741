use std::{fs, path::Path};

use crate::{
    find,
    server::{Recipe, Server, folder, free_port, is_well, text},
};

/// The system and the processor in the names of the packages.
const PLATFORM: &str = if cfg!(target_os = "macos") {
    "darwin"
} else {
    "linux"
};
const PROCESSOR: &str = if cfg!(target_arch = "aarch64") {
    "arm64"
} else {
    "x64"
};
const REMEDY: &str = "npm install --prefix ~/.cache/fugato-ci/restate \
                      @restatedev/restate-server@1.7.12";

/// Restate, an engine that places and wakes objects. Clients connect to its ingress.
#[derive(Debug)]
pub struct Restate {
    server: Server,
    admin: u16,
}

impl Restate {
    /// A new server; none if the program is not installed.
    ///
    /// # Panics
    /// If the system has no room for its settings, or it does not answer within a minute.
    pub fn start() -> Option<Self> {
        let program = find::cached(&program(), REMEDY)?;
        Some(Self::node(&program, Ports::free(), String::new))
    }

    /// Three new servers that are one cluster: each record is in two of them, and one may be lost.
    /// None if the program is not installed.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    pub fn cluster() -> Option<[Self; 3]> {
        let program = &find::cached(&program(), REMEDY)?;
        let ports = [Ports::free(), Ports::free(), Ports::free()];
        let addresses: Vec<_> = ports
            .iter()
            .map(|ports| format!("{:?}", ports.address()))
            .collect();
        let addresses = &addresses.join(", ");
        // None of them gets ready alone.
        let first = ports[0].node;
        Some(std::thread::scope(|scope| {
            let nodes = ports.map(|ports| {
                let more = move || clustered(addresses, ports.node == first);
                scope.spawn(move || Self::node(program, ports, more))
            });
            nodes.map(|node| node.join().expect("it answers"))
        }))
    }

    fn node(program: &Path, ports: Ports, more: impl FnOnce() -> String) -> Self {
        let folder = folder("restate");
        let Ports {
            ingress,
            admin,
            node,
        } = ports;
        let (data, address, more) = (text(&folder.join("data")), ports.address(), more());
        let config = format!(
            r#"node-name = "node-{node}"
base-dir = "{data}"
listen-mode = "tcp"
bind-address = "127.0.0.1:{node}"
advertised-address = "{address}"
disable-telemetry = true
default-num-partitions = 4
rocksdb-total-memory-size = "128.0 MiB"
log-disable-ansi-codes = true
{more}
[ingress]
bind-address = "127.0.0.1:{ingress}"

[admin]
bind-address = "127.0.0.1:{admin}"
disable-web-ui = true
"#
        );
        let file = folder.join("restate.toml");
        fs::write(&file, config).expect("a new file");
        let command = [
            text(program),
            "--no-logo".to_owned(),
            format!("--config-file={}", text(&file)),
        ];
        let ready = move |ingress| is_well(admin, "/health") && is_well(ingress, "/restate/health");
        let server = Server::start(Recipe::http(command, folder, ingress, ready));
        Self { server, admin }
    }

    /// The server. Its URL is that of the ingress.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Returns the flags of a program of ours that leaves its threads to the server, at a port that
    /// was free.
    pub fn flags(&self) -> Vec<String> {
        let listen = format!("127.0.0.1:{}", free_port());
        let (ingress, admin) = (self.server.url().to_owned(), self.admin());
        let flags = [
            ("--restate", ingress),
            ("--restate-admin", admin),
            ("--restate-listen", listen),
        ];
        let flags = flags.into_iter();
        flags
            .flat_map(|(flag, value)| [flag.to_owned(), value])
            .collect()
    }

    /// Returns the address of its administration.
    pub fn admin(&self) -> String {
        format!("http://127.0.0.1:{}", self.admin)
    }
}

/// The ports of a node.
#[derive(Clone, Copy)]
struct Ports {
    ingress: u16,
    admin: u16,
    node: u16,
}

impl Ports {
    fn free() -> Self {
        Self {
            ingress: free_port(),
            admin: free_port(),
            node: free_port(),
        }
    }

    /// The address to which the other nodes connect.
    fn address(self) -> String {
        format!("http://127.0.0.1:{}", self.node)
    }
}

/// The settings of a node of a cluster, whose first one makes it.
fn clustered(addresses: &str, first: bool) -> String {
    format!(
        r#"cluster-name = "test"
roles = ["metadata-server", "admin", "worker", "log-server", "http-ingress"]
auto-provision = {first}
default-replication = 2

[metadata-client]
type = "replicated"
addresses = [{addresses}]

[bifrost]
default-provider = "replicated"
"#
    )
}

/// The place of the program. `.ci/run` installs it there.
fn program() -> String {
    format!(
        "fugato-ci/restate/node_modules/@restatedev/restate-server-{PLATFORM}-{PROCESSOR}/bin/\
         restate-server"
    )
}
