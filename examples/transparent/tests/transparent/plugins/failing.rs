//! Plugins that fail during a call: the failure is reported, and other calls go on.
use fugato_testkit::assert_contains;
use std::sync::Arc;

use fugato::{BoxError, Registry};
use serde_json::json;

use super::locked::{loaded, probe, registry, tried};
use crate::common::{Home, TestResult, finish, use_tool};
use transparent::deps::Deps;

/// Returns the stage of a probe that is not locked in, and its tools.
async fn unlocked() -> Result<(Home, Registry<(), ()>), BoxError> {
    let stage = Home::by_rule();
    probe(&stage, &[], "unlocked = [\"probe\"]");
    let registry = registry(loaded(&stage).await)?;
    Ok((stage, registry))
}

#[tokio::test]
async fn trn_9_a_plugin_that_dies_amid_a_call_is_told_and_started_again() -> TestResult {
    let (_stage, registry) = unlocked().await?;
    let told = tried(&registry, "die", "").await;
    assert_contains(&told, "stopped before it answered; it is not known whether");
    assert_eq!(tried(&registry, "variable", "PATH").await, "done");
    Ok(())
}

#[tokio::test]
async fn trn_9_a_plugin_that_hangs_is_given_up_and_started_again() -> TestResult {
    let (_stage, registry) = unlocked().await?;
    // The plugin is running; from here on its timeout takes no real time.
    tokio::time::pause();
    let told = tried(&registry, "hang", "").await;
    assert_contains(&told, "did not answer within 60s");
    // A new process of the plugin answers at once.
    tokio::time::resume();
    assert_eq!(tried(&registry, "variable", "PATH").await, "done");
    Ok(())
}

#[tokio::test]
async fn trn_9_what_a_plugin_says_too_much_is_cut_and_what_is_no_answer_is_left_out() -> TestResult
{
    let (_stage, registry) = unlocked().await?;
    let told = tried(&registry, "flood", "").await;
    assert!(
        told.len() < 25_000 && told.starts_with("xxxx"),
        "{} characters",
        told.len()
    );
    assert_eq!(tried(&registry, "garbage", "").await, "done");
    Ok(())
}

#[tokio::test]
async fn trn_9_trn_t3_a_turn_whose_plugin_dies_ends_with_an_honest_answer() -> TestResult {
    let call = |what: &str| use_tool("probe_try", &json!({ "what": what }));
    let mended = json!({ "params": { "what": "variable", "with": "PATH" } }).to_string();
    let model = fugato_testkit::Scripted::new([
        json!({ "intent": "execute", "complexity": 0.3 }).to_string(),
        call("die"),
        mended,
        finish(),
        "It died once, and then it worked.".to_owned(),
    ]);
    let stage = Home::by_rule();
    probe(&stage, &[], "unlocked = [\"probe\"]");
    let loaded = loaded(&stage).await;
    let deps = Deps::with(super::desk(&stage), stage.deps.jobs.clone(), loaded, None)?;
    let deps = deps.model(Some(Arc::new(model)));
    let stage = stage.made_by(Arc::new(move || deps.clone()));
    let mut scene = stage.say("try it").await;
    while !scene.is_finished() {
        scene = stage.approve().await;
    }
    // The receipt comes first, and then the model's words.
    let answer = "Done: done\n\nIt died once, and then it worked.";
    assert_eq!(scene.answer(), answer);
    let uses = stage.state().await.turn.uses;
    let ended: Vec<_> = uses.iter().map(|made| json!(made.status)).collect();
    assert_eq!(ended, ["failed", "ok"]);
    Ok(())
}
