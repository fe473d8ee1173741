//! A server is where it says, comes back where it was, and leaves nothing behind.
use std::{
    env,
    io::{BufRead, BufReader},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use servers::{Postgres, Server};

fn connects(server: &Server) -> bool {
    let address = server.url().split(['@', '/']).nth(3);
    TcpStream::connect(address.expect("the address follows the password")).is_ok()
}

#[test]
fn it_comes_back_and_leaves_nothing_behind() {
    let Some(server) = Postgres::start() else {
        return;
    };
    assert!(connects(&server));
    server.kill9();
    assert!(!connects(&server));
    server.restart();
    assert!(connects(&server));
    server.stop();
    assert!(!connects(&server));
    server.restart();
    assert!(connects(&server));
    let folder: PathBuf = server.folder().to_owned();
    assert!(folder.exists());
    drop(server);
    assert!(!folder.exists());
}

const CHILD: &str = "FUGATO_TEST_CHILD";

#[test]
fn it_ends_when_the_test_program_is_killed() {
    if env::var_os(CHILD).is_some() {
        if let Some(server) = Postgres::shared() {
            say(&format!("folder {}", server.folder().display()));
        }
        say("done");
        loop {
            thread::park();
        }
    }
    let program = env::current_exe().expect("it runs");
    let mut child = Command::new(program)
        .args(["--exact", "it_ends_when_the_test_program_is_killed"])
        .args(["--nocapture", "--test-threads=1"])
        .env(CHILD, "yes")
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs once more");
    let out = child.stdout.take().expect("the output is piped");
    let said = BufReader::new(out).lines().map_while(Result::ok);
    let said: Vec<String> = said.take_while(|line| line != "says done").collect();
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    let folder = |line: &String| Some(PathBuf::from(line.strip_prefix("says folder ")?));
    if let Some(folder) = said.iter().find_map(folder) {
        assert!(vanishes(&folder), "{} is still there", folder.display());
    }
}

fn say(what: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nsays {what}").expect("the parent listens");
    out.flush().expect("the parent listens");
}

/// Its guard needs a moment.
fn vanishes(folder: &Path) -> bool {
    let begin = Instant::now();
    while folder.exists() && begin.elapsed() < Duration::from_secs(20) {
        thread::yield_now();
    }
    !folder.exists()
}
