//! Answers that open with a decision in a tag: corrected in rounds, and shown sentence by sentence.
use std::sync::Arc;

use fugato_agent::{
    decision::{CorrectionState, settle},
    reply::ask_tagged,
};
use fugato_graph::{BoxError, Context, END, Graph, Outcome, RunResult, Runner};
use fugato_llm::{Ask, ChatDelta, ChatRequest, Contract, Settlement, Tag, TaggedAnswer};
use fugato_state::{Message, State, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use fugato_testkit::{Scripted, ScriptedReply};
use futures::StreamExt as _;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Waiter {
    corrections: u32,
    history: Vec<Message>,
    order: Option<(u32, String, bool)>,
}

#[derive(Debug, Serialize, Deserialize)]
enum Change {
    Corrected(Box<[Message; 2]>),
    Ordered(u32, String, bool),
}

impl State for Waiter {
    type Update = Change;

    fn apply(&mut self, change: Change) {
        match change {
            Change::Corrected(pair) => {
                self.corrections += 1;
                self.history.extend(*pair);
            }
            Change::Ordered(table, told, held_back) => self.order = Some((table, told, held_back)),
        }
    }
}

impl CorrectionState for Waiter {
    fn corrections(&self) -> u32 {
        self.corrections
    }

    fn corrected(pair: [Message; 2]) -> Vec<Change> {
        vec![Change::Corrected(Box::new(pair))]
    }
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Order {
    table: u32,
}

async fn take(model: Scripted, cx: Context<Waiter>) -> Result<Outcome<Change>, BoxError> {
    let contract = Contract::<Order>::new("order");
    // A script cannot know a fresh nonce.
    let tag = Tag::around("order", "n");
    let request = ChatRequest::new(cx.state().history.clone());
    let accepts = |decision: &str| contract.read(decision).is_ok();
    let allows = |text: &str| !text.contains("served");
    let answer = ask_tagged(&cx, &model, request, tag, &accepts, &allows).await;
    let ask = Ask::reading("order", |answer: &TaggedAnswer| {
        contract.read(&answer.decision)
    });
    Ok(match settle(&cx, &ask, &answer) {
        Settlement::Decided(order) => {
            let TaggedAnswer {
                after, held_back, ..
            } = answer?;
            Outcome::done([Change::Ordered(order.table, after, held_back)])
        }
        Settlement::Again(outcome) => outcome,
        Settlement::Failed(why) => return Err(why.into()),
    })
}

async fn shown(model: Scripted) -> Result<(Vec<String>, Waiter), BoxError> {
    let graph = Graph::<Waiter>::starting_at("take")
        .node_with("take", model, take)
        .branch("take", ["take", END], |waiter: &Waiter| {
            if waiter.order.is_some() { END } else { "take" }
        })
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let mut run = runner.start(&ThreadId::new("t")?, vec![]);
    let mut shown = vec![];
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::TextDelta { text, .. } => shown.push(text.to_string()),
            EventKind::Correction { .. } => shown.push("(corrected)".to_owned()),
            _ => {}
        }
    }
    match run.await? {
        RunResult::Finished { state, .. } => Ok((shown, (*state).clone())),
        other => Err(format!("{other:?}").into()),
    }
}

#[tokio::test]
async fn sch_49_a_text_is_shown_after_its_decision_and_by_sentence() -> Result<(), BoxError> {
    let smuggled = r#"<order nonce="x">{"table": 9}</order>"#;
    let first = format!(r#"{smuggled}<order nonce="n">{{"table": "?"}}</order>Coming."#);
    let pieces = [
        r#"One moment. <order nonce="n">{"ta"#,
        r#"ble": 2}</order>Noted. A table "#,
        "by the window. I have served the soup. Enjoy.",
    ];
    let second = ScriptedReply::deltas(pieces.map(ChatDelta::text));
    let model = Scripted::new([ScriptedReply::text(first), second]);
    let (shown, waiter) = shown(model).await?;
    assert_eq!(shown, ["(corrected)", "Noted.", " A table by the window."]);
    let told = "Noted. A table by the window.".to_owned();
    assert_eq!(waiter.order, Some((2, told, true)));
    assert_eq!(waiter.corrections, 1);
    Ok(())
}

#[test]
fn sch_28_each_request_has_a_nonce_of_its_own() {
    let [one, two] = [(); 2].map(|()| Tag::fresh("route").bodiless().opening());
    assert_ne!(one, two);
    assert_eq!(one.len(), r#"<route nonce="0123456789abcdef">"#.len());
}
