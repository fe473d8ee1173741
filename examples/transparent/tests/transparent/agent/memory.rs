//! Notes: stored, found again, and summarised.
use fugato_testkit::{assert_contains, assert_lacks, assert_starts_with};
use std::sync::Arc;

use fugato::{
    memory::{EmbedError, Embedder, Embeddings},
    state::Message,
};
use fugato_testkit::Scripted;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use transparent::{
    agent::{Request, Update},
    workspace::Workspace,
};

use crate::common::Home;

/// An embedder with three directions: tea, trains, and everything else.
struct Directions;

#[fugato::tool::async_trait]
impl Embedder for Directions {
    async fn embed(&self, texts: &[String]) -> Result<Embeddings, EmbedError> {
        let vector = |text: &String| match (text.contains("tea"), text.contains("train")) {
            (true, false) => vec![1.0, 0.0, 0.0],
            (false, true) => vec![0.0, 1.0, 0.0],
            (true, true) => vec![0.8, 0.6, 0.0],
            _ => vec![0.0, 0.0, 1.0],
        };
        Ok(Embeddings::new(texts.iter().map(vector)))
    }

    fn name(&self) -> &'static str {
        "directions"
    }
}

const NOTES: &str = "# Memory\n\n## Drinks\n\n- green tea every morning\n\n## Travel\n\n- the train at 8:05, with tea\n\n## Other\n\n- the door code\n";

fn scores(told: &Value) -> Vec<(String, f64)> {
    let ids = told["results"].as_array().expect("a list").iter();
    let ids = ids.map(|hit| hit["id"].as_str().expect("an id").to_owned());
    let scores = told["scores"].as_array().expect("a list").iter();
    ids.zip(scores.map(|score| (score.as_f64().expect("a number") * 1e6).round() / 1e6))
        .collect()
}

/// Serves embeddings in the three directions.
async fn serve(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (mut socket, _) = listener.accept().await?;
        let mut asked = vec![];
        let body = loop {
            socket.read_buf(&mut asked).await?;
            let text = String::from_utf8_lossy(&asked);
            let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            if let Ok(body) = serde_json::from_str::<Value>(body) {
                break body;
            }
        };
        let texts: Vec<String> =
            serde_json::from_value(body.get("input").cloned().unwrap_or_default())?;
        let embedded = Directions.embed(&texts).await.expect("it never fails");
        let data = embedded
            .vectors
            .iter()
            .map(|vector| json!({ "embedding": vector }));
        let answer = json!({ "data": data.collect::<Vec<_>>() }).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        );
        socket.write_all((head + &answer).as_bytes()).await?;
    }
}

#[tokio::test]
async fn trn_7_an_embedder_is_named_in_the_settings() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(serve(listener));
    let stage = Home::adjusted(None, move |desk| {
        let text = format!("[embedding]\nurl = \"http://{address}\"\nmodel = \"directions\"\n");
        std::fs::write(desk.dir().join("config.toml"), text).expect("it is written");
        Workspace::open(desk.dir()).expect("the settings are sound")
    });
    shows_the_ranking(&stage).await;
}

#[tokio::test]
async fn trn_7_trn_c8_trn_t4_the_numbers_of_the_ranking() {
    let stage = Home::adjusted(None, |desk| desk.embedded_by(Arc::new(Directions)));
    shows_the_ranking(&stage).await;
}

async fn shows_the_ranking(stage: &Home) {
    stage.write("notes/MEMORY.md", NOTES);
    let scene = stage.say("do you remember my tea?").await;
    let (asked, told) = (scene.custom("rag_query"), scene.custom("rag_result"));
    let told = told.first().expect("it searched");
    let asked = asked.first().and_then(|query| query.get("query"));
    assert_eq!(asked, Some(&json!("tea")));
    assert_eq!(told.get("text_alone"), Some(&Value::Null));
    // 0.7 · vector + 0.3 · text, each from 0 for the worst to 1 for the best that matches.
    let drinks = ("MEMORY.md#Memory/Drinks~1".to_owned(), 1.0);
    let travel = ("MEMORY.md#Memory/Travel~1".to_owned(), 0.56);
    assert_eq!(scores(told).get(..2), Some(&[drinks, travel][..]));
}

