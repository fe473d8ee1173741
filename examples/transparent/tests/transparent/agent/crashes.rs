//! K24 for this agent: in spite of crashes and failures of the store a request has the same result.
use async_trait::async_trait;
use fugato::{
    BoxError,
    llm::{ChatModel, ChatRequest, DeltaStream, ModelError},
};
use fugato_testkit::{
    Scripted,
    log::Failure,
    sim::{CrashSim, Fault},
};
use serde_json::{Value, json};
use transparent::{
    agent::{AgentState, Request, Update},
    graph::graph,
};

use crate::common::{Home, WISH, finds, finish, search, searches, use_tool};

/// A deterministic model: its answers depend only on the request, in every process.
struct Steady;

#[async_trait]
impl ChatModel for Steady {
    async fn stream(&self, request: ChatRequest) -> Result<DeltaStream, ModelError> {
        let told = request.messages.iter().map(|message| &*message.content);
        let told: String = told.collect();
        let has = |text: &str| told.contains(text);
        let reply = match request.metadata.get("stage").map(String::as_str) {
            Some("intent") => searches(),
            Some("plan") => finds(),
            Some("repair") => {
                json!({ "params": { "path": "Documents", "pattern": "计划书" } }).to_string()
            }
            Some("think") if has("ended \"ok\"") => finish(),
            Some("think") if has("(MEMORY.md#") => use_tool(
                "list_files",
                &json!({ "path": "Papers", "pattern": "计划书" }),
            ),
            Some("think") => search("项目计划书"),
            _ => "plan_v1.md, draft.docx".to_owned(),
        };
        Scripted::new([&*reply]).stream(request).await
    }

    fn name(&self) -> &'static str {
        "steady"
    }
}

/// Returns a simulation that compares the state without times. Within a case all processes share
/// the folder; the daily logs of other cases are removed.
fn simulation(stage: Home, text: &'static str) -> CrashSim<AgentState> {
    let view = |agent: &AgentState| {
        let mut turn = agent.turn.clone();
        turn.began_at = 0;
        without_jobs(
            &json!({ "history": agent.conversation.history, "turn": turn, "calls": agent.calls }),
        )
    };
    CrashSim::new(move |_| {
        match std::fs::remove_dir_all(stage.dir().join("notes/memory")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(BoxError::from(error));
            }
            _ => {}
        }
        Ok(graph(&stage.deps)?)
    })
    .input(move || vec![Update::Asked(Request::new(text))])
    .answer(|asked| {
        asked
            .question
            .key
            .starts_with("confirm/")
            .then_some(Value::Bool(true))
    })
    .compare(view)
    .random(8)
}

/// Returns the state without the names of jobs, which depend on the time of the thread's creation
/// and differ between cases. The number and the tasks of the jobs do not.
fn without_jobs(state: &Value) -> Value {
    let mut text = String::new();
    for (at, piece) in state.to_string().split("job-").enumerate() {
        let name = piece.chars().take_while(char::is_ascii_hexdigit).count();
        text.push_str(if at == 0 {
            piece
        } else {
            piece.get(name..).unwrap_or_default()
        });
        text.push_str("job ");
    }
    Value::String(text)
}

fn held(report: &fugato_testkit::sim::SimReport) {
    assert!(report.faults.contains_key(&Fault::DiesAfter), "{report}");
    assert_eq!(report.most_in_flight, 1, "{report}");
}

#[tokio::test]
async fn trn_15_k24_no_crash_changes_the_reference_run_with_a_model() -> Result<(), Failure> {
    let report = simulation(Home::with(Steady), WISH).run().await?;
    held(&report);
    Ok(())
}

#[tokio::test]
async fn trn_15_k24_no_crash_changes_the_reference_run_by_rule() -> Result<(), Failure> {
    let report = simulation(Home::by_rule(), WISH).run().await?;
    held(&report);
    Ok(())
}

#[tokio::test]
async fn trn_8_k24_no_crash_makes_a_job_twice() -> Result<(), Failure> {
    let stage = Home::by_rule();
    let jobs = stage.deps.jobs.clone();
    let report = simulation(stage, "每天8:30提醒我喝水").run().await?;
    held(&report);
    let made = jobs.all().await.expect("the jobs");
    assert!(
        !made.is_empty() && made.iter().all(|job| job.wish.task == "喝水"),
        "{made:?}"
    );
    Ok(())
}
