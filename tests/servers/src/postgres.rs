use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::{
    find,
    server::{Recipe, Server, folder, free_port, text},
};

/// Who connects, and how. The server listens on this machine alone.
const USER: &str = "fugato";
const PASSWORD: &str = "not-to-be-shown";

/// `PostgreSQL`, with the settings that it has where nobody changed them.
#[derive(Debug, Clone, Copy)]
pub struct Postgres;

impl Postgres {
    /// A new server with nothing in it; none if the program is not installed.
    pub fn start() -> Option<Server> {
        Self::start_with(&[])
    }

    /// The same with settings such as `fsync=off`.
    pub fn start_with(settings: &[&str]) -> Option<Server> {
        let (initdb, postgres) = programs()?;
        let (folder, port) = (folder("postgres"), free_port());
        let user = other_user(&folder);
        let data = folder.join("data");
        initialise(&initdb, &folder, &data, user);
        let listening = [
            "listen_addresses=127.0.0.1".to_owned(),
            format!("port={port}"),
            "unix_socket_directories=".to_owned(),
            "max_connections=200".to_owned(),
        ];
        let settings = settings.iter().map(|&setting| setting.to_owned());
        let settings = listening.into_iter().chain(settings);
        let mut command = vec![text(&postgres), "-D".to_owned(), text(&data)];
        command.extend(settings.flat_map(|setting| ["-c".to_owned(), setting]));
        Some(Server::start(Recipe {
            command,
            folder,
            user,
            url: format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{port}/postgres"),
            port,
            stop: "INT",
            last: "QUIT",
            ready: Box::new(move |process| is_ready(&data, process)),
        }))
    }

    /// The user that the server runs as, if that is another than the one who runs the tests.
    ///
    /// # Panics
    /// If no folder can be made.
    pub fn user() -> Option<u32> {
        let folder = tempfile::tempdir().expect("a folder");
        programs().and_then(|_| other_user(folder.path()))
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
    // Distributions keep them where the shell does not look.
    let elsewhere = find::versions(Path::new("/usr/lib/postgresql"));
    let find = |name| find::program(name, &elsewhere, "postgresql");
    Some((find("initdb")?, find("postgres")?))
}

/// As whom it must run: it refuses to run as root. The folder becomes theirs.
fn other_user(folder: &Path) -> Option<u32> {
    let owner = fs::metadata(folder).expect("it was just made").uid();
    if owner != 0 {
        return None;
    }
    let id = Command::new("id").args(["-u", "postgres"]).output();
    let id = id.expect("every system has `id`").stdout;
    let id = String::from_utf8_lossy(&id).trim().parse();
    let id = id.expect("the package makes a user `postgres`");
    chown(folder, Some(id), None).expect("root may");
    Some(id)
}

fn initialise(program: &Path, folder: &Path, data: &Path, user: Option<u32>) {
    let password = folder.join("password");
    fs::write(&password, PASSWORD).expect("the folder is ours");
    let readable = fs::Permissions::from_mode(0o644);
    fs::set_permissions(&password, readable).expect("the file is ours");
    let mut command = Command::new(program);
    command
        .args(["--username", USER, "--auth=password", "--encoding=UTF8"])
        .args(["--locale=C.UTF-8", "--no-sync", "--no-instructions"])
        .arg(format!("--pwfile={}", password.display()))
        .arg("-D")
        .arg(data)
        .current_dir(folder);
    if let Some(user) = user {
        command.uid(user);
    }
    let made = command.output().expect("the program was found");
    let why = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{}: {why}", program.display());
}

/// What it says of itself in its folder: its process id first, its state in the eighth line.
fn is_ready(data: &Path, process: u32) -> bool {
    let told = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    let lines: Vec<&str> = told.lines().map(str::trim).collect();
    lines.first() == Some(&process.to_string().as_str()) && lines.get(7) == Some(&"ready")
}
