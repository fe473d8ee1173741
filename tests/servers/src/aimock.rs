use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    find,
    server::{Recipe, Server, folder, free_port, text},
};

/// Where `tests/peers/run` installs it.
const PROGRAM: &str = "fugato-ci/peers/node_modules/@copilotkit/aimock/dist/cli.js";

/// aimock, a model server of others: it speaks the protocols of several vendors, and fails as it is
/// told to.
#[derive(Debug, Clone, Copy)]
pub struct Aimock;

impl Aimock {
    /// A new server that answers as these fixtures say, in its own format; none if it is not
    /// installed.
    pub fn start(fixtures: &str) -> Option<Server> {
        let node = find::program("node", &[], "nodejs")?;
        let program = find::cached(PROGRAM, "tests/peers/run")?;
        let (folder, port) = (folder("aimock"), free_port());
        let file = written(&folder, fixtures);
        let command = [
            text(&node),
            text(&program),
            "--fixtures".to_owned(),
            text(&file),
            "--port".to_owned(),
            port.to_string(),
            "--validate-on-load".to_owned(),
        ];
        Some(Server::start(Recipe {
            command: command.into(),
            folder,
            user: None,
            url: format!("http://127.0.0.1:{port}"),
            port,
            stop: "TERM",
            last: "KILL",
            ready: Box::new(move |_| is_ready(port).unwrap_or(false)),
        }))
    }
}

fn written(folder: &Path, fixtures: &str) -> PathBuf {
    let file = folder.join("fixtures.json");
    fs::write(&file, fixtures).expect("a new folder can be written to");
    file
}

fn is_ready(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(
        stream,
        "GET /__aimock/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.starts_with("HTTP/1.1 200"))
}
