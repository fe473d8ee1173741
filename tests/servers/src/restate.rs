use std::fs;

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
        // `.ci/run` installs it there.
        let program = format!(
            "fugato-ci/restate/node_modules/@restatedev/restate-server-{PLATFORM}-{PROCESSOR}/bin/\
             restate-server"
        );
        let program = find::cached(&program, REMEDY)?;
        let folder = folder("restate");
        let (ingress, admin, node) = (free_port(), free_port(), free_port());
        let data = text(&folder.join("data"));
        let config = format!(
            r#"node-name = "test"
base-dir = "{data}"
listen-mode = "tcp"
bind-address = "127.0.0.1:{node}"
advertised-address = "http://127.0.0.1:{node}"
disable-telemetry = true
default-num-partitions = 4
rocksdb-total-memory-size = "128.0 MiB"
log-disable-ansi-codes = true

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
            text(&program),
            "--no-logo".to_owned(),
            format!("--config-file={}", text(&file)),
        ];
        let ready = move |ingress| is_well(admin, "/health") && is_well(ingress, "/restate/health");
        let server = Server::start(Recipe::http(command, folder, ingress, ready));
        Some(Self { server, admin })
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
