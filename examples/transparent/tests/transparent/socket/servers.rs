//! The program itself: two servers on one folder, and none for a while.
use fugato_testkit::{assert_contains, assert_starts_with};
use std::{path::Path, process::Stdio, time::Duration};

use fugato::{BoxError, EventKind, ThreadId, archive::Archives, stream::Event};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::{sleep, timeout},
};
use tokio_tungstenite::connect_async;

use super::{say, until};
use crate::common::TestResult;

/// A timeout that is far longer than anything here takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server of the agent, which ends with the test.
struct Server {
    process: Child,
    url: String,
}

impl Server {
    async fn start(dir: &Path) -> Result<Self, BoxError> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_transparent"))
            .args([
                "--dir",
                &dir.display().to_string(),
                "serve",
                "--listen",
                "127.0.0.1:0",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().ok_or("it is piped")?).lines();
        let url = async {
            while let Some(line) = lines.next_line().await? {
                if let Some((_, address)) = line.split_once("http://") {
                    return Ok(address.trim_end_matches('/').to_owned());
                }
            }
            Err::<String, BoxError>("it says where it listens".into())
        };
        let address = timeout(PATIENCE, url).await??;
        // Later output is discarded, and does not block the server.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let url = format!("ws://{address}/ws/chat?thread=desk");
        Ok(Self { process, url })
    }

    /// Kills the process as `kill -9` does.
    async fn killed(mut self) -> TestResult {
        Ok(self.process.kill().await?)
    }

    /// Sends a message to this server and confirms its question on the other. Returns the created
    /// job.
    async fn made(&self, text: &str, other: &Self) -> Result<String, BoxError> {
        let (mut here, _) = connect_async(&self.url).await?;
        let said = json!({ "event": "user_input", "data": { "content": text } });
        say(&mut here, &said).await?;
        let asked = timeout(PATIENCE, until(&mut here, "interrupt")).await??;
        let asked = asked
            .last()
            .and_then(|asked| asked.get("data"))
            .ok_or("a question")?;
        let answer = json!({ "id": asked["id"], "answer": true, "digest": asked["digest"] });
        let (mut there, _) = connect_async(&other.url).await?;
        say(&mut there, &json!({ "event": "answer", "data": answer })).await?;
        let told = timeout(PATIENCE, until(&mut there, "tool_result")).await??;
        let told = told
            .last()
            .and_then(|told| told.pointer("/data/output")?.as_str());
        let job = told
            .and_then(|told| told.rsplit(' ').next())
            .ok_or("a job")?;
        assert_starts_with(&job, "job-");
        Ok(job.to_owned())
    }
}

/// Returns the events in the archive of a job, once its run has ended.
async fn archived(dir: &Path, job: &str) -> Result<Vec<Event>, BoxError> {
    let archives = Archives::new(dir.join("archives"));
    let thread = ThreadId::new(format!("desk.{job}"))?;
    let ended = async {
        loop {
            let events = archives
                .read(&thread)
                .map(|archive| archive.events().cloned().collect());
            let events: Vec<Event> = events.unwrap_or_default();
            if events
                .iter()
                .any(|event| matches!(event.kind, EventKind::RunFinished { .. }))
            {
                return events;
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    Ok(timeout(PATIENCE, ended).await?)
}

/// Returns the number of a job's notifications, and of its runs.
fn told(events: &[Event]) -> (usize, usize) {
    let count = |is: fn(&EventKind) -> bool| events.iter().filter(|event| is(&event.kind)).count();
    let cards =
        count(|kind| matches!(kind, EventKind::Card { data, .. } if data["text"] == "drink"));
    let runs = count(|kind| matches!(kind, EventKind::RunFinished { .. }));
    (cards, runs)
}

#[tokio::test]
async fn trn_8_two_servers_on_one_folder_do_a_job_once() -> TestResult {
    let folder = fugato_testkit::tempdir()?;
    let dir = folder.path();
    let (a, b) = (Server::start(dir).await?, Server::start(dir).await?);
    let job = a.made("remind me in 2 seconds to drink", &b).await?;
    assert_eq!(told(&archived(dir, &job).await?), (1, 1));
    // An event that both servers may have written at once is there once.
    let seqs: Vec<_> = archived(dir, &job)
        .await?
        .iter()
        .map(|event| event.seq)
        .collect();
    assert!(seqs.is_sorted(), "{seqs:?}");
    let listed = json!({ "event": "user_input", "data": { "content": "list my jobs" } });
    let (mut socket, _) = connect_async(&b.url).await?;
    say(&mut socket, &listed).await?;
    let answer = timeout(PATIENCE, until(&mut socket, "final_answer")).await??;
    let answer = answer
        .last()
        .map(|answer| answer["data"]["content"].clone());
    let answer = answer.as_ref().and_then(Value::as_str).ok_or("an answer")?;
    assert_contains(&answer, "there are no reminders or jobs");
    Ok(())
}

#[tokio::test]
async fn trn_8_a_job_that_was_due_while_no_server_ran_is_done_by_the_next() -> TestResult {
    let folder = fugato_testkit::tempdir()?;
    let dir = folder.path();
    let a = Server::start(dir).await?;
    let job = a.made("remind me in 3 seconds to drink", &a).await?;
    a.killed().await?;
    // The job is timed by the wall clock, which a test cannot set.
    sleep(Duration::from_secs(4)).await;
    let thread = ThreadId::new(format!("desk.{job}"))?;
    assert!(
        !Archives::new(dir.join("archives")).path(&thread).exists(),
        "nobody was there"
    );
    let b = Server::start(dir).await?;
    assert_eq!(told(&archived(dir, &job).await?), (1, 1));
    b.killed().await
}
