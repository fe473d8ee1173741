//! Requests as people type them, in both languages: what is understood, what is refused, and what
//! is never written.
use axum::Router;
use fugato::axum::{AgentRoutes, AllowAll};
use fugato_testkit::{
    consent::TestRequest,
    corpus::{CaseOutcome, Corpus, CorpusCase},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{common::World, served::post};

/// The fields that only the planner's cases have.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct StoredRows {
    wrote: Option<Wrote>,
    gone: Vec<String>,
    wrote_nothing: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wrote {
    orders: Option<Vec<Map<String, Value>>>,
    traders: Option<Vec<String>>,
    preferences: Vec<String>,
}

/// A conversation at the router of the program, in which words are typed under the card that is open,
/// as on the page.
struct CorpusServer {
    world: World,
    app: Router,
}

impl CorpusServer {
    fn new() -> Self {
        let world = World::new().expect("a world");
        let planner = world.planner().expect("the wiring is checked");
        let app = AgentRoutes::new(planner).authenticate(AllowAll).router();
        Self { world, app }
    }

    async fn open(&self) -> Value {
        let request = TestRequest::new("GET", "/threads/one", Value::Null);
        let view = request.call(self.app.clone()).await;
        let view: Value = serde_json::from_str(&view.body).unwrap_or_default();
        view["interrupts"][0].clone()
    }

    /// Returns the card that waits for a consent.
    async fn card(&self) -> Option<Value> {
        let open = self.open().await;
        open["digest"].is_string().then_some(open)
    }

    /// Sends words or an answer, and returns what is read of it: the answer, or the question.
    async fn send(&self, mut body: Value) -> String {
        body["thread"] = json!("one");
        let events = post(&self.app, &body).await.expect("a stream").1;
        let done = events.iter().rev().find(|(name, _)| name == "done");
        let output = done.and_then(|(_, data)| data["output"].as_str());
        let output = output.unwrap_or_default().to_owned();
        let asked = self.open().await["prompt"].clone();
        match (asked.as_str(), output.as_str()) {
            (Some(question), "") => question.to_owned(),
            _ => output,
        }
    }

    /// Takes one turn, and returns the reply.
    async fn turn(&self, words: &str) -> Option<String> {
        let answer = match (words, self.card().await) {
            ("@yes" | "@yes?", Some(card)) => Some((card, true)),
            ("@no", Some(card)) => Some((card, false)),
            ("@yes?", None) => return None,
            _ => None,
        };
        if let Some((card, agrees)) = answer {
            let id = card["id"].as_str().expect("a card has an id");
            let answers = json!({ id: agrees });
            let digests = json!({ id: card["digest"] });
            return Some(
                self.send(json!({ "answers": answers, "digests": digests }))
                    .await,
            );
        }
        // Without a card there is no button: the word is typed.
        let card = self.open().await["id"].clone();
        let text = words.trim_start_matches('@');
        Some(self.send(json!({ "text": text, "card": card })).await)
    }
}

async fn run(case: &CorpusCase<StoredRows>) -> Option<CaseOutcome> {
    let served = CorpusServer::new();
    let mut outcome = CaseOutcome::default();
    for words in &case.turns {
        let Some(mut reply) = served.turn(words).await else {
            continue;
        };
        while words == "@yes?" && served.card().await.is_some() {
            reply = served.turn(words).await?;
        }
        outcome.reply.clone_from(&reply);
        outcome.last = reply;
        if let Some(card) = served.card().await {
            let part = |name: &str| card["prompt"][name].as_str().unwrap_or_default().to_owned();
            for text in [part("title"), part("summary")] {
                outcome.last.push('\n');
                outcome.last += &text;
            }
        }
        outcome.read += &outcome.last;
    }
    outcome.card = served.card().await.map(|card| {
        let call = &card["prompt"]["call"];
        let (name, mut arguments) = (call["name"].as_str(), call["arguments"].clone());
        if arguments["price"].is_null() {
            arguments["price"] = json!("market");
        }
        (name.unwrap_or_default().to_owned(), arguments)
    });
    outcome.faults = faults(&case.own, &served.world).await;
    Some(outcome)
}

async fn faults(wanted: &StoredRows, world: &World) -> Vec<String> {
    let orders = world.desk.orders().await.expect("orders");
    let traders = world.desk.traders().await.expect("traders");
    let traders: Vec<String> = traders.into_iter().map(|trader| trader.name).collect();
    let (task, wishes) = world.deps().users().recall("home").await.expect("a person");
    let wishes = wishes.iter().map(|(name, wish)| format!("{name}: {wish}"));
    let kept: Vec<String> = task.facts.iter().cloned().chain(wishes).collect();
    let mut faults = vec![];
    if wanted.wrote_nothing && !(orders.is_empty() && traders.is_empty() && kept.is_empty()) {
        faults.push(format!("stored: {orders:?} {traders:?} {kept:?}"));
    }
    let holds = |part: &String| kept.iter().any(|one| one.contains(part));
    faults.extend(
        wanted
            .gone
            .iter()
            .filter(|gone| holds(gone))
            .map(|gone| format!("{gone:?} is kept: {kept:?}")),
    );
    let Some(wrote) = &wanted.wrote else {
        return faults;
    };
    let is_order = |(order, wanted): (&Value, &Map<String, Value>)| {
        wanted.iter().all(|(key, value)| match value.as_f64() {
            Some(number) => order[key].as_str().and_then(|it| it.parse().ok()) == Some(number),
            None => order[key] == *value,
        })
    };
    if let Some(wanted) = &wrote.orders {
        let orders: Vec<Value> = orders.iter().map(|order| json!(order)).collect();
        let same = orders.len() == wanted.len() && orders.iter().zip(wanted).all(is_order);
        if !same {
            faults.push(format!("orders are {orders:?}"));
        }
    }
    if wrote.traders.as_ref().is_some_and(|it| *it != traders) {
        faults.push(format!("traders are {traders:?}"));
    }
    let lost = wrote.preferences.iter().filter(|wish| !holds(wish));
    faults.extend(lost.map(|wish| format!("{wish:?} is not kept: {kept:?}")));
    faults
}

#[tokio::test]
async fn pln_8_the_corpus_of_requests_is_understood_or_refused() {
    let corpus: Corpus<StoredRows> = toml::from_str(include_str!("corpus.toml")).unwrap();
    corpus.assert_understood("", run).await;
}
