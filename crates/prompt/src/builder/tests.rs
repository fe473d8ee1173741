use expect_test::{Expect, expect};
use fugato_state::{Compaction, ConversationUpdate, PinnedBlock, Role, Segment, State as _};

use super::*;
use crate::{correction, piped_alternatives};

struct PromptState {
    planned: bool,
}

fn builder() -> PromptBuilder<PromptState> {
    PromptBuilder::new("You plan weeks.\n")
        .rules(
            RulePacks::new()
                .always("core_min", "Answer with one JSON object.")
                .when(
                    "mode_plan",
                    |desk: &PromptState| desk.planned,
                    "Work on the current step only.",
                )
                .when(
                    "mode_react",
                    |desk: &PromptState| !desk.planned,
                    "Choose the next step yourself.",
                ),
        )
        .hints(RulePacks::new().when(
            "look",
            |desk: &PromptState| desk.planned,
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
        .instruction("Decide.")
        .compacted(&Compaction {
            summary: "The user studies algebra.".into(),
            ..Compaction::default()
        });
    let messages = builder().build(&PromptState { planned: true }, &conversation(), &stage);
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
        &PromptState { planned: false },
        &Conversation::default(),
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
    let desk = PromptState { planned: true };
    let stage = Stage::new("You carry out a plan.").catalogue("- place(task): Places.");
    let mut conversation = conversation();
    let first = builder.build(&desk, &conversation, &stage);
    conversation.apply(ConversationUpdate::Said(Message::user("And my run?")));
    let later = stage
        .work("[c1] place {}")
        .state("step 2 of 2")
        .instruction("Decide again.");
    let second = builder.build(&desk, &conversation, &later);
    assert_eq!(first[0], second[0]);
    assert!(second[1].content.starts_with(&first[1].content));
}

#[test]
fn sch_112_memory_is_shown_once() {
    let stage = Stage::new("You chat.");
    let messages = builder().build(&PromptState { planned: true }, &conversation(), &stage);
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
        for message in builder.build(&PromptState { planned: true }, &conversation(), &stage) {
            assert_eq!(piped_alternatives(&message.content), [""; 0]);
        }
    }
}

#[test]
fn sch_116_what_lies_before_the_watermark_is_shown_as_its_summary() {
    let history = ["one", "two", "three"].map(Message::user).to_vec();
    let conversation = Conversation {
        history,
        ..Conversation::default()
    };
    let mut done = Compaction::default();
    done.apply(fugato_state::CompactionUpdate::Summarised(Segment {
        from: 0,
        upto: 2,
        summary: "They counted to two.".into(),
        at: 0,
    }));
    let stored: Compaction = serde_json::from_str(&serde_json::to_string(&done).unwrap()).unwrap();
    let stage = Stage::new("You count.").compacted(&stored);
    let messages = builder().build(&PromptState { planned: true }, &conversation, &stage);
    assert_eq!(
        messages[1].content,
        "# Summary of what was said before\nThey counted to two.\n\n# Conversation\nUser: three"
    );
    let cleared = Conversation {
        history: vec![Message::user("new")],
        ..Conversation::default()
    };
    let messages = builder().build(&PromptState { planned: true }, &cleared, &stage);
    assert!(messages[1].content.ends_with("# Conversation\nUser: new"));
}

#[test]
fn sch_116_a_summary_of_work_stands_before_what_was_done_since() {
    let work = ["I look.", "I look again.", "I place it."].map(Message::assistant);
    let done = Compaction {
        summary: "Two looks.".into(),
        upto: 2,
        segments: vec![],
    };
    let shown = |work: &[Message]| {
        let stage = Stage::new("You place.").compacted_work(work, &done);
        let [_, _, shown, _] = builder().build(
            &PromptState { planned: true },
            &Conversation::default(),
            &stage,
        );
        shown.content
    };
    let heading =
        "# Summary of the earlier work in this stage\nTwo looks.\n\n# Work in this stage\n";
    assert_eq!(shown(&work), format!("{heading}Assistant: I place it."));
    assert_eq!(
        shown(&work[..2]),
        format!("{heading}(nothing was done yet in this stage)")
    );
}

#[test]
fn pln_10_24_the_prompt_says_which_source_to_believe_and_shows_them_in_that_order() {
    let trust = Trust::new()
        .then(
            "Execution state",
            "where the plan stands, the blocked step, what was observed",
            Some("when configuration or tools have changed since"),
        )
        .then("Recent conversation", "what the person wants now", None)
        .then(
            "Task state",
            "the intent, open loops, facts that last",
            None,
        );
    let builder = PromptBuilder::<()>::new("You plan.").trust(trust);
    let stage = Stage::new("Plan.")
        .source("Notes", "likes tea")
        .source("Task state", "goal: tea")
        .source("Execution state", "step 2 is blocked");
    let messages = builder.build(&(), &Conversation::default(), &stage);
    check(
        &messages,
        &expect![[r"
            --- System
            You plan.

            Plan.

            # Which source to believe
            Where they contradict each other, the first that says something is right.
            1. Execution state: for where the plan stands, the blocked step, what was observed; not when configuration or tools have changed since
            2. Recent conversation: for what the person wants now
            3. Task state: for the intent, open loops, facts that last
            --- Assistant
            # Conversation
            (nothing was said yet)
            --- Assistant
            # Work in this stage
            (nothing was done yet in this stage)
            --- System
            # State
            (there is no state yet)

            # Execution state
            step 2 is blocked

            # Task state
            goal: tea

            # Notes
            likes tea

            # Now
            Go on.
        "]],
    );
}

#[test]
fn trn_3_identity_profile_and_tools_come_from_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("SOUL.md"),
        "You are {{name}}, calm and brief.\n",
    )
    .unwrap();
    std::fs::write(
        folder.path().join("tool.md"),
        "Use one tool at a time:\n{{catalogue}}",
    )
    .unwrap();
    let folder = crate::TemplateFolder::new(folder.path());
    let known = [("name", "Iris"), ("catalogue", "- look(): Looks.\n")];
    let text = |name: &str, instead| folder.read(name, instead).unwrap().fill(known).unwrap();
    let builder = PromptBuilder::<()>::new(text("SOUL.md", "You are an assistant.")).section(
        "Profile",
        text("USER.md", "(nothing is known about the person)"),
    );
    let stage = Stage::new("You answer.")
        .catalogue(text("tool.md", "{{catalogue}}"))
        .source("Memories", "The person has a cat.");
    let [system, .., now] = builder.build(&(), &Conversation::default(), &stage);
    assert_eq!(
        system.content,
        "You are Iris, calm and brief.\n\n# Profile\n(nothing is known about the person)\n\n\
         You answer.\n\n# Tools\nUse one tool at a time:\n- look(): Looks."
    );
    assert!(now.content.contains("# Memories\nThe person has a cat."));
}
