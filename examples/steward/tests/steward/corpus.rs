//! Requests as employees type them, in both languages: what is understood, what is refused, and
//! what is never written.
use base64::{Engine as _, prelude::BASE64_STANDARD};
use fugato::{cli::Lang, stream::card_text};
use fugato_testkit::{
    Scripted, ScriptedReply,
    language::{foreign, foreign_in_request},
    share,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    common::{StewardFixture, TODAY, content},
    http::Wire,
};

/// The ids that are known not to hold yet. The list may only get shorter.
const OPEN: &[&str] = &[];
/// The same of the further requests.
const FURTHER_OPEN: &[&str] = &[];

#[derive(Debug, Deserialize)]
struct Corpus {
    case: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    turns: Vec<String>,
    card: Option<String>,
    #[serde(default)]
    has: Map<String, Value>,
    #[serde(default)]
    task: Map<String, Value>,
    tasks: Option<usize>,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
    wrote: Option<Vec<String>>,
}

/// Returns each text below a value.
fn texts(value: &Value, into: &mut String) {
    match value {
        Value::String(text) => {
            into.push_str(text);
            into.push('\n');
        }
        Value::Number(number) => into.extend([number.to_string(), "\n".to_owned()]),
        Value::Array(all) => all.iter().for_each(|value| texts(value, into)),
        Value::Object(all) => all.values().for_each(|value| texts(value, into)),
        _ => {}
    }
}

fn lacking(expected: &Map<String, Value>, found: &Value) -> Vec<String> {
    let differs = |(key, value): (&String, &Value)| {
        let same = match (value.as_f64(), found[key].as_f64()) {
            (Some(one), Some(other)) => (one - other).abs() < 1e-9,
            _ => found[key] == *value,
        };
        (!same).then(|| format!("{key} is {} and not {value}", found[key]))
    };
    expected.iter().filter_map(differs).collect()
}

/// Returns words of another language in what a model is asked about the words of a case.
async fn prompted(case: &Case, lang: Lang, typed: &str) -> Option<String> {
    // It has no answers, so that the rules decide.
    let model = Scripted::new(Vec::<ScriptedReply>::new());
    let stage = StewardFixture::modelled(model.clone()).await;
    let words = case.turns.iter().filter(|turn| !turn.starts_with('@'));
    for turn in words {
        stage.chat(turn).await;
    }
    let asked = model.requests();
    let mut asked = asked.iter();
    let found = asked.find_map(|request| foreign_in_request(lang, request, typed));
    found.map(|words| format!("a model is asked with {words:?}"))
}

/// A conversation at the router of the program, as its page leads it: words under a card answer it.
struct CorpusServer(Wire, StewardFixture);

impl CorpusServer {
    async fn new() -> Self {
        let (wire, stage) = Wire::new().await;
        Self(wire, stage)
    }

    async fn get(&self, path: &str) -> Value {
        let (_, text) = self.0.send("GET", path, &Value::Null).await;
        serde_json::from_str(&text).unwrap_or_default()
    }

    async fn card(&self) -> Value {
        self.get("/threads/c1").await["interrupts"][0].clone()
    }

    async fn answer(&self, card: &Value, reply: Value) {
        let id = card["id"].as_str().unwrap();
        let body = json!({ "answers": { id: reply }, "digests": { id: card["digest"] } });
        let (status, told) = self.0.send("POST", "/threads/c1/resume", &body).await;
        assert!(status.is_success(), "{told}");
    }

    async fn say(&self, words: &str) {
        let card = self.card().await;
        if card.is_null() {
            let body = json!({ "text": words, "extra": { "base_date": TODAY } });
            let (status, told) = self.0.send("POST", "/threads/c1/runs", &body).await;
            assert!(status.is_success(), "{words}: {told}");
        } else {
            let said = json!({ "action": "say", "text": words });
            self.answer(&card, said).await;
        }
    }

    async fn upload(&self, name: &str) {
        let file = json!({ "name": name, "content": BASE64_STANDARD.encode(content(name)) });
        let (status, told) = self.0.post("attachments", file).await;
        assert!(status.is_success(), "{told}");
    }

    /// Returns the words of the agent so far, each answer for itself.
    async fn told(&self) -> Vec<String> {
        let view = self.get("/threads/c1").await;
        let items = view["timeline"].as_array().cloned().unwrap_or_default();
        let told = items.iter().filter(|item| item["kind"] == "assistant_text");
        told.filter_map(|item| Some(item["text"].as_str()?.to_owned()))
            .collect()
    }
}

