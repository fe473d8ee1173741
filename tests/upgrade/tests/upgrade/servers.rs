//! The same where the log was on a server: its dump is read by a server of the test's own.
use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
};

use flate2::read::GzDecoder;
use servers::{MariaDb, Postgres, Redis, Server};

use crate::{fixture::Fixture, planner, scheduler, steward};

const PROGRAMS: [&str; 3] = ["scheduler", "steward", "planner"];

fn unpacked(path: &str) -> Vec<u8> {
    let file = fs::File::open(crate::fixture::data(path)).unwrap();
    let mut bytes = vec![];
    GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

fn sql(server: &str, program: &str) -> String {
    String::from_utf8(unpacked(&format!("{server}/{program}.sql.gz"))).unwrap()
}

fn now<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(future)
}

/// Reads everything and goes on with it. Copies share the server, so each thread goes on once.
fn goes_on(server: &str, url: impl Fn(&str) -> String) {
    let fixtures = [scheduler::fixture(), steward::fixture(), planner::fixture()];
    let on = |fixture: Fixture, program| fixture.on(server, url(program));
    let [scheduler, steward, planner] = fixtures;
    let scheduler = on(scheduler, "scheduler");
    let (steward, planner) = (on(steward, "steward"), on(planner, "planner"));
    for fixture in [&scheduler, &steward, &planner] {
        fixture.reads_the_same();
    }
    scheduler::keeps(&scheduler, "keep", 1);
    scheduler::takes_a_note(&scheduler, "kept");
    steward::writes(&steward, "trip", (1, 0));
    steward::completes_a_form(&steward);
    steward::takes_another(&steward, "done");
    planner::places_one(&planner, "order");
    planner::takes_an_answer(&planner);
    planner::tells_balances(&planner, "done");
}

#[test]
fn postgres_threads_read_the_same_and_go_on() {
    let Some(server) = Postgres::start() else {
        return;
    };
    let url = |program: &str| url_of(server.url(), program);
    now(async {
        run(
            server.url(),
            PROGRAMS.map(|name| format!("CREATE DATABASE {name}")),
        )
        .await;
        for program in PROGRAMS {
            run(&url(program), [sql("postgres", program)]).await;
        }
    });
    goes_on("postgres", url);
}

/// The address of another database of a server.
fn url_of(url: &str, database: &str) -> String {
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{database}")
}

async fn run(url: &str, orders: impl IntoIterator<Item = String>) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    for order in orders {
        client.batch_execute(&order).await.unwrap();
    }
    drop(client);
    connection.await.unwrap().unwrap();
}

#[test]
fn mariadb_threads_read_the_same_and_go_on() {
    use mysql_async::prelude::Queryable as _;

    let Some(server) = MariaDb::start() else {
        return;
    };
    now(async {
        for program in PROGRAMS {
            let pool = mysql_async::Pool::new(server.url());
            let mut connection = pool.get_conn().await.unwrap();
            let begin = format!("CREATE DATABASE {program}; USE {program};\n");
            connection
                .query_drop(begin + &sql("mariadb", program))
                .await
                .unwrap();
            drop(connection);
            pool.disconnect().await.unwrap();
        }
    });
    goes_on("mariadb", |program| url_of(server.url(), program));
}

#[test]
fn redis_threads_read_the_same_and_go_on() {
    // One that keeps a log of its own would not read a dump.
    let Some(server) = Redis::start_with(&["appendonly no"]) else {
        return;
    };
    server.stop();
    fs::write(
        server.folder().join("dump.rdb"),
        unpacked("redis/dump.rdb.gz"),
    )
    .unwrap();
    server.restart();
    keeps_a_log(&server);
    goes_on("redis", |program| {
        let number = PROGRAMS.iter().position(|name| *name == program).unwrap();
        url_of(server.url(), &number.to_string())
    });
}

/// The programs ask for one whose log is on the disk before it answers.
fn keeps_a_log(server: &Server) {
    let rest = server.url().split_once("://:").unwrap().1;
    let (password, address) = rest.split_once('@').unwrap();
    let mut stream = TcpStream::connect(address.trim_end_matches("/0")).unwrap();
    let orders = "CONFIG SET appendfsync always appendonly yes\r\nQUIT\r\n";
    write!(stream, "AUTH {password}\r\n{orders}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(!answer.contains("-ERR"), "{answer}");
}
