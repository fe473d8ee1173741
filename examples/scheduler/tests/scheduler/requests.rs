//! Requests and their extras besides the work, through the router: models, titles, what it
//! retries, and plain talk where the graph cannot run.
use std::sync::Arc;

use axum::{Router, http::StatusCode};
use fugato::{
    axum::{AgentRoutes, AllowAll},
    graph::{END, Graph, Runner, RunnerOptions},
    llm::Models,
    state::{State, ThreadId},
    store::{MemoryLog, ThreadLog as _},
};
use fugato_testkit::{Scripted, assert_contains, assert_lacks};
use jiff::{civil::date, tz::TimeZone};
use scheduler::{
    agent::{AgentState, RETRIED},
    calendar::Lang,
    deps::Deps,
    llm_config::{LlmConfig, ModelChoice, ModelStage, Stages},
    served::ServedScheduler,
    service::Service,
    store::{Calendars, Reminder, ScheduleStore, StoreWrite},
    transfer::Transfer,
};
use serde_json::{Value, json};

use crate::common::{GYM, ask, deps, kept, plan, task, told, week};

/// The agent behind its endpoints.
struct RequestFixture {
    app: Router,
    log: Arc<MemoryLog>,
    runner: Runner<AgentState>,
    _folder: tempfile::TempDir,
}

fn mind(model: impl fugato::llm::ChatModel + 'static) -> LlmConfig {
    LlmConfig {
        model: Some(Arc::new(model)),
        ..LlmConfig::default()
    }
}

/// Serves the agent without a model; all conversations share one calendar, which is returned.
async fn shared() -> (RequestFixture, Arc<dyn ScheduleStore>) {
    let (calendar, folder) = kept("home", week()).await;
    let deps = Deps::new().unwrap();
    let deps = deps.calendars(Calendars::shared(calendar.clone(), "home"));
    let log = Arc::new(MemoryLog::default());
    let service = Service::new(&deps, log.clone(), RunnerOptions::default(), 30).unwrap();
    let service = service.zone(TimeZone::UTC);
    let runner = service.runner().clone();
    let transfer = Transfer::new(calendar.clone(), "home", folder.path(), Lang::En);
    let agent = ServedScheduler::new(service, calendar.clone(), "home");
    let app = AgentRoutes::new(agent)
        .beside(transfer.routes())
        .authenticate(AllowAll)
        .router();
    let served = RequestFixture {
        app,
        log,
        runner,
        _folder: folder,
    };
    (served, calendar)
}

#[tokio::test]
async fn sch_62_what_is_kept_in_one_conversation_is_listed_and_reminds_in_another() {
    let (served, _) = shared().await;
    served
        .says("a", json!({}), "make a note: the bakery closes at six")
        .await;
    served.says("a", json!({}), "加个待办：买牛奶").await;
    served
        .says("a", json!({}), "remind me to call Ann today at 0:00")
        .await;
    let (status, kept) = served.ask("GET", "/notes", &json!({})).await;
    assert_eq!(status, StatusCode::OK);
    assert_contains(
        &kept,
        ["the bakery closes at six", "买牛奶", "\"kind\":\"task\""],
    );
    let listed = served.says("b", json!({}), "我的备忘有哪些").await;
    assert_contains(&listed, ["the bakery closes at six", "买牛奶"]);
}

#[tokio::test]
async fn sch_62_a_reminder_that_is_due_comes_before_the_next_answer() {
    let (served, calendar) = shared().await;
    let due = Some(date(2001, 1, 1).at(9, 0, 0, 0));
    let reminder = Reminder {
        due,
        text: "call Ann".into(),
        told: false,
    };
    let write = StoreWrite::Remind(reminder);
    calendar.write("home", "remind", &write).await.unwrap();
    let (_, kept) = served.ask("GET", "/notes", &json!({})).await;
    assert_contains(&kept, ["call Ann", "\"told\":false"]);
    let told = served.says("a", json!({}), "which notes have I").await;
    assert_contains(&told, "Reminder: call Ann");
    let (_, kept) = served.ask("GET", "/notes", &json!({})).await;
    assert_contains(&kept, "\"told\":true");
    assert_lacks(
        &served.says("b", json!({}), "which notes have I").await,
        "call Ann",
    );
}