/// Returns what is wrong with what came of a case.
async fn wrong(case: &Case) -> Vec<String> {
    let served = CorpusServer::new().await;
    let (mut wrong, mut reply) = (Vec::new(), String::new());
    let typed = case.turns.concat();
    let lang = Lang::of(&typed);
    for turn in &case.turns {
        let before = served.told().await.len();
        match turn.as_str() {
            "@yes" => match served.card().await {
                Value::Null => wrong.push("no card is open".to_owned()),
                card => served.answer(&card, json!({ "action": "approve" })).await,
            },
            turn if turn.starts_with("@file ") => {
                served.upload(turn.trim_start_matches("@file ")).await;
            }
            words => served.say(words).await,
        }
        reply = served.told().await.split_off(before).join("\n");
        let mut said = reply.clone();
        // The card as a terminal and a chat client show it.
        said.extend(served.1.pending().await.map(|card| card_text(&card)));
        wrong.extend(foreign(lang, &said, &typed).map(|words| format!("says {words:?}")));
    }
    wrong.extend(prompted(case, lang, &typed).await);
    let card = served.card().await;
    let prompt = &card["prompt"];
    let mut shown = format!("{reply}\n");
    texts(prompt, &mut shown);
    if let Some(card) = &case.card {
        let name = prompt["call"]["name"].as_str().unwrap_or_default();
        if name != card {
            wrong.push(format!("the card is {name:?} and not {card:?}"));
        }
    }
    wrong.extend(lacking(&case.has, &prompt["call"]["arguments"]));
    let state = served.get("/threads/c1/state").await;
    let tasks = state["state"]["steward_state"]["tasks"].as_array();
    let tasks = tasks.cloned().unwrap_or_default();
    let is_open = |task: &&Value| task["status"] == "open";
    let open: Vec<&Value> = tasks.iter().filter(is_open).collect();
    if !case.task.is_empty() {
        let none = Value::Null;
        let fields = open.first().map_or(&none, |task| &task["fields"]);
        wrong.extend(lacking(&case.task, fields));
    }
    if case.tasks.is_some_and(|count| count != open.len()) {
        wrong.push(format!("{} tasks are open: {open:?}", open.len()));
    }
    for says in &case.says {
        if !shown.contains(says.as_str()) {
            wrong.push(format!("nothing says {says:?}"));
        }
    }
    for never in &case.never {
        if shown.contains(never.as_str()) {
            wrong.push(format!("it says {never:?}"));
        }
    }
    if let Some(wrote) = &case.wrote {
        let documents = served.get("/steward/documents").await;
        let of = |form: &str| documents[form].as_array().cloned().unwrap_or_default();
        let all = [of("applications"), of("reimbursements")].concat();
        let ids: Vec<_> = all.iter().filter_map(|one| one["id"].as_str()).collect();
        if ids != *wrote {
            wrong.push(format!("{ids:?} are written and not {wrote:?}"));
        }
    }
    if !wrong.is_empty() {
        wrong.push(format!("it said {reply:?}"));
    }
    wrong
}

#[tokio::test]
async fn stw_w5_the_corpus_of_requests_is_understood_or_refused() {
    check(include_str!("corpus.toml"), 60, OPEN).await;
}

#[tokio::test]
async fn stw_w5_further_requests_are_understood_or_refused() {
    check(include_str!("further.toml"), 20, FURTHER_OPEN).await;
}

async fn check(corpus: &str, least: usize, open: &[&str]) {
    let corpus: Corpus = toml::from_str(corpus).unwrap();
    assert!(corpus.case.len() >= least, "{}", corpus.case.len());
    let (mut report, mut failed) = (String::new(), Vec::new());
    let tried: Vec<_> = corpus.case.iter().step_by(share()).collect();
    for case in &tried {
        let wrong = wrong(case).await;
        if !wrong.is_empty() {
            failed.push(case.id.as_str());
            report.extend([format!("{}:\n  {}\n", case.id, wrong.join("\n  "))]);
        }
    }
    let right = tried.len() - failed.len();
    let told = format!("{right} of {} are right\n{report}", tried.len());
    let is_tried = |id: &&str| tried.iter().any(|case| case.id == **id);
    let open: Vec<_> = open.iter().copied().filter(is_tried).collect();
    assert_eq!(failed, open, "{told}");
}
