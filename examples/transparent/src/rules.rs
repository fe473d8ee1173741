//! Rules that decide without a model, or if it cannot be used.
mod answer;
mod words;

use fugato::{
    memory::importance,
    words::{CronSchedule, keywords, path, period},
};
use jiff::{Timestamp, tz::TimeZone};
use serde_json::{Map, Value, json};

use crate::{
    agent::{AgentState, Move, PendingCall, TurnState},
    intent::{Intent, IntentKind, Params},
    plan::{TurnStep, TurnStepKind, filled},
};

pub use answer::answer;

/// The words of each kind of wish: the intent, the kind of thing, the complexity, and the words.
/// The first entry with a word in the text decides.
const CALLS: [(IntentKind, &str, f32, &str); 11] = [
    (
        IntentKind::Execute,
        "jobs",
        0.2,
        "定时任务列表/列出定时/有哪些提醒/有哪些定时/哪些任务/list jobs/list my jobs/list reminders/scheduled jobs/which reminders",
    ),
    (
        IntentKind::Execute,
        "cancel",
        0.3,
        "取消提醒/取消定时/取消任务/删除提醒/cancel job/cancel the job/cancel the reminder/stop reminding",
    ),
    (
        IntentKind::Remind,
        "",
        0.4,
        "提醒/定时/remind/every day at/每天/每周",
    ),
    (
        IntentKind::Execute,
        "photo",
        0.3,
        "拍照/拍张/拍一张/photo/take a picture",
    ),
    (
        IntentKind::Execute,
        "notify",
        0.3,
        "通知/notify/notification",
    ),
    (
        IntentKind::AskMemory,
        "",
        0.3,
        "记得/do you remember/what did i/what do you know",
    ),
    (
        IntentKind::Create,
        "memory",
        0.1,
        "记住/别忘了/remember that/remember:/remember my/keep in mind/make a note",
    ),
    (
        IntentKind::Search,
        "web",
        0.4,
        "上网/网上/网页/on the web/on the internet/google",
    ),
    (
        IntentKind::Execute,
        "read",
        0.4,
        "读一下/读取/打开/read /open /show me the file",
    ),
    (
        IntentKind::Search,
        "document",
        0.7,
        "找/搜/查/find/search/look for/where is/列出文件/list files",
    ),
    (
        IntentKind::AskMemory,
        "",
        0.3,
        "是什么/什么时候/在哪/when is/what is/who is/?/？",
    ),
];

/// Returns the intent of a text.
pub fn intent(text: &str) -> Intent {
    let lower = text.to_lowercase();
    let fits = |words: &str| words.split('/').any(|word| lower.contains(word));
    let call = CALLS.iter().find(|(.., words)| fits(words));
    let Some((intent, kind, complexity, _)) = call else {
        return Intent::new(IntentKind::Chat, 0.1, Params::default());
    };
    let keywords = keywords(text);
    let params = Params {
        kind: (*kind).to_owned(),
        query: keywords.join(" "),
        location: path(text).unwrap_or_default(),
        time_range: period(&lower).map_or(String::new(), |(name, _)| name.to_owned()),
        keywords,
    };
    Intent::new(*intent, *complexity, params)
}

/// Returns the steps that fulfil a wish; none if an answer is enough.
pub fn steps(turn: &TurnState) -> Vec<TurnStep> {
    let Some(Intent { intent, params, .. }) = &turn.intent else {
        return vec![];
    };
    let text = &turn.request.text;
    // For a job that is due, the task is carried out, and the person is notified.
    let told = turn
        .request
        .job
        .is_some()
        .then(|| TurnStep::tool("notify", json!({ "text": text })));
    let own = match (intent, params.kind.as_str()) {
        (IntentKind::Remind, _) if turn.request.job.is_some() => vec![],
        (IntentKind::Search, "web") => vec![TurnStep::tool(
            "web-search",
            json!({ "query": params.sought() }),
        )],
        (IntentKind::Search, _) => vec![TurnStep::rag(params.sought()), listing(params)],
        (IntentKind::AskMemory, _) => vec![TurnStep::rag(params.sought())],
        (IntentKind::Remind, _) => reminder(turn),
        (IntentKind::Execute, "jobs") => vec![TurnStep::tool("list_cron_jobs", json!({}))],
        (IntentKind::Execute, "cancel") => {
            vec![TurnStep::tool(
                "cancel_cron_job",
                json!({ "id": words::job(text).unwrap_or_default() }),
            )]
        }
        (IntentKind::Execute, "photo") => vec![TurnStep::tool("take_photo", json!({}))],
        (IntentKind::Execute, "notify") if told.is_none() => {
            vec![TurnStep::tool(
                "notify",
                json!({ "text": words::said(text) }),
            )]
        }
        (IntentKind::Execute, "read") => {
            vec![TurnStep::tool(
                "read_file",
                json!({ "path": params.location }),
            )]
        }
        _ => vec![],
    };
    own.into_iter().chain(told).collect()
}

