//! Rules that decide without a model, or if it cannot be used.
mod answer;
mod kind;
mod reminder;
mod words;

use fugato::{
    agent::memory::{is_taken_back, to_quote, to_recall, to_remember},
    memory::importance,
    state::ToolSchema,
    words::{
        ShortAnswer, courtesy, denied, is_left_out, is_negated, is_question, keywords, notes_meant,
        path, period, to_forget,
    },
};
use serde_json::{Map, Value, json};

use crate::{
    agent::{AgentState, Move, PendingCall, TurnState},
    intent::{Intent, IntentKind, Params},
    plan::{TurnStep, TurnStepKind, filled},
    tools::WORDS,
};

pub use answer::answer;
pub(crate) use kind::{behind_files, meant, noted, reminded, several, waived};
pub use reminder::intent_of;
pub(crate) use reminder::{retimed, standing};

/// Returns the intent of a text.
pub fn intent(text: &str) -> Intent {
    let text = kind::beside_note(text);
    let lower = text.to_lowercase();
    if let Some(about) = to_recall(text) {
        return recalling(about);
    }
    let (intent, kind, complexity) = kind::kind(&lower);
    if (intent, kind) == (IntentKind::Chat, "") {
        return Intent::new(intent, complexity, Params::default());
    }
    let keywords = keywords(text);
    let params = Params {
        kind: kind.to_owned(),
        query: keywords.join(" "),
        location: words::file(text)
            .or_else(|| path(text).map(|path| words::bare(&path).to_owned()))
            .unwrap_or_default(),
        time_range: period(&lower).map_or(String::new(), |(name, _)| name.to_owned()),
        keywords,
    };
    Intent::new(intent, complexity, params)
}

/// Returns true if a text only asks for what is there, and wants nothing stored, done or sent.
pub(crate) fn only_looks(text: &str) -> bool {
    let Intent { intent, params, .. } = intent(text);
    match (intent, params.kind.as_str()) {
        (IntentKind::Search, kind) => kind != "web",
        (IntentKind::AskMemory, _) => true,
        (IntentKind::Execute, kind) => {
            ["agenda", "compare", "except", "files", "jobs", "read"].contains(&kind)
        }
        (IntentKind::Chat, kind) => ["clock", "count", "help"].contains(&kind),
        _ => false,
    }
}

/// Returns the intent of a question about the memory: what it is about, or everything.
fn recalling(about: String) -> Intent {
    let (kind, complexity) = if about.is_empty() {
        ("all", 0.2)
    } else {
        ("", 0.3)
    };
    let keywords = keywords(&about);
    let params = Params {
        kind: kind.to_owned(),
        query: if keywords.is_empty() {
            about
        } else {
            keywords.join(" ")
        },
        keywords,
        ..Params::default()
    };
    Intent::new(IntentKind::AskMemory, complexity, params)
}

/// The query for everything that is remembered.
pub(crate) const EVERYTHING: &str = "*";

/// Returns the steps that fulfil a wish with these tools; none if an answer is enough. Later steps
/// depend on the results of earlier ones, so they are asked for again after each.
pub fn steps(turn: &TurnState, tools: &[ToolSchema]) -> Vec<TurnStep> {
    let Some(Intent { intent, params, .. }) = &turn.intent else {
        return vec![];
    };
    let text = &turn.request.text;
    let tool = |name: &str, params: Value| vec![TurnStep::tool(name, params)];
    // For a job that is due, the task is carried out, and the person is notified.
    let told = turn
        .request
        .job
        .is_some()
        .then(|| TurnStep::tool("notify", json!({ "text": text })));
    let own = match (intent, params.kind.as_str()) {
        (IntentKind::Remind, _) if turn.request.job.is_some() => vec![],
        (IntentKind::Search, "web") => tool("web-search", json!({ "query": params.sought() })),
        (IntentKind::Search, "about") => {
            let keywords = words::asked(text);
            vec![listing(&Params {
                keywords,
                ..Params::default()
            })]
        }
        (IntentKind::Search, _) => vec![TurnStep::rag(params.sought()), listing(params)],
        (IntentKind::AskMemory, "all") => vec![TurnStep::rag(EVERYTHING)],
        (IntentKind::AskMemory, _) => asking(text, params),
        (IntentKind::Remind, _) => reminder::steps(turn, params),
        (IntentKind::Execute, "jobs" | "agenda") => tool("list_cron_jobs", json!({})),
        (IntentKind::Execute, "cancel") => reminder::cancelling(turn),
        (IntentKind::Execute, "move") => reminder::moving(turn),
        (IntentKind::Chat, "forget") => forgetting(turn),
        (IntentKind::Execute, "photo") => tool("take_photo", json!({})),
        (IntentKind::Execute, "notify") if told.is_none() => {
            tool("notify", json!({ "text": words::said(text) }))
        }
        (IntentKind::Execute, "read") => reading(turn, params),
        (IntentKind::Execute, "files") => vec![all_files(text, params)],
        (IntentKind::Execute, "plugin") => plugin(text, tools).into_iter().collect(),
        _ => vec![],
    };
    own.into_iter().chain(told).collect()
}

