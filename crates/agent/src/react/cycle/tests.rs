use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn used(name: &str, n: u32, result: &str) -> ToolUse {
    ToolUse::new(name, json!({ "n": n }), result)
}

fn period(history: &[ToolUse]) -> Option<usize> {
    CycleDetector::default().find(history)
}

#[test]
fn rct_11_two_calls_that_are_alike_in_a_row() {
    let same = used("look", 1, "nothing");
    assert_eq!(period(&[same.clone(), same.clone()]), Some(1));
    assert_eq!(period(std::slice::from_ref(&same)), None);
    let others = [
        used("listen", 1, "nothing"),
        used("look", 2, "nothing"),
        used("look", 1, "a bird"),
    ];
    for other in others {
        assert_eq!(period(&[same.clone(), other]), None);
    }
}

#[test]
fn rct_w2_a_cycle_of_any_period() {
    let [a, b, c] = ["a", "b", "c"].map(|name| used(name, 1, "same"));
    let history = |uses: &[&ToolUse]| uses.iter().map(|one| (*one).clone()).collect::<Vec<_>>();
    assert_eq!(period(&history(&[&a, &b, &a, &b])), Some(2));
    assert_eq!(period(&history(&[&a, &b, &c, &a, &b, &c])), Some(3));
    assert_eq!(period(&history(&[&a, &b, &a, &c])), None);
    assert_eq!(period(&history(&[&b, &a, &b])), None);
    let thrice = CycleDetector::default().repeats(3);
    assert_eq!(thrice.find(&history(&[&a, &b, &a, &b])), None);
    let short = CycleDetector::default().longest(1);
    assert_eq!(short.find(&history(&[&a, &b, &a, &b])), None);
}

#[test]
fn rct_c1_alike_is_equal_json_or_enough_shared_words() {
    let nine = json!("one two three four five six seven eight nine");
    let ten = json!("one two three four five six seven eight nine ten");
    assert!(of_values(&nine, &ten, 0.9));
    assert!(!of_values(&nine, &ten, 0.91));
    assert!(!of_values(&nine, &ten, CycleDetector::EQUAL));
    let ordered = [r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#];
    let [a, b] = ordered.map(|text| serde_json::from_str::<Value>(text).unwrap());
    assert!(of_values(&a, &b, CycleDetector::EQUAL));
    assert!(!of_values(
        &json!({ "page": 1 }),
        &json!({ "page": 2 }),
        0.9
    ));
    assert!(of_texts("没有可用的时间段", "没有可用的时间段。", 0.8));
    assert!(!of_texts("没有可用的时间段", "周一上午有课", 0.8));
    assert!(!of_texts("!", "?", 0.8));
}

proptest! {
    /// A block that is repeated at the end is found, with a period no longer than the block.
    #[test]
    fn rct_w2_whatever_repeats_is_found(
        block in proptest::collection::vec(0u32..4, 1..6),
        before in proptest::collection::vec(4u32..9, 0..4),
    ) {
        let numbers = before.iter().chain(&block).chain(&block);
        let history: Vec<_> = numbers.map(|n| used(&format!("t{n}"), *n, "r")).collect();
        let found = period(&history);
        prop_assert!(found.is_some_and(|period| period <= block.len()), "{found:?}");
    }

    #[test]
    fn rct_w2_what_never_repeats_is_no_cycle(length in 0u32..20) {
        let history: Vec<_> = (0..length).map(|n| used(&format!("t{n}"), n, "r")).collect();
        prop_assert_eq!(period(&history), None);
    }
}
