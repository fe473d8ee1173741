//! A model reads the language of the conversation.
use fugato::state::{Lang, ToolCall};
use fugato_testkit::{ScriptedReply, language::assert_prompts};
use serde_json::json;

use crate::common::{TestResult, World, call, finish, no_json, order, plan, say};

/// Returns the replies of a model that is corrected and taken over from, and then buys.
fn script() -> Vec<ScriptedReply> {
    let [gate, ..] = no_json();
    let look = ToolCall::new("c1", "get_balances", json!({}));
    let respond = json!({ "type": "respond", "instruction": "…" });
    let rescued = [ScriptedReply::tool_calls([look]), ScriptedReply::text("…")];
    let bought = [
        plan(&[call("get_prices", &json!({})), order(), respond]),
        finish(),
        ScriptedReply::text("…"),
    ];
    let all = [gate].into_iter().chain(no_json()).chain(rescued);
    all.chain(bought).collect()
}

#[tokio::test]
async fn pln_prompts_are_in_the_language_of_the_conversation() -> TestResult {
    for (lang, turns) in [
        (Lang::En, ["good day", "Buy 0.25 BTC for me", "yes"]),
        (Lang::Zh, ["日安", "帮我买 0.25 BTC", "确定"]),
    ] {
        let (_, model, talk) = World::scripted(script())?;
        for words in turns {
            say(&talk, words).await;
        }
        // What the model itself said is data.
        let given = format!("{} no json tell what came of it", turns.join("\n"));
        assert_eq!(model.left(), 0);
        assert_prompts(lang, &model.requests(), &given);
    }
    Ok(())
}

#[tokio::test]
async fn pln_commands_answer_in_the_language_of_the_conversation() -> TestResult {
    let talk = World::new()?.talk();
    say(&talk, "余额多少").await;
    assert_eq!(
        say(&talk, "/prefer 语气 = 简短").await,
        "记住了，语气：简短"
    );
    assert_eq!(
        say(&talk, "/fly").await,
        "没有命令 /fly；现有：/clear, /help, /new, /prefer, /status"
    );
    assert_eq!(
        say(&talk, "/clear").await,
        "对话、任务和与任务有关的记忆都已清空；偏好还在。"
    );
    assert_eq!(
        say(&talk, "/new").await,
        "新的会话开始了；我记得的关于您的事还在。"
    );
    Ok(())
}
