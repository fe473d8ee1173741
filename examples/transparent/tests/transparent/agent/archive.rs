//! Archives follow the log, and replay to the same events.
use std::{io::Write as _, sync::Arc};

use fugato::{MemoryLog, graph::ThreadStatus, stream::Event};
use fugato_testkit::{VirtualClock, consent::WorldStore};
use futures::StreamExt as _;
use proptest::{
    prelude::{Just, ProptestConfig, any, prop, prop_oneof, proptest},
    strategy::{Strategy, ValueTree as _},
    test_runner::{Config, TestRunner},
};

use crate::common::{Home, NOON, TestResult, WISH};

async fn logged(stage: &Home) -> Vec<Event> {
    let events = stage.runner().events(stage.thread(), 0);
    events
        .filter(|event| std::future::ready(event.seq.is_some()))
        .collect()
        .await
}

#[tokio::test]
async fn trn_16_trn_t7_an_archive_replays_to_the_events_that_were_shown() -> TestResult {
    let stage = Home::by_rule();
    let archives = &stage.archives;
    let mut shown = stage.say(WISH).await.events;
    shown.extend(stage.say("take a photo").await.events);
    archives.bring_up(&stage.runner(), stage.thread()).await?;
    shown.extend(stage.reject().await.events);
    archives.bring_up(&stage.runner(), stage.thread()).await?;
    assert_eq!(archives.bring_up(&stage.runner(), stage.thread()).await?, 0);
    shown.retain(|event| event.seq.is_some());
    let archive = archives.read(stage.thread())?;
    let replayed: Vec<Event> = archive.events().cloned().collect();
    assert_eq!(replayed, shown);
    assert_eq!(replayed, logged(&stage).await);
    assert!(!archive.torn);
    Ok(())
}

#[tokio::test]
async fn trn_11_whoever_dies_while_it_writes_leaves_nothing_out_and_nothing_twice() -> TestResult {
    let stage = Home::by_rule();
    stage.say(WISH).await;
    let thread = stage.thread();
    stage.archives.bring_up(&stage.runner(), thread).await?;
    let path = stage.archives.path(thread);
    let whole = std::fs::read(&path)?;
    let mut runner = TestRunner::new(Config::default());
    let strategy = 0..whole.len();
    for _ in 0..24 {
        let cut = strategy
            .new_tree(&mut runner)
            .map_err(|why| why.to_string())?
            .current();
        let mut file = std::fs::File::create(&path)?;
        file.write_all(whole.get(..cut).unwrap_or_default())?;
        // Another process goes on.
        let again = stage.beside();
        again.archives.bring_up_all(&again.runner()).await?;
        assert_eq!(std::fs::read(&path)?, whole, "cut at {cut}");
    }
    Ok(())
}

#[tokio::test]
async fn trn_11_an_archive_that_somebody_else_changed_is_mended() -> TestResult {
    let stage = Home::by_rule();
    let (archives, thread) = (&stage.archives, stage.thread());
    let path = archives.path(thread);
    let follow = async || archives.bring_up(&stage.runner(), thread).await;
    let whole = async || -> Result<bool, fugato::BoxError> {
        let archive = archives.read(thread)?;
        let there: Vec<Event> = archive.events().cloned().collect();
        Ok(there == logged(&stage).await)
    };
    stage.say("hello").await;
    follow().await?;

    // Another process on the same folder has its own position of the archive.
    let other = stage.beside();
    stage.say("hello again").await;
    other.archives.bring_up(&other.runner(), thread).await?;
    stage.say("and again").await;
    follow().await?;
    assert!(whole().await?, "two write");
    other.archives.bring_up(&other.runner(), thread).await?;
    assert!(whole().await?, "the other writes, too");

    // Two processes wrote at the same time.
    let twice = std::fs::read(&path)?;
    let mut file = std::fs::OpenOptions::new().append(true).open(&path)?;
    file.write_all(&twice)?;
    stage.say("once more").await;
    follow().await?;
    assert!(whole().await?, "twice");

    // The file was cut, and it was deleted.
    std::fs::File::options()
        .write(true)
        .open(&path)?
        .set_len(9)?;
    follow().await?;
    assert!(whole().await?, "cut");
    std::fs::remove_file(&path)?;
    follow().await?;
    assert!(whole().await?, "deleted");
    Ok(())
}

#[tokio::test]
async fn trn_11_an_archive_that_could_not_be_written_is_made_anew() -> TestResult {
    let stage = Home::by_rule();
    let (archives, thread) = (&stage.archives, stage.thread());
    stage.say("hello").await;
    archives.bring_up(&stage.runner(), thread).await?;
    let path = archives.path(thread);
    let begun = std::fs::read(&path)?;
    std::fs::remove_file(&path)?;
    std::fs::create_dir(&path)?;
    assert!(archives.bring_up(&stage.runner(), thread).await.is_err());
    std::fs::remove_dir(&path)?;
    archives.bring_up(&stage.runner(), thread).await?;
    assert_eq!(std::fs::read(&path)?, begun);
    Ok(())
}

