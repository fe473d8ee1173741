//! Every kind of server comes back where it was, and a wire to it can be cut.
use std::{
    env, fs,
    io::{Read, Write},
    net::TcpStream,
    process,
};

use servers::{MariaDb, Redis, Server, Wire};

fn connect(url: &str) -> Option<TcpStream> {
    let address = url.split(['@', '/']).nth(3);
    TcpStream::connect(address.expect("the address follows the password")).ok()
}

fn comes_back(server: Option<Server>) {
    let Some(server) = server else { return };
    assert!(connect(server.url()).is_some());
    server.kill9();
    assert!(connect(server.url()).is_none());
    server.restart();
    assert!(connect(server.url()).is_some());
    server.stop();
    assert!(connect(server.url()).is_none());
    server.restart();
    let folder = server.folder().to_owned();
    drop(server);
    assert!(!folder.exists());
}

#[test]
fn redis_comes_back_and_leaves_nothing_behind() {
    comes_back(Redis::start());
}

#[test]
fn mariadb_comes_back_and_leaves_nothing_behind() {
    comes_back(MariaDb::start());
}

#[test]
fn mariadb_leaves_the_temporary_tables_of_others_alone() -> std::io::Result<()> {
    let name = format!("#sql-temptable-{:x}-0-0.MAI", process::id());
    let table = env::temp_dir().join(name);
    fs::write(&table, "")?;
    drop(MariaDb::start());
    fs::remove_file(table)
}

#[test]
fn a_wire_is_cut_before_an_answer_and_mends() -> std::io::Result<()> {
    let Some(server) = Redis::start() else {
        return Ok(());
    };
    let wire = Wire::to(&server);
    assert_ne!(wire.url(), server.url());
    wire.cut_after(1);
    for answered in [true, false, true] {
        let mut stream = connect(wire.url()).expect("the wire listens");
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 7];
        let read = stream.read(&mut answer).unwrap_or(0);
        assert_eq!(read > 0, answered, "{answer:?}");
    }
    assert!(wire.is_whole());
    Ok(())
}
