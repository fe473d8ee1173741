//! The classification of a request, and the prompt of each stage.
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use fugato::llm::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, Fallback, FinishReason, ModelError,
    ModelErrorKind, Thinking,
};
use fugato_testkit::{Scripted, ScriptedReply as Said, assert_contains, assert_lacks};
use futures::StreamExt as _;
use scheduler::{
    agent::{AgentState, Mode, Phase, ROUGH_BUILD_DONE, Request, Update},
    contract::{Intent, IntentKind},
    llm_config::LlmConfig,
    route::{Route, RouteSet, RouteTo},
    rules,
};
use serde_json::{Value, json};

use crate::common::{Talk, Turn, card, deps, ends, look, plan, strict, task, told, week};
use fugato::state::State as _;

#[tokio::test]
async fn sch_27_what_the_model_did_not_read_is_read_by_rules() {
    let broken = || Said::error(ModelError::new(ModelErrorKind::Other, "no answer"));
    let prose = || Said::text("What a lovely day.");
    for (script, request, why) in [
        (vec![broken()], "Hello", "did not answer"),
        (vec![broken()], "你好", "没有回答"),
        (
            vec![prose(), prose(), prose()],
            "Hello",
            "3 answers in a row",
        ),
    ] {
        let stage = Talk::new(script);
        let scene = stage
            .request(Request::new(request).classes([1]).always_execute())
            .await;
        assert!(scene.is_finished(), "{:?}", scene.end);
        assert_eq!(scene.state().phase, Phase::Chatting);
        let texts = scene.texts();
        assert!(texts[0].contains(why), "{texts:?}");
        let unread = ["nothing was changed", "没有改动任何内容"];
        assert!(
            unread.iter().any(|word| texts[1].contains(word)),
            "{texts:?}"
        );
        assert_eq!(stage.model.left(), 0);
    }
}

#[tokio::test]
async fn sch_27_a_model_in_doubt_says_task() {
    let stage = Talk::new([task(), plan(["Look"])]);
    let scene = stage.say("Hello").await;
    assert_eq!(card(&scene).summary, "1. Look (done when: it is so)");
    assert!(told(&stage.model.requests()[0]).contains("when in doubt, choose this"));
}

/// A model that opens its answers with the requested tag.
struct Tagging(Mutex<Vec<(Value, &'static str)>>);

#[async_trait]
impl ChatModel for Tagging {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let (decision, text) = self.0.lock().unwrap().remove(0);
        let now = &request.messages[3].content;
        let at = now
            .find("<decision nonce=")
            .expect("the prompt names the tag");
        let end = at + now[at..].find('>').expect("the tag is closed");
        let tag = &now[at..=end];
        let answer = format!("{tag}{decision}</decision>\n{text}");
        let pieces: Vec<_> = answer
            .chars()
            .map(|c| Ok(ChatDelta::text(c.to_string())))
            .collect();
        Ok(futures::stream::iter(pieces).boxed())
    }

    fn name(&self) -> &'static str {
        "tagging"
    }
}

fn tagging(script: Vec<(Value, &'static str)>) -> Talk {
    let deps = deps(week()).mind(strict(Tagging(Mutex::new(script))));
    Talk::with(&deps, Scripted::new([""; 0]))
}

#[tokio::test]
async fn sch_49_what_streams_is_shown_once_and_without_the_decision() {
    let talk = tagging(vec![(
        json!({ "intent": "chat", "reply": "Hi." }),
        "Good morning to you.",
    )]);
    let scene = talk.say("Hello").await;
    assert_eq!(scene.texts(), ["Good morning to you."]);
    assert_eq!(
        scene.state().conversation.history[1].content,
        "Good morning to you."
    );

    let work = tagging(vec![
        (task(), ""),
        (plan(["Look"]), "Two looks will do."),
        (look("get_overview", json!({})), "I look at everything."),
        (
            json!({ "action": "ask_user", "speak": "Which week?" }),
            "Which week do you mean?",
        ),
    ]);
    let asked = work.say("Look").await;
    assert_eq!(asked.texts(), ["Two looks will do."]);
    let asked = work.approve().await;
    assert_eq!(
        asked.texts(),
        ["I look at everything.", "Which week do you mean?"]
    );
    let card = card(&asked);
    assert_eq!(
        (&*card.summary, card.streamed),
        ("Which week do you mean?", true)
    );
}

/// A model whose answer opens with the requested tag, and ends at the limit of tokens.
struct CutOff(&'static str);

#[async_trait]
impl ChatModel for CutOff {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let now = &request.messages[3].content;
        let at = now.find("<decision nonce=").expect("a tag");
        let end = at + now[at..].find('>').expect("the tag is closed");
        let tag = &now[at..=end];
        let text = format!("{tag}{{\"intent\": \"chat\"}}</decision>{}", self.0);
        let deltas = [
            Ok(ChatDelta::text(text)),
            Ok(ChatDelta::Finish(FinishReason::Length)),
        ];
        Ok(futures::stream::iter(deltas).boxed())
    }

    fn name(&self) -> &'static str {
        "cut off"
    }
}

