//! The servers that workloads need: private ones, started when first needed, gone with the program.
pub mod chat;

use servers::{Postgres, Redis, Server};

use self::chat::Chat;

use crate::workload::Host;

/// The servers that were started, and those that are not installed.
#[derive(Debug, Default)]
pub struct Hosts(Vec<(Host, Option<Running>)>);

#[derive(Debug)]
enum Running {
    Server(Server),
    Chat(Chat),
}

impl Hosts {
    /// Where a server listens; none if it is not installed. It is started when first asked for.
    pub fn url(&mut self, host: Host) -> Option<String> {
        if !self.0.iter().any(|(known, _)| *known == host) {
            let server = match host {
                Host::Postgres => Postgres::start().map(Running::Server),
                Host::Redis => Redis::start().map(Running::Server),
                Host::Chat => Chat::start().ok().map(Running::Chat),
            };
            self.0.push((host, server));
        }
        let mut known = self.0.iter();
        let (_, server) = known.find(|(known, _)| *known == host)?;
        Some(match server.as_ref()? {
            Running::Server(server) => server.url().to_owned(),
            Running::Chat(server) => server.url(),
        })
    }
}

/// Names of threads that no other round and no other process uses on the same server.
pub fn threads(round: u64, count: u64) -> impl Iterator<Item = String> {
    let process = std::process::id();
    (0..count).map(move |number| format!("thread-{process}-{round}-{number}"))
}