#[tokio::test]
async fn sch_63_each_request_reads_the_calendar_anew() {
    let (served, calendar) = shared().await;
    served
        .says("a", json!({}), "which items are pending?")
        .await;
    let mut schedule = week();
    for task in &mut schedule.tasks {
        task.name = task.name.replace("Chapter", "Unit");
    }
    let replaced = StoreWrite::Replace {
        schedule,
        only_items: false,
    };
    calendar.write("home", "another", &replaced).await.unwrap();
    served.says("a", json!({}), "把任务都排一下").await;
    let agent = served.state("a").await;
    let schedule = agent.schedule.as_ref().unwrap();
    let placed = schedule
        .tasks
        .iter()
        .filter(|task| task.name.starts_with("Unit"));
    let placed: Vec<_> = placed.map(|task| task.slots.is_empty()).collect();
    assert_eq!(placed, [false, false]);
    assert!(
        !schedule
            .tasks
            .iter()
            .any(|task| task.name.starts_with("Chapter"))
    );
}

/// Two conversations ask about the same item, and the person agrees in both.
#[tokio::test]
async fn sch_129_who_agrees_second_learns_what_the_first_changed() {
    let (served, calendar) = shared().await;
    let texts = [
        ("a", "move Gym to Friday"),
        ("b", "move Gym to Saturday"),
        ("c", "把 Gym 移到周日"),
    ];
    for (thread, text) in texts {
        served.says(thread, json!({}), text).await;
    }
    let mut ends = vec![];
    for (thread, _) in texts {
        ends.push(served.agrees(thread).await);
    }
    assert_contains(&ends[0], "stored in the calendar");
    let changed = "could not be made: the calendar changed meanwhile: “Gym” is on Fri";
    assert_contains(&ends[1], changed);
    assert_contains(&ends[2], "未能完成：日程在此期间有变动: “Gym”现在在周五");
    let there = calendar.read("home").await.unwrap().unwrap().schedule;
    let gym = there.tasks.iter().find(|task| task.name == "Gym").unwrap();
    assert_eq!(gym.slots[0].day, 5);
}

/// Two cards are about the same class, or about the preferences, and the person agrees to both.
#[tokio::test]
async fn sch_129_no_card_overwrites_what_was_agreed_to_since_it_was_shown() {
    let cases = [
        (
            "add Tables to Revision",
            "add Chairs to Revision",
            "“Revision”",
        ),
        (
            "Chapter 1 takes 60 minutes",
            "Chapter 1 takes 40 minutes",
            "“Revision”",
        ),
        ("drop Chapter 1", "I finished Chapter 1", "“Revision”"),
        (
            "I'd rather not study on Sunday mornings",
            "I'd rather not study on Saturday mornings",
            "preferences",
        ),
    ];
    for (first, second, part) in cases {
        let (served, calendar) = shared().await;
        for (thread, text) in [("a", first), ("b", second)] {
            served.says(thread, json!({}), text).await;
        }
        let before = calendar.read("home").await.unwrap().unwrap();
        let agreed = served.agrees("b").await;
        let between = calendar.read("home").await.unwrap().unwrap();
        assert_ne!(between, before, "{second}: {agreed}");
        let told = served.agrees("a").await;
        let after = calendar.read("home").await.unwrap().unwrap();
        assert_eq!(after, between, "{first}: {told}");
        assert_contains(&told, ["the calendar changed meanwhile", part]);
        // Asked anew, the card is about what there is now.
        served.says("a", json!({}), first).await;
        let told = served.agrees("a").await;
        let last = calendar.read("home").await.unwrap().unwrap();
        assert_ne!(last, after, "{first}: {told}");
    }
}

#[tokio::test]
async fn sch_30_what_is_denied_in_words_places_nothing() {
    for text in ["先不要把任务都排一下", "Please don't place everything yet"] {
        let (served, _) = shared().await;
        served.says("a", json!({}), text).await;
        let agent = served.state("a").await;
        assert_eq!(
            (agent.pending.as_ref(), agent.run.stored),
            (None, 0),
            "{text}"
        );
        assert!(agent.plan.steps.is_empty() && !agent.run.unsaved, "{text}");
    }
}

