//! The classification of a request, and what each stage asks with.
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use fugato::llm::{
    ChatDelta, ChatModel, ChatRequest, DeltaStream, Fallback, FinishReason, ModelError,
    ModelErrorKind, Thinking,
};
use fugato_testkit::{Scripted, ScriptedReply as Said};
use futures::StreamExt as _;
use scheduler::{
    agent::{AgentState, Mode, Phase, ROUGH_BUILD_DONE, Request, Update},
    contract::{Intent, IntentKind},
    rules,
};
use serde_json::{Value, json};

use crate::common::{Talk, ask_user, card, ends, look, plan, strict, task, told, week};
use fugato::state::State as _;

#[tokio::test]
async fn sch_27_what_the_model_did_not_read_is_read_by_rules() {
    let broken = || Said::error(ModelError::new(ModelErrorKind::Other, "no answer"));
    let prose = || Said::text("What a lovely day.");
    for (script, request, why) in [
        (vec![broken()], "Sing a song", "did not answer"),
        (vec![broken()], "唱首歌", "没有回答"),
        (
            vec![prose(), prose(), prose()],
            "Sing a song",
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

/// A model that opens its answers with the requested tag and a decision, and ends for this reason.
struct Tagging(Mutex<Vec<(Value, &'static str)>>, FinishReason);

#[async_trait]
impl ChatModel for Tagging {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let (decision, text) = self.0.lock().unwrap().remove(0);
        let now = &request.messages[3].content;
        let (_, tag) = now
            .split_once("<decision nonce=")
            .expect("the tag is named");
        let (nonce, _) = tag.split_once('>').expect("the tag is closed");
        let answer = format!("<decision nonce={nonce}>{decision}</decision>\n{text}");
        let pieces = answer.chars().map(|c| ChatDelta::text(c.to_string()));
        let end = ChatDelta::Finish(self.1.clone());
        let deltas: Vec<_> = pieces.chain([end]).map(Ok).collect();
        Ok(futures::stream::iter(deltas).boxed())
    }

    fn name(&self) -> &'static str {
        "tagging"
    }
}

fn tagging(script: Vec<(Value, &'static str)>, end: FinishReason) -> Talk {
    Talk::minded(strict(Tagging(Mutex::new(script), end)))
}

#[tokio::test]
async fn sch_49_what_streams_is_shown_once_and_without_the_decision() {
    let greeting = "Good morning to you.";
    let chat = json!({ "intent": "chat", "reply": "Hi." });
    let talk = tagging(vec![(chat, greeting)], FinishReason::Stop);
    let scene = talk.say("Hello").await;
    assert_eq!(scene.texts(), [greeting]);
    assert_eq!(scene.state().conversation.history[1].content, greeting);

    let question = ask_user("Which week?");
    let script = vec![
        (task(), ""),
        (plan(["Look"]), "Two looks will do."),
        (look("get_overview", json!({})), "I look at everything."),
        (question, "Which week do you mean?"),
    ];
    let work = tagging(script, FinishReason::Stop);
    let asked = work.say("Look").await;
    assert_eq!(asked.texts(), ["Two looks will do."]);
    let asked = work.approve().await;
    let which = "Which week do you mean?";
    assert_eq!(asked.texts(), ["I look at everything.", which]);
    let card = card(&asked);
    assert_eq!((&*card.summary, card.streamed), (which, true));
}

#[tokio::test]
async fn sch_49_words_that_are_cut_off_are_marked() {
    let english = "Good day. How are y [cut off: the model reached its length limit]";
    for (request, said, shown) in [
        ("Hello", "Good day. How are y", english),
        (
            "你好",
            "你好。今天天",
            "你好。今天天 [被截断：模型达到了长度上限]",
        ),
    ] {
        let chat = json!({ "intent": "chat" });
        let stage = tagging(vec![(chat, said)], FinishReason::Length);
        let scene = stage.say(request).await;
        assert_eq!(scene.texts(), [shown]);
        assert_eq!(scene.state().conversation.history[1].content, shown);
    }
}

#[tokio::test]
async fn sch_27_another_model_than_the_one_named_is_told() {
    let talk = json!({ "intent": "chat", "reply": "Hi." });
    let denied = ModelError::new(ModelErrorKind::Denied, "status 401: SECRET");
    let named = Scripted::new([Said::error(denied)]).named("first");
    let model = Fallback::new(named).or(Scripted::new([talk]).named("second"));
    let scene = Talk::minded(strict(model)).say("Hello").await;
    let told = "The model first did not answer (status 401: the key is wrong or missing), so the model second answers.";
    assert_eq!(scene.texts(), [told, "Hi."]);
}

#[tokio::test]
async fn sch_29_each_stage_asks_with_its_parameters() {
    let mut complex = plan(["Look"]);
    complex["complexity"] = json!("complex");
    let [looks, done] = [look("get_overview", json!({})), ends("done")];
    let quiet = json!("Your week is quiet.");
    let rest = [plan(["Look"]), looks, done, quiet];
    let stage = Talk::new([task(), complex].into_iter().chain(rest.clone()));
    let scene = stage.request(Request::new("Look").always_execute()).await;
    assert!(scene.is_finished(), "{:?}", scene.end);
    let requests = stage.model.requests();
    let asked = requests.iter().map(|request| {
        let sampling = &request.sampling;
        (sampling.temperature, sampling.max_tokens, request.thinking)
    });
    let expected = [
        (Some(0.7), Some(800), Thinking::Off),
        (Some(0.2), Some(1600), Thinking::Off),
        (Some(0.2), Some(3200), Thinking::On),
        (Some(0.3), Some(1200), Thinking::On),
        (Some(0.3), Some(1200), Thinking::On),
        (Some(0.5), Some(800), Thinking::Off),
    ];
    assert_eq!(asked.collect::<Vec<_>>(), expected);
    // A request may force thinking off.
    let mut off = Request::new("Look").always_execute();
    off.thinking = Some(false);
    for said in [task()].iter().chain(&rest) {
        stage.says(said);
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

pub(crate) fn about_revision() -> AgentState {
    let mut agent = AgentState::default();
    agent.apply(Update::Requested(Request::new("Hello").classes([1])));
    agent.apply(Update::Loaded(Arc::new(week())));
    agent
}

#[test]
fn sch_31_a_second_rough_build_needs_a_wish() {
    let mut agent = about_revision();
    let first = route(&agent, "place everything");
    assert_eq!(first.phase, Phase::Executing);
    assert!(first.rough_build && first.refine);
    let draft = route(&agent, "place everything, draft only");
    assert!(draft.rough_build && !draft.refine);
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
