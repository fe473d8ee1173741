//! The reference run of the transparent agent on model servers: one of others that answers as it is
//! told, and a small model that mostly cannot be used.
use std::{sync::Arc, time::Duration};

use fugato::{
    BoxError, EventKind, MemoryLog, OpenAi, RunResult, Runner, RunnerOptions, ThreadId,
    llm::{ApiKey, ChatModel},
    store::MemoryDocs,
};
use futures::StreamExt as _;
use serde_json::{Value, json};
use servers::{Aimock, Llama};
use tokio::time::timeout;
use transparent::{
    agent::{Request, Update},
    graph::{budgets, graph},
    open::{deps, jobs},
};

const WISH: &str = "帮我找出上周写的项目计划书";
const KEY: &str = "sk-transparent-0123456789";
/// Far more than any answer of so few tokens takes.
const PATIENCE: Duration = Duration::from_mins(8);

/// How a run ended, and what it told of itself.
struct Run {
    answer: String,
    told: Vec<String>,
    /// Why rules decided, if they did.
    by_rule: Option<String>,
}

async fn run(model: Arc<dyn ChatModel>) -> Result<Run, BoxError> {
    let folder = fugato_testkit::tempdir()?;
    let deps = deps(folder.path(), jobs(Arc::new(MemoryDocs::default()))).await?;
    let graph = graph(&deps.model(Some(model)))?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let runner = runner.options(budgets(RunnerOptions::default()));
    let asked = vec![Update::Asked(Request::new(WISH))];
    let run = runner.start(&ThreadId::new("desk")?, asked);
    let (events, end) = run.split();
    let told = events.filter_map(|event| {
        std::future::ready(match event.kind {
            EventKind::Custom { name, .. } if name != "model_call" => Some(name),
            EventKind::ToolFinished { name, .. } => Some(name),
            _ => None,
        })
    });
    let told = timeout(PATIENCE, told.collect()).await?;
    match end.await? {
        RunResult::Finished {
            output: Some(Value::String(answer)),
            state,
        } => Ok(Run {
            answer,
            told,
            by_rule: state.turn.by_rule.clone(),
        }),
        other => Err(format!("{other:?}").into()),
    }
}

/// What the server answers to each stage, by what the stage is asked.
fn fixtures() -> String {
    let fixture = |asked: &str, nth: u32, content: &Value| {
        let content = content
            .as_str()
            .map_or_else(|| content.to_string(), str::to_owned);
        json!({ "match": { "userMessage": asked, "sequenceIndex": nth }, "response": { "content": content }, "chunkSize": 9 })
    };
    let pattern = ".*(计划书|proposal).*";
    let decide = "决定接下来做什么";
    let fixtures = [
        fixture(
            "说明用户想要什么",
            0,
            &json!({ "intent": "search", "complexity": 0.8, "params": { "query": ["项目", "计划书"] } }),
        ),
        fixture(
            "制定计划",
            0,
            &json!({ "steps": [{ "type": "rag", "query": "{{query}}" }, { "type": "tool", "name": "list_files", "params": { "filter": pattern } }] }),
        ),
        fixture(
            decide,
            0,
            &json!({ "thought": "先查记忆", "action": "search_memory", "query": "项目计划书" }),
        ),
        // There is no such folder: the call fails, and is mended.
        fixture(
            decide,
            1,
            &json!({ "action": "use_tool", "name": "list_files", "params": { "path": "Papers", "filter": pattern } }),
        ),
        fixture(
            "说明用哪些 params 再试一次",
            0,
            &json!({ "thought": "没有这个文件夹", "params": { "path": "~/Documents", "pattern": pattern } }),
        ),
        fixture(decide, 2, &json!({ "action": "finish" })),
        fixture(
            "用用户的语言回答",
            0,
            &json!("找到了：plan_v1.md 和 draft.docx。"),
        ),
    ];
    json!({ "fixtures": fixtures }).to_string()
}

#[tokio::test]
async fn trn_15_the_reference_run_on_a_model_server_of_others() -> Result<(), BoxError> {
    let Some(server) = Aimock::start(&fixtures()) else {
        return Ok(());
    };
    let run = run(Arc::new(
        OpenAi::new(server.url(), "small").key(ApiKey::new(KEY)),
    ))
    .await?;
    assert_eq!(run.by_rule, None);
    assert_eq!(run.answer, "找到了：plan_v1.md 和 draft.docx。");
    assert_eq!(
        run.told,
        [
            "user_input",
            "task_analysis",
            "planning",
            "thinking",
            "rag_query",
            "rag_result",
            "list_files",
            "correction",
            "list_files",
        ]
    );
    Ok(())
}

#[tokio::test]
async fn trn_15_the_reference_run_with_a_small_model() -> Result<(), BoxError> {
    let Some(server) = Llama::start(KEY) else {
        return Ok(());
    };
    let run = run(Arc::new(
        OpenAi::new(server.url(), "small").key(ApiKey::new(KEY)),
    ))
    .await?;
    println!(
        "told: {:?}\nby rule: {:?}\n{}",
        run.told, run.by_rule, run.answer
    );
    // Whatever the model makes of it: the run ends with an answer, and says who decided.
    assert!(!run.answer.trim().is_empty());
    if run.by_rule.is_some() {
        assert!(run.told.iter().any(|name| name == "decided_by_rule"));
    }
    Ok(())
}