#[tokio::test]
async fn sch_49_words_that_are_cut_off_are_marked() {
    for (request, said, shown) in [
        (
            "Hello",
            "Good day. How are y",
            "Good day. How are y [cut off]",
        ),
        ("你好", "你好。今天天", "你好。今天天［未完］"),
    ] {
        let stage = Talk::minded(strict(CutOff(said)));
        let scene = stage.say(request).await;
        assert_eq!(scene.texts(), [shown]);
        assert_eq!(scene.state().conversation.history[1].content, shown);
    }
}

#[tokio::test]
async fn sch_27_another_model_than_the_one_named_is_told() {
    let talk = || Said::text(json!({ "intent": "chat", "reply": "Hi." }).to_string());
    let denied = || {
        Said::error(ModelError::new(
            ModelErrorKind::Denied,
            "status 401: SECRET",
        ))
    };
    let named = Scripted::new([denied()]).named("first");
    let model = Fallback::new(named).or(Scripted::new([talk()]).named("second"));
    let stage = Talk::minded(strict(model));
    let scene = stage.say("Hello").await;
    let told = "The model first did not answer (status 401: the key is wrong or missing), so the model second answers.";
    assert_eq!(scene.texts(), [told, "Hi."]);
}

#[tokio::test]
async fn sch_29_each_stage_asks_with_its_parameters() {
    let complex = {
        let mut plan = plan(["Look"]);
        plan["complexity"] = json!("complex");
        plan
    };
    let stage = Talk::new([
        task(),
        complex,
        plan(["Look"]),
        look("get_overview", json!({})),
        ends("done"),
        json!("Your week is quiet."),
    ]);
    let scene = stage.request(Request::new("Look").always_execute()).await;
    assert!(scene.is_finished(), "{:?}", scene.end);
    let asked: Vec<_> = stage
        .model
        .requests()
        .iter()
        .map(|request| {
            (
                request.sampling.temperature,
                request.sampling.max_tokens,
                request.thinking,
            )
        })
        .collect();
    assert_eq!(
        asked,
        [
            (Some(0.7), Some(800), Thinking::Off),
            (Some(0.2), Some(1600), Thinking::Off),
            (Some(0.2), Some(3200), Thinking::On),
            (Some(0.3), Some(1200), Thinking::On),
            (Some(0.3), Some(1200), Thinking::On),
            (Some(0.5), Some(800), Thinking::Off),
        ]
    );
    // A request may force thinking off.
    let mut off = Request::new("Look").always_execute();
    off.thinking = Some(false);
    for said in [
        task(),
        plan(["Look"]),
        look("get_overview", json!({})),
        ends("done"),
        json!("Your week is quiet."),
    ] {
        stage.says(&said);
    }
    stage.request(off).await;
    let rest = stage.model.requests().split_off(6);
    assert!(rest.iter().all(|request| request.thinking == Thinking::Off));
}

fn route(agent: &AgentState, text: &str) -> scheduler::agent::RouteDecision {
    let intent = Intent {
        intent: IntentKind::Task,
        reply: String::new(),
    };
    rules::route(agent, &intent, text)
}

fn about_revision() -> AgentState {
    let mut agent = AgentState::default();
    agent.apply(Update::Requested(Request::new("Hello").classes([1])));
    agent.apply(Update::Loaded(Arc::new(week())));
    agent
}

#[test]
fn sch_31_a_second_rough_build_needs_a_wish() {
    let mut agent = about_revision();
    let first = route(&agent, "place everything");
    assert_eq!(
        (first.phase, first.rough_build, first.refine),
        (Phase::Executing, true, true)
    );
    let draft = route(&agent, "place everything, draft only");
    assert_eq!((draft.rough_build, draft.refine), (true, false));
    agent.pin(ROUGH_BUILD_DONE, "done".into());
    let second = route(&agent, "place everything");
    assert_eq!((second.phase, second.rough_build), (Phase::Planning, false));
    assert!(route(&agent, "redo the rough build").rough_build);
    assert!(route(&agent, "重新粗排").rough_build);
}

