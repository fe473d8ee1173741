//! SCH-T1: real tools over a small week, one decision of a scripted model after the other.
use crate::common::{
    CHOIR, FIRST, GYM, SECOND, SEMINAR, Talk, Turn, assert_paired, ends, lies, look, place, plan,
    refusals, task, write,
};
use fugato::stream::ToolStatus;
use fugato_testkit::assert_contains;
use scheduler::{
    agent::{Phase, Request, TerminalStatus},
    schedule::Slot,
};
use serde_json::{Value, json};

/// Runs a request with consent to everything in advance, so that the run reaches its end.
async fn play(script: impl IntoIterator<Item = Value>) -> (Talk, Turn) {
    let begin = [task(), plan(["Arrange it"])];
    let stage = Talk::new(begin.into_iter().chain(script));
    let request = Request::new("Arrange it").classes([1]).always_execute();
    let scene = stage.request(request).await;
    (stage, scene)
}

fn ok(name: &str) -> (&str, ToolStatus) {
    (name, ToolStatus::Ok)
}

#[tokio::test]
async fn sch_t1_a_read_then_a_write() {
    let (_, scene) = play([
        look("find_free", json!({ "duration": 2, "day": 1 })),
        place(FIRST, 1, 3),
        ends("done"),
        json!("Chapter 1 lies on Monday."),
    ])
    .await;
    assert!(scene.is_finished(), "{:?}", scene.end);
    assert_eq!(scene.tools(), [ok("find_free"), ok("place")]);
    let agent = scene.state();
    assert_eq!(lies(agent, FIRST), [Slot::new(1, 3, 4)]);
    assert_eq!((agent.phase, &agent.run.outcome), (Phase::Done, &None));
    assert_paired(agent);
    let original = agent.original.as_ref().unwrap();
    assert_eq!(original.task(FIRST).unwrap().slots, []);
}

#[tokio::test]
async fn sch_t1_two_reads_then_an_embedding() {
    let (_, scene) = play([
        look("get_overview", json!({})),
        look("find_free", json!({ "duration": 2, "day": 2 })),
        place(FIRST, 2, 3),
        ends("done"),
        json!("It lies inside the seminar."),
    ])
    .await;
    let tools = ["get_overview", "find_free", "place"].map(ok);
    assert_eq!(scene.tools(), tools);
    let schedule = scene.state().schedule.as_ref().unwrap();
    let [guest, host] = [FIRST, SEMINAR].map(|id| schedule.task(id).unwrap());
    assert_eq!(guest.embed_host, Some(SEMINAR));
    assert_eq!(host.embedded_by, Some(FIRST));
    assert_eq!(guest.slots, [Slot::new(2, 3, 4)]);
}

#[tokio::test]
async fn sch_t1_a_swap_with_a_conflict() {
    let friday = json!({ "task_id": GYM, "new_day": 5, "new_slot_start": 1 });
    // The choir's place is overlapped by a lecture, so nothing else can go there.
    let (_, scene) = play([
        write("swap", json!({ "task_a": GYM, "task_b": CHOIR })),
        // A failed write leaves nothing that counts as done.
        ends("done"),
        write("move", friday),
        ends("done"),
        json!("The gym is on Friday now."),
    ])
    .await;
    let [("swap", swapped), ("move", _)] = scene.tools()[..] else {
        panic!("{:?}", scene.tools())
    };
    assert_ne!(swapped, ToolStatus::Ok);
    assert_eq!(lies(scene.state(), CHOIR), [Slot::new(4, 5, 6)]);
    assert_eq!(lies(scene.state(), GYM), [Slot::new(5, 1, 2)]);
    assert_eq!(scene.corrections().len(), 1);
    let [corrected] = refusals(&scene)[..] else {
        panic!("{:?}", refusals(&scene))
    };
    assert_contains(&corrected, "the last write failed");
    assert_paired(scene.state());
}

#[tokio::test]
async fn sch_t1_a_batch_is_rolled_back() {
    let moves = json!({ "moves": [
        { "task_id": GYM, "new_day": 6, "new_slot_start": 1 },
        { "task_id": CHOIR, "new_day": 1, "new_slot_start": 1 },
    ] });
    let (stage, scene) = play([
        write("batch_move", moves),
        json!({ "action": "abort", "abort": { "user_message": "Monday is taken." } }),
    ])
    .await;
    assert_ne!(scene.tools().first().unwrap().1, ToolStatus::Ok);
    // The first move was possible, and was not made either.
    let agent = scene.state();
    assert_eq!(lies(agent, GYM), [Slot::new(3, 1, 2)]);
    assert_eq!(lies(agent, CHOIR), [Slot::new(4, 5, 6)]);
    assert_eq!(agent.schedule, agent.original);
    let outcome = agent.run.outcome.as_ref().unwrap();
    assert_eq!(outcome.status, TerminalStatus::Aborted);
    assert_eq!(stage.model.left(), 0);
}

#[tokio::test]
async fn sch_t1_rounds_are_exhausted() {
    let days = 1..=3;
    let looks = days.map(|day| look("find_free", json!({ "duration": 2, "day": day })));
    let script = [task(), plan(["Look at everything"])]
        .into_iter()
        .chain(looks);
    let stage = Talk::new(script.chain([json!("I came as far as Wednesday.")]));
    let request = Request::new("Look at everything").classes([1]);
    stage.request(request.max_rounds(3)).await;
    let scene = stage.approve().await;
    assert!(scene.is_finished(), "{:?}", scene.end);
    let outcome = scene.state().run.outcome.as_ref().unwrap();
    let ended = (outcome.status, &*outcome.code);
    assert_eq!(ended, (TerminalStatus::Exhausted, "round_exhausted"));
    // The run is still summarised.
    assert_eq!(scene.statuses().last(), Some(&"done"));
    assert_eq!(
        scene.texts(),
        [
            "I have used all the rounds I had; this is how far I came.\n[ ] Look at everything\n\
             0 placed, 0 moved, 0 taken out, 2 still pending",
            "The model remarks: \"I came as far as Wednesday.\""
        ]
    );
    assert_eq!(lies(scene.state(), SECOND), []);
    assert_eq!(scene.state().run.rounds.used, 3);
}
