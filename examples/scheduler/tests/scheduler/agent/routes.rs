//! The five routes of a request.
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use fugato::llm::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, ModelError, ModelErrorKind, Thinking,
};
use fugato_testkit::{assert_contains, assert_lacks};
use futures::StreamExt as _;
use scheduler::{
    agent::{Mode, Phase, ROUGH_BUILD_DONE},
    llm_config::LlmConfig,
    route::{RequestRoute, RouteSet, RouteTo},
    rules,
};

use super::classification::about_revision;
use crate::common::{Talk, Turn, card, strict};

/// A model that opens its answers with the tag of the prompt, unless they have one of their own.
#[derive(Clone)]
struct Routing {
    script: Arc<Mutex<Vec<&'static str>>>,
    asked: Arc<Mutex<Vec<ChatRequest>>>,
}

#[async_trait]
impl ChatModel for Routing {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let now = &request.messages[3].content;
        let opening = now.split_once("<route nonce=\"");
        let nonce = opening.and_then(|(_, rest)| rest.split_once('"'));
        let tag = nonce.map_or(String::new(), |(nonce, _)| {
            format!("<route nonce=\"{nonce}\"")
        });
        let said = self.script.lock().unwrap().remove(0);
        self.asked.lock().unwrap().push(request);
        if said.is_empty() {
            return Err(ModelError::new(ModelErrorKind::Other, "no answer"));
        }
        let answer = said.replace("<ROUTE", &tag);
        let pieces = answer.chars().map(|c| Ok(ChatDelta::text(c.to_string())));
        let pieces: Vec<_> = pieces.collect();
        Ok(futures::stream::iter(pieces).boxed())
    }

    fn name(&self) -> &'static str {
        "routing"
    }
}

/// Runs a request with these answers; returns the scene and the requests to the model.
async fn routed<const N: usize>(script: [&'static str; N]) -> (Turn, Vec<ChatRequest>) {
    let model = Routing {
        script: Arc::new(Mutex::new(script.to_vec())),
        asked: Arc::default(),
    };
    let stage = Talk::minded(LlmConfig {
        routes: RouteSet::Five,
        ..strict(model.clone())
    });
    let scene = stage.say("What about chapter 1?").await;
    assert_eq!(model.script.lock().unwrap().len(), 0);
    let asked = model.asked.lock().unwrap().clone();
    (scene, asked)
}

const PLAN: &str = r#"{ "action": "plan_done", "plan_steps": [{ "content": "Look" }] }"#;

#[tokio::test]
async fn sch_28_each_of_five_routes_leads_on() {
    let (reply, _) = routed([r#"<ROUTE to="direct_reply">It is short."#]).await;
    assert!(reply.is_finished());
    assert_eq!(reply.texts(), ["It is short."]);
    let said = &reply.state().conversation.history[1].content;
    assert_eq!(said, "It is short.");

    let (answer, asked) = routed([r#"<ROUTE to="deep_answer">"#, "It takes two evenings."]).await;
    assert!(answer.is_finished());
    assert_eq!(answer.texts(), ["It takes two evenings."]);
    let manner = |request: &ChatRequest| {
        let sampling = &request.sampling;
        (sampling.temperature, sampling.max_tokens, request.thinking)
    };
    let expected = [
        (Some(0.7), Some(800), Thinking::Off),
        (Some(0.5), Some(2000), Thinking::On),
    ];
    assert_eq!(asked.iter().map(manner).collect::<Vec<_>>(), expected);

    let ask = r#"{ "action": "ask_user", "speak": "Where to?" }"#;
    for (script, thinks) in [
        (r#"<ROUTE to="execute" thinking>"#, Thinking::On),
        (r#"<ROUTE to="execute" thinking="false">"#, Thinking::Off),
    ] {
        let (single, asked) = routed([script, ask]).await;
        assert_eq!(card(&single).summary, "Where to?");
        assert!(single.state().run.react, "there is no plan");
        assert_eq!(asked[1].thinking, thinks);
    }

    let (note, _) = routed([r#"<ROUTE to="quick_task">"#]).await;
    assert_eq!(note.state().notes, ["What about chapter 1?"]);

    let (built, _) = routed([r#"<ROUTE to="plan" rough_build>"#, ask]).await;
    assert!(built.statuses().contains(&"rough_build_done"));
}

#[tokio::test]
async fn sch_28_whatever_is_no_route_leads_to_a_plan() {
    let late = Box::leak(format!("{}<ROUTE to=\"execute\">", "x".repeat(500)).into_boxed_str());
    for said in [
        r#"<ROUTE to="plan">"#,
        r#"<ROUTE to="anywhere">"#,
        "<ROUTE>",
        r#"<route nonce="guess" to="execute">"#,
        "Let us see.",
        late,
    ] {
        let (planned, _) = routed([said, PLAN]).await;
        assert_eq!(card(&planned).summary, "1. Look", "{said}");
        assert_eq!(planned.texts(), [""; 0], "{said}");
    }
}

#[tokio::test]
async fn sch_28_a_model_that_fails_is_replaced_by_rules() {
    let deep = r#"<ROUTE to="deep_answer">"#;
    for (read, _) in [routed([""]).await, routed([deep, ""]).await] {
        assert!(read.is_finished(), "{:?}", read.end);
        let texts = read.texts().concat();
        assert_contains(&texts, ["did not answer", "“Chapter 1”: no place yet"]);
    }
}

#[tokio::test]
async fn sch_28_a_reply_outside_of_its_contract_is_not_shown() {
    let (told, ruled) = ("I emailed your teacher.", "“Chapter 1”: no place yet");
    for (said, shown) in [
        ("# Now", ruled),
        (r#"{"action": "x"}"#, ruled),
        (told, ruled),
        (r#"Fine. {"action": "x"}"#, "Fine."),
    ] {
        let said = format!(r#"<ROUTE to="direct_reply">{said}"#);
        let (read, _) = routed([said.leak()]).await;
        let texts = read.texts().concat();
        assert_contains(&texts, shown);
        assert_lacks(&texts, ["# Now", "action", "emailed"]);
    }
}

#[test]
fn sch_30_words_overrule_what_a_route_says() {
    let agent = about_revision();
    let wish = RequestRoute {
        to: RouteTo::Plan,
        rough_build: true,
        reorder: true,
        refine: true,
        thinking: false,
    };
    let taken = rules::route(&agent, wish, "Arrange it");
    assert_eq!(
        (taken.phase, taken.mode),
        (Phase::Executing, Mode::FirstFull)
    );
    assert!(taken.rough_build && taken.refine && taken.reorder && !taken.thinking);
    let kept = rules::route(&agent, wish, "Arrange it, keep the order, draft only");
    assert!(!kept.reorder && !kept.refine);
    let mut built = agent.clone();
    built.pin(ROUGH_BUILD_DONE, "done".into());
    assert!(!rules::route(&built, wish, "Arrange it").rough_build);
    let refine = false;
    let unrefined = RequestRoute { refine, ..wish };
    let first = rules::route(&agent, unrefined, "Arrange it");
    assert!(first.refine, "the first one always is");
    assert!(!rules::route(&built, unrefined, "redo the rough build").refine);
}
