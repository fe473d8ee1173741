//! No stale fact is used for an answer about what exists or what can be done, whatever changes
//! between the turns, within one, under an open card, across restarts, by another session or in a
//! copy of the thread, and whatever a model does with its context.
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use crate::common::World;
use async_trait::async_trait;
use fugato::{
    BoxError, ChatModel, ChatRequest, Interrupt,
    llm::{DeltaStream, ModelError, ModelErrorKind},
    state::ToolCall,
    words::{Phrases, ShortAnswer},
};
use fugato_testkit::{Scripted, ScriptedReply};
use planner::{
    exchange::{Config, Exchange, Kind, Trader},
    graph::{Deps, PlanningMode},
    service::Planner,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Gives everything that is configured a name with this version.
async fn change(desk: &Exchange, to: usize) -> Result<(), BoxError> {
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
        desk.remove_trader(&trader.name, None).await?;
    }
    let new = Trader {
        name: format!("trader-v{to}"),
        model: format!("model-v{to}"),
        exchange: format!("exchange-v{to}"),
        ..Trader::default()
    };
    desk.create_trader(&format!("by-hand-{to}"), new).await?;
    Ok(())
}

/// Returns the names of older versions that a text contains.
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

/// A model that reads, asks and writes at random, and repeats all of its context. The context is as
/// old as the last look-up, which must not be older than the request to the model.
#[derive(Clone)]
struct Parrot {
    world: Arc<Outside>,
    /// The rate of changes during its answers: one with every n-th answer, or none if it is 0.
    changes: usize,
    /// True if its plans are unusable, so that the loop of model and tools takes over.
    babbles: bool,
}

/// The test's view of the world.
struct Outside {
    desk: Exchange,
    now: AtomicUsize,
    asked: AtomicUsize,
    /// The version at the time of the model's last request: its words may be as old as that.
    spoken: AtomicUsize,
    believed: Mutex<Vec<String>>,
}

impl Outside {
    fn now(&self) -> usize {
        self.now.load(Ordering::SeqCst)
    }

