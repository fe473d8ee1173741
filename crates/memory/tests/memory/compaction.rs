//! Tests of compaction: summaries stand in for messages, and the messages stay.
use fugato_memory::{
    Compaction, CompactionPolicy, CompactionUpdate, Segment, SummaryError, Trigger,
};
use fugato_state::{Message, Role, ToolCall};
use proptest::prelude::*;
use serde_json::json;

fn turns(count: usize) -> Vec<Message> {
    let turn = |n| {
        [
            Message::user(format!("question {n}")),
            Message::assistant(format!("answer {n}")),
        ]
    };
    (0..count).flat_map(turn).collect()
}

fn free(_: &Message) -> u64 {
    0
}

#[test]
fn trn_t6_a_conversation_is_compacted_at_turn_141() {
    let policy = CompactionPolicy::default();
    assert_eq!(policy.due(&turns(140), &Compaction::default(), free), None);
    let request = policy.due(&turns(141), &Compaction::default(), free);
    let range = request.map(|request| (request.from, request.upto));
    assert_eq!(range, Some((0, 242)));
}

#[test]
fn pln_23_both_the_count_and_the_tokens_must_be_too_much() {
    let both = Trigger::All(vec![Trigger::Messages(6), Trigger::Tokens(900)]);
    let policy = CompactionPolicy::default().when(both).keep_recent(3);
    let cost = |each: u64| move |_: &Message| each;
    let none = Compaction::default();
    assert_eq!(policy.due(&turns(3), &none, cost(1_000)), None);
    assert_eq!(policy.due(&turns(4), &none, cost(10)), None);
    let request = policy
        .due(&turns(4), &none, cost(200))
        .map(|request| request.messages);
    assert_eq!(request, Some(turns(1)));
}

#[test]
fn pln_t4_the_summary_is_there_before_a_message_goes_out_of_view() -> Result<(), SummaryError> {
    let policy = CompactionPolicy::default()
        .when(Trigger::Turns(4))
        .keep_recent(2);
    let history = turns(6);
    let mut done = Compaction::default();
    assert_eq!(done.view(&history), ("", &history[..]));
    let request = policy
        .due(&history, &done, free)
        .expect("six turns are more than four");
    done.apply(request.check(" They talked. ", 7)?);
    assert_eq!(done.view(&history), ("They talked.", &turns(6)[8..]));
    let segment = Segment {
        from: 0,
        upto: 8,
        summary: "They talked.".into(),
        at: 7,
    };
    assert_eq!(done.segments, [segment]);
    assert_eq!(policy.due(&history, &done, free), None);
    Ok(())
}

#[test]
fn l14_a_failed_summary_leaves_everything_as_it_is() {
    let policy = CompactionPolicy::default()
        .when(Trigger::Turns(1))
        .keep_recent(1)
        .most_characters(10);
    let history = turns(3);
    let request = policy
        .due(&history, &Compaction::default(), free)
        .expect("three are more than one");
    let request = request.keeping(["Bonn", "June"]);
    let answers = ["  ", "much too long a summary", "In Bonn."];
    assert_eq!(
        answers.map(|answer| request.check(answer, 1)),
        [
            Err(SummaryError::Empty),
            Err(SummaryError::TooLong {
                found: 23,
                most: 10
            }),
            Err(SummaryError::Lost {
                missing: vec!["June".into()]
            }),
        ]
    );
    assert!(request.check("Bonn, June", 1).is_ok());
}

#[test]
fn a_summary_of_another_time_changes_nothing() {
    let segment = |from, upto| {
        let summary = format!("{from} to {upto}");
        CompactionUpdate::Summarised(Segment {
            from,
            upto,
            summary,
            at: 0,
        })
    };
    let mut done = Compaction::default();
    done.apply(segment(0, 4));
    let before = done.clone();
    for late in [segment(0, 6), segment(2, 6), segment(4, 4)] {
        done.apply(late);
        assert_eq!(done, before);
    }
    done.apply(segment(4, 8));
    assert_eq!((done.upto, done.summary.as_str()), (8, "4 to 8"));
}

#[test]
fn what_is_asked_for_names_what_was_known_and_what_must_stay() {
    let policy = CompactionPolicy::default()
        .when(Trigger::Turns(0))
        .keep_recent(0);
    let done = Compaction {
        summary: "They met.".into(),
        ..Compaction::default()
    };
    let request = policy
        .due(&turns(1), &done, free)
        .expect("one turn is more than none");
    let prompt = request.keeping(["Bonn"]).prompt();
    assert_eq!(
        prompt
            .iter()
            .map(|message| message.role)
            .collect::<Vec<_>>(),
        [Role::System, Role::User]
    );
    assert!(prompt[0].content.ends_with("word for word: Bonn"));
    let told = "What was said before came to:\nThey met.\n\nperson: question 0\nagent: answer 0\n";
    assert_eq!(prompt[1].content, told);
}

fn message() -> impl Strategy<Value = Message> {
    let call = || ToolCall::new("1", "look", json!({}));
    prop_oneof![
        Just(Message::user("?")),
        Just(Message::assistant("!")),
        Just(Message::assistant("").with_tool_calls([call()])),
        Just(Message::tool("1", "seen")),
    ]
}

proptest! {
    #[test]
    fn pln_w1_originals_are_kept_and_views_begin_with_a_turn(
        history in prop::collection::vec(message(), 0..60),
        keep in 0..5usize, segment in 1..5usize, most in 0..5usize,
    ) {
        let policy = CompactionPolicy::default().when(Trigger::Turns(most)).keep_recent(keep).segment(segment);
        let mut done = Compaction::default();
        let mut covered = vec![];
        while let Some(request) = policy.due(&history, &done, free) {
            covered.extend(request.messages.clone());
            done.apply(request.check("in short", 0)?);
        }
        let (_, recent) = done.view(&history);
        let all: Vec<Message> = covered.into_iter().chain(recent.iter().cloned()).collect();
        prop_assert_eq!(&all, &history);
        let begins = recent.first().is_none_or(|first| done.upto == 0 || first.role == Role::User);
        prop_assert!(begins);
        let left = recent.iter().filter(|message| message.role == Role::User).count();
        let had = history.iter().filter(|message| message.role == Role::User).count();
        prop_assert!(left >= keep.min(had));
    }
}
