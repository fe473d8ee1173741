//! A model reads the language of the conversation.
use std::sync::Arc;

use fugato::{
    Runner,
    agent::{React, ReactUpdate},
    state::{Lang, ToolCall},
};
use fugato_testkit::{Scripted, ScriptedReply, language::assert_prompts, session::Session};
use react::{BuiltIn, agent::graph, tools::ToolEnvironment};
use serde_json::json;

/// Returns the replies of a model that is corrected, calls every tool and writes a file.
fn script() -> Vec<ScriptedReply> {
    let calls = [
        ("calculate", json!({ "expression": "17 * 3" })),
        ("calculate", json!({ "expression": "1 / 0" })),
        ("time", json!({ "zone": "Mars" })),
        ("recall", json!({ "query": "7" })),
        ("list_files", json!({ "pattern": "(" })),
        ("read_file", json!({ "path": "../a" })),
        ("read_file", json!({ "path": "b.md" })),
        ("read_file", json!({ "colour": 1 })),
        ("fly", json!({})),
    ];
    let calls = calls.into_iter().enumerate();
    let calls = calls.map(|(n, (name, arguments))| ToolCall::new(format!("c{n}"), name, arguments));
    let write = ToolCall::new("w", "write_file", json!({ "path": "c.md", "text": "51" }));
    vec![
        ScriptedReply::text(""),
        ScriptedReply::text("{\"name\": 1}"),
        ScriptedReply::tool_calls(calls),
        ScriptedReply::tool_calls([write.clone()]),
        ScriptedReply::tool_calls([ToolCall {
            id: "x".into(),
            ..write
        }]),
        ScriptedReply::text("…"),
    ]
}

#[tokio::test]
async fn rct_prompts_are_in_the_language_of_the_conversation() {
    for (lang, words) in [
        (Lang::En, "Remember 7. Write how much 17 times 3 is."),
        (Lang::Zh, "记住 7。写下 17 乘 3 是多少。"),
    ] {
        let (folder, model) = (fugato_testkit::tempdir().unwrap(), Scripted::new(script()));
        let (tools, asked) = (ToolEnvironment::new(folder.path()), model.clone());
        let open = move |log| {
            let registry = tools.built_in(&BuiltIn::ALL).unwrap().build().unwrap();
            let memory = Arc::new(tools.notebook.clone());
            let model = Some(Arc::new(asked.clone()) as Arc<dyn fugato::ChatModel>);
            Runner::<React>::new(graph(model, registry, memory, 3).unwrap(), log)
        };
        let talk = Session::new(open, |words| ReactUpdate::user(words));
        talk.say(words).await;
        talk.answer(true).await;
        talk.answer(false).await;
        assert_eq!(model.left(), 0);
        assert_prompts(lang, &model.requests(), words);
    }
}
