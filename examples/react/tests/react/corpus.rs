//! Requests as people type them, in both languages: what is understood, what is refused, and what
//! is never written.
use std::{collections::BTreeMap, path::Path, sync::Arc};

use fugato::{
    Runner,
    agent::{Assistant, React},
    axum::{Caller, SendOutcome, UserMessage},
    state::{Interrupt, ThreadId},
};
use fugato_testkit::{
    corpus::{CaseOutcome, Corpus, CorpusCase},
    session::{Session, TurnEnd, WordHandler, WordOutcome},
};
use futures::FutureExt as _;
use react::{BuiltIn, ReactAgent, agent::graph, tools::ToolEnvironment};
use serde::Deserialize;

/// The ids that are known not to hold yet. The list may only get shorter.
const OPEN: &str = "";

/// The fields that only the assistant's cases have.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct StoredRows {
    files: BTreeMap<String, String>,
    wrote: Option<Wrote>,
    gone: Vec<String>,
    wrote_nothing: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wrote {
    files: Option<BTreeMap<String, String>>,
    notes: Vec<String>,
}

/// Returns a conversation over a folder, in which words are typed under the card that is open.
fn talk(folder: &Path, name: &str) -> Session<React> {
    let mut tools = ToolEnvironment::new(folder);
    tools.clock = Arc::new(|| "2026-02-25T10:00[UTC]".parse().expect("a time"));
    let open = move |log| {
        let registry = tools.built_in(&BuiltIn::ALL).expect("tools");
        let memory = Arc::new(tools.notebook.clone());
        let graph = graph(None, registry.build().expect("tools"), memory, 8).expect("a graph");
        let runner = Runner::new(graph, log);
        let agent = ReactAgent::new(runner.clone());
        let handler: WordHandler<React> = Arc::new(move |thread, words| {
            let agent = agent.clone();
            async move { typed(&agent, &thread, words).await }.boxed()
        });
        (runner, handler)
    };
    Session::with_handler(open)
        .thread_named(name)
        .without_events()
}

async fn typed(
    agent: &ReactAgent,
    thread: &ThreadId,
    words: String,
) -> Result<WordOutcome<React>, fugato::BoxError> {
    use fugato::axum::ServedAgent as _;
    let mut words = UserMessage::new(Caller::default(), words);
    let open = agent.runner().interrupts(thread).await?;
    words.card = open.first().map(|asked| asked.id.clone());
    Ok(match fugato::axum::say(agent, thread, words).await {
        Ok(SendOutcome::Run(run)) => WordOutcome::Run(run),
        Ok(SendOutcome::Unchanged(_)) => WordOutcome::Told(String::new()),
        Ok(SendOutcome::Told(text)) => WordOutcome::Told(text),
        Err(error) => return Err(error.into()),
    })
}

async fn card(talk: &Session<React>) -> Option<Interrupt> {
    let open = talk.runner().interrupts(talk.thread()).await;
    open.expect("a readable log").into_iter().next()
}

/// Takes one turn, and returns the reply.
async fn turn(talk: &Session<React>, words: &str) -> Option<String> {
    let turn = match (words, card(talk).await) {
        ("@yes" | "@yes?", Some(_)) => talk.approve().await,
        ("@no", Some(_)) => talk.reject().await,
        ("@yes?", None) => return None,
        // Without a card there is no button: the word is typed.
        (words, _) => talk.say(words.trim_start_matches('@')).await,
    };
    Some(match &turn.end {
        TurnEnd::Told(text) => text.clone(),
        TurnEnd::Run(Ok(ended)) => match Assistant::reply(ended.clone()) {
            Ok(reply) => reply.final_reply,
            Err(_) => String::new(),
        },
        // A client shows why it was refused, and the card waits.
        TurnEnd::Run(Err(error)) => error.to_string(),
        other => panic!("{words:?}: {other:?}"),
    })
}

async fn run(case: &CorpusCase<StoredRows>) -> Option<CaseOutcome> {
    let folder = fugato_testkit::tempdir().expect("a folder");
    for (path, text) in &case.own.files {
        let path = folder.path().join("files").join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let (mut talk, mut outcome) = (talk(folder.path(), "one"), CaseOutcome::default());
    for words in &case.turns {
        if words == "@new" {
            talk = self::talk(folder.path(), "two");
            continue;
        }
        let Some(reply) = turn(&talk, words).await else {
            continue;
        };
        outcome.reply.clone_from(&reply);
        outcome.last = reply;
        if let Some(card) = card(&talk).await {
            for part in ["title", "summary", "consequence"] {
                let text = card.question.prompt[part].as_str().unwrap_or_default();
                outcome.last.push('\n');
                outcome.last += text;
            }
        }
        outcome.read += &outcome.last;
    }
    outcome.data = case.own.files.values().cloned().collect();
    outcome.card = card(&talk).await.map(|card| {
        let call = &card.question.prompt["call"];
        let name = call["name"].as_str().unwrap_or_default();
        (name.to_owned(), call["arguments"].clone())
    });
    judge(&case.own, folder.path(), &mut outcome);
    Some(outcome)
}

fn judge(wanted: &StoredRows, folder: &Path, outcome: &mut CaseOutcome) {
    let mut files = BTreeMap::new();
    read(&folder.join("files"), "", &mut files);
    let mut book = BTreeMap::new();
    read(&folder.join("memory"), "", &mut book);
    let book: String = book.into_values().collect();
    let notes: Vec<&str> = book.lines().filter(|it| it.starts_with("- ")).collect();
    let holds = |part: &String| notes.iter().any(|note| note.contains(part.as_str()));
    let faults = &mut outcome.faults;
    if wanted.wrote_nothing && (!notes.is_empty() || files != wanted.files) {
        faults.push(format!("stored: {files:?} {notes:?}"));
    }
    let there = wanted.gone.iter().filter(|gone| holds(gone));
    outcome
        .excusable
        .extend(there.map(|gone| format!("{gone:?} is kept: {notes:?}")));
    let Some(wrote) = &wanted.wrote else { return };
    if let Some(wanted) = &wrote.files {
        let same = wanted.keys().eq(files.keys())
            && wanted.iter().all(|(path, text)| files[path].contains(text));
        if !same {
            faults.push(format!("files are {files:?}"));
        }
    }
    let lost = wrote.notes.iter().filter(|note| !holds(note));
    faults.extend(lost.map(|note| format!("{note:?} is not noted: {notes:?}")));
}

fn read(folder: &Path, prefix: &str, into: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        match entry.path() {
            path if path.is_dir() => read(&path, &format!("{name}/"), into),
            path => _ = into.insert(name, std::fs::read_to_string(path).unwrap_or_default()),
        }
    }
}

#[tokio::test]
async fn rct_8_the_corpus_of_requests_is_understood_or_refused() {
    let corpus: Corpus<StoredRows> = toml::from_str(concat!(
        include_str!("corpus.toml"),
        include_str!("further.toml")
    ))
    .unwrap();
    corpus.assert_understood(OPEN, run).await;
}
