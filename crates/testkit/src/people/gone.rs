//! A person whose keys are revoked while something of theirs is still to come.
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::{Client, SECRET, cards, client, key};
use crate::TestProgram;

/// The time until a job of the trial is due, and a while more.
const DUE: Duration = Duration::from_secs(20);

/// Lets two people make a job, and revokes one of them: theirs is not done, until they come back.
/// `words` make a job that is due in 15 seconds and says the [`SECRET`]; they end with a card.
///
/// # Panics
/// If a job of somebody who is gone is done, or one of somebody else is not.
pub async fn gone(program: &TestProgram, words: &str) {
    let keys = ["ada", "mallory"].map(|name| key(program, name, "person"));
    let server = program.server(&["serve", "--listen", "127.0.0.1:0"]);
    let [ada, mallory] = keys.map(|key| client(&server, key));
    for person in [&ada, &mallory] {
        let begun = json!({ "thread": cards::THREAD, "text": words });
        let begun = person.ask("POST", "/sse/react", &begun).await;
        assert_eq!(begun.status, 200, "{begun:?}");
        let taken = person.agree().await;
        assert!(taken.status < 300, "{taken:?}");
    }
    let revoked = program.run(&["people", "revoke", "mallory"]);
    assert!(revoked.well, "{revoked:?}");
    sleep(DUE).await;
    let done = ada.told_later().await;
    assert!(done, "the job of somebody who is still there was not done");
    let listed = program.run(&["--person", "mallory", "threads"]);
    assert!(
        listed.well && !listed.out.contains(".job-"),
        "a job of somebody who is gone was done: {listed:?}"
    );
    let again = client(&server, key(program, "mallory", "person"));
    // What was due meanwhile is made up for.
    let done = again.told_later().await;
    assert!(done, "somebody who came back has no jobs any more");
    let log = program.log();
    assert!(
        !log.contains(SECRET),
        "the log has words of a person: {log}"
    );
}

impl Client {
    /// Returns true as soon as the conversation has a turn that nobody asked for.
    async fn told_later(&self) -> bool {
        for _ in 0..DUE.as_secs() {
            let listed = self.get("/threads").await;
            assert_eq!(listed.status, 200, "{listed:?}");
            if listed.body.contains("card.job-") {
                return true;
            }
            sleep(Duration::from_secs(1)).await;
        }
        false
    }
}