/// Returns a search in the memory and in the texts of files.
fn asking(text: &str, params: &Params) -> Vec<TurnStep> {
    let about = to_recall(text);
    let asked = words::asked(about.as_deref().unwrap_or(text)).join(" ");
    let sought = params.sought();
    let mut steps = vec![TurnStep::rag(if sought.is_empty() {
        asked.clone()
    } else {
        sought
    })];
    if !asked.is_empty() {
        let query = json!({ "query": asked });
        steps.push(TurnStep::tool("search_files", query));
    }
    steps
}

/// Returns a search for files by any of the words, in both languages.
fn listing(params: &Params) -> TurnStep {
    let literals = words::literals(&params.keywords).join("|");
    let mut wanted = Map::new();
    if !params.location.is_empty() {
        wanted.insert("path".into(), json!(params.location));
    }
    if !literals.is_empty() {
        wanted.insert("pattern".into(), json!(format!(".*({literals}).*")));
    }
    dated(&mut wanted, params);
    TurnStep::tool("list_files", Value::Object(wanted))
}

/// Returns a list of all files of the kind, folder and age that the words name.
fn all_files(text: &str, params: &Params) -> TurnStep {
    let lower = text.to_lowercase();
    let mut wanted = Map::new();
    let endings = words::endings(&lower);
    if !endings.is_empty() {
        wanted.insert("endings".into(), json!(endings));
    }
    if let Some(folder) = words::folder(text) {
        wanted.insert("path".into(), json!(folder));
    }
    dated(&mut wanted, params);
    TurnStep::tool("list_files", Value::Object(wanted))
}

fn dated(wanted: &mut Map<String, Value>, params: &Params) {
    if let Some((_, days)) = period(&params.time_range) {
        wanted.insert("days".into(), json!(days));
    }
}

/// Returns a list of all files and then a read of those that the words name, wherever they lie.
fn reading(turn: &TurnState, params: &Params) -> Vec<TurnStep> {
    const MOST: usize = 3;
    let text = &turn.request.text;
    let lower = text.to_lowercase();
    let read = |path: &str| TurnStep::tool("read_file", json!({ "path": path }));
    let named = !params.location.is_empty();
    let subject = words::asked(text);
    let list = if named || subject.is_empty() {
        TurnStep::tool("list_files", json!({}))
    } else {
        let keywords = subject.clone();
        listing(&Params {
            keywords,
            ..Params::default()
        })
    };
    let Some(listed) = turn.done().find(|made| made.call.name == "list_files") else {
        return vec![list];
    };
    let files = listed.data.get("files").and_then(Value::as_array);
    let paths = files
        .into_iter()
        .flatten()
        .filter_map(|file| file.get("path")?.as_str());
    let paths: Vec<&str> = if named {
        paths
            .filter(|path| is_named(path, &lower))
            .take(MOST)
            .collect()
    } else {
        paths.collect()
    };
    let mut steps = vec![list];
    // None of many is chosen for the person: they are listed.
    match &*paths {
        [] if !named => {
            steps.extend(asking(text, params));
            return steps;
        }
        [_, _, _, _, ..] if !named => return steps,
        _ => {}
    }
    steps.extend(paths.iter().map(|path| read(path)));
    if paths.is_empty() && named {
        steps.push(read(&params.location));
    }
    steps
}

