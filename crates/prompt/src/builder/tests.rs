use expect_test::{Expect, expect};
use fugato_state::{ConversationUpdate, PinnedBlock, Role};

use super::*;
use crate::{correction, piped_alternatives};

struct Desk {
    planned: bool,
}

fn builder() -> PromptBuilder<Desk> {
    PromptBuilder::new("You plan weeks.\n")
        .rules(
            Rules::new()
                .always("core_min", "Answer with one JSON object.")
                .when(
                    "mode_plan",
                    |desk: &Desk| desk.planned,
                    "Work on the current step only.",
                )
                .when(
                    "mode_react",
                    |desk: &Desk| !desk.planned,
                    "Choose the next step yourself.",
                ),
        )
        .hints(Rules::new().when(
            "look",
            |desk: &Desk| desk.planned,
            "Look for free sections first.",
        ))
}

fn conversation() -> Conversation {
    let mut conversation = Conversation::default();
    let blocks = [
        ("plan", "1. Look.\n2. Place."),
        (MEMORY, "Prefers mornings."),
        ("current_step", "1. Look."),
    ];
    for (key, text) in blocks {
        let block = PinnedBlock {
            key: key.into(),
            text: text.into(),
        };
        conversation.apply(ConversationUpdate::Pinned(block));
    }
    for message in [
        Message::user("Plan my revision."),
        Message::assistant("Sure"),
        correction("not JSON"),
        Message::assistant("I look."),
        Message::tool("c1", "free: 3 to 4"),
    ] {
        conversation.apply(ConversationUpdate::Said(message));
    }
    conversation
}

fn check(messages: &[Message; 4], expected: &Expect) {
    let mut shown = String::new();
    for message in messages {
        let _ = writeln!(shown, "--- {:?}\n{}", message.role, message.content);
    }
    expected.assert_eq(&shown);
}

#[test]
fn sch_112_a_prompt_has_four_messages() {
    let stage = Stage::new("You carry out a plan.")
        .catalogue("- find_free(duration): Finds free sections.\n")
        .work("[c1] find_free {\"duration\":2}\n[c1] → free: 3 to 4")
        .state("step 1 of 2")
        .resume("Which day?", "Monday")
        .instruction("Decide.");
    let summary = Some("The user studies algebra.");
    let messages = builder().build(&Desk { planned: true }, &conversation(), summary, &stage);
    check(
        &messages,
        &expect![[r#"
            --- System
            You plan weeks.

            You carry out a plan.

            # Tools
            - find_free(duration): Finds free sections.

            # Rules
            Answer with one JSON object.

            Work on the current step only.
            --- Assistant
            # Summary of what was said before
            The user studies algebra.

            # Conversation
            User: Plan my revision.
            Assistant: I look.
            --- Assistant
            # Work in this stage
            [c1] find_free {"duration":2}
            [c1] → free: 3 to 4
            --- System
            # State
            step 1 of 2

            # plan
            1. Look.
            2. Place.

            # current_step
            1. Look.

            # Memory
            Prefers mornings.

            # Going on after a question
            Asked: Which day?
            Answered: Monday

            # Next steps
            - Look for free sections first.

            # Now
            Decide.
        "#]],
    );
}

#[test]
fn sch_112_empty_segments_say_so() {
    let builder = builder().wording(Wording::chinese()).ends_with_user();
    let stage = Stage::new("你负责聊天。");
    let messages = builder.build(
        &Desk { planned: false },
        &Conversation::default(),
        None,
        &stage,
    );
    check(
        &messages,
        &expect![[r"
            --- System
            You plan weeks.

            你负责聊天。

            # 规则
            Answer with one JSON object.

            Choose the next step yourself.
            --- Assistant
            # 对话
            （暂无对话）
            --- Assistant
            # 本阶段的工作
            （本阶段尚无工作）
            --- User
            # 状态
            （暂无状态）

            # 当前任务
            请继续。
        "]],
    );
}

#[test]
fn l6_what_changes_every_round_leaves_the_beginning_as_it_was() {
    let builder = builder();
    let desk = Desk { planned: true };
    let stage = Stage::new("You carry out a plan.").catalogue("- place(task): Places.");
    let mut conversation = conversation();
    let first = builder.build(&desk, &conversation, None, &stage);
    conversation.apply(ConversationUpdate::Said(Message::user("And my run?")));
    let later = stage
        .work("[c1] place {}")
        .state("step 2 of 2")
        .instruction("Decide again.");
    let second = builder.build(&desk, &conversation, None, &later);
    assert_eq!(first[0], second[0]);
    assert!(second[1].content.starts_with(&first[1].content));
}

#[test]
fn sch_112_memory_is_shown_once() {
    let stage = Stage::new("You chat.");
    let messages = builder().build(&Desk { planned: true }, &conversation(), None, &stage);
    let shown: usize = messages
        .iter()
        .map(|message| message.content.matches("Prefers mornings.").count())
        .sum();
    assert_eq!(shown, 1);
    assert_eq!(
        messages.map(|message| message.role),
        [Role::System, Role::Assistant, Role::Assistant, Role::System,]
    );
}

#[test]
fn l6_no_rule_of_either_wording_shows_alternatives_with_bars() {
    for wording in [Wording::english(), Wording::chinese()] {
        let builder = builder().wording(wording);
        for (name, text) in builder.rules.all().chain(builder.hints.all()) {
            assert_eq!(piped_alternatives(text), [""; 0], "{name}");
        }
        let stage = Stage::new("You chat.");
        for message in builder.build(&Desk { planned: true }, &conversation(), None, &stage) {
            assert_eq!(piped_alternatives(&message.content), [""; 0]);
        }
    }
}
