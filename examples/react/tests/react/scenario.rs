//! The reference scenario: something to remember, a round of reads, a write that a person agrees
//! to, and an answer; with a scripted model, and with rules.
use std::{ops::Deref, sync::Arc, time::Duration};

use expect_test::expect;
use fugato::{
    Runner,
    agent::{Assistant, React, ReactReply, ReactUpdate, react::StopReason},
    axum::{Caller, ServedAgent as _, TimelineItem, UserMessage},
    llm::{ChatDelta, ChatModel, FinishReason, ModelError, ModelErrorKind},
    state::{Message, Role, ToolCall},
    stream::EventKind,
    trace::RunTrace,
};
use fugato_testkit::{
    Scripted, ScriptedReply, assert_contains, assert_starts_with,
    session::{Session, Turn},
};
use react::{BuiltIn, ReactAgent, agent::graph, tools::ToolEnvironment};
use serde_json::json;
use tempfile::TempDir;

/// A conversation with the assistant, over a folder.
struct ReactFixture {
    session: Session<React>,
    folder: TempDir,
}

impl Deref for ReactFixture {
    type Target = Session<React>;

    fn deref(&self) -> &Self::Target {
        &self.session
    }
}

impl ReactFixture {
    fn new(model: impl ChatModel + 'static, max_steps: u32) -> Self {
        Self::with(Some(Arc::new(model)), max_steps)
    }

    fn by_rules() -> Self {
        Self::with(None, 8)
    }

    fn with(model: Option<Arc<dyn ChatModel>>, max_steps: u32) -> Self {
        let folder = fugato_testkit::tempdir().unwrap();
        let mut tools = ToolEnvironment::new(folder.path());
        tools.clock = Arc::new(|| "2026-11-22T09:30[Europe/London]".parse().unwrap());
        let open = move |log| {
            let registry = tools.built_in(&BuiltIn::ALL).unwrap().build().unwrap();
            let memory = Arc::new(tools.notebook.clone());
            Runner::new(
                graph(model.clone(), registry, memory, max_steps).unwrap(),
                log,
            )
        };
        Self {
            session: Session::new(open, |words| ReactUpdate::user(words)),
            folder,
        }
    }

    fn agent(&self) -> ReactAgent {
        ReactAgent::new(self.runner())
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join(path)).ok()
    }

    async fn says(&self, text: &str) -> ReactReply {
        reply(&self.say(text).await)
    }

    /// Says something that a person has to agree to, and answers.
    async fn answers(&self, text: &str, agreed: bool) -> ReactReply {
        self.say(text).await;
        assert_eq!(self.card().question.prompt["call"]["name"], "write_file");
        reply(&self.answer(agreed).await)
    }
}

fn reply(turn: &Turn<React>) -> ReactReply {
    Assistant::reply(turn.result().clone()).unwrap()
}

fn call(id: &str, name: &str, arguments: serde_json::Value) -> ToolCall {
    ToolCall::new(id, name, arguments)
}

fn script() -> Scripted {
    Scripted::new([
        ScriptedReply::tool_calls([
            call("c1", "calculate", json!({ "expression": "17 * 3" })),
            call("c2", "time", json!({ "zone": "UTC" })),
            call("c3", "recall", json!({ "query": "tea" })),
        ]),
        ScriptedReply::tool_calls([call(
            "c4",
            "write_file",
            json!({ "path": "list.md", "text": "51 bags of tea" }),
        )]),
        ScriptedReply::text("It is in list.md."),
    ])
}

const WISH: &str = "Remember that I drink tea. Then write how many bags 17 boxes of 3 are.";

