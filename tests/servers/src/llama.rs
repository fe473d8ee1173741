use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use crate::{
    find,
    server::{Recipe, Server, folder, free_port, text},
};

/// Where `tests/peers/install-llama` puts things.
const PYTHON: &str = "fugato-ci/llama/venv/bin/python";
const MODEL: &str = "fugato-ci/llama/model.gguf";
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../peers/clients/llama.py");

/// llama.cpp's server with a model of 135 million parameters, which mostly answers garbage.
#[derive(Debug, Clone, Copy)]
pub struct Llama;

impl Llama {
    /// A new server that wants this key; none if it is not installed, not even where `CI` is set:
    /// installing it takes long.
    pub fn start(key: &str) -> Option<Server> {
        let (python, model) = (find::kept(PYTHON)?, find::kept(MODEL)?);
        let port = free_port();
        let command = [
            text(&python),
            PROGRAM.to_owned(),
            text(&model),
            key.to_owned(),
            port.to_string(),
        ];
        Some(Server::start(Recipe {
            command: command.into(),
            folder: folder("llama"),
            user: None,
            url: format!("http://127.0.0.1:{port}"),
            port,
            stop: "TERM",
            last: "KILL",
            ready: Box::new(move |_| is_ready(port).unwrap_or(false)),
        }))
    }
}

/// Whether the model is loaded.
fn is_ready(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(
        stream,
        "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.starts_with("HTTP/1.1 200"))
}