#[tokio::test]
async fn reasons_are_whole_and_have_names_and_dates_in_the_language_of_the_person() {
    let said = async |text: &str, to: Value| {
        let (served, _) = shared().await;
        let change = json!({ "name": "move", "arguments": to });
        let request = json!({ "extra": { "change": change } });
        served.says("a", request, text).await
    };
    let onto = json!({ "task_id": GYM, "new_day": 4, "new_slot_start": 6 });
    assert_contains(
        &said("Move the gym", onto.clone()).await,
        "That is not possible: Thu 2054-09-17, 14:55–16:45, is taken by “Choir”",
    );
    assert_contains(
        &said("移动健身", onto).await,
        "无法这样做：周四 2054-09-17 14:55–16:45已被“Choir”占用",
    );
    let free = json!({ "task_id": GYM, "new_day": 5, "new_slot_start": 3 });
    assert_contains(
        &said("Move the gym", free.clone()).await,
        "Gym: Wed 2054-09-16, 08:00–09:40 → Fri 2054-09-18, 10:00–11:40",
    );
    assert_contains(
        &said("移动健身", free).await,
        "Gym: 周三 2054-09-16 08:00–09:40 → 周五 2054-09-18 10:00–11:40",
    );
    // No refusal that a person can meet falls back to the words for the model.
    let unknown = json!({ "task_id": 99, "new_day": 5, "new_slot_start": 3 });
    assert_contains(&said("移动它", unknown).await, "无法这样做：没有这一项");
}

/// Serves the agent with this mind, over a log.
async fn serve(mind: LlmConfig, log: Arc<MemoryLog>) -> RequestFixture {
    let (calendar, folder) = kept("home", week()).await;
    let models = mind.models.clone();
    let deps = deps(week()).mind(mind);
    let service = Service::new(&deps, log.clone(), RunnerOptions::default(), 30).unwrap();
    let runner = service.runner().clone();
    let agent = ServedScheduler::new(service, calendar, "home").models(models);
    let app = AgentRoutes::new(agent).authenticate(AllowAll).router();
    RequestFixture {
        app,
        log,
        runner,
        _folder: folder,
    }
}

impl RequestFixture {
    async fn ask(&self, method: &str, path: &str, body: &Value) -> (StatusCode, String) {
        let accept = "text/event-stream";
        ask(&self.app, (method, path), accept, body.to_string()).await
    }

    async fn says(&self, thread: &str, mut request: Value, text: &str) -> String {
        request["text"] = text.into();
        let path = format!("/threads/{thread}/runs");
        let (status, told) = self.ask("POST", &path, &request).await;
        assert_eq!(status, StatusCode::OK, "{told}");
        told
    }

    /// Agrees to the card of a conversation, and returns what it says last.
    async fn agrees(&self, thread: &str) -> String {
        let path = format!("/threads/{thread}");
        let (_, shown) = self.ask("GET", &path, &json!({})).await;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let card = shown["interrupts"][0]["id"].as_str().unwrap();
        let yes = json!({ "answers": { card: { "action": "approve" } } });
        self.ask("POST", &format!("{path}/resume"), &yes).await;
        let (_, shown) = self.ask("GET", &path, &json!({})).await;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let said = shown["timeline"].as_array().unwrap().iter().rev();
        let mut said = said.filter(|item| item["kind"] == "assistant_text");
        said.next().unwrap()["text"].to_string()
    }

    async fn title(&self, thread: &str) -> Option<String> {
        let path = format!("/threads/{thread}");
        let (_, shown) = self.ask("GET", &path, &json!({})).await;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        shown["title"].as_str().map(str::to_owned)
    }

    /// Returns the title once it is another one than this.
    async fn title_after(&self, thread: &str, before: &str) -> String {
        for _ in 0..1_000 {
            match self.title(thread).await {
                Some(title) if title != before => return title,
                _ => tokio::task::yield_now().await,
            }
        }
        panic!("no other title than {before:?}");
    }

    async fn state(&self, thread: &str) -> Arc<AgentState> {
        let thread = ThreadId::new(thread).unwrap();
        self.runner.state(&thread).await.unwrap().unwrap()
    }
}

fn talk(reply: &str) -> String {
    json!({ "intent": "chat", "reply": reply }).to_string()
}

/// Returns a mind of two models that each say their name, and the models.
fn two<const N: usize>() -> (LlmConfig, [Scripted; 2]) {
    let [small, large] = ["I am small.", "I am large."]
        .map(|name| Scripted::new(std::iter::repeat_n(talk(name), N).collect::<Vec<_>>()));
    let models = Models::new("small", small.clone()).with("large", large.clone());
    let mut mind = mind(models);
    mind.models = vec!["small".into(), "large".into()];
    (mind, [small, large])
}

