//! No stale fact is used for an answer about what exists or what can be done, whatever changes
//! between the turns and whatever a model does with what it is told.
mod common;

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use common::{World, say};
use fugato::{
    BoxError, ChatModel, ChatRequest,
    llm::{DeltaStream, ModelError},
};
use fugato_testkit::Scripted;
use planner::{
    desk::{Config, Desk, Kind, NewTrader},
    graph::{Deps, Manner},
    service::Planner,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Everything that is configured has the number of its time in its name.
async fn change(desk: &Desk, to: usize) -> Result<(), BoxError> {
    for kind in Kind::ALL {
        for config in desk.configs(kind).await? {
            desk.unconfigure(kind, &config.name).await?;
        }
        let name = format!("{}-v{to}", kind.as_str());
        desk.configure(
            kind,
            Config {
                name,
                note: String::new(),
                enabled: true,
            },
        )
        .await?;
    }
    for trader in desk.traders().await? {
        desk.remove_trader(&trader.name).await?;
    }
    let new = NewTrader {
        name: format!("trader-v{to}"),
        model: format!("model-v{to}"),
        exchange: format!("exchange-v{to}"),
        strategy: String::new(),
    };
    desk.create_trader(&format!("by-hand-{to}"), new).await?;
    Ok(())
}

/// What of an older time is in a text.
fn stale(text: &str, now: usize) -> Vec<String> {
    let old = (0..now).flat_map(|version| {
        ["model", "exchange", "strategy", "trader"].map(|kind| format!("{kind}-v{version}"))
    });
    let ends = |c: Option<char>| c.is_none_or(|c| !c.is_ascii_digit());
    old.filter(|name| {
        let mut found = text.match_indices(name.as_str());
        found.any(|(at, _)| {
            ends(
                text.get(at + name.len()..)
                    .and_then(|rest| rest.chars().next()),
            )
        })
    })
    .collect()
}

/// A model that looks, asks and writes as it likes, and repeats everything that it is told.
#[derive(Clone)]
struct Parrot {
    now: Arc<AtomicUsize>,
    asked: Arc<AtomicUsize>,
    believed: Arc<Mutex<Vec<String>>>,
}

impl Parrot {
    fn answer(&self, request: &ChatRequest) -> String {
        let told: Vec<_> = request
            .messages
            .iter()
            .map(|message| message.content.as_str())
            .collect();
        let told = told.join("\n");
        let old = stale(&told, self.now.load(Ordering::Relaxed));
        if !old.is_empty() {
            let mut believed = self.believed.lock().unwrap_or_else(PoisonError::into_inner);
            believed.push(format!("{old:?} in {told}"));
        }
        let n = self.asked.fetch_add(1, Ordering::Relaxed);
        let respond = json!({ "type": "respond" });
        let look = json!({ "type": "tool", "tool_name": "get_configs" });
        let ask = json!({ "type": "ask_user", "instruction": "Shall I go on?" });
        let make = json!({
            "type": "tool", "tool_name": "create_trader",
            "tool_args": { "name": "mine", "model": "nothing", "exchange": "nowhere" },
        });
        let steps: Vec<Value> = match n % 6 {
            0 => vec![look, respond],
            1 => vec![ask],
            2 => vec![make, look, respond],
            3 => vec![
                json!({ "type": "reason", "instruction": "What do I know?" }),
                respond,
            ],
            4 => vec![look, ask],
            _ => vec![respond],
        };
        match request.metadata.get("stage").map(String::as_str) {
            Some("planner")
                if told.contains("\"action\"") || told.contains("replace_remaining") =>
            {
                let question = "Shall I go on?";
                let action = if n.is_multiple_of(2) {
                    "finish"
                } else {
                    "ask_user"
                };
                json!({ "action": action, "question": question }).to_string()
            }
            Some("planner") => json!({ "steps": steps }).to_string(),
            Some("direct_reply") => {
                json!({ "action": "direct_answer", "answer": told }).to_string()
            }
            Some("compact") => {
                let facts: Vec<&str> = told.lines().collect();
                json!({ "facts": facts }).to_string()
            }
            _ => told,
        }
    }
}

#[async_trait]
impl ChatModel for Parrot {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        Scripted::new([self.answer(&request).as_str()])
            .stream(request)
            .await
    }

    fn name(&self) -> &'static str {
        "parrot"
    }
}

/// What happens next.
#[derive(Debug, Clone, Copy)]
enum Next {
    Changes,
    Says(usize),
    Waits,
}

/// None of these names anything that is configured.
const SAID: [&str; 12] = [
    "Which models are there?",
    "现在有哪些交易员？",
    "Can I create a trader now?",
    "有哪些策略和交易所",
    "Hello, how are you?",
    "create a trader named mine",
    "Tell me everything about my balance",
    "yes",
    "no",
    "continue",
    "what do you think of all this, at some length and with great care for every single detail of it",
    "try again",
];

fn next() -> impl Strategy<Value = Next> {
    prop_oneof![
        2 => Just(Next::Changes),
        5 => (0..SAID.len()).prop_map(Next::Says),
        1 => Just(Next::Waits),
    ]
}

async fn checked(script: &[Next], model: bool, manner: Manner) -> Result<(), BoxError> {
    let world = World::new()?;
    let parrot = Parrot {
        now: Arc::default(),
        asked: Arc::default(),
        believed: Arc::default(),
    };
    change(&world.desk, 0).await?;
    let mut deps: Deps = world.deps().manner(manner);
    if model {
        deps = deps.model(parrot.clone());
    }
    let planner = Planner::new(&deps, world.store.clone())?;
    for step in script {
        match step {
            Next::Changes => {
                let to = parrot.now.fetch_add(1, Ordering::Relaxed) + 1;
                change(&world.desk, to).await?;
            }
            Next::Waits => world.wait(61_000),
            Next::Says(at) => {
                let said = SAID.get(*at).copied().unwrap_or_default();
                let told = say(&planner, said).await?;
                // That something is not there any more may name it.
                let refusal = told.strip_prefix("Not done: there is no ");
                let told = refusal
                    .and_then(|told| told.split_once(';'))
                    .map_or(&*told, |(_, rest)| rest);
                let now = parrot.now.load(Ordering::Relaxed);
                assert_eq!(stale(told, now), Vec::<String>::new(), "{said} → {told}");
            }
        }
    }
    // What exists is told by what exists.
    say(&planner, "/new").await?;
    let now = parrot.now.load(Ordering::Relaxed);
    let mut told = say(&planner, "Which models and traders are there?").await?;
    if told == "Shall I go on?" {
        told = say(&planner, "continue").await?;
    }
    if told.starts_with("create_trader") {
        told = say(&planner, "no").await?;
    }
    for name in [format!("model-v{now}"), format!("trader-v{now} (")] {
        assert!(
            told.contains(&name) || told == "Shall I go on?",
            "{name} is not in {told}"
        );
    }
    let believed = parrot
        .believed
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    assert_eq!(believed, Vec::<String>::new());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn pln_21_pln_w4_pln_t3_no_stale_fact_is_used(
        script in proptest::collection::vec(next(), 1..16),
        model in any::<bool>(),
        batches in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let manner = if batches { Manner::NextBatch } else { Manner::default() };
        let done = runtime.expect("a runtime").block_on(checked(&script, model, manner));
        prop_assert!(done.is_ok(), "{:?}", done);
    }
}
