//! What the model is told.
use std::sync::Arc;

use expect_test::{Expect, expect, expect_file};
use fugato::{
    llm::Tag,
    prompt::piped_alternatives,
    state::{Message, PlanStep, Role, State as _},
    tool::Detail,
};
use scheduler::{
    agent::{Agent, ContextHook, Request, Update},
    calendar::Lang,
    prompts,
    schedule::{
        WriteOptions,
        health::{AnalyzeHealthArgs, analyze_health},
    },
    tools::{health, registry},
};

use crate::common::week;

fn tag() -> Tag {
    Tag::around("decision", "k7")
}

fn working(text: &str) -> Agent {
    let mut agent = Agent::default();
    agent.apply(Update::Requested(Request::new(text).classes([1])));
    let step = |content: &str| PlanStep {
        content: content.into(),
        done_when: "it has a place".into(),
    };
    agent.finish_plan(
        vec![step("Place chapter 1"), step("Place chapter 2")],
        false,
        vec![],
        ContextHook::schedule("plan"),
    );
    agent.confirm_plan();
    agent.apply(Update::Loaded(Arc::new(week())));
    agent.apply(Update::HookUsed);
    agent.apply(Update::RoundBegan);
    agent
}

fn catalogue(agent: &Agent) -> String {
    registry()
        .unwrap()
        .catalogue(&agent.active_tools(), Detail::LITE)
}

fn execute(agent: &Agent) -> Vec<Message> {
    prompts::execute(agent, &tag(), &catalogue(agent))
}

fn whole(messages: &[Message]) -> String {
    let part = |message: &Message| format!("== {:?}\n{}\n", message.role, message.content);
    messages.iter().map(part).collect()
}

#[test]
fn sch_113_all_stages_share_the_builder() {
    let agent = working("Arrange my revision");
    expect_file!["snapshots/chat.txt"].assert_eq(&whole(&prompts::chat(&agent, &tag())));
    expect_file!["snapshots/plan.txt"].assert_eq(&whole(&prompts::plan(&agent, &tag(), false)));
    expect_file!["snapshots/execute.txt"].assert_eq(&whole(&execute(&agent)));
    let zh = working("帮我安排复习");
    expect_file!["snapshots/deliver_zh.txt"].assert_eq(&whole(&prompts::deliver(&zh, "已完成。")));
}

#[test]
fn sch_112_every_stage_has_four_messages_and_no_alternatives_to_copy() {
    for text in ["Arrange my revision", "帮我安排复习"] {
        let agent = working(text);
        for messages in [
            prompts::chat(&agent, &tag()),
            prompts::plan(&agent, &tag(), true),
            execute(&agent),
            prompts::deliver(&agent, "Done."),
        ] {
            let roles: Vec<_> = messages.iter().map(|message| message.role).collect();
            assert_eq!(
                roles,
                [Role::System, Role::Assistant, Role::Assistant, Role::System]
            );
            for message in &messages {
                assert_eq!(piped_alternatives(&message.content), [""; 0]);
            }
        }
    }
}

#[test]
fn sch_114_each_block_is_pinned_once() {
    let mut agent = working("Arrange it");
    agent.pin("execution_context", "one".into());
    agent.pin("execution_context", "two".into());
    let keys: Vec<_> = agent
        .conversation
        .pinned
        .iter()
        .map(|block| block.key.as_str())
        .collect();
    assert_eq!(keys, ["plan", "current_step", "execution_context"]);
    assert_eq!(agent.conversation.pinned("execution_context"), Some("two"));
    let last = &execute(&agent)[3].content;
    assert_eq!(last.matches("# execution_context").count(), 1);
    assert!(last.contains("two") && !last.contains("# execution_context\none"));
}

/// Which rule packs the state chooses.
fn rules(agent: &Agent) -> Vec<String> {
    prompts::execute_rules()
        .chosen(agent)
        .map(|(name, _)| name.to_owned())
        .collect()
}

fn check(agent: &Agent, expected: &Expect) {
    expected.assert_eq(&rules(agent).join(" "));
}

#[test]
fn sch_115_rules_follow_the_state() {
    let mut agent = working("Arrange it");
    check(
        &agent,
        &expect![
            "core_min safety_hard context_protocol mode_plan domain_schedule schedule_mutation schedule_analyze"
        ],
    );
    agent.start_direct_execute();
    check(
        &agent,
        &expect![
            "core_min safety_hard context_protocol mode_react domain_schedule schedule_mutation schedule_analyze"
        ],
    );
    agent.apply(Update::Tools(fugato::tool::VisibilityUpdate::Cleared));
    check(
        &agent,
        &expect!["core_min safety_hard context_protocol mode_react"],
    );
    agent.apply(Update::RoughBuilt { refine: true });
    agent.apply(Update::HookUsed);
    check(
        &agent,
        &expect![
            "core_min safety_hard context_protocol mode_react domain_schedule schedule_mutation schedule_analyze rough_build_done diagnosis_loop"
        ],
    );
    // Rules, catalogue and what can be called change together, also after a snapshot.
    let stored: Agent = serde_json::from_str(&serde_json::to_string(&agent).unwrap()).unwrap();
    assert_eq!(whole(&execute(&stored)), whole(&execute(&agent)));
}

#[test]
fn sch_93_94_the_catalogue_shows_what_can_be_called() {
    let names = |agent: &Agent| {
        let registry = registry().unwrap();
        let active = agent.active_tools();
        let visible = registry.visible(&active).map(|spec| spec.name.clone());
        visible.collect::<Vec<_>>().join(" ")
    };
    let mut agent = working("Arrange it");
    expect!["analyze_health batch_move context_tools_add context_tools_remove find_free get_overview list_tasks move place swap unplace"].assert_eq(&names(&agent));
    agent.run.optimize_only = true;
    expect!["analyze_health context_tools_add context_tools_remove move swap"]
        .assert_eq(&names(&agent));
    agent.run.optimize_only = false;
    agent.apply(Update::Tools(fugato::tool::VisibilityUpdate::Cleared));
    expect!["context_tools_add context_tools_remove"].assert_eq(&names(&agent));
}

#[test]
fn sch_56_the_prompt_asks_not_to_repeat_reads() {
    let agent = working("Arrange it");
    let system = &execute(&agent)[0].content;
    assert!(system.contains("Do not call the same tool with the same arguments twice in a row."));
    assert!(system.contains("After two reads of the same kind, act or ask."));
}

#[test]
fn sch_110_the_signal_has_no_day_numbers() {
    let signal = |shift: u16| {
        let mut schedule = week();
        for task in &mut schedule.tasks {
            for slot in &mut task.slots {
                slot.day += shift;
            }
        }
        let args: AnalyzeHealthArgs = serde_json::from_value(serde_json::json!({})).unwrap();
        health(&analyze_health(&schedule, &args, &WriteOptions::default())).signal
    };
    // The same week a week later looks the same.
    assert_eq!(signal(0), signal(7));
    for key in [
        "problem_days",
        "heavy_adjacent_days",
        "max_switch_count",
        "same_type_ratio",
        "tightness",
        "operation",
        "capacity_gap",
    ] {
        assert!(signal(0).contains(&format!("{key}=")), "{}", signal(0));
    }
}

#[test]
fn prompts_are_in_the_language_of_the_person() {
    let mut agent = working("帮我安排复习");
    assert_eq!(agent.lang, Lang::Zh);
    assert!(execute(&agent)[3].content.contains("请用中文回答用户"));
    agent.lang = Lang::En;
    assert!(execute(&agent)[3].content.contains("in English"));
}
