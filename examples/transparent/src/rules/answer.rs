//! The answer without a model: the results that were found, and the actions that were done or not.
use std::fmt::Write as _;

use fugato::{
    memory::{FoundNote, terms},
    tool::clip,
};
use serde_json::Value;

use super::EVERYTHING;
use crate::{
    agent::{AgentState, CallRecord, Lang, TurnStop},
    intent::IntentKind,
    tools::WORDS,
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
    part(lang.pick("I remember:", "记忆里有："), remembered(agent));
    for made in turn.done().filter(|made| is_told(agent, made)) {
        part(&title(agent, made), vec![made.for_people().to_owned()]);
    }
    let failed = turn
        .failed()
        .map(|made| format!("- {}: {}", work(agent, &made.call.name), why(agent, made)));
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

/// Returns the lines of notes that answer: all of them if everything was asked for.
fn remembered(agent: &AgentState) -> Vec<String> {
    let turn = &agent.turn;
    let asked = terms(&turn.request.text);
    if turn.queries.iter().any(|query| query == EVERYTHING) {
        let lines = turn.memories.iter().flat_map(|memory| memory.text.lines());
        let lines = lines.filter(|line| line.trim_start().starts_with("- "));
        return lines.map(|line| clip(line.trim(), 200)).collect();
    }
    let line = |memory: &FoundNote| {
        let line = best_line(&memory.text, &asked);
        format!("- {line} ({})", memory.id)
    };
    turn.memories.iter().take(3).map(line).collect()
}

/// Returns true if a result is a part of the answer, and not only a step towards it.
fn is_told(agent: &AgentState, made: &CallRecord) -> bool {
    let kind = agent.turn.intent.as_ref();
    let kind = kind.map_or("", |intent| intent.params.kind.as_str());
    let files = made.data.get("files").and_then(Value::as_array);
    let is_empty = files.is_some_and(Vec::is_empty);
    match made.call.name.as_str() {
        "list_files" if kind == "read" => false,
        "list_files" if kind == "files" => true,
        "list_files" | "search_files" => !is_empty,
        "list_cron_jobs" => kind != "cancel",
        _ => true,
    }
}

/// Returns the reason why an action was not done; a declined one is named as such.
fn why(agent: &AgentState, made: &CallRecord) -> String {
    if fugato::agent::toolbox::is_declined(&made.text) {
        return agent
            .lang
            .pick("you did not agree", "您没有同意")
            .to_owned();
    }
    clip(made.for_people(), 300)
}

/// Returns what people call the work of a tool; its name if they have no word for it.
fn work<'n>(agent: &AgentState, tool: &'n str) -> &'n str {
    let known = WORDS.iter().find(|(name, ..)| *name == tool);
    known.map_or(tool, |(_, en, zh)| agent.lang.pick(en, zh))
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
        "search_files" => lang.pick("In the files:", "文件里写着：").to_owned(),
        "create_cron_job" => lang.pick("It is scheduled:", "已安排：").to_owned(),
        "list_cron_jobs" => lang.pick("Reminders and jobs:", "提醒和任务：").to_owned(),
        "cancel_cron_job" => lang.pick("Cancelled:", "已取消：").to_owned(),
        name => format!("{}:", work(agent, name)),
    }
}

