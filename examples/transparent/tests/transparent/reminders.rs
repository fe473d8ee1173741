//! Reminders on their way to the person, and steps in the terminal.
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use fugato::{cron::JobSpec, state::Role};
use fugato_testkit::assert_contains;
use transparent::open::clockwork;

use crate::common::{Home, TestResult, WISH, program};

/// Returns what the agent said in the conversation, as soon as it said this often something.
async fn said(stage: &Home, often: usize) -> Result<Vec<String>, tokio::time::error::Elapsed> {
    let seen = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        loop {
            ticks.tick().await;
            let history = stage.state().await.conversation.history;
            let said = history
                .into_iter()
                .filter(|one| one.role == Role::Assistant);
            let said: Vec<String> = said.map(|one| one.content).collect();
            if said.len() >= often {
                return said;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), seen).await
}

#[tokio::test]
async fn trn_8_a_reminder_is_told_once_in_its_conversation() -> TestResult {
    let stage = Home::by_rule();
    let deps = stage.deps.clone();
    let stage = stage.made_by(Arc::new(move || deps.clone()));
    stage.say("hello").await;
    let (reminders, runner) = (stage.deps.reminders.clone(), stage.runner());
    let delivery = tokio::spawn(async move { reminders.deliver(&runner, true).await });
    let wish = JobSpec::new("30 12 * * *", "drink water");
    let job = stage.deps.jobs.create("k", "desk", wish).await?;
    for day in 1..=2 {
        let due = stage.deps.jobs.all().await?[0].due;
        stage.clock.store(due, Ordering::SeqCst);
        clockwork(stage.runner(), stage.deps.jobs.clone())
            .fire()
            .await?;
        let said = said(&stage, 1 + day).await?;
        assert_eq!(
            said.last().map(String::as_str),
            Some("Reminder: drink water")
        );
        assert_eq!(said.len(), 1 + day);
    }
    let agent = stage.state().await;
    let own = agent.conversation.history.iter();
    let own: Vec<_> = own.filter(|one| one.role == Role::User).collect();
    assert_eq!(own.len(), 1, "a reminder is no word of the person");
    assert_eq!(agent.turn.request.job, Some(job.id));
    delivery.abort();
    Ok(())
}

#[test]
fn trn_13_the_terminal_shows_each_step() {
    let told = program().run(&["say", WISH]).told();
    assert_contains(
        &told,
        [
            "计划: 项目计划书 → list_files",
            "先在记忆里查“项目计划书”。",
            "在记忆里查: 项目计划书",
            "记忆中找到: ",
            "下一步：列出文件。",
            "plan_v1.md",
            "draft.docx",
        ],
    );
}
