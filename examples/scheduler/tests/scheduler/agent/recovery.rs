//! Crashes and competition: nothing is lost, nothing is done twice.
use std::sync::Arc;

use async_trait::async_trait;
use fugato::{
    graph::{RunErrorKind, ThreadStatus},
    llm::{ChatModel, ChatRequest, DeltaStream, ModelError},
    sqlite::SqliteLog,
};
use fugato_testkit::{Scripted, consent::WorldStore, log::TestClock, session::TurnEnd};
use scheduler::{agent::Request, schedule::Slot};
use serde_json::json;
use tokio::sync::Notify;

use crate::common::{
    FIRST, Talk, ask_user, assert_paired, card, deps, lies, place, plan, strict, task, week,
};

/// At whichever append between the acceptance and the end the process dies, the accepted write is
/// made exactly once.
#[tokio::test]
async fn sch_w5_an_accepted_write_survives_a_crash_and_is_made_once() {
    for survived in 0..6 {
        let ask = ask_user("Well?");
        let stage = Talk::new([task(), plan(["Place it"]), place(FIRST, 1, 3), ask.clone()]);
        stage.say("Place it").await;
        stage.approve().await;
        let card_of_the_write = stage.card();

        stage.kill_after(survived);
        let crashed = stage.approve().await.is_killed();
        // The answer of the model was lost with the process, so the model gives it again.
        if crashed && stage.model.left() == 0 {
            stage.says(&ask);
        }
        stage.reopen().await;
        match stage.runner().status(stage.thread()).await.unwrap() {
            ThreadStatus::Unfinished => {
                let turn = stage.recover().await;
                assert_eq!(card(&turn).summary, "Well?", "after {survived} appends");
            }
            ThreadStatus::Waiting(_) if survived == 0 => {
                // Not even the answer was written: the card is still open.
                assert_eq!(stage.card(), card_of_the_write);
                stage.approve().await;
            }
            standing => assert!(!crashed, "after {survived} appends: {standing:?}"),
        }
        let agent = stage.state().await;
        let after = format!("after {survived} appends");
        assert_eq!(lies(&agent, FIRST), [Slot::new(1, 3, 4)], "{after}");
        let history = agent.conversation.history.iter();
        let placed = history.filter(|message| message.content.contains("placed task 3"));
        let made = (placed.count(), agent.calls, &agent.wanted);
        assert_eq!(made, (1, 1, &None), "{after}");
        assert_paired(&agent);
    }
}

/// A model that answers only after it is released.
struct GatedModel(Arc<Notify>, Arc<Notify>, Scripted);

#[async_trait]
impl ChatModel for GatedModel {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        self.0.notify_one();
        self.1.notified().await;
        self.2.stream(request).await
    }

    fn name(&self) -> &'static str {
        "gated"
    }
}

#[tokio::test]
async fn sch_w14_of_two_requests_at_once_one_is_busy() {
    let (asked, may) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let script = Scripted::new([json!({ "intent": "chat", "reply": "Hi." })
        .to_string()
        .as_str()]);
    let folder = fugato_testkit::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let model = GatedModel(asked.clone(), may.clone(), script.clone());
    let deps = deps(week()).mind(strict(model));
    let open = || {
        let log = Arc::new(SqliteLog::open(&path).unwrap());
        let store = WorldStore::of(log, TestClock::at(0));
        Talk::over(store, &deps, script.clone(), 30)
    };
    let (first, second) = (open(), open());
    let run = first
        .service()
        .request(first.thread(), Request::new("Hello"));
    asked.notified().await;
    let refused = second.say("Me too").await.end;
    let TurnEnd::Run(Err(refused)) = refused else {
        panic!("{refused:?}")
    };
    let is_busy = matches!(refused.kind, RunErrorKind::Busy { .. });
    assert!(is_busy, "{refused:?}");
    may.notify_one();
    let scene = first.follow(run).await;
    assert_eq!(scene.state().conversation.history.len(), 2);
}