/// Returns the answer if nothing was done, with a hint to the person.
fn nothing(agent: &AgentState, instead: bool) -> String {
    let lang = agent.lang;
    let intent = agent.turn.intent.as_ref();
    let kind = intent.map_or("", |intent| intent.params.kind.as_str());
    let text = match (intent.map(|intent| intent.intent), kind) {
        (Some(IntentKind::Remind), _) => no_time(&agent.turn.request.text, lang),
        (_, "cancel") => return no_such_job(agent),
        _ if !agent.turn.source.is_empty() => {
            let source = &agent.turn.source;
            return lang.pick(
                format!("I have written down what {source} says, as its words and not as yours."),
                format!("已记下 {source} 里写的内容，注明出自这个文件，不算您说的话。"),
            );
        }
        _ if agent.turn.remembered => lang.pick("I have written it down.", "记下了。"),
        (_, "forget") => lang.pick(
            "I have written nothing down, and cannot delete notes by myself: what I remember stands in notes/MEMORY.md, where you can delete any line.",
            "我没有记下任何内容，也不能自己删除笔记：记住的内容都在 notes/MEMORY.md 里，您可以删掉任何一行。",
        ),
        (_, "plugin") => lang.pick(
            "There is no such plugin here. Those that run are in the folder plugins/, and config.toml grants them what they may do.",
            "没有这样的插件。能运行的插件在 plugins/ 文件夹里，config.toml 规定它们可以做什么。",
        ),
        (_, "except") => lang.pick(
            "By rules I cannot leave out some files. Ask for all of them, or for those of one kind.",
            "按规则不能排除某些文件。可以列出所有文件，或某一类文件。",
        ),
        (Some(IntentKind::Search | IntentKind::AskMemory), _) => {
            lang.pick("I found nothing about that, neither in the memory nor in the files.", "记忆和文件里都没有找到相关内容。")
        }
        _ if instead || !is_talk(&agent.turn.request.text) => lang.pick(
            "I could not understand this by rules, and did nothing. They list, read and find files and notes, remember what you say (“remember that …”), and remind you (“remind me at 15:30 to …”).",
            "按规则没听懂这句话，什么也没做。规则可以列出、读取和查找文件与笔记，记住你说的话（“请记住……”），按时提醒（“明天下午3点提醒我……”）。",
        ),
        _ => lang.pick(
            "I work without a model now, by rules: I list, read and find files and notes, remember what you say (“remember that …”), remind you (“remind me at 15:30 to …”), and show every step.",
            "现在没有模型，按规则工作：可以列出、读取和查找文件与笔记，记住你说的话（“请记住……”），按时提醒（“明天下午3点提醒我……”），每一步都看得见。",
        ),
    };
    text.to_owned()
}

/// Returns true for a greeting, thanks, or a question about what the agent does.
fn is_talk(text: &str) -> bool {
    const TALK: [&str; 20] = [
        "hello",
        "hi",
        "hey",
        "thanks",
        "thank you",
        "good morning",
        "good evening",
        "bye",
        "你好",
        "您好",
        "谢谢",
        "早上好",
        "晚上好",
        "再见",
        "what can you",
        "help",
        "帮助",
        "怎么用",
        "功能",
        "你能做什么",
    ];
    let lower = text.to_lowercase();
    let latin = |word: &str| fugato::words::has_word(&lower, word);
    TALK.iter().any(|word| {
        if word.is_ascii() {
            latin(word)
        } else {
            lower.contains(word)
        }
    })
}

/// Returns the answer to a reminder whose time cannot be used.
fn no_time(text: &str, lang: Lang) -> &'static str {
    let lower = text.to_lowercase();
    let past = ["yesterday", "昨天", "前天", "昨晚", "last week", "上周"];
    if past.iter().any(|word| lower.contains(word)) {
        return lang.pick(
            "That time is in the past, so nothing is scheduled. When shall I remind you?",
            "这个时间已过，没有安排。什么时候提醒？",
        );
    }
    if lower.contains('月') && lower.contains(['日', '号']) {
        return lang.pick(
            "There is no such day and time, so nothing is scheduled. When shall I remind you?",
            "没有这样的日期和时间，所以没有安排。什么时候提醒？",
        );
    }
    lang.pick(
        "When shall I remind you? Say for instance: every day at 8:30, tomorrow at 15:00, in 10 minutes.",
        "什么时候提醒？比如：每天8点半、明天下午3点、10分钟后。",
    )
}

/// Returns the answer to a cancellation that fits no job, with those that there are.
fn no_such_job(agent: &AgentState) -> String {
    let lang = agent.lang;
    let mut done = agent.turn.done();
    let listed = done.find(|made| made.call.name == "list_cron_jobs");
    let some = listed.filter(|made| {
        let jobs = made.data.get("jobs").and_then(Value::as_array);
        jobs.is_some_and(|jobs| !jobs.is_empty())
    });
    match some {
        None => lang
            .pick("There is no reminder.", "没有任何提醒。")
            .to_owned(),
        Some(made) => {
            let told = lang.pick(
                "There is no such reminder. There are:",
                "没有这样的提醒。现有：",
            );
            format!("{told}\n{}", made.for_people())
        }
    }
}