/// Returns a search for files by any of the words, in both languages.
fn listing(params: &Params) -> TurnStep {
    let alternatives = words::alternatives(&params.keywords).join("|");
    let mut wanted = Map::new();
    if !params.location.is_empty() {
        wanted.insert("path".into(), json!(params.location));
    }
    if !alternatives.is_empty() {
        wanted.insert("pattern".into(), json!(format!(".*({alternatives}).*")));
    }
    if let Some((_, days)) = period(&params.time_range) {
        wanted.insert("days".into(), json!(days));
    }
    TurnStep::tool("list_files", Value::Object(wanted))
}

/// Returns the step for a reminder. Without a readable time there is none, and the answer asks for
/// the time.
fn reminder(turn: &TurnState) -> Vec<TurnStep> {
    let text = &turn.request.text;
    let zone = TimeZone::get(&turn.zone).unwrap_or_else(|_| TimeZone::system());
    let now = Timestamp::from_millisecond(turn.began_at).unwrap_or_default();
    let Some(due) = CronSchedule::of(text, &now.to_zoned(zone)) else {
        return vec![];
    };
    let wanted = json!({ "schedule": due.expression, "task": words::task(text), "once": due.once });
    vec![TurnStep::tool("create_cron_job", wanted)]
}

/// Returns the next move with its thought: the next step of the plan, or the end.
pub fn next(agent: &AgentState) -> (String, Move, Option<usize>) {
    let turn = &agent.turn;
    let own = if turn.plan.is_empty() {
        steps(turn)
    } else {
        turn.plan.clone()
    };
    let lang = agent.lang;
    let Some(step) = own.get(turn.followed) else {
        let thought = lang.pick(
            "That is all I can look up; I answer now.",
            "能查的都查了，现在回答。",
        );
        return (thought.to_owned(), Move::Finish, None);
    };
    let (en, zh, next) = match filled(step, turn) {
        Err(missing) => (
            format!("I leave a step: {missing}."),
            format!("跳过一步：{missing}。"),
            Move::Skip {
                why: missing.to_string(),
            },
        ),
        Ok(TurnStep {
            kind: TurnStepKind::Rag,
            query,
            ..
        }) => (
            format!("I look into the memory for “{query}”."),
            format!("先在记忆里查“{query}”。"),
            Move::Retrieve { query },
        ),
        Ok(TurnStep { name, params, .. }) => (
            format!("I call {name}."),
            format!("调用 {name}。"),
            Move::Call { name, params },
        ),
    };
    (lang.pick(en, zh), next, Some(turn.followed))
}

/// Returns other arguments for a failed call; none if no rule applies.
pub fn repair(turn: &TurnState, wanted: &PendingCall) -> Option<Map<String, Value>> {
    let old = wanted.call.arguments.as_object()?;
    let cause = wanted.cause.as_deref().unwrap_or_default();
    let mut new = old.clone();
    for name in unknown(cause, old) {
        new.remove(&name);
    }
    if let Some(Value::String(pattern)) = new.get("pattern")
        && cause.contains("regular expression")
    {
        let plain: String = pattern
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { ' ' })
            .collect();
        let words: Vec<&str> = plain.split_whitespace().collect();
        new.insert("pattern".into(), json!(words.join("|")));
    }
    if let Some(Value::String(path)) = new.get("path").cloned()
        && (cause.contains("there is no") || cause.contains("outside of the folder"))
    {
        match near(turn, &path) {
            Some(found) => _ = new.insert("path".into(), json!(found)),
            // A list without a path covers all files, but a read needs a file.
            None if wanted.call.name == "list_files" => _ = new.remove("path"),
            None => {}
        }
    }
    (new != *old).then_some(new)
}

/// Returns the arguments that the error calls unknown.
fn unknown(cause: &str, arguments: &Map<String, Value>) -> Vec<String> {
    let told = |name: &&String| cause.contains(&format!("there is no argument `{name}`"));
    arguments.keys().filter(told).cloned().collect()
}

/// Returns a file of an earlier list with the same name.
fn near(turn: &TurnState, path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?.to_lowercase();
    let files = turn
        .done()
        .filter_map(|made| made.data.get("files")?.as_array());
    let mut paths = files
        .flatten()
        .filter_map(|file| file.get("path")?.as_str());
    let found = paths.find(|found| !name.is_empty() && found.to_lowercase().ends_with(&name));
    found.map(str::to_owned)
}

/// Returns a message that is stored without a request: important, and no question.
pub fn worth_keeping(turn: &TurnState) -> Option<&str> {
    const MATTERS: f32 = 0.7;
    let text = turn.request.text.trim();
    let asks = text.ends_with(['?', '？', '吗', '么']);
    let told = turn
        .intent
        .as_ref()
        .is_some_and(|intent| matches!(intent.intent, IntentKind::Chat | IntentKind::Create));
    let asked = fugato::agent::memory::to_remember(text).is_some();
    let kept = told && !asks && !asked && turn.request.job.is_none() && importance(text) >= MATTERS;
    kept.then_some(text)
}
