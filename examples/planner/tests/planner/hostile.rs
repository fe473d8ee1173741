//! A model that fails at one stage, or at any: each message has a reply within the timeouts of its
//! stages, which says honestly what was done and what was not.
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::common::{TestResult, World, no_json, plan, respond, say};
use async_trait::async_trait;
use expect_test::expect;
use fugato::{
    BoxError, ChatModel, ChatRequest,
    llm::{ChatDelta, DeltaStream, ModelError},
    state::ToolCall,
};
use fugato_testkit::{Scripted, ScriptedReply, assert_contains};
use futures::{StreamExt as _, stream};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::time::Instant;

/// The way in which a model fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// It takes the request, and says nothing.
    Hangs,
    /// It does not even take the request.
    NeverBegins,
    /// It says a word a minute, for ever.
    Drips,
    /// It sends more and more, as fast as it is read.
    Pours,
    /// It says nothing but blanks.
    Blank,
    /// It says what no stage can use.
    Babbles,
    /// It calls a tool that there is not.
    CallsNobody,
}

use Flaw::{Babbles, Blank, CallsNobody, Drips, Hangs, NeverBegins, Pours};

/// The failures that only a timeout ends.
const SLOW: [Flaw; 3] = [Hangs, NeverBegins, Drips];

/// Returns the stage of a model request, by its metadata and instructions.
fn stage(request: &ChatRequest) -> &'static str {
    let told = request
        .messages
        .first()
        .map_or("", |message| &message.content);
    match request.metadata.get("stage").map_or("", String::as_str) {
        "planner" if told.starts_with("Say whether") => "replan",
        "planner" => "plan",
        "step" if told.starts_with("Think") => "reason",
        "step" => "answer",
        "direct_reply" => "direct_reply",
        "agent" => "agent",
        "compact" => "compact",
        other => panic!("{other} is no stage: {told}"),
    }
}

/// The failure at a stage, if there is one.
type Choice = dyn Fn(&str) -> Option<Flaw> + Send + Sync;

/// A model that fails as the choice says, and otherwise gives the right answer of each stage.
#[derive(Clone)]
struct Odd {
    wrong: Arc<Choice>,
    right: Arc<dyn Fn(&str) -> ScriptedReply + Send + Sync>,
    asked: Arc<Mutex<Vec<&'static str>>>,
}

impl Odd {
    fn new(
        wrong: impl Fn(&str) -> Option<Flaw> + Send + Sync + 'static,
        right: impl Fn(&str) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        Self {
            wrong: Arc::new(wrong),
            right: Arc::new(right),
            asked: Arc::default(),
        }
    }
}

#[async_trait]
impl ChatModel for Odd {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let stage = stage(&request);
        let n = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.push(stage);
            asked.len()
        };
        let reply = match (self.wrong)(stage) {
            None => (self.right)(stage),
            Some(Hangs) => ScriptedReply::hang(),
            Some(NeverBegins) => std::future::pending().await,
            Some(Drips) => {
                let drop = async |()| {
                    tokio::time::sleep(Duration::from_mins(1)).await;
                    Ok(ChatDelta::text("word "))
                };
                return Ok(stream::repeat(()).then(drop).boxed());
            }
            Some(Pours) => {
                let much = ChatDelta::text("{".repeat(1 << 16));
                return Ok(stream::repeat_with(move || Ok(much.clone())).boxed());
            }
            Some(Blank) => ScriptedReply::text(" \n\t "),
            Some(Babbles) => ScriptedReply::text("no JSON"),
            Some(CallsNobody) => {
                let call = ToolCall::new(format!("n{n}"), "nobody", json!({ "n": n }));
                ScriptedReply::tool_calls([call])
            }
        };
        Scripted::new([reply]).stream(request).await
    }
}

fn order(quantity: &str) -> Value {
    json!({ "symbol": "BTC-USDT", "side": "buy", "quantity": quantity })
}

/// Returns the answer of a working model: a thought if there is one, and an answer.
fn sound(stage: &str, thinks: bool) -> ScriptedReply {
    match stage {
        "direct_reply" => ScriptedReply::text(json!({ "action": "other" }).to_string()),
        "plan" if thinks => plan(&[
            json!({ "type": "reason", "instruction": "Why?" }),
            respond(),
        ]),
        "plan" => plan(&[respond()]),
        "replan" => ScriptedReply::text(json!({ "action": "finish" }).to_string()),
        "reason" => ScriptedReply::text("It follows."),
        "answer" => ScriptedReply::text("Well."),
        _ => ScriptedReply::text("Rescued."),
    }
}

