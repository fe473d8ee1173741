//! A model reads the language of the conversation.
use fugato::state::Lang;
use fugato_testkit::{Scripted, language::assert_prompts};
use serde_json::{Value, json};

use crate::common::Home;

/// Returns the replies of a model that is corrected in each stage.
fn script() -> Vec<String> {
    let think = |fields: Value| {
        let all = fields.as_object().into_iter().flatten();
        let all = all.map(|(key, value)| (key.clone(), value.clone()));
        all.chain([("thought".to_owned(), "…".into())])
            .collect::<Value>()
    };
    let read = |path: &str| {
        think(json!({ "action": "use_tool", "name": "read_file", "params": { "path": path } }))
    };
    let replies = [
        json!({ "intent": "search", "complexity": 7 }),
        json!({ "intent": "search", "complexity": 0.9, "params": { "query": "…" } }),
        json!({ "steps": [
            { "type": "rag", "query": "" }, { "type": "tool", "name": "fly" },
            { "type": "tool", "name": "read_file", "params": { "path": "{{selected_path}}", "x": "{{y}}" } },
        ] }),
        json!({ "steps": [{ "type": "rag", "query": "{{query}}" }, { "type": "tool", "name": "read_file" }] }),
        think(json!({ "action": "search_memory", "query": "" })),
        think(json!({ "action": "search_memory", "query": "…" })),
        think(json!({ "action": "use_tool", "name": "fly" })),
        read("1"),
        json!({ "thought": "…", "params": { "path": "1" } }),
        json!({ "thought": "…", "params": { "path": "../2" } }),
        json!({ "thought": "…", "give_up": true }),
        think(json!({ "action": "finish" })),
    ];
    let mut replies: Vec<String> = replies.iter().map(Value::to_string).collect();
    replies.insert(0, "…".to_owned());
    replies.push("…".to_owned());
    replies
}

#[tokio::test]
async fn trn_prompts_are_in_the_language_of_the_conversation() {
    for (lang, words) in [
        (Lang::En, "find the project plan I wrote last week"),
        (Lang::Zh, "帮我找出上周写的项目计划书"),
    ] {
        let model = Scripted::new(script());
        let home = Home::with(model.clone());
        home.say(words).await;
        // The person's own files are data, and the notes of the sample are in both languages.
        let file = |path: &str| std::fs::read_to_string(home.dir().join(path)).unwrap_or_default();
        let files = ["SOUL.md", "USER.md", "tool.md", "notes/MEMORY.md"].map(file);
        assert_prompts(
            lang,
            &model.requests(),
            &format!("{words}\n{}", files.join("\n").replace("{{name}}", "Iris")),
        );
        assert_eq!(model.left(), 0);
    }
}
