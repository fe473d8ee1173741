//! Crashes and competition: nothing is lost, nothing is done twice.
use std::sync::{
    Arc,
    atomic::{AtomicI64, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use fugato::{
    graph::{RunErrorKind, RunnerOptions, ThreadStatus},
    llm::{ChatModel, ChatRequest, DeltaStream, ModelError},
    sqlite::SqliteLog,
    store::{MemoryLog, StoreError, StoreErrorKind},
};
use fugato_testkit::{
    Scripted, ScriptedReply as Said,
    log::{Intercept, InterceptedLog, StoreCall},
};
use scheduler::{
    agent::{CardReply, Request},
    schedule::Slot,
    service::Service,
};
use serde_json::json;
use tokio::sync::Notify;

use crate::common::{
    FIRST, Stage, assert_paired, deps, lies, place, plan, strict, task, watch, week,
};

/// An interceptor that fails every append after a number of them, like a process that dies.
struct Dying(AtomicUsize);

impl Intercept for Dying {
    async fn around<T: Send>(
        &self,
        asked: StoreCall<'_>,
        act: impl Future<Output = Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        let left = |n: usize| n.checked_sub(1);
        if matches!(asked, StoreCall::Append(..)) {
            let left = self
                .0
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left);
            left.map_err(|_| StoreError::new(StoreErrorKind::Unavailable, "append"))?;
        }
        act.await
    }
}

/// At whichever append between the acceptance and the end the process dies, the accepted write is
/// made exactly once.
#[tokio::test]
async fn sch_w5_an_accepted_write_survives_a_crash_and_is_made_once() {
    for survived in 0..6 {
        let now = Arc::new(AtomicI64::new(0));
        let clock = now.clone();
        let log = Arc::new(MemoryLog::with_clock(move || clock.load(Ordering::SeqCst)));
        let rest = [json!({ "action": "ask_user", "speak": "Well?" })];
        let script = [task(), plan(["Place it"]), place(FIRST, 1, 3)]
            .into_iter()
            .chain(rest);
        let model = Scripted::new(script.map(|said| Said::text(said.to_string())));
        let deps = deps(week()).mind(strict(model.clone()));
        let stage = Stage::with(&deps, model.clone(), log.clone(), 30);
        let asked = stage.ask("Place it").await;
        let asked = stage.reply(asked.open(), &CardReply::approve()).await;

        let dying = InterceptedLog::new(log.clone(), Dying(AtomicUsize::new(survived)));
        let doomed = Stage::with(&deps, model.clone(), Arc::new(dying), 30);
        let crashed = doomed
            .reply(asked.open(), &CardReply::approve())
            .await
            .end
            .is_err();
        // The answer of the model was lost with the process, so the model gives it again.
        if crashed && stage.model.left() == 0 {
            stage.says(&json!({ "action": "ask_user", "speak": "Well?" }));
        }
        // The lease of the dead process runs out.
        now.fetch_add(60_000, Ordering::SeqCst);
        let options = RunnerOptions::default();
        let stage = Stage {
            service: Service::new(&deps, log, options, 30).unwrap(),
            ..stage
        };
        match stage.service.runner().status(&stage.thread).await.unwrap() {
            ThreadStatus::Unfinished => {
                let scene = watch(stage.service.recover(&stage.thread)).await;
                assert_eq!(scene.card().summary, "Well?", "after {survived} appends");
            }
            ThreadStatus::Waiting(open) if survived == 0 => {
                // Not even the answer was written: the card is still open.
                assert_eq!(open[0].id, asked.open().id);
                stage.reply(asked.open(), &CardReply::approve()).await;
            }
            standing => assert!(!crashed, "after {survived} appends: {standing:?}"),
        }
        let agent = stage.state().await;
        assert_eq!(
            lies(&agent, FIRST),
            [Slot::new(1, 3, 4)],
            "after {survived} appends"
        );
        let placed = agent.conversation.history.iter();
        let placed = placed
            .filter(|message| message.content.contains("placed task 3"))
            .count();
        assert_eq!(
            (placed, agent.calls, &agent.wanted),
            (1, 1, &None),
            "after {survived} appends"
        );
        assert_paired(&agent);
    }
}

/// A model that answers only after it is released.
struct Gated(Arc<Notify>, Arc<Notify>, Scripted);

#[async_trait]
impl ChatModel for Gated {
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    let model = Gated(asked.clone(), may.clone(), script.clone());
    let deps = deps(week()).mind(strict(model));
    let first = Stage::with(
        &deps,
        script.clone(),
        Arc::new(SqliteLog::open(&path).unwrap()),
        30,
    );
    let second = Stage::with(&deps, script, Arc::new(SqliteLog::open(&path).unwrap()), 30);
    let run = first.service.request(&first.thread, Request::new("Hello"));
    asked.notified().await;
    let refused = second.ask("Me too").await.end.unwrap_err();
    assert!(
        matches!(refused.kind, RunErrorKind::Busy { .. }),
        "{refused:?}"
    );
    may.notify_one();
    let scene = watch(run).await;
    assert_eq!(scene.agent().conversation.history.len(), 2);
}