/// Sends a message to a planner whose model fails at one stage. Returns the reply and the seconds
/// that it took, and checks that the next message is answered.
async fn one_stage(
    at: &'static str,
    wrong: Flaw,
    said: &str,
    thinks: bool,
) -> Result<(String, u64), BoxError> {
    let world = World::new()?;
    let odd = Odd::new(
        move |stage| (stage == at).then_some(wrong),
        move |stage| sound(stage, thinks),
    );
    let planner = world.with(odd);
    let begun = Instant::now();
    let told = say(&planner, said).await;
    let took = begun.elapsed().as_secs();
    let sound = world.with(Scripted::new([plan(&[respond()]), "Well.".into()]));
    let next = say(&sound, "explain my balance").await;
    assert_eq!(next, worded("Well."), "{at} {wrong:?}");
    Ok((told, took))
}

/// The facts that precede the words of a model that is asked for its opinion.
const FACTS: &str = "Balances: 0.5 BTC; 4 ETH; 100000 USDT";

fn worded(words: &str) -> String {
    format!("{FACTS}\n{words}")
}

const LATE: &str =
    "The model took longer than I may wait. Nothing is lost: say \"try again\" and I go on.";

fn unfinished(why: &str) -> String {
    format!(
        "I could not finish this: {why}. Nothing is lost: say \"try again\" to have me try once more."
    )
}

