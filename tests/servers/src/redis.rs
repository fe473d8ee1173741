use std::{
    io::{Read, Write},
    net::TcpStream,
    sync::OnceLock,
    time::Duration,
};

use crate::{
    find,
    server::{Recipe, Server, folder, free_port, text},
};

const PASSWORD: &str = "not-to-be-shown";

/// Redis, whose log is on the disk before it answers.
#[derive(Debug, Clone, Copy)]
pub struct Redis;

impl Redis {
    /// A new server with nothing in it; none if the program is not installed.
    pub fn start() -> Option<Server> {
        Self::start_with(&["appendonly yes", "appendfsync always"])
    }

    /// The same with these settings alone, such as `appendonly no`. Nothing is dumped.
    pub fn start_with(settings: &[&str]) -> Option<Server> {
        let program = find::program("redis-server", &[], "redis-server")?;
        let (folder, port) = (folder("redis"), free_port());
        let mut command = vec![text(&program)];
        let listening = [
            format!("port {port}"),
            "bind 127.0.0.1".to_owned(),
            format!("dir {}", text(&folder)),
            format!("requirepass {PASSWORD}"),
            "save".to_owned(),
        ];
        let settings = settings.iter().map(|&setting| setting.to_owned());
        for setting in listening.into_iter().chain(settings) {
            let (name, values) = setting.split_once(' ').unwrap_or((&setting, ""));
            command.push(format!("--{name}"));
            command.extend(values.split(' ').map(ToOwned::to_owned));
        }
        Some(Server::start(Recipe {
            command,
            folder,
            user: None,
            url: format!("redis://:{PASSWORD}@127.0.0.1:{port}/0"),
            port,
            stop: "TERM",
            last: "KILL",
            ready: Box::new(move |process| is_ready(port, process).unwrap_or(false)),
        }))
    }

    /// Whether the program is installed. Where the variable `CI` is set it must be.
    pub fn is_there() -> bool {
        find::program("redis-server", &[], "redis-server").is_some()
    }

    /// The server that all tests of this program share.
    pub fn shared() -> Option<&'static Server> {
        static SHARED: OnceLock<Option<Server>> = OnceLock::new();
        SHARED.get_or_init(Self::start).as_ref()
    }
}

/// Asks it for its process id, and whether it has read what it stored.
fn is_ready(port: u16, process: u32) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(stream, "AUTH {PASSWORD}\r\nINFO\r\nQUIT\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let tells = |line: &str| answer.lines().any(|told| told == line);
    Ok(tells(&format!("process_id:{process}")) && tells("loading:0"))
}
