//! The answer without a model: the results that were found, and the actions that were done or not.
use std::fmt::Write as _;

use fugato::{memory::terms, tool::clip};

use crate::{
    agent::{AgentState, CallRecord, TurnStop},
    intent::IntentKind,
};

/// Returns the answer of the turn. `silent` is true if the named model has just failed to answer.
pub fn answer(agent: &AgentState, silent: bool) -> String {
    let (turn, lang) = (&agent.turn, agent.lang);
    let mut text = String::new();
    let mut part = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let gap = if text.is_empty() { "" } else { "\n\n" };
            // Writing to a string cannot fail.
            let _ = write!(text, "{gap}{title}\n{}", lines.join("\n"));
        }
    };
    let memories = turn.memories.iter().take(3);
    let asked = terms(&turn.request.text);
    let memories = memories.map(|memory| {
        let line = best_line(&memory.text, &asked);
        format!("- {line} ({})", memory.id)
    });
    part(lang.pick("I remember:", "记忆里有："), memories.collect());
    for made in turn.done() {
        part(&title(agent, made), vec![made.text.clone()]);
    }
    let failed = turn
        .failed()
        .map(|made| format!("- {}: {}", made.call.name, why(agent, &made.text)));
    let skipped = turn.skipped.iter().map(|why| format!("- {why}"));
    part(
        lang.pick("I could not do this:", "没能做到："),
        failed.chain(skipped).collect(),
    );
    if turn.stop == Some(TurnStop::Moves) {
        let stopped = lang.pick(
            "I stopped: I may not take more steps.",
            "已停止：步数用完了。",
        );
        part(stopped, vec![String::new()]);
    }
    if text.is_empty() {
        nothing(agent, silent || turn.by_rule.is_some())
    } else {
        text.trim_end().to_owned()
    }
}

/// Returns the reason why an action was not done; a declined one is named as such.
fn why(agent: &AgentState, text: &str) -> String {
    if text.starts_with("the person does not agree") {
        return agent
            .lang
            .pick("you did not agree", "您没有同意")
            .to_owned();
    }
    clip(text, 300)
}

/// Returns the line of a found part with most of the words that were asked about; of equals the
/// last, which is the newest.
fn best_line(text: &str, asked: &[String]) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let line = lines.max_by_key(|line| {
        let mut words = terms(line);
        words.retain(|word| asked.contains(word));
        words.sort();
        words.dedup();
        words.len()
    });
    clip(line.unwrap_or_default().trim_start_matches("- "), 200)
}

fn title(agent: &AgentState, made: &CallRecord) -> String {
    let lang = agent.lang;
    match made.call.name.as_str() {
        "list_files" => lang.pick("Files:", "找到的文件：").to_owned(),
        "read_file" => {
            let path = made.call.arguments.get("path");
            format!(
                "{}:",
                path.and_then(|path| path.as_str()).unwrap_or_default()
            )
        }
        "create_cron_job" => lang.pick("It is scheduled:", "已安排：").to_owned(),
        name => format!("{name}:"),
    }
}

/// Returns the answer if nothing was done, with a hint to the person.
fn nothing(agent: &AgentState, instead: bool) -> String {
    let lang = agent.lang;
    let kind = agent.turn.intent.as_ref().map(|intent| intent.intent);
    let text = match kind {
        Some(IntentKind::Remind) => lang.pick(
            "When shall I remind you? Say for instance: every day at 8:30, tomorrow at 15:00, in 10 minutes.",
            "什么时候提醒？比如：每天8点半、明天下午3点、10分钟后。",
        ),
        _ if agent.turn.remembered => lang.pick("I have written it down.", "记下了。"),
        Some(IntentKind::Search | IntentKind::AskMemory) => {
            lang.pick("I found nothing about that, neither in the memory nor in the files.", "记忆和文件里都没有找到相关内容。")
        }
        _ if instead => lang.pick(
            "I could not read this by rules, and did nothing. They find files and notes, remember what you say (“remember that …”), and remind you (“remind me at 15:30 to …”).",
            "按规则没能读懂这句话，什么也没做。规则可以找文件和笔记，记住你说的话（“请记住……”），按时提醒（“明天下午3点提醒我……”）。",
        ),
        _ => lang.pick(
            "I work without a model now, by rules: I find files and notes, remember what you say (“remember that …”), remind you (“remind me at 15:30 to …”), and show every step.",
            "现在没有模型，按规则工作：可以找文件和笔记，记住你说的话（“请记住……”），按时提醒（“明天下午3点提醒我……”），每一步都看得见。",
        ),
    };
    text.to_owned()
}
