//! The prompts: the agent's character, the person's profile, the tools, the conversation, the
//! memory and the results of the turn. The files are read for each prompt, so an edit is effective
//! at once.
use fugato::{
    BoxError,
    llm::{ChatRequest, Profile, Thinking},
    prompt::{PromptBudget, PromptBuilder, Stage, Trust, fenced, fences},
    state::{Conversation, Lang, say},
    tool::CatalogueDetail,
};
use serde_json::json;

use crate::{agent::AgentState, deps::Deps, plan::TurnStep};

/// The maximum number of tokens of a prompt.
const MOST_TOKENS: u64 = 24_000;
/// The name of the agent, for the template `SOUL.md`.
const NAME: &str = "Iris";
const SOUL: [&str; 2] = [
    "You are {{name}}, an assistant whose every step can be seen.",
    "你是 {{name}}，一个每一步都看得见的助手。",
];
const USER: [&str; 2] = ["Nothing is known about the person.", "对用户一无所知。"];
const TOOLS: &str = "{{tools}}";

/// Returns the request of a stage.
pub fn request(
    deps: &Deps,
    agent: &AgentState,
    name: &str,
    stage: Stage,
) -> Result<ChatRequest, BoxError> {
    let stage = known(agent, stage);
    let builder = builder(deps, agent)?;
    let budget = PromptBudget::new(MOST_TOKENS);
    let conversation = without_headings(&agent.conversation);
    let fitted = builder.fitted(agent, &conversation, &stage, &budget)?;
    let messages = fitted
        .messages
        .into_iter()
        .chain(agent.turn.corrected.iter().cloned());
    let request = ChatRequest::new(messages).metadata("stage", name);
    Ok(profile(name).apply(request))
}

/// Returns the conversation without lines that look like a heading of the prompt: an answer may
/// have quoted a file.
fn without_headings(conversation: &Conversation) -> Conversation {
    let mut quoted = conversation.clone();
    for message in &mut quoted.history {
        if message.content.contains("\n#") {
            message.content = message.content.replace("\n#", "\n #");
        }
    }
    quoted
}

fn profile(stage: &str) -> Profile {
    let (temperature, tokens) = match stage {
        "answer" => (0.5, 1200),
        "plan" => (0.2, 1200),
        _ => (0.2, 600),
    };
    Profile {
        temperature: Some(temperature),
        max_tokens: Some(tokens),
        thinking: Some(Thinking::Off),
        timeout: Some(std::time::Duration::from_secs(30)),
        ..Profile::default()
    }
}

fn builder(deps: &Deps, agent: &AgentState) -> Result<PromptBuilder<AgentState>, BoxError> {
    let templates = &deps.desk.templates;
    let today = deps.jobs.clock().shown(agent.turn.began_at);
    let tools = deps.toolbox.catalogue(agent, CatalogueDetail::Full);
    let known = [
        ("name", NAME),
        ("now", today.as_str()),
        ("tools", tools.as_str()),
    ];
    let read = |file: &str, instead: &str| templates.read(file, instead)?.fill(known);
    let spoken = |[en, zh]: [&'static str; 2]| Lang::current().pick(en, zh);
    let said_once = say!(
        "what the person once said or wanted",
        "用户曾经说过或想要的"
    );
    let otherwise = say!("when results say otherwise", "与结果不符时");
    let trust = Trust::new()
        .then(results(), &say!("what is so now", "现在的情况"), None)
        .then(memory(), &said_once, Some(&otherwise));
    Ok(PromptBuilder::new(read("SOUL.md", spoken(SOUL))?)
        .section(say!("Profile", "用户档案"), read("USER.md", spoken(USER))?)
        .section(say!("Tools", "工具"), read("tool.md", TOOLS)?)
        .section(say!("Data", "数据"), fences())
        .trust(trust)
        .ends_with_user())
}

/// Returns the heading of the results.
fn results() -> String {
    say!("Results", "结果")
}

/// Returns the heading of the memory.
fn memory() -> String {
    say!("Memory", "记忆")
}

/// Adds the facts about the turn that every stage gets.
fn known(agent: &AgentState, stage: Stage) -> Stage {
    let turn = &agent.turn;
    let made = turn.uses.iter().map(|made| {
        let call = json!({ "name": made.call.name, "params": made.call.arguments });
        let text = fenced(&made.text);
        say!(
            "{call} ended {}:\n{text}",
            "{call} 的结束状态 {}：\n{text}",
            json!(made.status)
        )
    });
    let made = made
        .chain(turn.skipped.iter().cloned())
        .collect::<Vec<_>>()
        .join("\n");
    let memories = turn
        .memories
        .iter()
        .map(|memory| format!("- {} ({})", memory.text, memory.id));
    let memories = memories.collect::<Vec<_>>().join("\n");
    let memories = if memories.is_empty() {
        memories
    } else {
        fenced(&memories)
    };
    let mut standing = vec![say!(
        "The person wants: {}",
        "用户想要：{}",
        turn.request.text
    )];
    let job = turn.request.job.as_ref();
    standing.extend(job.map(|job| {
        say!(
            "This is the job {job}, whose time has come: do it, and notify the person.",
            "这是到了时间的任务 {job}：完成它，并通知用户。"
        )
    }));
    standing.extend(
        turn.intent
            .as_ref()
            .map(|intent| say!("Intent: {}", "意图：{}", json!(intent))),
    );
    if !turn.plan.is_empty() {
        standing.push(say!(
            "Plan, which guides and does not bind:",
            "计划，供参考，不强制："
        ));
    }
    if !turn.source.is_empty() {
        standing.push(say!(
            "What {} says was noted, as its words and not as the person's.",
            "已记下 {} 里写的内容，注明出自这个文件，不算用户说的话。",
            turn.source
        ));
    }
    let steps = turn.plan.iter().enumerate();
    standing.extend(steps.map(|(at, step)| line(at, step, turn.followed)));
    stage
        .compacted(&agent.compaction)
        .source(results(), made)
        .source(memory(), memories)
        .state(standing.join("\n"))
}

fn line(at: usize, step: &TurnStep, followed: usize) -> String {
    let mark = if at < followed {
        say!("done", "已完成")
    } else {
        say!("to do", "待做")
    };
    say!("{}. ({mark}) {}", "{}.（{mark}）{}", at + 1, json!(step))
}

/// Returns the instruction of a stage, with the form of its answer.
pub fn asked(what: &str, outline: &str) -> String {
    say!(
        "{what}\nAnswer with one JSON object and nothing else. Its keys:\n{outline}",
        "{what}\n只用一个 JSON 对象回答，不要写别的。它的键：\n{outline}"
    )
}