    async fn change(&self) -> Result<(), BoxError> {
        change(&self.desk, self.now() + 1).await?;
        self.now.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn believed(&self) -> Vec<String> {
        let believed = self.believed.lock();
        believed.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Parrot {
    async fn answer(&self, request: &ChatRequest) -> Result<ScriptedReply, BoxError> {
        let told: Vec<_> = request
            .messages
            .iter()
            .map(|message| message.content.as_str())
            .collect();
        let (told, world) = (told.join("\n"), &self.world);
        let old = stale(&told, world.now());
        if !old.is_empty() {
            let believed = world.believed.lock();
            let mut believed = believed.unwrap_or_else(PoisonError::into_inner);
            believed.push(format!("{old:?} in {told}"));
        }
        let stage = request.metadata.get("stage").map_or("", String::as_str);
        if matches!(stage, "step" | "agent") {
            world.spoken.store(world.now(), Ordering::SeqCst);
        }
        let n = world.asked.fetch_add(1, Ordering::SeqCst);
        // A summary is written when the answer was given.
        if stage != "compact" && n.checked_rem(self.changes) == Some(0) {
            world.change().await?;
        }
        Ok(match stage {
            "planner" if self.babbles => ScriptedReply::text("no JSON"),
            "planner" if told.contains("replace_remaining") => {
                let action = ["finish", "ask_user"].get(n % 2);
                let question = "Shall I go on?";
                ScriptedReply::text(json!({ "action": action, "question": question }).to_string())
            }
            "planner" => ScriptedReply::text(json!({ "steps": steps(n) }).to_string()),
            "direct_reply" => ScriptedReply::text(
                json!({ "action": "direct_answer", "answer": told }).to_string(),
            ),
            "compact" => {
                let facts: Vec<&str> = told.lines().collect();
                ScriptedReply::text(json!({ "facts": facts }).to_string())
            }
            // It looks or writes once, and speaks then.
            "agent"
                if request
                    .messages
                    .iter()
                    .all(|one| one.tool_call_id.is_none()) =>
            {
                let (name, arguments) = match n % 3 {
                    0 => ("get_configs", json!({})),
                    1 => ("create_trader", wanted()),
                    _ => return Ok(ScriptedReply::text(told)),
                };
                ScriptedReply::tool_calls([ToolCall::new(format!("c{n}"), name, arguments)])
            }
            _ => ScriptedReply::text(told),
        })
    }
}

fn wanted() -> Value {
    json!({ "name": "mine", "model": "nothing", "exchange": "nowhere" })
}

fn steps(n: usize) -> Vec<Value> {
    let respond = json!({ "type": "respond" });
    let look = json!({ "type": "tool", "tool_name": "get_configs" });
    let ask = json!({ "type": "ask_user", "instruction": "Shall I go on?" });
    let make = json!({ "type": "tool", "tool_name": "create_trader", "tool_args": wanted() });
    let think = json!({ "type": "reason", "instruction": "What do I know?" });
    match n % 6 {
        0 => vec![look, respond],
        1 => vec![ask],
        2 => vec![make, look, respond],
        3 => vec![think, respond],
        4 => vec![look, ask],
        _ => vec![respond],
    }
}

#[async_trait]
impl ChatModel for Parrot {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let answer = self.answer(&request).await;
        let reply =
            answer.map_err(|error| ModelError::new(ModelErrorKind::Other, error.to_string()))?;
        Scripted::new([reply]).stream(request).await
    }

    fn name(&self) -> &'static str {
        "parrot"
    }
}

/// An event of a script.
#[derive(Debug, Clone, Copy)]
enum Next {
    Changes,
    Says(usize),
    /// The person names a model that exists or existed, as an answer to a question.
    Names(usize),
    Waits,
    Restarts,
    /// Another session of the same person says something.
    Elsewhere(usize),
    /// The conversation continues in a copy of the thread, made at one of its positions.
    Forks(u64),
}

/// None of these names anything that is configured.
const SAID: [&str; 16] = [
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
    "/new",
    "/clear",
    "start over",
    "/status",
];
/// The first of these ask for what exists or what can be done, and for nothing else.
const EXISTENCE: usize = 4;

fn next() -> impl Strategy<Value = Next> {
    prop_oneof![
        4 => Just(Next::Changes),
        8 => (0..SAID.len()).prop_map(Next::Says),
        3 => (0..2_usize).prop_map(Next::Names),
        1 => Just(Next::Waits),
        1 => Just(Next::Restarts),
        1 => (0..SAID.len()).prop_map(Next::Elsewhere),
        1 => (1..60_u64).prop_map(Next::Forks),
    ]
}

/// The options of a script.
#[derive(Debug, Clone, Copy)]
struct Manners {
    model: bool,
    batches: bool,
    babbles: bool,
    changes: usize,
}

struct Model {
    world: World,
    outside: Arc<Outside>,
    planner: Planner,
    manners: Manners,
    session: String,
    /// The last position of each turn of this conversation, and the version of the world in which
    /// the turn began.
    turns: Vec<(u64, usize)>,
    /// The version of the world at the position at which the conversation was copied, until the
    /// copy has answered.
    copied: Option<usize>,
}

impl Model {
    async fn new(manners: Manners) -> Result<Self, BoxError> {
        let world = World::new()?;
        change(&world.desk, 0).await?;
        let outside = Arc::new(Outside {
            desk: world.desk.clone(),
            now: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            spoken: AtomicUsize::new(0),
            believed: Mutex::default(),
        });
        let planner = wired(&world, &outside, manners)?;
        let session = "one".to_owned();
        Ok(Self {
            world,
            outside,
            planner,
            manners,
            session,
            turns: Vec::new(),
            copied: None,
        })
    }