#[tokio::test]
async fn sch_132_a_request_names_its_model() {
    let (mind, _) = two::<9>();
    let served = serve(mind, Arc::default()).await;
    let plain = served.says("a", json!({}), "hello").await;
    assert_contains(&plain, "I am small.");
    let large = served.says("b", json!({ "model": "large" }), "hello").await;
    assert_contains(&large, "I am large.");
    let stage = json!({ "extra": { "models": { "chat": "large" } } });
    assert_contains(&served.says("c", stage, "hello").await, "I am large.");
    let messages = json!([{ "role": "user", "content": "hello" }]);
    let openai = json!({ "model": "scheduler/large", "messages": messages });
    let (status, answer) = served.ask("POST", "/v1/chat/completions", &openai).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_contains(&answer, "I am large.");
    let sdk = json!({ "id": "d", "model": "large", "messages": [
        { "id": "m", "role": "user", "parts": [{ "type": "text", "text": "hello" }] }] });
    let (_, answer) = served.ask("POST", "/api/chat", &sdk).await;
    assert_contains(&answer, "I am large.");
    let agui = json!({ "threadId": "e", "runId": "1", "messages": messages, "state": {},
        "tools": [], "context": [], "forwardedProps": { "model": "large" } });
    let (_, answer) = served.ask("POST", "/agui", &agui).await;
    assert_contains(&answer, "I am large.");

    let unknown = json!({ "text": "hello", "model": "huge" });
    let (status, refused) = served.ask("POST", "/threads/f/runs", &unknown).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_contains(&refused, ["huge", "allowed are scheduler, small, large"]);
    for wrong in [json!({ "chat": "huge" }), json!({ "chatting": "large" })] {
        let request = json!({ "text": "hello", "extra": { "models": wrong } });
        let (status, refused) = served.ask("POST", "/threads/f/runs", &request).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refused}");
        assert_contains(&refused, "allowed are");
    }
    assert_eq!(
        served.log.head(&ThreadId::new("f").unwrap()).await.unwrap(),
        None
    );
}

#[tokio::test]
async fn sch_132_each_stage_has_a_model_of_its_own() {
    let mut complex = plan(["Look"]);
    complex["complexity"] = "complex".into();
    let small = Scripted::new([task(), complex]);
    let large = Scripted::new([plan(["Look", "Look again"])]);
    let models = Models::new("small", small.clone()).with("large", large.clone());
    let mut mind = mind(models);
    mind.models = vec!["small".into(), "large".into()];
    mind.choice = ModelChoice {
        all: None,
        stages: [(ModelStage::DeepPlan, "large".to_owned())].into(),
    };
    mind.stages = Stages::default();
    let served = serve(mind, Arc::default()).await;
    let told = served.says("a", json!({}), "Revise everything").await;
    assert_contains(&told, "Look again");
    let stages = |model: &Scripted| -> Vec<String> {
        let requests = model.requests();
        let stages = requests
            .iter()
            .map(|request| request.metadata["stage"].clone());
        stages.collect()
    };
    assert_eq!(stages(&small), ["chat", "plan"]);
    assert_eq!(stages(&large), ["deep_plan"]);
}

#[tokio::test]
async fn sch_131_a_model_titles_a_conversation_after_its_first_answer() {
    for (asked, answer, title) in [
        (
            "hello, who are you?",
            "A scheduler.",
            "Getting to know the scheduler",
        ),
        ("你好，你是谁？", "我是日程助手。", "认识日程助手"),
    ] {
        let model = Scripted::new([talk(answer), title.to_owned(), talk(answer)]);
        let served = serve(mind(model.clone()), Arc::default()).await;
        assert_contains(&served.says("a", json!({}), asked).await, answer);
        assert_eq!(served.title_after("a", asked).await, title);
        let (_, list) = served.ask("GET", "/threads", &json!({})).await;
        assert_contains(&list, title);
        // It is made once, and a further request meets no lease of it.
        served.says("a", json!({}), asked).await;
        assert_eq!(
            (served.title("a").await.as_deref(), model.left()),
            (Some(title), 0)
        );
        assert_eq!(served.state("a").await.conversation.history.len(), 4);
    }
}

#[tokio::test]
async fn sch_131_without_a_usable_title_the_request_names_the_conversation() {
    let model = Scripted::new([talk("Hello."), "{\"title\": 3}".to_owned()]);
    let served = serve(mind(model.clone()), Arc::default()).await;
    served.says("a", json!({}), "hello, who are you?").await;
    while model.left() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        served.title("a").await.as_deref(),
        Some("hello, who are you?")
    );
    let rules = serve(LlmConfig::default(), Arc::default()).await;
    rules.says("b", json!({}), "显示日程").await;
    assert_eq!(rules.title("b").await.as_deref(), Some("显示日程"));
}

