//! The job that is done while processes die: steps, a scatter, effects of all classes, a pause, a
//! retry, a subgraph.
use std::time::Duration;

use fugato_graph::{Context, END, Effect, Graph, InDoubt, NodePolicy};
use fugato_state::{Interrupt, Question, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    BoxError, TrialResult,
    evidence::{Evidence, EvidenceKind},
};

/// What was done, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// One line each.
    pub lines: Vec<String>,
}

/// Something was done.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FinishedJob(pub String);

impl State for Job {
    type Update = FinishedJob;

    fn apply(&mut self, FinishedJob(line): FinishedJob) {
        self.lines.push(line);
    }
}

/// How long an action that must not be done twice may take.
pub const TIMEOUT: Duration = Duration::from_millis(300);

/// The nodes of a job in the order in which they run. None of them begins again when one behind it
/// has begun.
pub const ORDER: [&str; 8] = [
    "plan", "work", "gather", "mail", "wire", "flaky", "pack", "ship",
];

/// The actions that must not be done twice: task and key. Each is done once in a job.
pub const ONCE: [(&str, &str); 6] = [
    ("work#1[0]", "send"),
    ("work#1[1]", "send"),
    ("work#1[2]", "send"),
    ("mail#1", "send"),
    ("wire#1", "money"),
    ("deliver#1/ship#1", "send"),
];

/// What comes out of an action.
pub fn result(task: &str, key: &str) -> String {
    format!("{key} of {task}")
}

/// What an answer leaves in the state.
pub fn approved(answer: u64) -> String {
    format!("{APPROVED}{answer}")
}

/// What a line of an answer begins with.
pub const APPROVED: &str = "approved by ";

/// What looking after an action has shown.
pub(crate) fn found<T>(happened: bool, result: T) -> InDoubt<T> {
    if happened {
        InDoubt::Happened(result)
    } else {
        InDoubt::DidNotHappen
    }
}

/// The action that a question is about, if it is about one in doubt.
pub fn in_doubt(question: &Question) -> Option<&str> {
    question.prompt.get("in_doubt").and_then(Value::as_str)
}

/// What somebody who knows the evidence says about an action in doubt; none if it is another
/// question.
pub fn told(evidence: &Evidence, thread: &str, asked: &Interrupt) -> TrialResult<Option<Value>> {
    let Some(key) = in_doubt(&asked.question) else {
        return Ok(None);
    };
    let doubt = if evidence.shows(thread, &asked.task, key)? {
        InDoubt::Happened(result(&asked.task, key))
    } else {
        InDoubt::DidNotHappen
    };
    Ok(Some(serde_json::to_value(doubt)?))
}

/// The job. What its nodes do to the world goes into the evidence.
pub fn graph(evidence: &Evidence) -> TrialResult<Graph<Job>> {
    let node = |run: Run| {
        let scene = Scene(evidence.clone());
        move |cx: Context<Job>| {
            let scene = scene.clone();
            async move { scene.run(cx, run).await }
        }
    };
    let deliver = Graph::<Job>::starting_at("pack")
        .node("pack", node(Run::Keyed))
        .node("ship", node(Run::Once))
        .edge("pack", "ship")
        .edge("ship", END)
        .build()?;
    let again = NodePolicy::default().attempts(1_000);
    let again = again.backoff(Duration::from_millis(5), Duration::from_millis(20));
    Ok(Graph::<Job>::starting_at("plan")
        .node("plan", node(Run::Idempotent))
        .node("work", node(Run::Work))
        .node("gather", node(Run::Plain))
        .pause(
            "approve",
            |_| "go on?",
            |_, by: u64| FinishedJob(approved(by)),
        )
        .node("mail", node(Run::Once))
        .node("wire", node(Run::Money))
        .node("flaky", node(Run::Flaky))
        .policy("flaky", again)
        .subgraph(
            "deliver",
            &deliver,
            |_| Ok::<_, BoxError>(Job::default()),
            |_, inner: &Job| {
                inner
                    .lines
                    .iter()
                    .cloned()
                    .map(FinishedJob)
                    .collect::<Vec<_>>()
            },
        )
        .scatter("plan", "work", |_| 0..3)
        .edge("work", "gather")
        .edge("gather", "approve")
        .edge("approve", "mail")
        .edge("mail", "wire")
        .edge("wire", "flaky")
        .edge("flaky", "deliver")
        .edge("deliver", END)
        .build()?)
}

/// What a node does.
#[derive(Clone, Copy)]
enum Run {
    Plain,
    Idempotent,
    Keyed,
    /// One of each.
    Work,
    /// The evidence is asked when it is in doubt.
    Once,
    /// A person is asked when it is in doubt.
    Money,
    /// Fails at first.
    Flaky,
}

#[derive(Clone)]
struct Scene(Evidence);

impl Scene {
    async fn run(self, cx: Context<Job>, run: Run) -> TrialResult<FinishedJob> {
        let (task, attempt) = (cx.task(), cx.attempt());
        self.0
            .add(cx.thread().as_str(), &task, EvidenceKind::Began { attempt })?;
        let said = match run {
            Run::Plain => "done".to_owned(),
            Run::Flaky if attempt < 3 => return Err("not yet".into()),
            Run::Flaky => "at last".to_owned(),
            Run::Idempotent => self.act(&cx, "note", Effect::idempotent()).await?,
            Run::Keyed => self.act(&cx, "charge", Effect::keyed()).await?,
            Run::Work => {
                let charged = self.act(&cx, "charge", Effect::keyed()).await?;
                let sent = self.act(&cx, "send", self.once(&cx, "send")).await?;
                format!("{charged}, {sent}")
            }
            Run::Once => self.act(&cx, "send", self.once(&cx, "send")).await?,
            Run::Money => {
                let effect = Effect::once().timeout(TIMEOUT);
                self.act(&cx, "money", effect).await?
            }
        };
        Ok(FinishedJob(format!("{task}: {said}")))
    }

    fn once(&self, cx: &Context<Job>, key: &'static str) -> Effect<String> {
        let (evidence, thread, task) = (self.0.clone(), cx.thread().to_string(), cx.task());
        Effect::once()
            .timeout(TIMEOUT)
            .reconcile(move || async move {
                let happened = evidence.shows(&thread, &task, key)?;
                let key = key.to_owned();
                let result = result(&task, &key);
                evidence.add(&thread, &task, EvidenceKind::Looked { key, happened })?;
                Ok::<_, BoxError>(Some(found(happened, result)))
            })
    }

    async fn act(
        &self,
        cx: &Context<Job>,
        key: &'static str,
        effect: Effect<String>,
    ) -> TrialResult<String> {
        let (evidence, thread, task) = (self.0.clone(), cx.thread().to_string(), cx.task());
        let input = task.clone();
        let did = cx.effect(key, effect, &input, move |idempotency| async move {
            linger().await;
            let (result, key) = (result(&task, key), key.to_owned());
            evidence.add(&thread, &task, EvidenceKind::Did { key, idempotency })?;
            linger().await;
            Ok::<_, BoxError>(result)
        });
        Ok(did.await?)
    }
}

/// Gives the process a moment in which to die.
async fn linger() {
    tokio::time::sleep(Duration::from_millis(fastrand::u64(0..4))).await;
}
