//! A note that a person explicitly asks to remember is stored, and nothing else.
use std::sync::Arc;

use async_trait::async_trait;
use fugato_agent::memory::{REMEMBERED, log_once, remember, to_remember};
use fugato_graph::{BoxError, Context, END, Graph, Outcome, Runner};
use fugato_memory::{LongTermMemory, Notebook, RememberError};
use fugato_state::{State, ThreadId};
use fugato_store::MemoryLog;
use fugato_stream::EventKind;
use fugato_testkit::sim::{CrashSim, Fault};
use fugato_trace::RunTrace;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Transcript(String);

#[derive(Debug, Serialize, Deserialize)]
struct Say(String);

impl State for Transcript {
    type Update = Say;

    fn apply(&mut self, Say(text): Say) {
        self.0 = text;
    }
}

#[test]
fn rct_4_an_explicit_instruction_is_found_in_both_languages() {
    for (message, wish) in [
        (
            "Remember that I am allergic to nuts.",
            "I am allergic to nuts.",
        ),
        (
            "please remember my flat is 3.5 km away",
            "my flat is 3.5 km away",
        ),
        (
            "Hi! Don't forget that Ada sings on Fridays",
            "Ada sings on Fridays",
        ),
        ("请记住：我对花生过敏", "我对花生过敏"),
        (
            "remember that Ada sings, but doesn't dance",
            "Ada sings, but doesn't dance",
        ),
        ("记住我不吃辣，别的都行", "我不吃辣，别的都行"),
        ("你好。记住，周五我不在。", "周五我不在。"),
        ("帮我记住我的学号是 17", "我的学号是 17"),
        (
            "Could you please remember that my shoe size is 42?",
            "my shoe size is 42",
        ),
        ("I want you to remember that Ada sings", "Ada sings"),
        ("你能记住我喜欢喝茶吗？", "我喜欢喝茶"),
    ] {
        assert_eq!(to_remember(message), Some(wish), "{message}");
    }
}

#[test]
fn rct_4_what_only_sounds_like_it_is_left_alone() {
    for message in [
        "",
        "Do you remember that evening?",
        "remember when we met",
        "can you remember my name?",
        "could you remember that?",
        "Remember that?",
        "记住了",
        "你记住了吗",
        "我记住密码了",
        "I cannot remember that name",
        "还记得我吗？",
        "remember",
        "Remember that my door code is 7741. Actually don't.",
        "remember that my door code is 7741, but don’t write it down",
        "remember that I like tea. Never mind.",
        "记住我的门禁码是7741。还是别记了。",
        "记住我的门禁码是7741，但不要写下来",
    ] {
        assert_eq!(to_remember(message), None, "{message}");
    }
}

/// Returns the data of the events, and the state at the end.
async fn run(memory: Arc<dyn LongTermMemory>, message: &str) -> (Vec<Value>, Transcript) {
    let trigger = remember(
        memory,
        |said: &Transcript| Some(said.0.clone()),
        |_| (),
        |_| vec![],
    );
    let graph = Graph::<Transcript>::starting_at("memory_trigger")
        .node("memory_trigger", trigger)
        .edge("memory_trigger", END)
        .build()
        .expect("the graph is sound");
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    let thread = ThreadId::new("t").expect("the name keeps the rules");
    let ended = runner.start(&thread, Say(message.to_owned())).await;
    let state = (*ended.expect("it ends").state()).clone();
    let runs = RunTrace::read(&runner, &thread)
        .await
        .expect("the log can be read");
    let tasks = runs.into_iter().flat_map(|run| run.tasks);
    assert!(
        tasks.clone().all(|task| task.output.is_empty()),
        "nothing changes in the state"
    );
    let notes = tasks.flat_map(|task| task.notes);
    let told = notes.filter_map(|note| match note {
        EventKind::Custom { name, data } if name == REMEMBERED => Some(data),
        _ => None,
    });
    (told.collect(), state)
}

#[tokio::test]
async fn rct_4_it_is_kept_in_a_notebook_and_not_in_the_state() {
    let folder = std::env::temp_dir().join(format!("fugato-remember-{}", std::process::id()));
    let notebook = Notebook::new(&folder);
    let memory = Arc::new(notebook.clone());
    let message = "请记住：我对花生过敏";
    let (told, state) = run(memory.clone(), message).await;
    assert_eq!(
        (told, state),
        (
            vec![json!({ "note": "我对花生过敏" })],
            Transcript(message.into())
        )
    );
    // A repetition changes nothing.
    run(memory, message).await;
    let files = notebook.files().expect("it can be read");
    let text: Vec<_> = files.iter().map(|file| file.text.as_str()).collect();
    assert_eq!(text, ["# Memory\n\n## Remembered\n\n- 我对花生过敏\n"]);
    std::fs::remove_dir_all(folder).expect("it was made");
}

struct Full;

#[async_trait]
impl LongTermMemory for Full {
    async fn remember(&self, _: &str) -> Result<(), RememberError> {
        Err(RememberError::new("there is no room"))
    }
}

#[tokio::test]
async fn rct_4_a_failure_does_not_stop_the_run_and_is_traced() {
    let (told, _) = run(Arc::new(Full), "remember that the bins go out on Monday").await;
    let failure = "the effect \"remember\" failed: the note cannot be kept: there is no room";
    assert_eq!(
        told,
        [json!({ "note": "the bins go out on Monday", "failure": failure })]
    );
    let (told, _) = run(Arc::new(Full), "good morning").await;
    assert_eq!(told, [Value::Null; 0]);
}

/// A line is recognised after a crash in spite of different spaces.
#[tokio::test]
async fn trn_11_k24_no_crash_logs_a_day_twice() -> Result<(), BoxError> {
    let folder = std::env::temp_dir().join(format!("fugato-day-{}", std::process::id()));
    let notebook = Notebook::new(&folder);
    let day = notebook.clone();
    let report = CrashSim::new(move |_| {
        // The files of the previous case.
        for file in day.files()? {
            assert_eq!(file.text, "# 2026-11-22\n\n- green tea at noon\n");
            std::fs::remove_file(folder.join(file.path))?;
        }
        let day = day.clone();
        let log = move |cx: Context<Transcript>| {
            let day = day.clone();
            async move {
                log_once(&cx, &day, "2026-11-22", "green  tea at noon").await?;
                Ok::<_, BoxError>(Outcome::done([]))
            }
        };
        let graph = Graph::<Transcript>::starting_at("log").node("log", log);
        Ok::<_, BoxError>(graph.edge("log", END).build()?)
    })
    .input(|| vec![Say("tea".into())])
    .random(8)
    .run()
    .await?;
    assert!(report.faults.contains_key(&Fault::DiesAfter), "{report}");
    assert_eq!(notebook.files()?.len(), 1);
    Ok(())
}