#[tokio::test]
async fn sch_131_a_retry_says_what_it_retries() {
    let answers = ["One.", "A title", "Two.", "Three.", "Four.", "Five."];
    let model = Scripted::new(answers.map(|text| match text {
        "A title" => text.to_owned(),
        text => talk(text),
    }));
    let served = serve(mind(model.clone()), Arc::default()).await;
    let message = json!({ "id": "u1", "role": "user",
        "parts": [{ "type": "text", "text": "hello" }] });
    let first = json!({ "id": "a", "trigger": "submit-message", "messages": [message] });
    served.ask("POST", "/api/chat", &first).await;
    served.title_after("a", "hello").await;
    assert_eq!(served.state("a").await.conversation.pinned(RETRIED), None);
    let again = json!({ "id": "a", "trigger": "regenerate-message", "messageId": "m7",
        "messages": [message] });
    let (_, answer) = served.ask("POST", "/api/chat", &again).await;
    assert_contains(&answer, "Two.");
    let seen = told(model.requests().last().unwrap());
    assert_contains(&seen, ["m7", "once more"]);
    assert_contains(
        served
            .state("a")
            .await
            .conversation
            .pinned(RETRIED)
            .unwrap(),
        "m7",
    );
    let native = json!({ "retry_of": "run 1" });
    served.says("a", native, "你好").await;
    assert_contains(
        &told(model.requests().last().unwrap()),
        ["run 1", "重新回答"],
    );
    let agui = json!({ "threadId": "a", "runId": "2", "state": {}, "tools": [], "context": [],
        "messages": [{ "id": "m", "role": "user", "content": "hello" }],
        "forwardedProps": { "retry_of": "m9" } });
    served.ask("POST", "/agui", &agui).await;
    assert_contains(&told(model.requests().last().unwrap()), "m9");
    served.says("a", json!({}), "hello").await;
    assert_lacks(&told(model.requests().last().unwrap()), "once more");
}

/// The state of a later version of the program.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
struct Later(String);

impl State for Later {
    type Update = String;
    const VERSION: u32 = 9;

    fn apply(&mut self, update: String) {
        self.0 = update;
    }
}

/// Returns a log whose thread `a` was written by a later version of the program.
async fn later() -> Arc<MemoryLog> {
    let log = Arc::new(MemoryLog::default());
    let graph = Graph::<Later>::starting_at("only")
        .node("only", async |_| String::from("done"))
        .edge("only", END)
        .build();
    let runner = Runner::new(graph.unwrap(), log.clone());
    let thread = ThreadId::new("a").unwrap();
    runner
        .start(&thread, vec![String::from("begun")])
        .await
        .unwrap();
    log
}

#[tokio::test]
async fn sch_132_a_graph_that_cannot_run_talks_plainly() {
    let thread = ThreadId::new("a").unwrap();
    let why = "a newer version of the program wrote it";
    let log = later().await;
    let head = log
        .head(&thread)
        .await
        .unwrap()
        .map(|head| (head.seq, head.nonce));
    let served = serve(LlmConfig::default(), log).await;
    assert_contains(
        &served.says("a", json!({}), "hello").await,
        [why, "Nothing was changed"],
    );
    let chinese = served.says("a", json!({}), "把任务都排一下").await;
    assert_contains(&chinese, ["它由更新版本的程序写入", "都没有改动"]);
    let messages = json!([{ "id": "m", "role": "user", "content": "hello" }]);
    let openai = json!({ "messages": messages, "ext": { "conversation_id": "a" } });
    let agui = json!({ "threadId": "a", "runId": "1", "messages": messages, "state": {},
        "tools": [], "context": [], "forwardedProps": {} });
    let sdk = json!({ "id": "a", "messages": [
        { "id": "m", "role": "user", "parts": [{ "type": "text", "text": "hello" }] }] });
    let named = json!({ "thread": "a", "text": "hello" });
    for (path, body) in [
        ("/v1/chat/completions", openai),
        ("/agui", agui),
        ("/api/chat", sdk),
        ("/sse/react", named),
    ] {
        let (status, told) = served.ask("POST", path, &body).await;
        assert_eq!(status, StatusCode::OK, "{path}: {told}");
        assert_contains(&told, why);
    }
    let after = served.log.head(&thread).await.unwrap();
    assert_eq!(after.map(|head| (head.seq, head.nonce)), head);
    // A model talks too, and claims nothing.
    for (said, is_shown) in [
        ("Nice to meet you.", true),
        ("I moved the gym to Friday.", false),
    ] {
        let served = serve(mind(Scripted::new([said])), later().await).await;
        let told = served.says("a", json!({}), "hello").await;
        assert_contains(&told, why);
        assert_eq!(told.contains(said), is_shown, "{told}");
    }
}
