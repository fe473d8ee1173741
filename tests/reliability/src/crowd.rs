//! Many conversations with one server at once, which may be killed meanwhile.
use std::{
    collections::BTreeSet,
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::{Instant, sleep},
};

use crate::{
    TrialResult, child,
    visitor::{act, durable, get, reply},
};

/// Many conversations with one server.
#[derive(Debug, Clone)]
pub struct Crowd {
    /// The program, which serves an agent with `serve --listen ADDRESS --dir FOLDER`.
    pub program: PathBuf,
    /// Where it keeps what it stores.
    pub folder: PathBuf,
    /// How many conversations there are.
    pub conversations: usize,
    /// How long after one conversation the next one begins.
    pub apart: Duration,
    /// What each begins with.
    pub words: String,
    /// When the server is killed, and started again; not at all if this is none.
    pub dies_after: Option<Duration>,
    /// When the server is stopped for longer than its leases last, as by a lid that is closed; not
    /// at all if this is none.
    pub sleeps_after: Option<Duration>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Verdict {
    /// How long each action took until its first event, the shortest first.
    pub first: Vec<Duration>,
    /// How many events were read.
    pub events: usize,
    /// How many conversations were cut by the kill, and went on.
    pub resumed: usize,
    /// What is wrong.
    pub problems: Vec<String>,
}

/// What one conversation has seen.
#[derive(Debug, Default)]
struct ConversationReport {
    begun: bool,
    first: Vec<Duration>,
    events: usize,
    seen: Vec<Value>,
    answered: BTreeSet<String>,
    cuts: usize,
    problems: Vec<String>,
}

/// How long a server may take to come back, and a conversation to come to rest.
const PATIENCE: Duration = Duration::from_mins(2);
/// The sleep of a server: its leases last three seconds.
const SLEEP: Duration = Duration::from_secs(4);
/// How often is looked whether a run that is left goes on.
const LOOK: Duration = Duration::from_millis(100);

impl Crowd {
    /// Lets all of them talk to their ends.
    pub async fn meet(&self) -> TrialResult<Verdict> {
        let (mut server, address) = start(&self.program, &self.folder, 0).await?;
        let crowd = Arc::new(self.clone());
        let talks: Vec<_> = (0..self.conversations)
            .map(|nth| {
                let crowd = crowd.clone();
                tokio::spawn(async move { crowd.talk(address, nth).await })
            })
            .collect();
        if let Some(after) = self.dies_after {
            sleep(after).await;
            server.kill().await?;
            (server, _) = start(&self.program, &self.folder, address.port()).await?;
        }
        if let Some(after) = self.sleeps_after {
            sleep(after).await;
            child::send(&server, Signal::STOP)?;
            sleep(SLEEP).await;
            child::send(&server, Signal::CONT)?;
        }
        let mut verdict = Verdict::default();
        for talk in talks {
            verdict.take(talk.await??);
        }
        if self.dies_after.is_some() && verdict.resumed == 0 {
            let what = "nobody was cut: the server must be killed earlier".to_owned();
            verdict.problems.push(what);
        }
        verdict.first.sort_unstable();
        server.kill().await?;
        Ok(verdict)
    }

    async fn talk(&self, to: SocketAddr, nth: usize) -> TrialResult<ConversationReport> {
        sleep(self.apart * u32::try_from(nth)?).await;
        let (name, began) = (format!("talk-{nth:05}"), Instant::now());
        let mut told = ConversationReport::default();
        let all = loop {
            match self.next(to, &name, &mut told).await {
                Ok(Some(all)) => break all,
                Ok(None) => {}
                Err(_) if self.dies_after.is_some() && began.elapsed() < PATIENCE => {
                    told.cuts += 1;
                    sleep(LOOK).await;
                }
                Err(error) => return Err(format!("{name}: {error}").into()),
            }
        };
        told.compare(&name, &all, self.dies_after.is_none());
        Ok(told)
    }

    /// What is next in a conversation; if nothing is, all that is stored of it.
    async fn next(
        &self,
        to: SocketAddr,
        name: &str,
        told: &mut ConversationReport,
    ) -> TrialResult<Option<Vec<Value>>> {
        if !self.turn(to, name, told).await? {
            return Ok(None);
        }
        durable(to, name).await.map(Some)
    }