/// Returns the pattern that finds the document that these words name.
pub(crate) fn document(named: &str) -> String {
    match words::file(named) {
        Some(file) => words::literals(&[file]).concat(),
        None => words::literals(&words::asked(named)).join("|"),
    }
}

/// Returns the path of that document among the listed files: by its name, or else the first.
pub(crate) fn chosen(listed: &Value, named: &str) -> Option<String> {
    let files = listed.get("files")?.as_array()?.iter();
    let mut paths = files.filter_map(|file| file.get("path")?.as_str());
    let path = match words::file(named) {
        Some(_) => paths.find(|path| is_named(path, &named.to_lowercase())),
        None => paths.next(),
    };
    path.map(str::to_owned)
}

/// Returns true if a text names this file, and does not say to leave it.
fn is_named(path: &str, lower: &str) -> bool {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let Some((before, _)) = lower.split_once(name) else {
        return false;
    };
    // The name is no end of another one.
    let inside = before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    !inside && !is_left_out(lower, name)
}

/// Returns a search for the notes that a person wants to be forgotten, and then the call that forgets
/// the only one that is meant.
fn forgetting(turn: &TurnState) -> Vec<TurnStep> {
    if to_forget(&turn.request.text).is_none_or(|it| it.is_empty()) {
        return vec![];
    }
    let mut steps = vec![TurnStep::rag(EVERYTHING)];
    if let [note] = &*unwanted_notes(turn) {
        steps.push(TurnStep::tool("forget", json!({ "note": note })));
    }
    steps
}

/// Returns the notes that the person wants forgotten, of those that were found.
fn unwanted_notes(turn: &TurnState) -> Vec<String> {
    let lines = turn.memories.iter().flat_map(|memory| memory.text.lines());
    let notes: Vec<&str> = lines.filter_map(|line| line.strip_prefix("- ")).collect();
    let notes = notes.join("\n");
    let meant = notes_meant(&turn.request.text, &notes).into_iter();
    meant.map(str::to_owned).collect()
}

/// Returns the call of a plugin's tool that the words name, with the text that they give it.
fn plugin(text: &str, tools: &[ToolSchema]) -> Option<TurnStep> {
    let lower = text.to_lowercase();
    let named = tools.iter().find(|tool| {
        let mut parts = tool.name.split('_');
        let name = parts
            .next()
            .filter(|name| !name.is_empty() && parts.next().is_some());
        name.is_some_and(|name| lower.contains(&name.to_lowercase()))
    })?;
    let schema = json!(named.parameters);
    let required = schema.get("required").and_then(Value::as_array);
    let first = required.and_then(|names| names.first()?.as_str());
    let mut wanted = Map::new();
    if let Some(name) = first {
        wanted.insert(name.to_owned(), json!(words::given(text).unwrap_or(text)));
    }
    Some(TurnStep::tool(&named.name, Value::Object(wanted)))
}

/// Returns the next move with its thought: the next step of the plan, or the end.
pub fn next(agent: &AgentState, tools: &[ToolSchema]) -> (String, Move, Option<usize>) {
    let turn = &agent.turn;
    let own = if turn.plan.is_empty() {
        steps(turn, tools)
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
        }) => {
            let (en, zh) = if query == EVERYTHING {
                let all = (
                    "I look at everything that I remember.",
                    "先看看记住的所有内容。",
                );
                (all.0.to_owned(), all.1.to_owned())
            } else {
                (
                    format!("I look into the memory for “{query}”."),
                    format!("先在记忆里查“{query}”。"),
                )
            };
            (en, zh, Move::Retrieve { query })
        }
        Ok(TurnStep { name, params, .. }) => {
            let known = WORDS.iter().find(|(tool, ..)| *tool == name);
            let (_, en, zh) = known.copied().unwrap_or((&name, &name, &name));
            (
                format!("Next: {en}."),
                format!("下一步：{zh}。"),
                Move::Call { name, params },
            )
        }
    };
    (lang.pick(en, zh), next, Some(turn.followed))
}

