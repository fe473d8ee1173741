//! K35 on a small agent that asks before it writes, through all of its doors.
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use fugato_axum::{AgentRoutes, AllowAll, BadInput, MessageIntent, ServedAgent, UserMessage};
use fugato_graph::{Answers, BoxError, Context, END, Graph, Runner};
use fugato_state::{EffectClass, State, ThreadId};
use fugato_testkit::{
    consent::{
        ConsentAnswer, ConsentSim, ConsentWords, ConsentWorld, KeyedWrites, TestEndpoints,
        TestRequest, TestResponse, WorldStore,
    },
    log::Failure,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The lines to write, in their order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct PendingLines {
    left: Vec<String>,
    agreed: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Change {
    Asked(Vec<String>),
    Judged(bool),
    Written,
}

impl State for PendingLines {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Asked(left) => {
                *self = Self {
                    left,
                    agreed: false,
                }
            }
            Change::Judged(true) => self.agreed = true,
            Change::Judged(false) | Change::Written => {
                self.agreed = false;
                if !self.left.is_empty() {
                    self.left.remove(0);
                }
            }
        }
    }
}

/// A flaw of the program, for the simulation to find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Defect {
    None,
    /// The last message of any thread is written, and not the content of the card.
    WritesOtherValue,
}

/// The part that outlives the program.
#[derive(Clone)]
pub(crate) struct Outside {
    written: KeyedWrites,
    newest: Arc<Mutex<String>>,
    defect: Defect,
}

impl Outside {
    fn graph(&self) -> Result<Graph<PendingLines>, BoxError> {
        let outside = self.clone();
        let act = move |cx: Context<PendingLines>| {
            let outside = outside.clone();
            async move {
                let first = cx.state().left.first().cloned().unwrap_or_default();
                let value = match outside.defect {
                    Defect::None => first,
                    Defect::WritesOtherValue => lock(&outside.newest).clone(),
                };
                let writes = outside.written.clone();
                let write = cx.effect("write", EffectClass::Keyed, &value.clone(), |key| {
                    let (key, value) = (key.clone(), value);
                    async move {
                        tokio::task::yield_now().await;
                        writes.note(key, value);
                        Ok::<_, BoxError>(())
                    }
                });
                write.await?;
                Ok::<_, BoxError>(Change::Written)
            }
        };
        let card = |todo: &PendingLines| json!({ "type": "confirm", "write": todo.left.first() });
        let next = |todo: &PendingLines| match todo {
            PendingLines { agreed: true, .. } => "act",
            PendingLines { left, .. } if left.is_empty() => END,
            _ => "ask",
        };
        Ok(Graph::<PendingLines>::starting_at("ask")
            .approval("ask", card, |_, ok: bool| Change::Judged(ok))
            .node("act", act)
            .branch("ask", ["ask", "act", END], next)
            .branch("act", ["ask", "act", END], next)
            .build()?)
    }
}

pub(crate) fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Writer {
    runner: Runner<PendingLines>,
    outside: Outside,
}

#[async_trait]
impl ServedAgent for Writer {
    type State = PendingLines;

    fn name(&self) -> &'static str {
        "writer"
    }

    fn runner(&self) -> &Runner<PendingLines> {
        &self.runner
    }

    async fn input(&self, said: UserMessage) -> Result<Vec<Change>, BadInput> {
        let wanted = said.text.strip_prefix("instead ").unwrap_or(&said.text);
        let Some(wanted) = wanted.strip_prefix("write ") else {
            return Err(BadInput::new("say write, and what"));
        };
        wanted.clone_into(&mut lock(&self.outside.newest));
        let left = wanted.split(" and ").map(str::to_owned);
        Ok(vec![Change::Asked(left.collect())])
    }

    async fn intent(&self, _: &ThreadId, said: &UserMessage) -> Result<MessageIntent, BadInput> {
        Ok(if said.text.starts_with("instead") {
            MessageIntent::Instead
        } else {
            MessageIntent::Request
        })
    }
}

