//! Plugins: separate programs over standard input and output, with their grants.
mod failing;
#[cfg(target_os = "linux")]
mod locked;

use fugato::{ToolCall, tool::ToolContext};
use serde_json::json;
use transparent::{deps::Deps, workspace::Workspace};

use crate::common::{Home, TestResult};

/// Returns the home with the plugins of its folder; none if this kernel cannot lock them in.
pub(crate) async fn with_plugins(stage: Home) -> Option<Home> {
    let loaded = locked::locked_in(locked::loaded(&stage).await)?;
    let deps = Deps::with(desk(&stage), stage.deps.jobs.clone(), loaded, None);
    let deps = deps.expect("the tools fit together");
    Some(stage.made_by(std::sync::Arc::new(move || deps.clone())))
}

fn desk(stage: &Home) -> Workspace {
    Workspace::open(stage.dir()).expect("the folder is there")
}

#[tokio::test]
async fn trn_8_the_plugin_of_the_sample_is_a_tool_like_any_other() -> TestResult {
    let stage = Home::by_rule();
    let Some(loaded) = locked::locked_in(locked::loaded(&stage).await) else {
        return Ok(());
    };
    let deps = Deps::with(desk(&stage), stage.deps.jobs.clone(), loaded, None)?;
    let registry = deps.toolbox.registry();
    let spec = registry.spec("words_count").ok_or("the plugin runs")?;
    assert_eq!(spec.access, fugato::tool::Access::Read);
    let agent = transparent::agent::AgentState::default();
    let call = ToolCall::new("c1", "words_count", json!({ "text": "两个 words\nhere" }));
    let result = registry.call(&call, ToolContext::new(&agent)).await;
    assert_eq!(result.text, "13 characters, 4 words, 2 lines");
    let long = ToolCall::new("c2", "words_count", json!({ "text": "x".repeat(100_001) }));
    let result = registry.call(&long, ToolContext::new(&agent)).await;
    assert_eq!(result.text, "the text is longer than 100000 characters");
    Ok(())
}

#[tokio::test]
async fn trn_8_trn_w3_a_plugin_runs_only_with_what_it_was_granted() -> TestResult {
    let stage = Home::by_rule();
    let manifest = |name: &str, more: &str| {
        let text = format!(
            r#"{{ "name": "{name}", "version": "1", "entry": "main.py", "provides": ["count"], "auto_start": true{more} }}"#
        );
        stage.write(&format!("plugins/{name}/manifest.json"), &text);
        let program =
            std::fs::read_to_string(stage.dir().join("plugins/words/main.py")).expect("the sample");
        stage.write(&format!("plugins/{name}/main.py"), &program);
    };
    manifest(
        "greedy",
        r#", "permissions": ["network-call", "write-file"]"#,
    );
    manifest(
        "careful",
        r#", "permissions": ["read-memory"], "dangerous": true"#,
    );
    stage.write(
        "plugins/absent/manifest.json",
        r#"{ "name": "absent", "version": "1", "entry": "none", "auto_start": true }"#,
    );
    stage.write(
        "plugins/liar/manifest.json",
        r#"{ "name": "words", "version": "1", "entry": "main.py", "auto_start": true }"#,
    );
    stage.write(
        "plugins/asleep/manifest.json",
        r#"{ "name": "asleep", "version": "1", "entry": "none" }"#,
    );
    stage.write(
        "config.toml",
        "[plugins.granted]\ncareful = [\"read-memory\"]\ngreedy = [\"network-call\"]\n",
    );
    let Some(loaded) = locked::locked_in(locked::loaded(&stage).await) else {
        return Ok(());
    };
    let tools: Vec<_> = loaded
        .tools
        .iter()
        .map(|tool| tool.name().to_owned())
        .collect();
    assert_eq!(tools, ["careful_count", "words_count"]);
    let refused: Vec<_> = loaded
        .refused
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(refused, ["absent", "greedy", "liar"]);
    let why = loaded.refused.get(1).map(|(_, why)| why.to_string());
    let expected = r#"it wants ["write-file"], and was not granted that"#;
    assert_eq!(why.as_deref(), Some(expected));
    // A dangerous call waits for a person.
    assert_eq!(
        loaded.dangerous.iter().collect::<Vec<_>>(),
        ["careful_count"]
    );
    let deps = Deps::with(desk(&stage), stage.deps.jobs.clone(), loaded, None)?;
    let agent = transparent::agent::AgentState::default();
    let call = |name: &str| ToolCall::new("c1", name, json!({ "text": "x" }));
    let cards = |name: &str| deps.toolbox.round(&[call(name)], &agent).cards().count();
    assert_eq!((cards("careful_count"), cards("words_count")), (1, 0));
    Ok(())
}