#[tokio::test]
async fn rct_t2_a_model_works_in_two_rounds_and_a_person_agrees_to_the_write() {
    let model = script();
    let desk = ReactFixture::new(model.clone(), 8);
    let reply = desk.answers(WISH, true).await;
    let told = &reply.metadata;
    assert_eq!((told.steps_taken, told.llm_calls), (2, 3));
    let tools = "calculate time recall write_file";
    assert_eq!(told.tools_used.join(" "), tools);
    assert_eq!(told.stop_reason, "");
    let written = desk.read("files/list.md");
    assert_eq!(written.as_deref(), Some("51 bags of tea"));
    assert_contains(&desk.read("memory/MEMORY.md").unwrap(), "- I drink tea.");
    let report = "Done: list.md is written: 14 bytes\n\nIt is in list.md.";
    assert_eq!(reply.final_reply, report);
    // The results came in the order of the calls, and the note was found in the same run.
    let history = desk.state().await.conversation.history;
    let results = history.iter().filter(|message| message.role == Role::Tool);
    let results: Vec<_> = results.map(|message| &*message.content).collect();
    let expected = [
        "17 * 3 = 51",
        "Sunday 2026-11-22, 09:30 (UTC)",
        "I drink tea",
        "list.md is written: 14 bytes",
    ];
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(expected) {
        assert_starts_with(result, expected);
    }
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn what_the_person_does_not_agree_to_is_not_written() {
    let desk = ReactFixture::new(script(), 8);
    let reply = desk.answers(WISH, false).await;
    let declined = "Not done: write a file: you did not agree\n\n\
        The model's words, which no receipt confirms: It is in list.md.";
    assert_eq!(reply.final_reply, declined);
    assert_eq!(desk.read("files/list.md"), None);
    let state = desk.state().await;
    let last = state.run.uses.last().unwrap();
    assert!(last.result.contains("does not agree"), "{last:?}");
}

/// A card that said "makes a new file" is no consent to overwrite one that came meanwhile.
#[tokio::test]
async fn k35_a_file_that_came_meanwhile_is_asked_about_anew() {
    let desk = ReactFixture::new(script(), 8);
    desk.say(WISH).await;
    let first = desk.card();
    let file = desk.folder.path().join("files/list.md");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "precious").unwrap();
    desk.approve().await;
    let anew = desk.card();
    assert_ne!(anew.id, first.id);
    let told = anew.question.prompt["consequence"].to_string();
    assert!(told.contains("overwrites"), "{told}");
    assert_eq!(desk.read("files/list.md").as_deref(), Some("precious"));
    desk.approve().await;
    assert_ne!(desk.read("files/list.md").as_deref(), Some("precious"));
}

#[tokio::test]
async fn rct_t3_at_the_limit_of_steps_the_model_answers_without_tools() {
    let again = |n: u32| {
        let sum = json!({ "expression": format!("{n} + 1") });
        ScriptedReply::tool_calls([call(&format!("c{n}"), "calculate", sum)])
    };
    let model = Scripted::new([again(1), again(2), ScriptedReply::text("I stop at 3.")]);
    let desk = ReactFixture::new(model.clone(), 2);
    let reply = desk.says("count").await;
    assert_eq!(reply.final_reply, "I stop at 3.");
    assert_eq!(reply.metadata.steps_taken, 2);
    let requests = model.requests();
    let tools = requests.iter().map(|asked| asked.tools.len());
    assert_eq!(tools.collect::<Vec<_>>(), [7, 7, 0]);
}

#[tokio::test]
async fn rct_t4_the_same_call_with_the_same_result_ends_with_a_reply() {
    let again = |id: &str| {
        ScriptedReply::tool_calls([call(id, "calculate", json!({ "expression": "1 + 1" }))])
    };
    let desk = ReactFixture::new(Scripted::new([again("a"), again("b"), again("c")]), 8);
    let reply = desk.says("what is 1 + 1?").await;
    assert_eq!(reply.metadata.stop_reason, "loop_detected");
    assert!(reply.final_reply.contains("I stopped"), "{reply:?}");
}

#[tokio::test]
async fn rct_w2_two_calls_in_turn_are_a_loop_and_three_different_ones_are_none() {
    let sum = |id: &str, sum: &str| {
        ScriptedReply::tool_calls([call(id, "calculate", json!({ "expression": sum }))])
    };
    let in_turn = [
        sum("a", "1 + 1"),
        sum("b", "2 * 3"),
        sum("c", "1 + 1"),
        sum("d", "2 * 3"),
    ];
    let desk = ReactFixture::new(Scripted::new(in_turn), 8);
    let reply = desk.says("what is 1 + 1, and what is 2 * 3?").await;
    assert_eq!(reply.metadata.stop_reason, "loop_detected");
    assert_eq!(reply.metadata.steps_taken, 4);
    let different = [sum("a", "1 + 1"), sum("b", "2 * 3"), sum("c", "4 - 1")];
    let answered = different
        .into_iter()
        .chain([ScriptedReply::text("2, 6 and 3.")]);
    let desk = ReactFixture::new(Scripted::new(answered), 8);
    let reply = desk.says("what is 1 + 1, 2 * 3 and 4 - 1?").await;
    assert_eq!(
        (
            reply.metadata.stop_reason.as_str(),
            reply.final_reply.as_str()
        ),
        ("", "2, 6 and 3.")
    );
}