    /// Does what is next; true if nothing is.
    async fn turn(
        &self,
        to: SocketAddr,
        name: &str,
        told: &mut ConversationReport,
    ) -> TrialResult<bool> {
        let (status, view) = get(to, &format!("/threads/{name}")).await?;
        let standing = view.get("status").and_then(Value::as_str);
        match (status, standing) {
            (404, _) => {
                let body = json!({ "text": self.words, "extra": { "lang": "en" } });
                let path = format!("/threads/{name}/runs");
                let acted = act(to, &path, &body, &mut told.seen).await?;
                told.acted(&acted);
            }
            (200, Some("waiting")) => {
                let id = told.is_asked(name, &view)?;
                let asked = view.pointer("/interrupts/0").unwrap_or(&Value::Null);
                let body = json!({ "answers": { id.as_str(): reply(asked) } });
                let path = format!("/threads/{name}/resume");
                let acted = act(to, &path, &body, &mut told.seen).await?;
                told.answered.insert(id);
                told.acted(&acted);
            }
            (200, Some("idle")) => return Ok(true),
            // It is left by the server that was killed, and goes on by itself.
            (200, Some("running" | "unfinished" | "sleeping")) => sleep(LOOK).await,
            _ => return Err(format!("it stands like this: {status} {view}").into()),
        }
        Ok(false)
    }
}

impl ConversationReport {
    fn acted(&mut self, acted: &crate::visitor::ActionOutcome) {
        self.begun = true;
        self.first.push(acted.first);
        self.events += acted.events;
    }

    /// The one card that is open: shown once, by the question and by the timeline.
    fn is_asked(&mut self, name: &str, view: &Value) -> TrialResult<String> {
        let open = view.get("interrupts").and_then(Value::as_array);
        let open = open.ok_or("a view has questions")?;
        let timeline = view.get("timeline").and_then(Value::as_array);
        let cards = timeline.into_iter().flatten();
        let cards: Vec<_> = cards
            .filter(|item| item.get("state").and_then(Value::as_str) == Some("open"))
            .filter_map(|item| item.get("id"))
            .collect();
        let ids: Vec<_> = open.iter().filter_map(|asked| asked.get("id")).collect();
        if ids.len() != 1 || cards != ids {
            self.problems
                .push(format!("{name} shows {cards:?} and asks {ids:?}"));
        }
        let id = ids.first().and_then(|id| id.as_str());
        let id = id.ok_or("a thread that waits asks")?.to_owned();
        if self.answered.contains(&id) {
            self.problems.push(format!("{name} asks {id} again"));
        }
        Ok(id)
    }

    /// What was read as it happened is what the log has: all of it, in its order. Where the
    /// connection was cut, something may be missing, and nothing else.
    fn compare(&mut self, name: &str, all: &[Value], whole: bool) {
        let same = if whole {
            self.seen == all
        } else {
            let mut rest = all.iter();
            self.seen.iter().all(|event| rest.any(|it| it == event))
        };
        if !same {
            let missing = all.iter().filter(|event| !self.seen.contains(event));
            let missing: Vec<_> = missing
                .map(|event| format!("{} {}", event["seq"], event["kind"]))
                .collect();
            let (seen, all) = (self.seen.len(), all.len());
            let what = format!(
                "{name}: {seen} durable events were read, and {all} are stored; missing are {}",
                missing.join(", ")
            );
            self.problems.push(what);
        }
    }
}

impl Verdict {
    fn take(&mut self, told: ConversationReport) {
        self.first.extend(told.first);
        self.events += told.events;
        self.resumed += usize::from(told.cuts > 0 && told.begun);
        self.problems.extend(told.problems);
    }

    /// So many of a hundred first events came within this time.
    pub fn percentile(&self, of_hundred: usize) -> Duration {
        let last = self.first.len().saturating_sub(1);
        let at = (self.first.len() * of_hundred / 100).min(last);
        self.first.get(at).copied().unwrap_or_default()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (actions, events, resumed) = (self.first.len(), self.events, self.resumed);
        let [half, most, all] = [50, 99, 100].map(|of| self.percentile(of));
        write!(
            f,
            "{actions} actions, {events} events; the first event after {half:.1?} (p50), {most:.1?} (p99), {all:.1?} at most; {resumed} conversations were cut and went on; {} problems",
            self.problems.len()
        )
    }
}

/// Starts the server, which says where it listens. It ends when its handle is dropped.
async fn start(program: &Path, folder: &Path, port: u16) -> TrialResult<(Child, SocketAddr)> {
    let mut command = Command::new(program);
    command.args(["serve", "--listen", &format!("127.0.0.1:{port}"), "--dir"]);
    command.arg(folder).args(["--lang", "en"]);
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn()?;
    let told = child.stdout.take().ok_or("the server says something")?;
    let mut lines = BufReader::new(told).lines();
    while let Some(line) = lines.next_line().await? {
        if let Some((_, url)) = line.split_once("http://") {
            let address = url.trim_end_matches('/').parse()?;
            return Ok((child, address));
        }
    }
    Err("the server ended before it listened".into())
}
