//! Requests as people type them, in both languages: what is understood, what is refused, and what
//! is never written. `corpus.toml` says what the world of each is, and `further.toml` has more.
use std::{fs, path::Path, time::SystemTime};

use fugato::{
    cron::{CronSchedule, TimeZone},
    file::Sandbox,
    state::Interrupt,
};
use fugato_testkit::{
    corpus::{CaseOutcome, Corpus, CorpusCase},
    session::{Turn, TurnEnd},
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use transparent::agent::AgentState;

use crate::common::Home;

const CASES: &str = concat!(include_str!("corpus.toml"), include_str!("further.toml"));

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Own {
    needs: Option<String>,
    wrote: Option<Wrote>,
    wrote_nothing: bool,
    gone: Vec<String>,
    unlogged: Vec<String>,
    fires: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wrote {
    jobs: Option<Vec<String>>,
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct World {
    world: Vec<WorldFile>,
}

#[derive(Debug, Deserialize)]
struct WorldFile {
    path: String,
    modified: String,
    text: Option<String>,
    from: Option<String>,
}

/// Writes the files of the world.
fn furnish(home: &Home) -> Result<(), fugato::BoxError> {
    let files = home.dir().join("files");
    let touch = |path: &str, time: Timestamp| {
        let file = fs::File::options().write(true).open(files.join(path))?;
        file.set_modified(SystemTime::from(time))
    };
    for path in ["Documents/plan_v1.md", "Documents/draft.docx"] {
        touch(path, "2026-02-18T15:00:00Z".parse()?)?;
    }
    let World { world } = toml::from_str(CASES)?;
    for file in world {
        let path = files.join(&file.path);
        fs::create_dir_all(path.parent().ok_or("a folder")?)?;
        match (&file.text, &file.from) {
            (_, Some(from)) => {
                let there = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transparent/corpus");
                fs::copy(there.join(from), &path).map(drop)?;
            }
            (text, None) => fs::write(&path, text.as_deref().unwrap_or_default())?,
        }
        touch(&file.path, file.modified.parse()?)?;
    }
    Ok(())
}

/// A home in the world of the corpus, with its plugins where the case needs them.
#[cfg_attr(
    not(feature = "plugins"),
    expect(clippy::unused_async, reason = "plugins are awaited")
)]
async fn home(own: &Own) -> Option<Home> {
    let home = Home::by_rule();
    furnish(&home).unwrap();
    let now: Timestamp = "2026-02-25T10:00:00Z".parse().unwrap();
    let clock = home.clock.clone();
    clock.store(now.as_millisecond(), std::sync::atomic::Ordering::SeqCst);
    match own.needs.as_deref() {
        None => Some(home),
        #[cfg(feature = "plugins")]
        Some("plugins") => crate::plugins::with_plugins(home).await,
        Some(_) => None,
    }
}

/// The text of a turn that a person reads: the answer, and the card.
fn read(turn: &Turn<AgentState>) -> String {
    let cards = match &turn.end {
        TurnEnd::Run(Ok(result)) => result.interrupts(),
        _ => &[],
    };
    let shown = |card: &Interrupt| {
        let prompt = &card.question.prompt;
        let part = |name: &str| {
            let part = prompt.get(name).and_then(Value::as_str);
            part.unwrap_or_default().to_owned()
        };
        format!("\n{}\n{}", part("title"), part("body"))
    };
    let cards: String = cards.iter().map(shown).collect();
    turn.answer() + &cards
}

/// The tool and the arguments of the card that waits.
fn card(turn: &Turn<AgentState>) -> Option<(String, Value)> {
    let TurnEnd::Run(Ok(result)) = &turn.end else {
        return None;
    };
    let card = result.interrupts().first()?;
    let call = card.question.prompt.get("call")?;
    let name = call.get("name")?.as_str()?.to_owned();
    Some((name, call.get("arguments")?.clone()))
}

async fn outcome(case: &CorpusCase<Own>) -> Option<CaseOutcome> {
    let mut home = home(&case.own).await?.typed();
    let memory = home.dir().join("notes/MEMORY.md");
    let before = fs::read_to_string(&memory).unwrap();
    let (mut outcome, mut conversations) = (CaseOutcome::default(), 0);
    for turn in &case.turns {
        let turn = match turn.as_str() {
            "@new" => {
                conversations += 1;
                home = home.elsewhere(&format!("desk{conversations}")).typed();
                outcome.card = None;
                continue;
            }
            "@yes?" if outcome.card.is_none() => continue,
            "@yes" | "@yes?" | "@no" if outcome.card.is_none() => {
                outcome.faults.push("no card waits".to_owned());
                return Some(outcome);
            }
            "@yes" | "@yes?" => home.approve().await,
            "@no" => home.reject().await,
            words => home.say(words).await,
        };
        outcome.reply = turn.answer();
        outcome.last = read(&turn);
        outcome.read.extend([outcome.last.as_str(), "\n"]);
        // Words that only get a reply leave the card as it is.
        if !matches!(turn.end, TurnEnd::Told(_)) {
            outcome.card = card(&turn);
        }
    }
    outcome.data = before.clone() + &filed(&home.dir().join("files"));
    stored(&case.own, &home, &before, &mut outcome).await;
    Some(outcome)
}

/// The paths and the texts of the files of a folder.
fn filed(folder: &Path) -> String {
    let sandbox = Sandbox::open(folder).unwrap();
    let mut paths = vec![folder.to_owned()];
    let mut all = String::new();
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            paths.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        let name = path.strip_prefix(folder).unwrap().to_string_lossy();
        let text = sandbox.text(&name, 1 << 20).unwrap_or_default();
        all.extend([name.as_ref(), "\n", text.as_str(), "\n"]);
    }
    all
}

