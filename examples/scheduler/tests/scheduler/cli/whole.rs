//! The limits of a whole rearrangement, and of the choice of a model in it.
use fugato_testkit::{ModelAnswer, ModelServer, assert_lacks};
use serde_json::{Value, json};

use super::{answers::code, work::Work};

/// Returns where everything lies, by number.
fn places(schedule: &Value) -> Vec<(Value, Value)> {
    let tasks = schedule["tasks"].as_array().unwrap().iter();
    tasks
        .map(|task| (task["state_id"].clone(), task["slots"].clone()))
        .collect()
}

#[test]
fn sch_32_a_whole_rearrangement_asks_about_each_kept_item_that_it_moves() {
    for (lang, all_again, everything, was, no) in [
        (
            "en",
            "Plan my weeks: place everything.",
            "Rearrange everything.",
            "(was ",
            "no",
        ),
        ("zh", "把任务都排一下。", "整体重排一下。", "（原来", "不要"),
    ] {
        let work = Work::new();
        work.ok(&["--yes", "--lang", lang]);
        let before = places(&work.calendar());
        // Another placing moves nothing that was agreed to.
        let placed = work.ok(&["say", "--yes", all_again]);
        assert_lacks(&placed, was);
        assert_eq!(places(&work.calendar()), before);
        let asked = work.ok(&["say", everything]);
        let lines = asked.lines().filter(|line| line.starts_with('▌'));
        let lines = lines.filter(|line| line.contains(was)).count();
        assert!(lines > 1, "{asked}");
        assert_eq!(places(&work.calendar()), before, "nothing moves unasked");
        work.ok(&["say", &format!("{no} {}", code(&asked))]);
        assert_eq!(places(&work.calendar()), before, "a refusal moves nothing");
        work.ok(&["say", "--yes", everything]);
        let after = places(&work.calendar());
        let moved = before.iter().zip(&after).filter(|(old, new)| old != new);
        assert_eq!(moved.count(), lines, "each was on the card: {asked}");
    }
}

#[test]
fn sch_111_a_model_that_searches_by_itself_is_corrected_and_moves_nothing() {
    let call = |name: &str, arguments: Value| json!({ "action": "continue", "tool_call": { "name": name, "arguments": arguments } });
    let judge = call("analyze_health", json!({}));
    let done = json!({ "action": "done", "goal_check": "nothing is left to improve" });
    let searches = [
        call("place", json!({ "task_id": 30, "day": 3, "slot_start": 1 })),
        call("find_free", json!({})),
        call("batch_move", json!({ "moves": [] })),
    ];
    for (lang, request, corrected) in [
        (
            "en",
            "Plan my weeks: place everything.",
            "what it answered is not allowed here",
        ),
        ("zh", "把任务都排一下。", "回答的内容在这里不允许"),
    ] {
        let planned = |decisions: Vec<&Value>| {
            let script = [json!({ "intent": "task" }).to_string()].into_iter();
            let script = script.chain(decisions.into_iter().map(Value::to_string));
            let script = script.chain(["OK".to_owned()]);
            let model = ModelServer::in_turn(script.map(|text| ModelAnswer::text(&text, "stop")));
            let work = Work::new();
            let url = model.url();
            let at = ["--base-url", &url, "--model", "scripted"];
            let said = [&["--yes", "--lang", lang, "--request", request], &at[..]];
            let said = work.ok(&said.concat());
            (said, places(&work.calendar()))
        };
        let (said, chosen) = planned(vec![&judge, &done]);
        assert_lacks(&said, corrected);
        // Between its searches it judges, as it may.
        let [place, free, batch] = &searches;
        let (said, kept) = planned(vec![place, &judge, free, batch, &done]);
        assert_eq!(said.matches(corrected).count(), searches.len(), "{said}");
        assert_eq!(kept, chosen);
    }
}
