//! The prompts of the model.
//!
//! The files in `snapshots` are whole prompts. After an intended change,
//! `UPDATE_EXPECT=1 cargo test -p scheduler --test scheduler prompts` rewrites them.
use fugato_testkit::assert_contains;
use std::sync::Arc;

use expect_test::{Expect, expect, expect_file};
use fugato::{
    llm::Tag,
    prompt::{EstimatedTokens, TokenCount as _, correction, piped_alternatives},
    state::{ConversationUpdate, Message, PlanStep, Role, State as _, ToolCall},
    tool::{CatalogueDetail, call_pair},
};
use scheduler::{
    agent::{AgentState, ContextHook, Request, Update},
    calendar::Lang,
    prompts,
    schedule::{
        ScheduleState, WriteOptions,
        health::{AnalyzeHealthArgs, analyze_health},
    },
    tools::{health, registry},
};

use crate::common::{term, week};

fn tag() -> Tag {
    Tag::around("decision", "k7")
}

fn working(text: &str) -> AgentState {
    let mut agent = AgentState::default();
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

fn catalogue(agent: &AgentState) -> String {
    registry()
        .unwrap()
        .catalogue(&agent.active_tools(), CatalogueDetail::LITE)
}

fn execute(agent: &AgentState) -> Vec<Message> {
    prompts::execute(agent, &tag(), &catalogue(agent))
}

fn whole(messages: &[Message]) -> String {
    let part = |message: &Message| format!("== {:?}\n{}\n", message.role, message.content);
    messages.iter().map(part).collect()
}

#[test]
fn sch_113_all_stages_share_the_builder() {
    let (en, zh) = (working("Arrange my revision"), working("帮我安排复习"));
    let chat = |agent: &AgentState| whole(&prompts::chat(agent, &tag()));
    expect_file!["snapshots/chat_en.txt"].assert_eq(&chat(&en));
    expect_file!["snapshots/chat_zh.txt"].assert_eq(&chat(&zh));
    let plan = |agent: &AgentState, deep| whole(&prompts::plan(agent, &tag(), deep));
    expect_file!["snapshots/plan_en.txt"].assert_eq(&plan(&en, false));
    expect_file!["snapshots/plan_zh.txt"].assert_eq(&plan(&zh, true));
    let execute = |agent: &AgentState| whole(&execute(agent));
    expect_file!["snapshots/execute_en.txt"].assert_eq(&execute(&en));
    expect_file!["snapshots/execute_zh.txt"].assert_eq(&execute(&worked(zh.clone())));
    let deliver = |agent: &AgentState, facts| whole(&prompts::deliver(agent, facts));
    expect_file!["snapshots/deliver_en.txt"].assert_eq(&deliver(&en, "Two tasks were placed."));
    expect_file!["snapshots/deliver_zh.txt"].assert_eq(&deliver(&zh, "已安排两个任务。"));
}

#[test]
fn l6_the_first_message_stays_while_work_goes_on() {
    let before = working("Arrange my revision");
    let after = worked(before.clone());
    let other = Tag::around("decision", "k8");
    let (first, second) = (
        execute(&before),
        prompts::execute(&after, &other, &catalogue(&after)),
    );
    assert_eq!(first[0], second[0]);
    assert!(second[3].content.contains(&other.opening()));
    for (first, second) in [
        (
            prompts::chat(&before, &tag()),
            prompts::chat(&after, &other),
        ),
        (
            prompts::plan(&before, &tag(), false),
            prompts::plan(&after, &other, true),
        ),
    ] {
        assert_eq!(first[0], second[0]);
    }
}

/// Returns the agent after a call, a correction and a question with its answer.
fn worked(mut agent: AgentState) -> AgentState {
    let call = ToolCall::new("call-1", "find_free", serde_json::json!({ "duration": 2 }));
    let said = call_pair(call, "先看空档。", "day 2: sections 3 to 4").into_iter();
    let corrected = [
        Message::assistant("好的"),
        correction("answer with one JSON object"),
    ];
    for message in said.chain(corrected) {
        agent.apply(Update::Talked(ConversationUpdate::Said(message)));
    }
    agent.run.resumed = Some(("放在周二可以吗？".into(), "可以".into()));
    agent
}

#[test]
fn sch_116_a_prompt_that_is_too_long_loses_old_steps_and_never_the_request() {
    let mut agent = working("Arrange my revision");
    let long = "free ".repeat(2_000);
    for n in 0..200 {
        let call = ToolCall::new(format!("call-{n}"), "get_overview", serde_json::json!({}));
        for message in call_pair(call, format!("Look {n}."), long.clone()) {
            agent.apply(Update::Talked(ConversationUpdate::Said(message)));
        }
    }
    let messages = execute(&agent);
    let tokens = EstimatedTokens.messages(&messages);
    assert!((60_000..=80_000).contains(&tokens), "{tokens}");
    assert!(messages[1].content.contains("User: Arrange my revision"));
    let work = &messages[2].content;
    assert!(work.contains("(earlier steps that are left out: ") && work.contains("[call-199] →"));
    assert!(messages[3].content.contains("Place chapter 1"));
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

/// Returns the rule packs that the state chooses.
fn chosen(agent: &AgentState) -> Vec<String> {
    prompts::execute_rules()
        .chosen(agent)
        .map(|(name, _)| name.to_owned())
        .collect()
}

fn check(agent: &AgentState, expected: &Expect) {
    expected.assert_eq(&chosen(agent).join(" "));
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
    agent.apply(Update::RoughBuilt {
        refine: true,
        left: None,
    });
    agent.apply(Update::HookUsed);
    check(
        &agent,
        &expect![
            "core_min safety_hard context_protocol mode_react domain_schedule schedule_mutation schedule_analyze rough_build_done diagnosis_loop"
        ],
    );
    for (domain, pack, rules) in [
        ("schedule", "web", "domain_schedule schedule_web"),
        ("schedule", "queue", "domain_schedule queue_chain"),
        ("taskclass", "core", "domain_taskclass"),
    ] {
        let (domain, packs) = (domain.to_owned(), [pack.to_owned()].into());
        let activated = fugato::tool::VisibilityUpdate::Activated { domain, packs };
        let mut other = working("Arrange it");
        other.apply(Update::Tools(activated));
        let all = format!("core_min safety_hard context_protocol mode_plan {rules}");
        assert_eq!(chosen(&other).join(" "), all);
        other.apply(Update::ClassRefused(vec!["no items".into()]));
        assert_eq!(chosen(&other).join(" "), all + " taskclass_retry");
    }
    // Rules, catalogue and callable tools change together, also after a snapshot.
    let stored: AgentState = serde_json::from_str(&serde_json::to_string(&agent).unwrap()).unwrap();
    assert_eq!(whole(&execute(&stored)), whole(&execute(&agent)));
}

#[test]
fn sch_115_the_prompt_says_what_day_it_is() {
    let clock = |now: &str, schedule: Option<ScheduleState>| {
        let mut agent = working("Arrange it tomorrow");
        agent.now = Some(now.parse().unwrap());
        agent.schedule = schedule.map(Arc::new);
        let state = execute(&agent)[3].content.clone();
        assert_eq!(
            execute(&agent)[0],
            execute(&working("Arrange it tomorrow"))[0]
        );
        let line = state.lines().find_map(|line| line.strip_prefix("it is "));
        (line.unwrap().to_owned(), agent.today())
    };
    let inside = "Wednesday, 2054-09-23 08:30; day 10 is today";
    assert_eq!(clock("2054-09-23T08:30", Some(week())), (inside.into(), 10));
    let before = "Saturday, 2054-09-12 23:59; day 1 is in 2 days";
    assert_eq!(clock("2054-09-12T23:59", Some(week())), (before.into(), -1));
    let over = "Monday, 2054-09-28 00:00; the days of the schedule are over, day 1 counts as today";
    assert_eq!(clock("2054-09-28T00:00", Some(week())), (over.into(), 1));
    let unbound = "Monday, 2054-09-14 08:00";
    assert_eq!(clock("2054-09-14T08:00", None), (unbound.into(), 1));
    let bare = term(1, 1, 2);
    assert_eq!(clock("2054-09-14T08:00", Some(bare)), (unbound.into(), 1));
}

#[test]
fn sch_93_94_the_catalogue_shows_what_can_be_called() {
    let names = |agent: &AgentState| {
        let registry = registry().unwrap();
        let active = agent.active_tools();
        let visible = registry.visible(&active).map(|spec| spec.name.clone());
        visible.collect::<Vec<_>>().join(" ")
    };
    let mut agent = working("Arrange it");
    expect!["analyze_health batch_move context_tools_add context_tools_remove find_free get_overview list_tasks move place query_available_slots query_target_tasks swap unplace"].assert_eq(&names(&agent));
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
        assert_contains(&signal(0), &format!("{key}="));
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