#[tokio::test]
async fn without_a_model_rules_do_what_is_plainly_wished() {
    let desk = ReactFixture::by_rules();
    for (wish, expected) in [
        ("Remember that I drink tea", "In my notebook: I drink tea"),
        ("(17 + 25) × 2", "(17 + 25) × 2 = 84"),
        ("1 / 0", "there is a division by zero"),
        ("Remember that I walk", "In my notebook: I walk"),
        (
            "what time is it in Asia/Tokyo?",
            "Sunday 2026-11-22, 18:30 (Asia/Tokyo)",
        ),
        ("what do you remember about tea?", "I drink tea"),
        ("read nothing.md", "there is no \"nothing.md\""),
        ("3×4等于多少？", "3×4 = 12"),
    ] {
        assert_eq!(desk.says(wish).await.final_reply, expected);
    }
    let help = desk.says("tell me a story").await.final_reply;
    assert!(help.starts_with("Without a model"), "{help}");
    let written = desk.answers("write list.md: tea", true).await;
    assert_eq!(written.final_reply, "Done: list.md is written: 3 bytes");
    assert_eq!(desk.says("read list.md").await.final_reply, "tea");
    assert_contains(&desk.says("list files").await.final_reply, "list.md");
}

#[tokio::test]
async fn a_path_does_not_leave_the_folder() {
    let desk = ReactFixture::by_rules();
    std::fs::write(desk.folder.path().join("secret"), "secret").unwrap();
    let read = desk.says("read ../secret").await.final_reply;
    assert!(read.contains("lies outside of the folder"), "{read}");
    let written = desk.says("write ../secret: mine").await;
    assert!(written.final_reply.contains("lies outside"), "{written:?}");
    assert_eq!(desk.read("secret").as_deref(), Some("secret"));
}

#[tokio::test]
async fn rules_answer_where_a_model_fails() {
    let refused = || ModelError::new(ModelErrorKind::Unavailable, "status 503");
    let model = Scripted::new([
        ScriptedReply::error(refused()),
        ScriptedReply::error(refused()),
    ]);
    let desk = ReactFixture::new(model, 8);
    let reply = desk.says("2 + 2").await;
    assert_eq!(reply.final_reply, "2 + 2 = 4");
}

/// Neither a model that is late nor one that says nothing leaves the person without a reply.
#[tokio::test(start_paused = true)]
async fn rct_8_whatever_a_model_does_there_is_a_reply_in_time() {
    let calls = |n: usize, name: &str| {
        let arguments = json!({ "expression": format!("{n}") });
        let call = ToolCall::new(format!("c{n}"), name, arguments);
        ScriptedReply::tool_calls([call])
    };
    let endless = ScriptedReply::chunked(&"x".repeat(1 << 20), 1 << 12);
    let drips = ScriptedReply::chunked(&"x".repeat(99), 1).paced(Duration::from_mins(1));
    let hangs = ScriptedReply::hang;
    let nobody = (0..9).map(|n| calls(n, "nobody")).collect();
    let again = vec![calls(0, "nobody"); 9];
    let ruled = "I could not read this by rules";
    for (replies, expected, minutes) in [
        (vec![hangs()], ruled, 3),
        (vec![drips], ruled, 3),
        (vec![calls(1, "calculate"), hangs()], "1 = 1", 3),
        (vec![endless], ruled, 0),
        (vec![" ".into(); 3], ruled, 0),
        (nobody, "more steps than I may take", 0),
        (again, "the same steps came again", 0),
    ] {
        let desk = ReactFixture::new(Scripted::new(replies), 4);
        let begun = tokio::time::Instant::now();
        let told = desk.says("How much is it?").await.final_reply;
        assert!(told.contains(expected), "{told}");
        assert_eq!(begun.elapsed().as_secs(), minutes * 60, "{told}");
    }
}

#[tokio::test]
async fn what_a_conversation_shows_is_told_by_its_changes() {
    let desk = ReactFixture::by_rules();
    desk.says("2 + 2").await;
    let before = desk.runner().history(desk.thread(), 1, 99).await;
    let mut told = vec![];
    for entry in before.unwrap() {
        let entry = serde_json::to_value(entry.stored()).unwrap();
        let fact = entry.as_object().unwrap().values().next().unwrap();
        if let Some(updates) = fact.get("updates") {
            let updates: Vec<ReactUpdate> = serde_json::from_value(updates.clone()).unwrap();
            told.extend(desk.agent().timeline_items(&updates).unwrap());
        }
    }
    let kinds: Vec<_> = told.iter().map(kind).collect();
    assert_eq!(kinds, ["user_text", "tool_call", "assistant_text"]);
    // Unusable words are not shown, in a stream or in a reply.
    let message = Message::assistant("no use");
    let unusable = [
        ReactUpdate::Answered(message.clone()),
        ReactUpdate::Stopped(StopReason::Unusable),
    ];
    assert_eq!(desk.agent().timeline_items(&unusable), Some(vec![]));
    let said = desk
        .agent()
        .timeline_items(&[ReactUpdate::Answered(message)]);
    assert_eq!(said.map(|items| items.len()), Some(1));
}