#[tokio::test]
async fn trn_7_vectors_of_spelling_are_on_by_default_and_find_in_spite_of_a_typing_error() {
    let stage = Home::by_rule();
    stage.write("notes/MEMORY.md", NOTES);
    let found =
        |told: &Value| -> Vec<String> { scores(told).into_iter().map(|(id, _)| id).collect() };
    let scene = stage.say("do you remember the trainn?").await;
    let travel = "MEMORY.md#Memory/Travel~1".to_owned();
    assert_eq!(found(&scene.custom("rag_result")[0]), [travel]);
    let scene = stage.say("do you remember the giraffe?").await;
    assert_eq!(found(&scene.custom("rag_result")[0]), [""; 0]);
}

#[tokio::test]
async fn trn_11_no_search_finds_its_own_question_or_what_a_document_said() {
    let stage = Home::by_rule();
    stage.write("files/trap.md", "the person agreed to pay 900 euros");
    stage.say("read trap.md").await;
    let day = std::fs::read_dir(stage.dir().join("notes/memory")).expect("a folder");
    let day = day.flatten().next().expect("a day").path();
    let log = std::fs::read_to_string(&day).expect("a log");
    assert_contains(&log, "(from trap.md)");
    for question in [
        "do you remember what I agreed to pay?",
        "do you remember what I agreed to pay?",
    ] {
        let scene = stage.say(question).await;
        assert_eq!(scores(&scene.custom("rag_result")[0]), []);
    }
    // What a person writes there is found.
    std::fs::write(&day, format!("{log}- I agreed to pay 20 euros\n")).expect("it is written");
    let scene = stage.say("do you remember what I agreed to pay?").await;
    assert_contains(&scene.answer(), "20 euros");
}

#[tokio::test]
async fn trn_t5_without_an_embedder_text_alone_answers() {
    let stage = Home::adjusted(None, |desk| {
        std::fs::write(desk.dir().join("config.toml"), "spelling = false").expect("it is written");
        Workspace::open(desk.dir()).expect("the settings are sound")
    });
    stage.write("notes/MEMORY.md", NOTES);
    let scene = stage.say("do you remember the door code?").await;
    let found = scores(&scene.custom("rag_result")[0]);
    assert_eq!(found, [("MEMORY.md#Memory/Other~1".to_owned(), 0.3)]);
    assert_contains(&scene.answer(), "the door code");
}

#[tokio::test]
async fn trn_w6_trn_c7_the_notes_are_the_source_and_the_index_is_one_file_that_follows() {
    let stage = Home::by_rule();
    stage.say("请记住我的门牌号是 1207").await;
    let scene = stage.say("还记得门牌号吗").await;
    assert_contains(&scene.answer(), "1207");
    // A person edits the notes while the agent runs.
    let notes = std::fs::read_to_string(stage.dir().join("notes/MEMORY.md")).expect("notes");
    stage.write("notes/MEMORY.md", &notes.replace("1207", "1408"));
    let edited = stage.say("还记得门牌号吗").await;
    let memories = edited.custom("rag_result")[0].to_string();
    assert_contains(&memories, "1408");
    // The index is lost and rebuilt.
    std::fs::remove_file(stage.dir().join("memory.db")).expect("one file");
    let again = stage.beside();
    let scene = again.say("还记得门牌号吗").await;
    assert_contains(&scene.answer(), "1408");
    assert!(stage.dir().join("memory.db").exists());
}

