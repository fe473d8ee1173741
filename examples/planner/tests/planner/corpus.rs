//! Requests as people type them, in both languages: what is understood, what is refused, and what
//! is never written.
use fugato::{
    axum::{Caller, SendOutcome, UserMessage},
    state::{Interrupt, ThreadId},
};
use fugato_testkit::{
    corpus::{CaseOutcome, Corpus, CorpusCase},
    session::{TurnEnd, WordHandler, WordOutcome},
};
use futures::FutureExt as _;
use planner::service::{Planner, PlannerReply};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

use crate::common::{Talk, World};

/// The fields that only the planner's cases have.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Stored {
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

/// Returns a conversation in which words are typed under the card that is open, as on the page.
fn talk(world: &World) -> Talk {
    let deps = world.deps();
    let open = move |log| {
        let planner = Planner::new(&deps, log).expect("the wiring is checked");
        let runner = planner.runner().clone();
        let handler: WordHandler<planner::session::Session> = Arc::new(move |thread, words| {
            let planner = planner.clone();
            async move { typed(&planner, &thread, words).await }.boxed()
        });
        (runner, handler)
    };
    let talk = Talk::with_handler(open).over(world.store.clone());
    talk.thread_named("ada.one").without_events()
}

async fn typed(
    planner: &Planner,
    thread: &ThreadId,
    words: String,
) -> Result<WordOutcome<planner::session::Session>, fugato::BoxError> {
    let mut words = UserMessage::new(Caller::default().user("ada"), words);
    let open = planner.runner().interrupts(thread).await?;
    words.card = open.first().map(|asked| asked.id.clone());
    Ok(match fugato::axum::say(planner, thread, words).await? {
        SendOutcome::Run(run) => WordOutcome::Run(run),
        SendOutcome::Unchanged(ended) => WordOutcome::Told(PlannerReply::of(&ended).text),
        SendOutcome::Told(text) => WordOutcome::Told(text),
    })
}

async fn card(talk: &Talk) -> Option<Interrupt> {
    let open = talk.runner().interrupts(talk.thread()).await;
    let mut open = open.expect("a readable log").into_iter();
    open.find(|asked| asked.question.digest.is_some())
}

/// Takes one turn, and returns the reply.
async fn turn(talk: &Talk, words: &str) -> Option<String> {
    let open = card(talk).await;
    let turn = match (words, open) {
        ("@yes" | "@yes?", Some(_)) => talk.approve().await,
        ("@no", Some(_)) => talk.reject().await,
        ("@yes?", None) => return None,
        // Without a card there is no button: the word is typed.
        (words, _) => talk.say(words.trim_start_matches('@')).await,
    };
    Some(match &turn.end {
        TurnEnd::Told(text) => text.clone(),
        _ => PlannerReply::of(turn.result()).text,
    })
}

async fn run(case: &CorpusCase<Stored>) -> Option<CaseOutcome> {
    let world = World::new().expect("a world");
    let talk = talk(&world);
    let mut outcome = CaseOutcome::default();
    for words in &case.turns {
        let Some(mut reply) = turn(&talk, words).await else {
            continue;
        };
        while words == "@yes?" && card(&talk).await.is_some() {
            reply = turn(&talk, words).await?;
        }
        outcome.reply.clone_from(&reply);
        outcome.last = reply;
        if let Some(card) = card(&talk).await {
            let part = |name| card.question.prompt[name].as_str().unwrap_or_default();
            for text in [part("title"), part("summary")] {
                outcome.last.push('\n');
                outcome.last += text;
            }
        }
        outcome.read += &outcome.last;
    }
    outcome.card = card(&talk).await.map(|card| {
        let call = &card.question.prompt["call"];
        let (name, mut arguments) = (call["name"].as_str(), call["arguments"].clone());
        if arguments["price"].is_null() {
            arguments["price"] = json!("market");
        }
        (name.unwrap_or_default().to_owned(), arguments)
    });
    outcome.faults = faults(&case.own, &world).await;
    Some(outcome)
}

async fn faults(wanted: &Stored, world: &World) -> Vec<String> {
    let orders = world.desk.orders().await.expect("orders");
    let traders = world.desk.traders().await.expect("traders");
    let traders: Vec<String> = traders.into_iter().map(|trader| trader.name).collect();
    let (task, wishes) = world.deps().users().recall("ada").await.expect("a person");
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
    let corpus: Corpus<Stored> = toml::from_str(include_str!("corpus.toml")).unwrap();
    corpus.assert_understood("", run).await;
}