/// The agent, served over a store.
pub(crate) struct Small {
    outside: Outside,
    store: Arc<WorldStore>,
}

impl Small {
    #[expect(clippy::unnecessary_wraps, reason = "a world may have none")]
    pub(crate) fn new(store: Arc<WorldStore>, defect: Defect) -> Result<Self, BoxError> {
        let outside = Outside {
            written: KeyedWrites::default(),
            newest: Arc::default(),
            defect,
        };
        Ok(Self { outside, store })
    }
}

/// A door of the program's own, which checks nothing itself.
const DIRECT: &str = "/direct/";

async fn direct(runner: &Runner<PendingLines>, thread: &str, body: &Value) -> TestResponse {
    let agrees = body["agrees"] == true;
    let answers = match (body["id"].as_str(), body["digest"].as_str()) {
        (None, _) => Answers::only(agrees),
        (Some(id), None) => Answers::to(id, agrees),
        (Some(id), Some(digest)) => Answers::none().approving(id, agrees, digest),
    };
    let thread = ThreadId::new(thread).unwrap();
    let (status, body) = match runner.resume(&thread, answers.unwrap()).await {
        Ok(ended) => (200, json!(ended.interrupts())),
        Err(error) => (409, json!(error.to_string())),
    };
    let body = body.to_string();
    TestResponse { status, body }
}

#[async_trait]
impl ConsentWorld for Small {
    async fn restart(&self) -> Result<TestEndpoints, BoxError> {
        let outside = self.outside.clone();
        let runner = Runner::new(outside.graph()?, Arc::new(self.store.restart()?));
        let writer = Writer {
            runner: runner.clone(),
            outside,
        };
        let router = AgentRoutes::new(writer).authenticate(AllowAll).router();
        Ok(TestEndpoints::new(move |request| {
            let (router, runner) = (router.clone(), runner.clone());
            async move {
                match request.path.strip_prefix(DIRECT) {
                    Some(thread) => direct(&runner, thread, &request.body).await,
                    None => request.call(router).await,
                }
            }
        }))
    }

    async fn writes(&self) -> Vec<Value> {
        self.outside.written.contents()
    }

    fn content(&self, prompt: &Value) -> Option<Value> {
        prompt.get("write").cloned()
    }

    fn own_words(&self, words: &ConsentWords) -> Vec<TestRequest> {
        // A yes that names nothing is a bare answer there.
        let is_yes = ["yes", "OK", "好的", "确定"].contains(&words.text.as_str());
        let path = format!("{DIRECT}{}", words.thread);
        let bare = TestRequest::post(path, json!({ "agrees": true }));
        let is_bare = is_yes && words.card.is_none();
        is_bare.then_some(bare).into_iter().collect()
    }

    fn own_answers(&self, answer: &ConsentAnswer) -> Vec<TestRequest> {
        let ConsentAnswer {
            thread,
            id,
            digest,
            agrees,
            ..
        } = answer;
        let body = json!({ "id": id, "digest": digest, "agrees": agrees });
        vec![TestRequest::post(format!("{DIRECT}{thread}"), body)]
    }

    fn requests(&self) -> Vec<String> {
        let requests = ["write a", "write b and c", "write d and a and e"];
        requests.map(str::to_owned).to_vec()
    }

    fn edits(&self) -> Vec<String> {
        vec!["instead write f".into(), "instead write g and h".into()]
    }
}

#[tokio::test]
async fn k35_nothing_is_written_without_a_consent_of_its_own() -> Result<(), Failure> {
    let report = ConsentSim::new(|store| Small::new(store, Defect::None));
    let report = report.run().await?;
    assert!(report.writes > report.cases, "{report}");
    assert!(3 * report.accepted > report.requests, "{report}");
    Ok(())
}

#[tokio::test]
async fn k35_nor_over_a_file() -> Result<(), Failure> {
    let sim = ConsentSim::new(|store| Small::new(store, Defect::None));
    let report = sim.over(WorldStore::in_sqlite).cases(50).seed(20_000);
    report.run().await?.assert_tried();
    Ok(())
}
