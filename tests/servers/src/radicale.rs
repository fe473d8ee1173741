use std::{fs, net::TcpStream};

use crate::{
    find,
    server::{Recipe, Server, folder, free_port, text},
};

/// Radicale, a calendar server of `CalDAV`, with the user `ada` whose password is `secret`.
#[derive(Debug, Clone, Copy)]
pub struct Radicale;

impl Radicale {
    /// A new server with nothing in it; none if the program is not installed.
    ///
    /// # Panics
    /// The file of its users cannot be written.
    pub fn start() -> Option<Server> {
        let program = find::program("radicale", &[], "radicale")?;
        let (folder, port) = (folder("radicale"), free_port());
        let users = folder.join("users");
        fs::write(&users, "ada:secret\n").expect("the folder is there");
        let settings = [
            "--config=".to_owned(),
            format!("--server-hosts=127.0.0.1:{port}"),
            format!("--storage-filesystem-folder={}", text(&folder.join("data"))),
            "--auth-type=htpasswd".to_owned(),
            format!("--auth-htpasswd-filename={}", text(&users)),
            "--auth-htpasswd-encryption=plain".to_owned(),
        ];
        let command = std::iter::once(text(&program)).chain(settings).collect();
        Some(Server::start(Recipe {
            command,
            folder,
            user: None,
            url: format!("http://127.0.0.1:{port}/ada/plans/"),
            port,
            stop: "TERM",
            last: "KILL",
            ready: Box::new(move |_| TcpStream::connect(("127.0.0.1", port)).is_ok()),
        }))
    }
}