#[tokio::test(start_paused = true)]
async fn pln_14_pln_t6_who_takes_too_long_at_any_stage_is_waited_for_as_long_as_that_may_take()
-> TestResult {
    for wrong in SLOW {
        let told = one_stage("direct_reply", wrong, "Good morning", false).await?;
        assert_eq!(told, ("Well.".into(), 8), "{wrong:?}");
        let told = one_stage("plan", wrong, "explain my balance", false).await?;
        assert_eq!(told, (LATE.into(), 36), "{wrong:?}");
        let told = one_stage("reason", wrong, "explain my balance", true).await?;
        assert_eq!(told, (LATE.into(), 30), "{wrong:?}");
        let told = one_stage("answer", wrong, "explain my balance", false).await?;
        assert_eq!(told, (LATE.into(), 36), "{wrong:?}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn rct_8_pln_15_what_no_stage_can_use_comes_to_an_honest_end_at_once() -> TestResult {
    let by_rule = || FACTS.to_owned();
    for (at, wrong, expected) in [
        ("direct_reply", Pours, worded("Well.")),
        ("direct_reply", Blank, worded("Well.")),
        // Rules decide if the output is no answer at all.
        ("plan", Pours, by_rule()),
        ("plan", Blank, worded("Rescued.")),
        ("plan", Babbles, worded("Rescued.")),
        ("plan", CallsNobody, worded("Rescued.")),
        ("answer", Pours, by_rule()),
        ("answer", Blank, by_rule()),
        ("answer", CallsNobody, by_rule()),
    ] {
        let told = one_stage(at, wrong, "explain my balance", false).await?;
        assert_eq!(told, (expected, 0), "{at} {wrong:?}");
    }
    Ok(())
}

/// The planner fails, so the loop takes over, and its model fails too.
#[tokio::test(start_paused = true)]
async fn pln_15_the_loop_that_takes_over_comes_to_an_end_too() -> TestResult {
    let silent = unfinished("the model did not answer");
    let useless = unfinished("I could not put the next step into a usable form");
    let endless = unfinished("it took more steps than I may take");
    let late = unfinished("the model took longer than I may wait");
    for (wrong, expected, seconds) in [
        (Hangs, &late, 36),
        (NeverBegins, &late, 36),
        (Drips, &late, 36),
        (Pours, &silent, 0),
        (Blank, &useless, 0),
        (CallsNobody, &endless, 0),
    ] {
        let world = World::new()?;
        let babbles = move |stage: &str| Some(if stage == "agent" { wrong } else { Babbles });
        let planner = world.with(Odd::new(babbles, |stage| sound(stage, false)));
        let begun = Instant::now();
        let told = say(&planner, "suggest something for my balance").await;
        assert_eq!(told, worded(expected), "{wrong:?}");
        assert_eq!(begun.elapsed().as_secs(), seconds, "{wrong:?}");
        let planner = world.with(Odd::new(babbles, |stage| sound(stage, false)));
        let told = say(&planner, "分析我的余额").await;
        assert_contains(&told, ["\n没能做完：", "再试一次"]);
    }
    Ok(())
}

/// The loop has placed an order when its model hangs.
#[tokio::test(start_paused = true)]
async fn pln_t6_pln_w9_what_the_loop_has_done_before_it_stopped_is_told_until_work_ends_well()
-> TestResult {
    let buys = |id| ScriptedReply::tool_calls([ToolCall::new(id, "place_order", order("0.25"))]);
    // The second try is late as well, after it has placed another one.
    let late = ["c1", "c2"].map(|id| [&no_json()[..], &[buys(id), ScriptedReply::hang()]].concat());
    let well = || [plan(&[respond()]), "Well.".into()];
    let script = late.concat().into_iter().chain(well()).chain(well());
    let (world, _, planner) = World::scripted(script)?;
    let known = async || {
        let done = planner.state().await.done.clone();
        done.into_iter().map(|one| one.result).collect::<Vec<_>>()
    };
    planner
        .say_all(["Buy 0.25 BTC", "yes", "try again", "yes"])
        .await;
    let done = |n| format!("order #{n} is filled: buy 0.25 BTC-USDT, 0.25 done for 16002.5");
    // Both are known to the next try, and to work that is about something else.
    assert_eq!(known().await, [done(1)]);
    planner.say("explain my balance").await;
    assert_eq!(known().await, [done(1), done(2)]);
    // That work ended well, so the next one has an empty record.
    planner.say("explain my balance").await;
    assert_eq!(known().await, Vec::<String>::new());
    assert_eq!(world.desk.trades(10).await?.len(), 2);
    expect![[r#"
        > Buy 0.25 BTC
        ? [<code 1>] Place an order
          buy 0.25 BTC-USDT at the market price: about 16002.5 USDT in all, at most 64650.1 each
          yes / no
        > yes
        = Done: order #1 is filled: buy 0.25 BTC-USDT, 0.25 done for 16002.5
          I could not finish this: the model took longer than I may wait. Nothing is lost: say "try again" to have me try once more.
        > try again
        ? [<code 2>] Place an order
          done already: order #1 is filled: buy 0.25 BTC-USDT, 0.25 done for 16002.5; again? buy 0.25 BTC-USDT at the market price: about 16002.5 USDT in all, at most 64650.1 each
          yes / no
        > yes
        = Done: order #2 is filled: buy 0.25 BTC-USDT, 0.25 done for 16002.5
          I could not finish this: the model took longer than I may wait. Nothing is lost: say "try again" to have me try once more.
        > explain my balance
        = Balances: 1 BTC; 4 ETH; 67995 USDT
          Well.
        > explain my balance
        = Balances: 1 BTC; 4 ETH; 67995 USDT
          Well.
    "#]].assert_eq(&planner.transcript());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn pln_23_a_summary_that_nobody_writes_keeps_a_reply_waiting_for_a_minute_at_most()
-> TestResult {
    let world = World::new()?;
    let long = "explain my balance, and at length ".repeat(40);
    for (wrong, seconds) in [(Hangs, 60), (Drips, 60), (Pours, 0), (Blank, 0)] {
        let odd = Odd::new(
            move |stage| (stage == "compact").then_some(wrong),
            |stage| sound(stage, false),
        );
        let planner = world.with(odd.clone());
        let is_due = || {
            let asked = odd.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.contains(&"compact")
        };
        while !is_due() {
            let begun = Instant::now();
            assert_eq!(say(&planner, &long).await, worded("Well."));
            let seconds = if is_due() { seconds } else { 0 };
            assert_eq!(begun.elapsed().as_secs(), seconds, "{wrong:?}");
        }
    }
    Ok(())
}

fn any_wrong() -> impl Strategy<Value = Option<Flaw>> {
    let wrong = [
        Hangs,
        NeverBegins,
        Drips,
        Pours,
        Blank,
        Babbles,
        CallsNobody,
    ];
    prop_oneof![
        3 => Just(None),
        2 => proptest::sample::select(wrong.to_vec()).prop_map(Some),
    ]
}

/// Any failures in any order: each message has a text as its answer, within the timeouts of the
/// stages.
async fn any_stage(wrongs: Vec<Option<Flaw>>) -> TestResult {
    let world = World::new()?;
    let asked = AtomicUsize::new(0);
    let many = wrongs.len();
    let next = move || asked.fetch_add(1, Ordering::Relaxed);
    let odd = Odd::new(
        move |_| wrongs.get(next() % many).copied().flatten(),
        |stage| match stage {
            "plan" => {
                let buys = json!({ "type": "tool", "tool_name": "place_order", "tool_args": order("0.1") });
                plan(&[buys, respond()])
            }
            stage => sound(stage, false),
        },
    );
    let planner = world.with(odd);
    for said in [
        "Good morning",
        "buy 0.1 BTC",
        "yes",
        "try again",
        "yes",
        "/status",
        "my balance",
    ] {
        let begun = Instant::now();
        let told = say(&planner, said).await;
        assert!(!told.trim().is_empty(), "{said} has no reply");
        assert!(
            begun.elapsed() < Duration::from_mins(5),
            "{said} took {:?}",
            begun.elapsed()
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: fugato_testkit::share_of(64), max_shrink_iters: 100, ..ProptestConfig::default() })]

    #[test]
    fn pln_14_whatever_a_model_does_each_message_has_a_reply_in_time(
        wrongs in proptest::collection::vec(any_wrong(), 1..24),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let done = runtime.block_on(any_stage(wrongs));
        prop_assert!(done.is_ok(), "{:?}", done);
    }
}