    async fn says(&self, session: &str, said: &str) -> Result<String, BoxError> {
        self.outside.spoken.store(usize::MAX, Ordering::SeqCst);
        // A yes or no to a card is sent with the code of the card.
        let thread = Planner::thread("ada", session)?;
        let open = self.planner.runner().interrupts(&thread).await?;
        let card = open.iter().find(|asked| asked.question.digest.is_some());
        let decides = Phrases::default().consent(said).is_some();
        let said = match card.filter(|_| decides) {
            Some(card) => &format!("{said} {}", card.id.code()),
            None => said,
        };
        let reply = self.planner.handle_message("ada", session, said).await?;
        // "Continue" agrees to nothing: the card is shown again as it was asked.
        let vague = ShortAnswer::of(said) == Some(ShortAnswer::Continue);
        let same = |asked: &Interrupt| card.is_some_and(|card| card.id == asked.id);
        if vague && reply.waiting.as_ref().is_some_and(same) {
            return Ok(format!("waits for an answer: {}", reply.text));
        }
        Ok(reply.text)
    }

    /// Sends a message, and checks that the reply contains nothing that is no longer true.
    async fn checks(&self, session: &str, said: &str) -> Result<(), BoxError> {
        let before = self.outside.now();
        let told = self.says(session, said).await?;
        let (now, spoken) = (
            self.outside.now(),
            self.outside.spoken.load(Ordering::SeqCst),
        );
        let is_asked = SAID.iter().take(EXISTENCE).any(|one| *one == said);
        // A run that was copied between a look-up and its card asks about what was looked up; what
        // is agreed to is checked again when it is done.
        let now = match self.copied.filter(|_| is_question(&told)) {
            Some(copied) => now.min(copied),
            None => now,
        };
        // Code reads out what exists now; the words of a model are as old as its request.
        let oldest = if is_asked && !is_question(&told) {
            now
        } else {
            now.min(spoken.max(before))
        };
        let there: &[&str] = match SAID.iter().position(|one| *one == said) {
            Some(0) => &["model"],
            Some(1) => &["trader"],
            Some(2) => &["model", "exchange"],
            Some(3) => &["strategy", "exchange"],
            _ => &[],
        };
        let has_end = is_question(&told) || told.starts_with("I could not finish");
        let there = there.iter().map(|kind| format!("{kind}-v{now}"));
        let untold: Vec<_> = there
            .filter(|name| !told.contains(name) && !has_end)
            .collect();
        assert_eq!(untold, Vec::<String>::new(), "{said} → {told}");
        // A question stays as it was asked, and the text that something no longer exists may
        // name it.
        let told: Vec<&str> = told
            .lines()
            .filter(|line| {
                !line.starts_with("waits for an answer: ") && !line.starts_with("work: ")
            })
            .map(|line| {
                let refusal = line.strip_prefix("Not done: there is no ");
                refusal
                    .and_then(|line| line.split_once(';'))
                    .map_or(line, |(_, rest)| rest)
            })
            .collect();
        let told = told.join("\n");
        assert_eq!(
            stale(&told, oldest),
            Vec::<String>::new(),
            "{said} → {told}"
        );
        Ok(())
    }

    /// Sends a message to this conversation, and remembers when it was.
    async fn turn(&mut self, said: &str) -> Result<(), BoxError> {
        let began = self.outside.now();
        self.checks(&self.session, said).await?;
        let thread = Planner::thread("ada", &self.session)?;
        let from = self.turns.last().map_or(0, |(end, _)| end + 1);
        let new = self.planner.runner().history(&thread, from, 10_000).await?;
        let end = new.last().map_or(from, |entry| entry.seq);
        self.turns.push((end, began));
        Ok(())
    }

    async fn is_asked_for_a_name(&self) -> Result<bool, BoxError> {
        let thread = Planner::thread("ada", &self.session)?;
        let open = self.planner.runner().interrupts(&thread).await?;
        let mut prompts = open.iter().map(|asked| asked.question.prompt.to_string());
        Ok(prompts.any(|prompt| prompt.contains("be called?")))
    }

