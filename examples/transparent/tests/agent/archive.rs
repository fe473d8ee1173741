//! Archives follow the log, and replay to the same events.
use std::io::Write as _;

use fugato::stream::Event;
use futures::StreamExt as _;
use proptest::{
    strategy::{Strategy as _, ValueTree as _},
    test_runner::{Config, TestRunner},
};
use serde_json::json;

use crate::common::{Done, Stage, WISH};

async fn logged(stage: &Stage) -> Vec<Event> {
    let events = stage.runner.events(&stage.thread, 0);
    events
        .filter(|event| std::future::ready(event.seq.is_some()))
        .collect()
        .await
}

#[tokio::test]
async fn trn_16_trn_t7_an_archive_replays_to_the_events_that_were_shown() -> Done {
    let stage = Stage::new(None);
    let archives = &stage.archives;
    let mut shown = stage.say(WISH).await.events;
    let asked = stage.say("take a photo").await;
    let question = asked.asked();
    shown.extend(asked.events);
    archives.bring_up(&stage.runner, &stage.thread).await?;
    shown.extend(stage.answer(&question, json!(false)).await.events);
    archives.bring_up(&stage.runner, &stage.thread).await?;
    assert_eq!(archives.bring_up(&stage.runner, &stage.thread).await?, 0);
    shown.retain(|event| event.seq.is_some());
    let archive = archives.read(&stage.thread)?;
    let replayed: Vec<Event> = archive.events().cloned().collect();
    assert_eq!(replayed, shown);
    assert_eq!(replayed, logged(&stage).await);
    assert!(!archive.torn);
    Ok(())
}

#[tokio::test]
async fn trn_11_whoever_dies_while_it_writes_leaves_nothing_out_and_nothing_twice() -> Done {
    let stage = Stage::new(None);
    stage.say(WISH).await;
    let thread = &stage.thread;
    stage.archives.bring_up(&stage.runner, thread).await?;
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
        let again = stage.restarted();
        again.archives.bring_up_all(&again.runner).await?;
        assert_eq!(std::fs::read(&path)?, whole, "cut at {cut}");
    }
    Ok(())
}

#[tokio::test]
async fn trn_11_an_archive_that_somebody_else_changed_is_mended() -> Done {
    let stage = Stage::new(None);
    let (archives, thread) = (&stage.archives, &stage.thread);
    let path = archives.path(thread);
    let follow = async || archives.bring_up(&stage.runner, thread).await;
    let whole = async || -> Result<bool, fugato::BoxError> {
        let archive = archives.read(thread)?;
        let there: Vec<Event> = archive.events().cloned().collect();
        Ok(there == logged(&stage).await)
    };
    stage.say("hello").await;
    follow().await?;

    // Another process on the same folder has its own memory of how far the archive is.
    let other = stage.restarted();
    stage.say("hello again").await;
    other.archives.bring_up(&other.runner, thread).await?;
    stage.say("and again").await;
    follow().await?;
    assert!(whole().await?, "two write");
    other.archives.bring_up(&other.runner, thread).await?;
    assert!(whole().await?, "the other writes, too");

    // Two wrote at the same time.
    let twice = std::fs::read(&path)?;
    let mut file = std::fs::OpenOptions::new().append(true).open(&path)?;
    file.write_all(&twice)?;
    stage.say("once more").await;
    follow().await?;
    assert!(whole().await?, "twice");

    // It was cut, and it was deleted.
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
async fn trn_11_an_archive_that_could_not_be_written_is_made_anew() -> Done {
    let stage = Stage::new(None);
    let (archives, thread) = (&stage.archives, &stage.thread);
    stage.say("hello").await;
    archives.bring_up(&stage.runner, thread).await?;
    let path = archives.path(thread);
    let begun = std::fs::read(&path)?;
    std::fs::remove_file(&path)?;
    std::fs::create_dir(&path)?;
    assert!(archives.bring_up(&stage.runner, thread).await.is_err());
    std::fs::remove_dir(&path)?;
    archives.bring_up(&stage.runner, thread).await?;
    assert_eq!(std::fs::read(&path)?, begun);
    Ok(())
}