#[tokio::test]
async fn sch_31_a_plan_cannot_wish_for_a_second_rough_build() {
    let mut wish = plan(["Place everything"]);
    wish["needs_rough_build"] = json!(true);
    let script = [
        task(),
        json!({ "action": "abort", "abort": { "user_message": "no" } }),
        json!("Over."),
        task(),
        wish,
    ];
    let stage = Talk::new(script);
    stage.say("place everything").await;
    let again = stage.say("Now the rest").await;
    assert!(again.state().has_step());
    assert!(!again.state().run.needs_rough_build);
}

#[test]
fn sch_32_the_mode_follows_from_the_request() {
    use Mode::{FirstFull, GlobalReopt, LocalAdjust};
    let agent = about_revision();
    let modes = [
        "place everything",
        "rearrange everything",
        "整体重排",
        "swap gym and choir",
    ];
    let modes = modes.map(|text| route(&agent, text).mode);
    assert_eq!(modes, [FirstFull, GlobalReopt, GlobalReopt, LocalAdjust]);
    // Without classes there is nothing to build.
    assert_eq!(
        route(&AgentState::default(), "place everything").mode,
        LocalAdjust
    );
}

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
        let opening = now
            .split_once("<route nonce=\"")
            .and_then(|(_, rest)| rest.split_once('"'));
        let tag = opening.map_or(String::new(), |(nonce, _)| {
            format!("<route nonce=\"{nonce}\"")
        });
        let answer = self
            .script
            .lock()
            .unwrap()
            .remove(0)
            .replace("<ROUTE", &tag);
        self.asked.lock().unwrap().push(request);
        if answer.is_empty() {
            return Err(ModelError::new(ModelErrorKind::Other, "no answer"));
        }
        let pieces: Vec<_> = answer
            .chars()
            .map(|c| Ok(ChatDelta::text(c.to_string())))
            .collect();
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
    let mind = LlmConfig {
        routes: RouteSet::Five,
        ..strict(model.clone())
    };
    let stage = Talk::with(&deps(week()).mind(mind), Scripted::new([""; 0]));
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
    assert_eq!(
        reply.state().conversation.history[1].content,
        "It is short."
    );

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
    assert!(
        built.statuses().contains(&"rough_build_done"),
        "{:?}",
        built.end
    );
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
        assert_contains(
            &texts,
            ["did not answer", "nothing was changed", "Without a model"],
        );
    }
}

#[tokio::test]
async fn sch_28_a_reply_outside_of_its_contract_is_not_shown() {
    for (said, shown) in [
        (r#"<ROUTE to="direct_reply"># Now"#, "Without a model"),
        (
            r#"<ROUTE to="direct_reply">{"action": "x"}"#,
            "Without a model",
        ),
        (
            r#"<ROUTE to="direct_reply">I emailed your teacher."#,
            "Without a model",
        ),
        (r#"<ROUTE to="direct_reply">Fine. {"action": "x"}"#, "Fine."),
    ] {
        let (read, _) = routed([said]).await;
        let texts = read.texts().concat();
        assert!(texts.contains(shown), "{said}: {texts}");
        assert_lacks(&texts, ["# Now", "action", "emailed"]);
    }
}

#[test]
fn sch_30_words_overrule_what_a_route_says() {
    let agent = about_revision();
    let wish = Route {
        to: RouteTo::Plan,
        rough_build: true,
        reorder: true,
        refine: true,
        thinking: false,
    };
    let taken = rules::route(&agent, wish, "Arrange it");
    assert_eq!(
        (taken.phase, taken.rough_build, taken.refine),
        (Phase::Executing, true, true)
    );
    assert_eq!(
        (taken.reorder, taken.thinking, taken.mode),
        (true, false, Mode::FirstFull)
    );
    let kept = rules::route(&agent, wish, "Arrange it, keep the order, draft only");
    assert_eq!((kept.reorder, kept.refine), (false, false));
    let mut built = agent.clone();
    built.pin(ROUGH_BUILD_DONE, "done".into());
    assert!(!rules::route(&built, wish, "Arrange it").rough_build);
    let unrefined = Route {
        refine: false,
        ..wish
    };
    assert!(
        rules::route(&agent, unrefined, "Arrange it").refine,
        "the first one always is"
    );
    assert!(!rules::route(&built, unrefined, "redo the rough build").refine);
}