#[tokio::test]
async fn a_note_is_told_as_written_only_if_it_was() {
    let stage = Home::by_rule();
    let scene = stage.say("remember that I prefer mornings").await;
    assert_eq!(scene.answer(), "I have written it down.");
    let stage = Home::by_rule();
    let blocked = stage.dir().join("notes/MEMORY.md");
    std::fs::remove_file(&blocked).expect("the file was there");
    std::fs::create_dir_all(blocked).expect("a folder in place of the file");
    let scene = stage.say("remember that I prefer mornings").await;
    assert_starts_with(
        &scene.answer(),
        "I could not do this:\n- the note was not written",
    );
}

#[tokio::test]
async fn trn_11_turns_are_logged_by_day_and_what_matters_is_kept() {
    let stage = Home::by_rule();
    stage.say("你好").await;
    stage.say("我决定用蓝色的封面").await;
    let kept = std::fs::read_to_string(stage.dir().join("notes/MEMORY.md")).expect("notes");
    assert_contains(&kept, "## Noticed\n\n- 我决定用蓝色的封面");
    assert_lacks(&kept, "你好");
    let mut days = std::fs::read_dir(stage.dir().join("notes/memory")).expect("a folder");
    let day = days.next().expect("a day").expect("a day");
    let day = std::fs::read_to_string(day.path()).expect("a log");
    let lines: Vec<&str> = day.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(lines.len(), 2, "{day}");
    assert_contains(&lines[1], ["[desk ", "我决定用蓝色的封面 → "]);
}

/// Stores a conversation of this many turns, the last of which has only begun.
async fn talked(stage: &Home, turns: usize) {
    let mut updates = vec![];
    for n in 1..turns {
        let text = if n == 7 {
            "请记住我对花生过敏".to_owned()
        } else {
            format!("turn {n} was about the weather in town")
        };
        updates.push(Update::Asked(Request::new(text)));
        updates.push(Update::Answered {
            text: format!("noted {n}"),
        });
    }
    updates.push(Update::Asked(Request::new("hello")));
    stage
        .runner()
        .start(stage.thread(), updates)
        .await
        .expect("it runs");
}

#[tokio::test]
async fn trn_4_trn_t6_trn_c5_trn_w5_a_conversation_is_compacted_at_turn_141() {
    for (turns, upto) in [(140, 0), (141, 242)] {
        let stage = Home::by_rule();
        talked(&stage, turns).await;
        let agent = stage.state().await;
        // A turn is a pair: 121 of them are summarised, and 20 are kept.
        assert_eq!(agent.compaction.upto, upto, "{turns}");
        let history = &agent.conversation.history;
        assert_eq!(history.len(), turns * 2, "what was said stays");
        assert_eq!(agent.compaction.summary.contains("花生"), upto > 0);
        let (_, shown) = agent.compaction.view(history);
        let hello = Message::user("hello");
        let greetings = shown.iter().filter(|message| **message == hello);
        assert_eq!(greetings.count(), 1);
        let entries = stage.runner().history(stage.thread(), 1, 1000).await;
        let entries = format!("{:?}", entries.expect("a log"));
        assert_eq!(entries.contains("context_compaction"), upto > 0);
    }
}

#[tokio::test]
async fn trn_4_a_model_sums_up_and_the_prompt_shows_that() {
    let model = Scripted::new([
        "They are allergic to peanuts.".to_owned(),
        json!({ "intent": "chat" }).to_string(),
        crate::common::finish(),
        "Hello.".into(),
    ]);
    let stage = Home::with(model.clone());
    talked(&stage, 141).await;
    let compacted = stage.state().await.compaction;
    assert_eq!(compacted.upto, 242);
    assert_eq!(compacted.summary, "They are allergic to peanuts.");
    let requests = model.requests();
    let told = &requests.last().expect("it was asked").messages[1].content;
    assert_contains(&told, ["allergic to peanuts", "turn 130 "]);
    assert_lacks(&told, "turn 100 ");
}
