//! The scripted model and the decorators keep the contract of a model; broken models do not.
use std::time::Duration;

use async_trait::async_trait;
use fugato_llm::{ChatModel, Fallback, Retry, Timeout};
use fugato_testkit::{
    ScriptedReply,
    chat::{self, BrokenChats, ChatFactory, ChatFlaw, ModelUnderTest, SCENARIOS, WatchedModel},
    log::OpenError,
};

/// A factory of scripted models, each wrapped by a function.
struct DecoratedModels<F>(F);

#[async_trait]
impl<M, F> ChatFactory for DecoratedModels<F>
where
    M: ChatModel + 'static,
    F: Fn(WatchedModel) -> M + Send + Sync,
{
    async fn says(&self, replies: Vec<ScriptedReply>) -> Result<ModelUnderTest, OpenError> {
        let model = WatchedModel::scripted(replies);
        let idle = model.idle();
        Ok(ModelUnderTest::new((self.0)(model), idle))
    }
}

mod scripted {
    use super::*;
    fugato_testkit::chat_model_suite!(DecoratedModels(|model| model));
}

mod retry {
    use super::*;
    fugato_testkit::chat_model_suite!(DecoratedModels(|model| Retry::new(model).attempts(1)));
}

mod timeout {
    use super::*;
    const LONG: Duration = Duration::from_secs(3600);
    fugato_testkit::chat_model_suite!(DecoratedModels(|model| {
        Timeout::new(model).total(LONG).idle(LONG)
    }));
}

mod fallback {
    use super::*;
    fugato_testkit::chat_model_suite!(DecoratedModels(Fallback::new));
}

mod shared {
    use super::*;
    fugato_testkit::chat_model_suite!(DecoratedModels(|model| {
        std::sync::Arc::new(model) as std::sync::Arc<dyn ChatModel>
    }));
}

/// Each flaw is found by its scenario. Time is virtual, so that endless waits take none.
#[tokio::test(start_paused = true)]
async fn broken_models_are_rejected_at_the_named_scenario() {
    for flaw in ChatFlaw::ALL {
        let found = chat::run(flaw.scenario(), &BrokenChats(*flaw)).await;
        assert!(found.is_err(), "{flaw:?} passed {}", flaw.scenario());
    }
}

#[test]
fn every_scenario_finds_a_flaw() {
    for scenario in SCENARIOS {
        let finds = ChatFlaw::ALL
            .iter()
            .any(|flaw| flaw.scenario() == *scenario);
        assert!(finds, "no broken model is made for {scenario}");
    }
}
