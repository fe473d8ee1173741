use std::{
    fs,
    io::Read,
    net::TcpStream,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    time::Duration,
};

use crate::{
    find,
    server::{Recipe, Server, folder, free_port, text},
};

const USER: &str = "fugato";
const PASSWORD: &str = "not-to-be-shown";

/// `MariaDB`, with the settings that it has where nobody changed them.
#[derive(Debug, Clone, Copy)]
pub struct MariaDb;

impl MariaDb {
    /// A new server with an empty database; none if the program is not installed.
    pub fn start() -> Option<Server> {
        Self::start_with(&[])
    }

    /// The same with settings such as `max_connections=5`.
    pub fn start_with(settings: &[&str]) -> Option<Server> {
        let (install, program) = programs()?;
        let (folder, port) = (folder("mariadb"), free_port());
        let data = folder.join("data");
        // A server that starts removes the temporary tables that it finds, whosever they are.
        let temporary = folder.join("temporary");
        initialise(&install, &data, &temporary);
        let made = begin(&folder);
        let told = folder.join("process");
        let mut command = vec![text(&program), "--no-defaults".to_owned()];
        let listening = [
            format!("datadir={}", text(&data)),
            format!("tmpdir={}", text(&temporary)),
            format!("socket={}", text(&folder.join("socket"))),
            format!("pid-file={}", text(&told)),
            format!("init-file={}", text(&made)),
            format!("port={port}"),
            "bind-address=127.0.0.1".to_owned(),
            "skip-name-resolve".to_owned(),
            // Whoever runs the tests, be it root.
            format!("user={}", user()),
        ];
        let settings = settings.iter().map(|&setting| setting.to_owned());
        let settings = listening.into_iter().chain(settings);
        command.extend(settings.map(|setting| format!("--{setting}")));
        Some(Server::start(Recipe {
            command,
            folder,
            user: None,
            url: format!("mysql://{USER}:{PASSWORD}@127.0.0.1:{port}/fugato"),
            port,
            stop: "TERM",
            last: "KILL",
            ready: Box::new(move |process| is_ready(&told, port, process)),
        }))
    }

    /// Whether the program is installed. Where the variable `CI` is set it must be.
    pub fn is_there() -> bool {
        programs().is_some()
    }

    /// The server that all tests of this program share.
    pub fn shared() -> Option<&'static Server> {
        static SHARED: OnceLock<Option<Server>> = OnceLock::new();
        SHARED.get_or_init(Self::start).as_ref()
    }
}

/// The programs that make a server's folder, and that run it.
fn programs() -> Option<(PathBuf, PathBuf)> {
    let elsewhere = [PathBuf::from("/usr/sbin")];
    let find = |name| find::program(name, &elsewhere, "mariadb-server");
    Some((find("mariadb-install-db")?, find("mariadbd")?))
}

fn user() -> String {
    let id = Command::new("id").arg("-un").output();
    let name = id.expect("every system has `id`").stdout;
    String::from_utf8_lossy(&name).trim().to_owned()
}

fn initialise(program: &Path, data: &Path, temporary: &Path) {
    fs::create_dir(temporary).expect("the folder is ours");
    let made = Command::new(program)
        .args(["--no-defaults", "--skip-test-db"])
        .args(["--auth-root-authentication-method=normal"])
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--tmpdir={}", temporary.display()))
        .arg(format!("--user={}", user()))
        .current_dir(temporary)
        .output()
        .expect("the program was found");
    let why = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{}: {why}", program.display());
}

/// What the server does at each start before it answers anybody.
fn begin(folder: &Path) -> PathBuf {
    let orders = format!(
        "CREATE DATABASE IF NOT EXISTS fugato;\n\
         CREATE USER IF NOT EXISTS '{USER}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n\
         GRANT ALL PRIVILEGES ON *.* TO '{USER}'@'127.0.0.1';\n"
    );
    let file = folder.join("init.sql");
    fs::write(&file, orders).expect("the folder is ours");
    file
}

/// Whether the process is this one and greets.
fn is_ready(told: &Path, port: u16, process: u32) -> bool {
    let id = fs::read_to_string(told).unwrap_or_default();
    id.trim() == process.to_string() && greets(port).unwrap_or(false)
}

fn greets(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut greeting = [0; 5];
    stream.read_exact(&mut greeting)?;
    // The version of the protocol follows a header of four bytes.
    Ok(greeting.ends_with(&[10]))
}
