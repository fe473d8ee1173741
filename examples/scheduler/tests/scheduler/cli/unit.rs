//! The unit file of the guide "from a laptop to a cluster".
use fugato_testkit::{Server, TestProgram};

const UNIT: &str = include_str!("../../../../../docs/guides/cluster/agent@.service");

#[tokio::test]
async fn the_unit_of_the_guide_starts_a_server() {
    let program = TestProgram::new(env!("CARGO_BIN_EXE_scheduler")).env("AGENT_KEY", "k-7");
    let path = |name| program.path(name).display().to_string();
    let mut lines = UNIT.lines();
    let start = lines.find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/%i "));
    let start = start
        .expect("the unit starts a program")
        .replace("/var/lib/%i", &path("data"))
        .replace("${AGENT_STORE}", &path("threads.db"))
        .replace("0.0.0.0:8080", "127.0.0.1:0");
    let served = program.server(&start.split(' ').collect::<Vec<_>>());
    let ask = async |path, key: &[_]| Server::ask(served.address(), ("GET", path), key, "").await;
    assert_eq!(ask("/health", &[]).await.unwrap().0, 200);
    assert_eq!(ask("/threads", &[]).await.unwrap().0, 401);
    let key = [("authorization", "Bearer k-7".to_owned())];
    assert_eq!(ask("/threads", &key).await.unwrap().0, 200);
    assert!(program.path("threads.db").exists());
}
