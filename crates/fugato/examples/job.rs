//! A job that is done later, once at each of its times, whoever asks and however often.
#![expect(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "an example shows what it does"
)]

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use fugato::{
    Conversation, ConversationUpdate, END, Graph, MemoryLog, Message, Report, Runner, ThreadId,
    cron::{JobClock, JobRunner, JobSpec, Jobs, TimeZone},
    store::MemoryDocs,
};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Report> {
    let graph = Graph::<Conversation>::starting_at("done")
        .node("done", async |_| ())
        .edge("done", END)
        .build()?;
    let runner = Runner::new(graph, Arc::new(MemoryLog::default()));
    // The conversation in which the job is made.
    runner.start(&ThreadId::new("garden")?, ()).await?;
    // A program takes `JobClock::system()`; here the time is set.
    let now = Arc::new(AtomicI64::new(1_774_695_600_000));
    let time = now.clone();
    let clock = JobClock::new(TimeZone::UTC, move || time.load(Ordering::SeqCst));
    let jobs = Jobs::new(Arc::new(MemoryDocs::default()), clock.clone());
    let job = JobSpec::new("0 8 * * *", "water the plants");
    let job = jobs.create("key-of-the-wish", "garden", job).await?;
    println!("next at {}", clock.shown(job.due));

    let clockwork = JobRunner::new(runner.clone(), jobs, |job, _| {
        vec![ConversationUpdate::Said(Message::user(
            job.wish.task.clone(),
        ))]
    });
    now.store(job.due, Ordering::SeqCst);
    clockwork.fire().await?;
    clockwork.fire().await?;
    let done = runner
        .state(&ThreadId::new(job.place())?)
        .await?
        .unwrap_or_default();
    println!("{}", done.history[0].content);
    assert_eq!(done.history.len(), 1);
    Ok(())
}