/// Checks what is stored at the end.
async fn stored(own: &Own, home: &Home, before: &str, outcome: &mut CaseOutcome) {
    let jobs = home.deps.jobs.all().await.unwrap();
    let notes = fs::read_to_string(home.dir().join("notes/MEMORY.md")).unwrap();
    let tasks: Vec<&str> = jobs.iter().map(|job| job.wish.task.as_str()).collect();
    if own.wrote_nothing && !(jobs.is_empty() && notes == before) {
        let fault = format!("jobs {tasks:?} or notes were written: {notes}");
        outcome.faults.push(fault);
    }
    let wrote = own.wrote.as_ref();
    for note in wrote.into_iter().flat_map(|wrote| &wrote.notes) {
        if !notes.contains(note.as_str()) {
            outcome.faults.push(format!("{note:?} is not in {notes}"));
        }
    }
    if let Some(wanted) = wrote.and_then(|wrote| wrote.jobs.as_ref()) {
        let lacks = |task: &&String| !tasks.iter().any(|there| there.contains(task.as_str()));
        if wanted.len() != tasks.len() || wanted.iter().any(|task| lacks(&task)) {
            let fault = format!("the jobs are {tasks:?} and not {wanted:?}");
            outcome.excusable.push(fault);
        }
    }
    for gone in &own.gone {
        if notes.contains(gone.as_str()) {
            outcome.excusable.push(format!("{gone:?} is in {notes}"));
        }
    }
    let days = home.dir().join("notes/memory");
    let days = fs::read_dir(days).into_iter().flatten();
    let logs = days.map(|day| fs::read_to_string(day.unwrap().path()).unwrap());
    let logs: String = logs.collect();
    for unlogged in &own.unlogged {
        if logs.is_empty() || logs.contains(unlogged.as_str()) {
            outcome.faults.push(format!("{unlogged:?} is in {logs}"));
        }
    }
    let made = jobs.last().map(|job| job.wish.schedule.clone());
    let waiting = outcome.card.as_ref();
    let waiting = waiting.and_then(|(_, arguments)| Some(arguments["schedule"].as_str()?.into()));
    let fires = fires(waiting.or(made).as_deref(), home, own.fires.len());
    if fires != own.fires {
        let fault = format!("it fires at {fires:?} and not at {:?}", own.fires);
        outcome.excusable.push(fault);
    }
}

/// The next times of a schedule.
fn fires(schedule: Option<&str>, home: &Home, many: usize) -> Vec<String> {
    let clock = home.deps.jobs.clock();
    let schedule = schedule.and_then(|text| CronSchedule::parse(text, &TimeZone::UTC).ok());
    let Some(schedule) = schedule else {
        return vec![];
    };
    let times = std::iter::successors(schedule.next(clock.now()), |time| schedule.next(*time));
    let shown = |time| clock.shown(time).get(..16).unwrap_or_default().to_owned();
    times.take(many).map(shown).collect()
}

#[tokio::test]
async fn trn_2_the_corpus_of_requests_is_understood_or_refused() {
    let corpus: Corpus<Own> = toml::from_str(CASES).unwrap();
    assert!(corpus.cases.len() >= 145, "{}", corpus.cases.len());
    corpus.assert_understood("", outcome).await;
}