/// The parts of the errors of a path that leads nowhere or outside, in both languages.
const MISPLACED: [&str; 4] = [
    "there is no",
    "outside of the folder",
    "没有 ",
    "在文件夹之外",
];

/// Returns other arguments for a failed call; none if no rule applies.
pub fn repair(turn: &TurnState, wanted: &PendingCall) -> Option<Map<String, Value>> {
    let old = wanted.call.arguments.as_object()?;
    let cause = wanted.cause.as_deref().unwrap_or_default();
    let mut new = old.clone();
    for name in unknown(cause, old) {
        new.remove(&name);
    }
    if let Some(Value::String(pattern)) = new.get("pattern")
        && ["regular expression", "正则表达式"]
            .iter()
            .any(|it| cause.contains(it))
    {
        let plain: String = pattern
            .chars()
            .map(|c| if c.is_alphanumeric() { c } else { ' ' })
            .collect();
        let words: Vec<&str> = plain.split_whitespace().collect();
        new.insert("pattern".into(), json!(words.join("|")));
    }
    if let Some(Value::String(path)) = new.get("path").cloned()
        && MISPLACED.iter().any(|it| cause.contains(it))
    {
        match near(turn, &path) {
            Some(found) => _ = new.insert("path".into(), json!(found)),
            // A list without a path covers all files, but a read needs a file.
            None if wanted.call.name == "list_files" && capitalized(&path) != path => {
                new.insert("path".into(), json!(capitalized(&path)));
            }
            None if wanted.call.name == "list_files" => _ = new.remove("path"),
            None => {}
        }
    }
    (new != *old).then_some(new)
}

/// Returns a path with a capital, as folders often have one.
fn capitalized(path: &str) -> String {
    let mut letters = path.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Returns the arguments that the error calls unknown.
fn unknown(cause: &str, arguments: &Map<String, Value>) -> Vec<String> {
    let told = |name: &&String| {
        let mut told = [
            format!("there is no argument `{name}`"),
            format!("没有参数 `{name}`"),
        ]
        .into_iter();
        told.any(|told| cause.contains(&told))
    };
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

/// The kinds of wishes of which nothing is done, and nothing is kept.
const REFUSED: [&str; 8] = [
    "forget",
    "impossible",
    "condition",
    "several",
    "waived",
    "other",
    "count",
    "corrected",
];

/// Returns true if a person wants nothing of a message written down: "don't remember this: …".
pub fn wants_no_record(text: &str) -> bool {
    const WRITE: [&str; 6] = ["remember", "note", "write", "save", "store", "记"];
    let lower = text.trim().to_lowercase();
    let forbids =
        denied(&lower).is_some_and(|what| WRITE.iter().any(|verb| what.starts_with(verb)));
    forbids || is_taken_back(text)
}

/// Returns a message that is stored without a request: important, and no question.
pub fn worth_keeping(turn: &TurnState) -> Option<&str> {
    const MATTERS: f32 = 0.7;
    let text = turn.request.text.trim();
    let asks = is_question(text) || ["谁", "什么", "哪"].iter().any(|word| text.contains(word));
    let told = turn.intent.as_ref().is_some_and(|intent| {
        let kind = intent.params.kind.as_str();
        let tells = matches!(intent.intent, IntentKind::Chat | IntentKind::Create);
        tells && !REFUSED.contains(&kind)
    });
    let says_nothing = courtesy(text).is_some() || ShortAnswer::of(text).is_some();
    let asked = to_remember(text).is_some() || to_quote(text).is_some();
    let refused = is_negated(text, &["remember", "记", "note"]);
    let lower = text.to_lowercase();
    let ends = ["remember nothing", "stop remember", "stop noting"];
    let refused = refused || ends.iter().any(|words| lower.contains(words));
    let kept = told
        && !asks
        && !asked
        && !refused
        && !wants_no_record(text)
        && !says_nothing
        && turn.request.job.is_none()
        && importance(text) >= MATTERS;
    kept.then_some(text)
}
