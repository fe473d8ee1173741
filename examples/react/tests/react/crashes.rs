//! K24 for this agent: wherever it crashes and whatever its store does, a request has the same
//! result, and everything that was to be kept and written is there once.
use std::{fs, sync::Arc};

use async_trait::async_trait;
use fugato::{
    BoxError, Graph,
    agent::{React, ReactUpdate},
    llm::{ChatModel, ChatRequest, DeltaStream, ModelError},
    state::{Role, ToolCall},
};
use fugato_testkit::{
    Scripted, ScriptedReply,
    log::{Failure, OpenError, OpenedLog, TestClock},
    sim::{CrashSim, CrashStore, Fault, InMemory},
};
use react::{BuiltIn, agent::graph, tools::ToolEnvironment};
use serde_json::json;

/// A model that goes by what it reads alone, so that every process gets the same answers.
struct Reader;

#[async_trait]
impl ChatModel for Reader {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let is_result = |role: Role| role == Role::Tool;
        let messages = request.messages.iter();
        let results = messages.filter(|message| is_result(message.role)).count();
        let call = |id: &str, name: &str, arguments| ToolCall::new(id, name, arguments);
        let reply = match results {
            0 => ScriptedReply::tool_calls([
                call("a", "calculate", json!({ "expression": "17 * 3" })),
                call("b", "recall", json!({ "query": "tea" })),
            ]),
            2 => ScriptedReply::tool_calls([
                call("c", "write_file", json!({ "path": "a.md", "text": "51" })),
                call("d", "read_file", json!({ "path": "a.md" })),
                call("e", "forget", json!({ "note": "the key hangs there" })),
            ]),
            _ => ScriptedReply::text("Done."),
        };
        Scripted::new([reply]).stream(request).await
    }
}

fn wired(tools: &ToolEnvironment) -> Result<Graph<React>, BoxError> {
    let registry = tools.built_in(&BuiltIn::ALL)?.build()?;
    let memory = Arc::new(tools.notebook.clone());
    Ok(graph(Some(Arc::new(Reader)), registry, memory, 8)?)
}

/// Stores in memory, each beside a folder in which nothing is written yet.
struct Stores(InMemory, ToolEnvironment);

#[async_trait]
impl CrashStore for Stores {
    async fn fresh(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        let Self(stores, tools) = self;
        let _ = fs::remove_file(tools.files.join("a.md"));
        tools.notebook.remember("Notes", "The key hangs there.")?;
        stores.fresh(clock).await
    }

    async fn reopen(&self, clock: &TestClock) -> Result<OpenedLog, OpenError> {
        self.0.reopen(clock).await
    }
}

#[tokio::test]
async fn k24_no_crash_changes_what_comes_of_a_request() -> Result<(), Failure> {
    let folder = fugato_testkit::tempdir().expect("a folder can be made");
    let tools = ToolEnvironment::new(folder.path());
    let stores = Stores(InMemory::default(), tools.clone());
    let report = CrashSim::new(move |_| wired(&tools))
        .input(|| vec![ReactUpdate::user("Remember that I drink tea. Then count.")])
        .answer(|asked| {
            // A card about what the call itself has written has no answer.
            let prompt = &asked.question.prompt;
            let new = "makes a new file \"a.md\"";
            let is_first = prompt["call"]["name"] == "forget" || prompt["consequence"] == new;
            is_first.then(|| true.into())
        })
        .store(stores)
        .random(16)
        .run()
        .await?;
    assert!(report.faults.contains_key(&Fault::DiesAfter), "{report}");
    assert_eq!(report.most_in_flight, 1, "{report}");
    let read = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap_or_default();
    assert_eq!(read("files/a.md"), "51");
    let notes = read("memory/MEMORY.md");
    let count = |note: &str| notes.matches(note).count();
    assert_eq!((count("I drink tea"), count("The key")), (1, 0));
    Ok(())
}
