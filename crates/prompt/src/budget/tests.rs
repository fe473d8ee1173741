use fugato_state::{PinnedBlock, ToolCall};
use proptest::{collection::vec, prelude::*};
use serde_json::json;

use super::*;
use crate::{RulePacks, correction};

fn builder() -> PromptBuilder<()> {
    PromptBuilder::new("You plan.").hints(RulePacks::new().always("look", "Look before you place."))
}

fn talk(lines: impl IntoIterator<Item = Message>) -> Conversation {
    Conversation {
        history: lines.into_iter().collect(),
        pinned: vec![PinnedBlock {
            key: "plan".into(),
            text: "1. Look. 2. Place.".into(),
        }],
    }
}

fn step(n: usize, result: &str) -> [Message; 2] {
    let id = format!("c{n}");
    let call = ToolCall::new(&id, "look", json!({ "day": n }));
    [
        Message::assistant("").with_tool_calls([call]),
        Message::tool(id, result),
    ]
}

fn what(fitted: &FittedPrompt) -> Vec<(&Cut, usize)> {
    let left_out = fitted.left_out.iter();
    left_out
        .map(|omission| (&omission.what, omission.count))
        .collect()
}

#[test]
fn sch_116_what_fits_is_left_as_it_is() {
    let conversation = talk([Message::user("Plan.")]);
    let stage = Stage::new("Act.").work(step(1, "free").to_vec());
    let fitted = builder()
        .fitted(&(), &conversation, &stage, &PromptBudget::new(80_000))
        .unwrap();
    assert_eq!(fitted.messages, builder().build(&(), &conversation, &stage));
    assert_eq!(fitted.left_out, []);
    assert_eq!(fitted.tokens, EstimatedTokens.messages(&fitted.messages));
}

#[test]
fn sch_116_things_are_left_out_in_the_order_that_is_declared() {
    let old = (0..40).map(|n| Message::assistant(format!("old line {n} of the conversation")));
    let conversation = talk(old.chain([Message::user("Plan my week.")]));
    let long = "free ".repeat(100);
    let work: Vec<_> = (0..20).flat_map(|n| step(n, &long)).collect();
    let stage = Stage::new("Act.")
        .work(work)
        .source("Notes", "tea ".repeat(30));
    let notes = Cut::Source("Notes".into());
    let order = [
        Cut::Results { most: 40 },
        Cut::Hints,
        Cut::Steps,
        notes.clone(),
        Cut::Messages,
    ];
    let fitted = |tokens| {
        let budget = PromptBudget::new(tokens).order(order.clone());
        builder().fitted(&(), &conversation, &stage, &budget)
    };
    let (results, hints) = (Cut::Results { most: 40 }, Cut::Hints);
    assert_eq!(what(&fitted(2_000).unwrap()), [(&results, 20)]);
    // Steps are left out in jumps, so that the beginning stays the same for a while.
    assert_eq!(
        what(&fitted(900).unwrap()),
        [(&results, 20), (&hints, 1), (&Cut::Steps, 8)]
    );
    assert_eq!(
        what(&fitted(500).unwrap()),
        [
            (&results, 20),
            (&hints, 1),
            (&Cut::Steps, 19),
            (&notes, 1),
            (&Cut::Messages, 8)
        ]
    );
    let error = fitted(50).unwrap_err();
    assert_eq!(error.fitted.left_out.last().unwrap().count, 40);
    assert!(
        error.fitted.messages[1]
            .content
            .ends_with("User: Plan my week.")
    );
    assert!(error.to_string().starts_with("the prompt has "), "{error}");
}

fn any_message() -> impl Strategy<Value = Vec<Message>> {
    let text = "[a-z ]{0,60}";
    prop_oneof![
        text.prop_map(|text| vec![Message::user(text)]),
        text.prop_map(|text| vec![Message::assistant(text)]),
        text.prop_map(|text| vec![Message::assistant(text), correction("no")]),
        (0usize..99, "[a-z ]{0,400}").prop_map(|(n, text)| step(n, &text).to_vec()),
        ("[a-z]{0,90}", "[a-z]{0,90}").prop_map(|(one, two)| {
            let call = |id: &str| ToolCall::new(id, "look", json!({}));
            vec![
                Message::assistant("").with_tool_calls([call("x"), call("y")]),
                Message::tool("x", one),
                Message::tool("y", two),
            ]
        }),
    ]
}

proptest! {
    #[test]
    fn sch_116_a_budget_never_drops_what_must_stay(
        said in vec(any_message(), 0..20),
        work in vec(any_message(), 0..20),
        tokens in 0u64..900,
        most in 0usize..100,
    ) {
        let (said, work) = (said.concat(), work.concat());
        let request = Message::user("And this is what I want.");
        let conversation = talk(said.into_iter().chain([request]));
        let stage = Stage::new("Act.")
            .catalogue("- look(day): Looks.")
            .work(work)
            .source("Notes", "tea")
            .resume("Which day?", "Monday")
            .instruction("Decide.");
        let order = [Cut::Results { most }, Cut::Steps, Cut::Source("Notes".into()), Cut::Messages, Cut::Hints];
        let budget = PromptBudget::new(tokens).order(order);
        let fitted = match builder().fitted(&(), &conversation, &stage, &budget) {
            Ok(fitted) => {
                prop_assert!(fitted.tokens <= tokens);
                fitted
            }
            Err(too_long) => {
                prop_assert!(too_long.fitted.tokens > tokens);
                *too_long.fitted
            }
        };
        let [system, said, done, now] = fitted.messages.each_ref().map(|message| &message.content);
        let whole = builder().build(&(), &conversation, &stage);
        prop_assert_eq!(system, &whole[0].content);
        prop_assert!(said.ends_with("User: And this is what I want."));
        for kept in ["1. Look. 2. Place.", "Which day?", "Monday", "# Now\nDecide."] {
            prop_assert!(now.contains(kept), "{} in {}", kept, now);
        }
        // Calls and results come in pairs: each result line has its call before it.
        let mut open = vec![];
        for line in done.lines() {
            if let Some((id, rest)) = line.strip_prefix('[').and_then(|line| line.split_once("] ")) {
                if rest.starts_with("look ") {
                    open.push(id.to_owned());
                } else if rest.starts_with('→') {
                    let call = open.iter().position(|open| open == id);
                    prop_assert!(call.is_some(), "{} has no call in {}", line, done);
                    open.remove(call.unwrap_or_default());
                }
            }
        }
        prop_assert!(open.is_empty(), "{:?} have no result in {}", open, done);
        prop_assert_eq!(fitted.tokens == EstimatedTokens.messages(&whole) && tokens >= fitted.tokens, fitted.left_out.is_empty());
    }
}