    async fn step(&mut self, step: Next) -> Result<(), BoxError> {
        let said = |at: usize| SAID.get(at).copied().unwrap_or_default();
        match step {
            Next::Changes => self.outside.change().await?,
            Next::Waits => self.world.wait(61_000),
            Next::Says(at) => {
                self.turn(said(at)).await?;
                self.copied = None;
            }
            // A person's own words are no fact, so that the parrot must not repeat them.
            Next::Names(_) if self.manners.model => self.outside.change().await?,
            // The name that a person gives to a trader is no fact either.
            Next::Names(_) if self.is_asked_for_a_name().await? => self.outside.change().await?,
            Next::Names(back) => {
                let named = self.outside.now().saturating_sub(back);
                self.turn(&format!("model-v{named}")).await?;
            }
            // The loop's earlier results are still in its model's context if a copy continues in
            // the middle of it. Only the existence facts are looked up again.
            Next::Forks(_) if self.manners.babbles => self.outside.change().await?,
            Next::Restarts => self.planner = wired(&self.world, &self.outside, self.manners)?,
            Next::Elsewhere(at) => self.checks("two", said(at)).await?,
            Next::Forks(at) => {
                let name = format!("{}-{at}", self.session);
                let [old, new] = [&self.session, &name].map(|name| Planner::thread("ada", name));
                // A copy cannot be made at every position.
                let made = self.planner.runner().fork(&old?, at, &new?).await;
                if made.is_ok() {
                    self.session = name;
                    let now = self.outside.now();
                    let turn = self.turns.iter().find(|(end, _)| *end >= at);
                    let version = turn.map_or(now, |(_, version)| *version);
                    self.turns.retain(|(end, _)| *end < at);
                    self.turns.push((at, version));
                    self.copied = Some(version);
                    // It takes longer than a model call, and the world changes meanwhile.
                    self.world.wait(10_000);
                    self.outside.change().await?;
                }
            }
        }
        Ok(())
    }
}

fn is_question(told: &str) -> bool {
    let told = told.strip_prefix("waits for an answer: ").unwrap_or(told);
    told == "Shall I go on?"
        || ["Create a trader", "创建交易员"]
            .iter()
            .any(|it| told.starts_with(it))
}

fn wired(world: &World, outside: &Arc<Outside>, manners: Manners) -> Result<Planner, BoxError> {
    let manner = if manners.batches {
        PlanningMode::NextBatch
    } else {
        PlanningMode::default()
    };
    let mut deps: Deps = world.deps().manner(manner);
    if manners.model {
        deps = deps.model(Parrot {
            world: outside.clone(),
            changes: manners.changes,
            babbles: manners.babbles,
        });
    }
    Ok(Planner::new(&deps, Arc::new(world.store.open()?))?)
}

async fn checked(script: &[Next], manners: Manners) -> Result<(), BoxError> {
    let mut play = Model::new(manners).await?;
    for step in script {
        play.step(*step).await?;
    }
    // An answer about what exists is made of the present facts.
    let session = play.session.clone();
    play.says(&session, "/new").await?;
    let mut told = play
        .says(&session, "Which models and traders are there?")
        .await?;
    for answer in ["continue", "no", "no"] {
        if is_question(&told) {
            told = play.says(&session, answer).await?;
        }
    }
    let now = play.outside.now();
    for name in [format!("model-v{now}"), format!("trader-v{now} (")] {
        assert!(
            told.contains(&name) || is_question(&told),
            "{name} is not in {told}"
        );
    }
    assert_eq!(play.outside.believed(), Vec::<String>::new());
    Ok(())
}

fn manners() -> impl Strategy<Value = Manners> {
    let drawn = (any::<bool>(), any::<bool>(), any::<bool>(), 0..4_usize);
    drawn.prop_map(|(model, batches, babbles, changes)| Manners {
        model,
        batches,
        babbles,
        changes,
    })
}

#[tokio::test]
async fn a_copy_asks_about_the_facts_of_its_position() -> Result<(), BoxError> {
    let manners = Manners {
        model: false,
        batches: false,
        babbles: false,
        changes: 0,
    };
    for at in 1..30 {
        let script = [Next::Says(5), Next::Changes, Next::Forks(at), Next::Says(7)];
        checked(&script, manners).await?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: fugato_testkit::share_of(96), max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn pln_21_pln_w4_pln_t3_no_stale_fact_is_used(
        script in proptest::collection::vec(next(), 1..20),
        manners in manners(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let done = runtime.expect("a runtime").block_on(checked(&script, manners));
        prop_assert!(done.is_ok(), "{:?}", done);
    }
}
