//! The choice of a model by a request.
use std::time::Duration;

use fugato_llm::{
    ChatModelExt as _, ChatRequest, Fallback, ModelError, ModelErrorKind, Models, Retry,
};
use fugato_state::Message;
use fugato_testkit::{Scripted, ScriptedReply};

fn ask() -> ChatRequest {
    ChatRequest::new([Message::user("Hello")])
}

#[tokio::test]
async fn a_request_chooses_by_name_then_by_stage_then_the_default() {
    let [small, large] = ["small", "large"].map(|name| Scripted::new([name, name, name]));
    let models = Models::new("small", small.clone())
        .with("large", large.clone())
        .stage("plan", "large");
    assert_eq!(models.names().collect::<Vec<_>>(), ["large", "small"]);
    for (request, expected) in [
        (ask(), "small"),
        (ask().model("large"), "large"),
        (ask().metadata("stage", "plan"), "large"),
        (ask().metadata("stage", "plan").model("small"), "small"),
        (ask().metadata("stage", "chat"), "small"),
    ] {
        let answer = models.complete(request.clone()).await.unwrap();
        assert_eq!(answer.message.content, expected, "{request:?}");
    }
    // The name is ours, and not the server's.
    let plan = ask().metadata("stage", "plan");
    assert_eq!(large.requests(), [ask(), plan]);
}

#[tokio::test]
async fn a_name_that_is_not_there_is_told_with_those_that_are() {
    let models = Models::new("small", Scripted::new(["no"])).with("large", Scripted::new(["no"]));
    let error = models.complete(ask().model("huge")).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::NotFound);
    let expected = "there is no model \"huge\"; allowed are large, small";
    assert_eq!(error.context, expected);
}

#[tokio::test(start_paused = true)]
async fn decorators_outside_and_inside_keep_the_choice() {
    let broken = || ScriptedReply::error(ModelError::new(ModelErrorKind::Unavailable, ""));
    let main = Scripted::new([broken(), broken()]);
    let backup = Scripted::new([broken(), ScriptedReply::text("from the backup")]);
    let chain = Fallback::new(main.clone()).or(backup.clone());
    let models = Models::new("small", Scripted::new(["small"])).with("large", chain);
    let model = Retry::new(models).pause(Duration::from_secs(1));
    let answer = model.complete(ask().model("large")).await.unwrap();
    assert_eq!(answer.message.content, "from the backup");
    assert_eq!(answer.attempts.len(), 4);
    assert_eq!(main.requests(), [ask(), ask()]);
    assert_eq!(backup.requests(), [ask(), ask()]);
}