fn kind(item: &TimelineItem) -> String {
    let item = serde_json::to_value(item).unwrap();
    item["kind"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn rct_t6_events_tell_of_every_node_and_every_tool() {
    let desk = ReactFixture::by_rules();
    let turn = desk.say("2 + 2").await;
    let told = turn.events.iter().filter_map(|event| {
        let node = event.origin.as_ref().map_or("", |origin| &origin.node);
        Some(match &event.kind {
            EventKind::NodeStarted => format!("begin {node}"),
            EventKind::NodeFinished => format!("end {node}"),
            EventKind::ToolStarted { name, preview, .. } => format!("{name} {preview}"),
            EventKind::ToolFinished { status, .. } => format!("tool ended {status:?}"),
            EventKind::TextDelta { text, .. } => text.to_string(),
            _ => return None,
        })
    });
    let told: Vec<String> = told.collect();
    expect!["begin init_state, end init_state, begin memory_trigger, end memory_trigger, begin agent, end agent, begin tools, calculate 2 + 2, tool ended Ok, end tools, begin agent, 2 + 2 = 4, end agent, begin finalize, end finalize"].assert_eq(&told.join(", "));
}

#[tokio::test]
async fn a_page_is_told_what_was_said_and_an_empty_message_is_refused() {
    let desk = ReactFixture::by_rules();
    desk.says("2 + 2").await;
    let state = desk.state().await;
    assert_eq!(desk.agent().title(&state).as_deref(), Some("2 + 2"));
    let kinds: Vec<_> = desk.agent().timeline(&state).iter().map(kind).collect();
    let expected = "user_text tool_call tool_result assistant_text";
    assert_eq!(kinds.join(" "), expected);
    let said = UserMessage::new(Caller::default(), " ");
    let refused = desk.agent().input(said).await.unwrap_err();
    assert!(refused.to_string().contains("has no text"), "{refused}");
}

#[tokio::test]
async fn l16_the_trace_tells_who_was_asked() {
    let calls = [call("c1", "calculate", json!({ "expression": "2 + 2" }))];
    let model = Scripted::new([
        ScriptedReply::tool_calls(calls),
        ScriptedReply::text("It is 4."),
    ]);
    for (desk, expected) in [
        (ReactFixture::new(model, 8), 2),
        (ReactFixture::by_rules(), 0),
    ] {
        let reply = desk.says("2 + 2").await;
        assert_eq!(reply.metadata.llm_calls, expected, "rules are no model");
        let runs = RunTrace::read(&desk.runner(), desk.thread()).await.unwrap();
        let tasks = runs[0].tasks.iter();
        let asked = tasks.flat_map(|task| fugato::agent::trace::model_calls(&task.notes));
        assert_eq!(asked.count(), usize::try_from(expected).unwrap());
    }
}

/// Words of a model without a tool result are not a result.
#[tokio::test]
async fn rct_8_a_claim_without_a_write_gets_the_line_that_nothing_was_written() {
    let says = async |said, wish| {
        let desk = ReactFixture::new(Scripted::new([said]), 8);
        desk.says(wish).await.final_reply
    };
    let (lie, nothing) = ("I have written it to list.md.", "Nothing was written");
    for (wish, lie, expected) in [
        ("Write it down.", lie, nothing),
        ("帮我写下来", "好的，已经写入 list.md。", "这次没有写入"),
    ] {
        let reply = says(lie, wish).await;
        assert!(reply.starts_with(lie), "{reply}");
        assert_contains(&reply, expected);
    }
    // What was to be remembered was, without a tool.
    let kept = "I have remembered that you drink tea.";
    for (wish, said) in [
        ("What time is it?", "It is noon."),
        ("Remember that I drink tea", kept),
    ] {
        assert_eq!(says(said, wish).await, said);
    }
}

#[tokio::test]
async fn rct_8_a_cut_reply_is_marked_and_json_for_programs_is_corrected() {
    let cut = |text: &str| {
        ScriptedReply::deltas([
            ChatDelta::text(text),
            ChatDelta::Finish(FinishReason::Length),
        ])
    };
    let desk = ReactFixture::new(Scripted::new([cut("Once upon a"), cut("从前有")]), 8);
    let told = desk.says("Tell me a story.").await.final_reply;
    let cut_off = "Once upon a [cut off: the model reached its length limit]";
    assert_eq!(told, cut_off);
    let told = desk.says("讲个故事").await.final_reply;
    assert_eq!(told, "从前有 [被截断：模型达到了长度上限]");
    let steps = || cut("{\"steps\":[{\"type\":\"respond\"");
    let desk = ReactFixture::new(Scripted::new([steps(), ScriptedReply::text("Hello.")]), 8);
    assert_eq!(desk.says("Hi").await.final_reply, "Hello.");
    let desk = ReactFixture::new(Scripted::new([steps(), steps(), steps()]), 8);
    let reply = desk.says("2 + 2").await;
    assert_eq!(reply.final_reply, "2 + 2 = 4", "rules go on");
    assert_contains(&reply.metadata.notice, "did not answer usably");
}
