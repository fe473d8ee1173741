//! The draft that a person sees before anything is kept.

use scheduler::{
    agent::{QuestionTopic, Request},
    schedule::{
        Level, PlacementStatus, Quality, ScheduleState, Strategy, SubjectType, WriteOptions,
        local_search, rough_build,
    },
};

use fugato_testkit::assert_contains;
use serde_json::json;

use crate::common::{Talk, card, ends, look, task, term};

/// Returns three demanding subjects, a dozen items each, in two weeks whose mornings are full.
fn exams() -> ScheduleState {
    let mut exams = term(3, 12, 2);
    for (class, subject) in exams.task_classes.iter_mut().zip([
        SubjectType::Quantitative,
        SubjectType::Memory,
        SubjectType::Reading,
    ]) {
        class.subject_type = Some(subject);
        class.difficulty_level = Some(Level::High);
        class.strategy = Strategy::Steady;
    }
    exams
}

#[tokio::test]
async fn sch_64_a_refined_draft_is_polished_before_it_is_shown() {
    let drafted = {
        let mut state = exams();
        let built = rough_build::rough_build(&state, &[1, 2, 3]).expect("it fits");
        for change in &built.changes {
            state.apply(change);
        }
        Quality::of(&state)
    };
    assert!(drafted.extra_switches > 0, "{drafted:?}");
    let stage = Talk::by_rule(exams());
    let request = Request::new("Plan my weeks: place everything.").classes([1, 2, 3]);
    let shown = stage.request(request).await;
    assert_eq!(card(&shown).topic, QuestionTopic::Schedule);
    let schedule = shown.state().schedule.clone().expect("a schedule");
    let quality = Quality::of(&schedule);
    assert_eq!(quality.score(), 0, "after {drafted:?}: {quality:?}");
    assert_eq!(local_search(&schedule, &WriteOptions::default()), []);
    // Nothing is kept before the person agrees; then everything is.
    let items = || {
        schedule
            .tasks
            .iter()
            .filter(|task| task.task_class_id.is_some())
    };
    assert!(items().all(|task| task.status == PlacementStatus::Suggested));
    let kept = stage.approve().await;
    assert!(kept.is_finished());
    let after = kept.state().schedule.clone().expect("a schedule");
    assert_eq!(Quality::of(&after), quality);
}

#[tokio::test]
async fn sch_64_a_draft_that_is_wanted_as_it_is_is_not_polished() {
    let stage = Talk::by_rule(exams());
    let request = Request::new("Place everything, draft only").classes([1, 2, 3]);
    let shown = stage.request(request).await;
    let schedule = shown.state().schedule.clone().expect("a schedule");
    assert!(Quality::of(&schedule).score() > 0);
}

#[tokio::test]
async fn sch_32_a_whole_rearrangement_moves_kept_items_that_the_card_shows() {
    let mut kept = exams();
    let built = rough_build::rough_build(&kept, &[1, 2, 3]).expect("it fits");
    for change in &built.changes {
        kept.apply(change);
    }
    for task in &mut kept.tasks {
        task.status = PlacementStatus::Existing;
    }
    let before = Quality::of(&kept).score();
    let stage = Talk::about(
        kept.clone(),
        [task(), look("analyze_health", json!({})), ends("done")],
    );
    let request = Request::new("Rearrange everything, please").classes([1, 2, 3]);
    let shown = stage.request(request).await;
    let card = card(&shown);
    assert_eq!(card.topic, QuestionTopic::Schedule, "{}", card.summary);
    let after = shown.state().schedule.clone().expect("a schedule");
    assert!(Quality::of(&after).score() < before);
    let moved = after.tasks.iter().filter(|task| {
        kept.task(task.state_id)
            .is_some_and(|old| old.slots != task.slots)
    });
    let (moved, lines) = (moved.count(), card.summary.matches("(was ").count());
    assert!(moved > 0);
    assert_eq!(lines, moved, "{}", card.summary);
    assert_contains(&card.summary, &*format!("0 placed, {moved} moved"));
}