/// An event in the life of a conversation and its archive.
#[derive(Debug, Clone)]
enum Act {
    /// A turn without a question, in which tools may fail and be repaired.
    Say(&'static str),
    /// A turn with a question, and the person's answer.
    Asked(bool),
    /// A turn with a question that is cancelled.
    Cancelled,
    /// A death of the process after this many appends, with another process that goes on.
    Dies(&'static str, usize),
    /// An update of the archive, in this process or in another one.
    Follow(bool),
    /// A cut of the file to this percentage of its length.
    Cut(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let words = || {
        prop::sample::select(vec![
            "hello",
            WISH,
            "read missing.md",
            "find x in ~/Docs/plan_v1.md",
        ])
    };
    let act = prop_oneof![
        words().prop_map(Act::Say),
        any::<bool>().prop_map(Act::Asked),
        Just(Act::Cancelled),
        (words(), 1_usize..12).prop_map(|(text, appends)| Act::Dies(text, appends)),
        any::<bool>().prop_map(Act::Follow),
        (0_u64..100).prop_map(Act::Cut),
    ];
    prop::collection::vec(act, 1..7)
}

/// Carries out an act, and collects its events.
async fn act(stage: &Home, act: Act, shown: &mut Vec<Event>) -> TestResult {
    let path = stage.archives.path(stage.thread());
    match act {
        Act::Say(text) => shown.extend(stage.say(text).await.events),
        Act::Asked(answer) => {
            shown.extend(stage.say("take a photo").await.events);
            shown.extend(stage.answer(answer).await.events);
        }
        Act::Cancelled => {
            shown.extend(stage.say("take a photo").await.events);
            let why = "it is no longer wanted";
            stage.runner().cancel(stage.thread(), "ada", why).await?;
        }
        Act::Dies(text, appends) => {
            stage.kill_after(appends);
            shown.extend(stage.say(text).await.events);
            stage.reopen().await;
            let status = stage.runner().status(stage.thread()).await?;
            if status == ThreadStatus::Unfinished {
                shown.extend(stage.recover().await.events);
            }
        }
        Act::Follow(here) if here => {
            stage.archives.bring_up_due(&stage.runner()).await;
        }
        Act::Follow(_) => {
            let other = stage.beside();
            other.archives.bring_up_all(&other.runner()).await?;
        }
        Act::Cut(hundredths) => {
            if let Ok(file) = std::fs::OpenOptions::new().write(true).open(&path) {
                let length = file.metadata()?.len();
                file.set_len(length * hundredths / 100)?;
            }
        }
    }
    Ok(())
}

async fn replays(acts: Vec<Act>) -> TestResult {
    let clock = VirtualClock::start(NOON);
    let time = clock.store();
    let log = Arc::new(MemoryLog::with_clock(move || time.now()));
    let store = WorldStore::of(log, clock.store());
    let stage = Home::over(store, None, |desk| desk);
    let mut shown = vec![];
    for step in acts {
        act(&stage, step, &mut shown).await?;
    }
    act(&stage, Act::Say("hello"), &mut shown).await?;
    assert!(
        stage.archives.bring_up_due(&stage.runner()).await,
        "it follows"
    );
    let archive = stage.archives.read(stage.thread())?;
    let replayed: Vec<Event> = archive.events().cloned().collect();
    assert_eq!(replayed, logged(&stage).await);
    for event in shown.iter().filter(|event| event.seq.is_some()) {
        assert!(replayed.contains(event), "{event:?} was shown");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(fugato_testkit::share_of(24)))]

    #[test]
    fn trn_16_trn_t7_an_archive_replays_whatever_happened(acts in acts()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()?;
        runtime.block_on(replays(acts)).expect("it replays");
    }
}

#[tokio::test]
async fn trn_11_what_was_cancelled_is_archived_without_being_told_of() -> TestResult {
    let stage = Home::by_rule();
    stage.say("take a photo").await;
    stage.card();
    stage.archives.bring_up_due(&stage.runner()).await;
    stage
        .runner()
        .cancel(stage.thread(), "ada", "enough")
        .await?;
    stage.archives.bring_up_due(&stage.runner()).await;
    let archive = stage.archives.read(stage.thread())?;
    let replayed: Vec<Event> = archive.events().cloned().collect();
    assert_eq!(replayed, logged(&stage).await);
    Ok(())
}
