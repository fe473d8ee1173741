//! The answer without a model: the results that were found, and the actions that were done or not.
use std::fmt::Write as _;

use fugato::{
    memory::{FoundNote, terms},
    tool::clip,
    words::{ScheduleError, ShortAnswer, courtesy, forget_refusal, to_forget},
};
use serde_json::Value;

use super::{EVERYTHING, reminder, unwanted_notes, words::asked, worth_keeping};
use crate::{
    agent::{AgentState, CallRecord, Lang, TurnState, TurnStop},
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
    let kind = turn.intent.as_ref();
    let forgets = kind.is_some_and(|intent| intent.params.kind == "forget");
    let notes = if forgets { vec![] } else { remembered(agent) };
    part(lang.pick("I remember:", "记忆里有："), notes);
    for made in turn.done().filter(|made| is_told(agent, made)) {
        let told = reminder::on_day(&agent.turn, made, lang);
        let told = told.unwrap_or_else(|| made.for_people().to_owned());
        let told = match near(made) {
            [] => told,
            // The title says that it is a part.
            _ => told
                .split_once('\n')
                .map_or_else(String::new, |(_, files)| files.to_owned()),
        };
        let told = told + &unlisted(agent, made);
        part(&title(agent, made), vec![told]);
    }
    let failed = turn
        .failed()
        .map(|made| format!("- {}: {}", work(agent, &made.call.name), why(agent, made)));
    let skipped = turn.skipped.iter().map(|why| format!("- {why}"));
    part(
        lang.pick("I could not do this:", "没能做到："),
        failed.chain(skipped).collect(),
    );
    let asked = super::behind_files(&turn.request.text);
    let unread = asked.into_iter().flat_map(|(_, questions)| questions);
    let unread = unread.map(|words| format!("- {words}"));
    part(
        lang.pick(
            "I did not understand this, and did nothing of it:",
            "这一部分没听懂，什么也没做：",
        ),
        unread.collect(),
    );
    if turn.stop == Some(TurnStop::Moves) {
        let stopped = lang.pick(
            "I stopped: I may not take more steps.",
            "已停止：步数用完了。",
        );
        part(stopped, vec![String::new()]);
    }
    let text = text.trim_end();
    match turn.remembered {
        _ if text.is_empty() => nothing(agent, silent || turn.by_rule.is_some()),
        true => format!("{}\n\n{text}", written(lang)),
        false => text.to_owned(),
    }
}

/// Returns that a note is written.
fn written(lang: Lang) -> &'static str {
    lang.pick("I have written it down.", "记下了。")
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
    let lines = |memory: &FoundNote| {
        // The part of the file is for programs.
        let file = memory.id.split('#').next().unwrap_or(&memory.id).to_owned();
        let lines = best_lines(memory, &asked).into_iter();
        lines.map(move |line| format!("- {line} ({file})"))
    };
    turn.memories.iter().take(3).flat_map(lines).collect()
}

/// Returns true if a result is a part of the answer, and not only a step towards it.
fn is_told(agent: &AgentState, made: &CallRecord) -> bool {
    let kind = agent.turn.intent.as_ref();
    let kind = kind.map_or("", |intent| intent.params.kind.as_str());
    let files = made.data.get("files").and_then(Value::as_array);
    let is_empty = files.is_some_and(Vec::is_empty);
    match made.call.name.as_str() {
        // One of several files was to be read.
        "list_files" if kind == "read" => {
            let read = agent
                .turn
                .uses
                .iter()
                .any(|made| made.call.name == "read_file");
            !is_empty && !read
        }
        "list_files" if kind == "files" => true,
        "list_files" => !is_empty,
        "search_files" => !is_empty || !near(made).is_empty(),
        "list_cron_jobs" => !matches!(kind, "cancel" | "move"),
        _ => true,
    }
}

/// Returns the files that hold only a part of what a search sought.
fn near(made: &CallRecord) -> &[Value] {
    let near = made.data.get("near").and_then(Value::as_array);
    near.map_or(&[], Vec::as_slice)
}

/// Returns a line that says which of the words that were sought are in nothing that a list of files
/// shows; empty if all of them are, or none was.
fn unlisted(agent: &AgentState, made: &CallRecord) -> String {
    let (turn, lang) = (&agent.turn, agent.lang);
    let intent = turn.intent.as_ref();
    let searches = intent.is_some_and(|it| it.intent == IntentKind::Search);
    let files = made.data.get("files").and_then(Value::as_array);
    let Some(files) = files.filter(|_| searches && made.call.name == "list_files") else {
        return String::new();
    };
    let part = |file: &Value, name: &str| {
        let part = file.get(name).and_then(Value::as_str).unwrap_or_default();
        part.to_lowercase()
    };
    let shown = files
        .iter()
        .flat_map(|file| [part(file, "path"), part(file, "line")]);
    let shown: Vec<String> = shown.collect();
    let mut words = asked(&turn.request.text);
    words.retain(|word| !shown.iter().any(|shown| shown.contains(word.as_str())));
    let words: Vec<String> = words.iter().map(|word| format!("“{word}”")).collect();
    if words.is_empty() {
        return String::new();
    }
    lang.pick(
        format!("\nNothing that is shown here has {}.", words.join(", ")),
        format!("\n这里显示的内容里没有{}。", words.join("、")),
    )
}

/// Returns the answer to a search without a result: the words that it looked for, and what there is
/// to do; none if it looked for nothing.
fn unfound(agent: &AgentState) -> Option<String> {
    let turn = &agent.turn;
    let words = turn.intent.as_ref().map(|intent| &intent.params.keywords);
    let mut words = asked(&words?.join(" "));
    words.dedup();
    let words: Vec<String> = words.iter().map(|word| format!("“{word}”")).collect();
    (!words.is_empty()).then(|| {
        agent.lang.pick(
            format!(
                "I looked for {} in the notes and in the files that I can read, and found none of it. \
                 Other words may find it; “list files” shows what there is.",
                words.join(", ")
            ),
            format!(
                "在笔记和能读的文件里查了{}，都没有找到。换个说法也许能找到；说“列出文件”可以看到有哪些文件。",
                words.join("、")
            ),
        )
    })
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

/// Returns the lines of a found part with most of the words that were asked about, the newest last: of
/// two that contradict one another neither is kept back. The headings above are told only if nothing
/// stands below them.
fn best_lines(memory: &FoundNote, asked: &[String]) -> Vec<String> {
    /// The most lines of one part.
    const MOST: usize = 3;
    let below = memory.text.split_once('\n');
    let below = below.filter(|_| !memory.id.contains("#~"));
    let text = below.map_or(&*memory.text, |(_, below)| below);
    let count = |line: &str| {
        let mut words = terms(line);
        words.retain(|word| asked.contains(word));
        words.sort();
        words.dedup();
        words.len()
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let most = lines.clone().map(count).max().unwrap_or(0);
    let best: Vec<_> = lines.filter(|line| count(line) == most).collect();
    // Lines without any of the words say nothing together.
    let told = best.len().saturating_sub(if most == 0 { 1 } else { MOST });
    let told = best.into_iter().skip(told);
    told.map(|line| clip(line.trim_start_matches("- "), 200))
        .collect()
}

fn title(agent: &AgentState, made: &CallRecord) -> String {
    let lang = agent.lang;
    match made.call.name.as_str() {
        "list_files" => {
            let path =
                |made: &CallRecord| Some(made.call.arguments.get("path")?.as_str()?.to_owned());
            let uses = agent.turn.uses.iter();
            let mut asked = uses
                .filter(|made| made.call.name == "list_files")
                .filter_map(path);
            // A list of all files stands in for one of a folder that there is not.
            match asked.next().filter(|_| path(made).is_none()) {
                Some(folder) => lang.pick(
                    format!("There is no folder “{folder}”. All files:"),
                    format!("没有文件夹“{folder}”。所有文件："),
                ),
                None => counted(agent, made),
            }
        }
        "read_file" => {
            let path = made.call.arguments.get("path");
            format!(
                "{}:",
                path.and_then(|path| path.as_str()).unwrap_or_default()
            )
        }
        "search_files" => {
            let found = made.data.get("files").and_then(Value::as_array);
            let found = found.filter(|found| !found.is_empty());
            let shown = found.map_or(near(made), Vec::as_slice);
            let lacks = |file: &Value| -> Vec<String> {
                let words = file.get("lacks").and_then(Value::as_array);
                let words = words.into_iter().flatten().filter_map(Value::as_str);
                words.map(|word| format!("“{word}”")).collect()
            };
            let all: Vec<Vec<String>> = shown.iter().map(lacks).collect();
            let mut words = all.first().cloned().unwrap_or_default();
            words.retain(|word| all.iter().all(|lacks| lacks.contains(word)));
            match &*words {
                [] if all.iter().any(Vec::is_empty) => {
                    lang.pick("In the files:", "文件里写着：").to_owned()
                }
                [] => lang
                    .pick(
                        "No file has all of it; these are near:",
                        "没有文件提到全部内容；这些相近：",
                    )
                    .to_owned(),
                words => lang.pick(
                    format!(
                        "No file has all of it; these are near, but without {}:",
                        words.join(", ")
                    ),
                    format!(
                        "没有文件提到全部内容；这些相近，但没有完整的{}：",
                        words.join("、")
                    ),
                ),
            }
        }
        "create_cron_job" => lang.pick("It is scheduled:", "已安排：").to_owned(),
        "list_cron_jobs" => lang.pick("Reminders and jobs:", "提醒和任务：").to_owned(),
        "cancel_cron_job" => lang.pick("Cancelled:", "已取消：").to_owned(),
        "forget" => lang.pick("Forgotten:", "已忘掉：").to_owned(),
        name => format!("{}:", work(agent, name)),
    }
}

/// Returns the title of a list of files, with their number where that was asked for.
fn counted(agent: &AgentState, made: &CallRecord) -> String {
    let lower = agent.turn.request.text.to_lowercase();
    let asks = ["how many", "几个", "几份", "多少"];
    let files = made.data.get("files").and_then(Value::as_array);
    let count = files.filter(|_| asks.iter().any(|word| lower.contains(word)));
    match count.map(Vec::len) {
        None => agent.lang.pick("Files:", "找到的文件：").to_owned(),
        Some(1) => agent.lang.pick("1 file:", "1 个文件：").to_owned(),
        Some(many) => agent
            .lang
            .pick(format!("{many} files:"), format!("{many} 个文件：")),
    }
}

/// Returns the answer if nothing was done, with a hint to the person.
fn nothing(agent: &AgentState, instead: bool) -> String {
    let lang = agent.lang;
    let intent = agent.turn.intent.as_ref();
    let kind = intent.map_or("", |intent| intent.params.kind.as_str());
    let polite = courtesy(&agent.turn.request.text).filter(|_| !agent.turn.remembered);
    if let Some(courtesy) = polite {
        return courtesy.reply(lang).to_owned();
    }
    if ShortAnswer::of(&agent.turn.request.text).is_some() {
        let text = lang.pick(
            "Nothing waits for an answer, and nothing was done.",
            "现在没有等待回答的事，什么也没做。",
        );
        return text.to_owned();
    }
    let text = match (intent.map(|intent| intent.intent), kind) {
        (_, "condition") => lang.pick(
            "I cannot tell whether that holds, so nothing is scheduled and nothing was done. Say a day and a time without the condition.",
            "无法判断这个条件是否成立，所以没有安排，什么也没做。请不带条件，直接说日期和时间。",
        ),
        (_, "waived") => return not_left_out(agent),
        (_, "several") => return one_by_one(agent),
        (_, "other") => lang.pick(
            "I can remind only you, and nobody else, so nothing is scheduled.",
            "我只能提醒您本人，不能提醒别人，所以没有安排。",
        ),
        (_, "count") => lang.pick(
            "I cannot count the words of a file, and did nothing. I can list, read and search files.",
            "我不能统计文件的字数，什么也没做。可以列出、读取和查找文件。",
        ),
        (_, "forget") if super::kind::forgets_all(&agent.turn.request.text.to_lowercase()) => lang.pick(
            "I cannot forget everything at once, and nothing was forgotten. What I remember stands in notes/MEMORY.md, where you can delete any line; “forget that …” deletes one.",
            "不能一次忘掉全部，什么都没有忘掉。记住的内容都在 notes/MEMORY.md 里，您可以删掉任何一行；说“忘掉……”可以删掉一条。",
        ),
        (Some(IntentKind::Remind), _) => {
            let asks = lacking(&agent.turn, lang);
            let kept = lang.pick("I have written down the rest. ", "其余的记下了。");
            let kept = if agent.turn.remembered { kept } else { "" };
            return format!("{kept}{asks}");
        }
        (_, "move") => {
            return match reminder::moved(&agent.turn) {
                Some(Err(error)) => no_time(Some(error), lang),
                _ => no_such_job(agent),
            };
        }
        (_, "cancel") => return no_such_job(agent),
        _ if !agent.turn.source.is_empty() => {
            let source = &agent.turn.source;
            return lang.pick(
                format!("I have written down what {source} says, as its words and not as yours."),
                format!("已记下 {source} 里写的内容，注明出自这个文件，不算您说的话。"),
            );
        }
        _ if agent.turn.remembered => written(lang),
        (_, "forget") => return not_forgotten(agent),
        (_, "clock") => return clock(agent),
        (_, "impossible") if !instead => lang.pick(
            "I cannot do that, and did nothing: I neither write, rename nor delete files, nor send anything or run commands. I list, read and find files and notes, remember what you say (“remember that …”), and remind you (“remind me at 15:30 to …”).",
            "这件事我不能做，什么也没做：我不写入、改名或删除文件，也不发送内容、不运行命令。我可以列出、读取和查找文件与笔记，记住你说的话（“请记住……”），按时提醒（“明天下午3点提醒我……”）。",
        ),
        (_, "plugin") => lang.pick(
            "I cannot do that: it names no plugin that runs here, and nothing was done. Those that run are in the folder plugins/, and config.toml grants them what they may do.",
            "这件事我不能做：这句话没有提到能运行的插件，什么也没做。能运行的在 plugins/ 文件夹里，config.toml 规定它们可以做什么。",
        ),
        (_, "corrected") => lang.pick(
            "This corrects what stands before it, or what was said before, and I cannot tell which part. Nothing was written down or done: say it once more as a whole, without the correction. “Forget that …” removes an old note.",
            "这句话更正了前面的内容，按规则分不清改的是哪一部分。什么也没记，什么也没做：请不带更正，把正确的内容完整说一遍。说“忘掉……”可以删掉旧的笔记。",
        ),
        (_, "compare") => lang.pick(
            "By rules I cannot compare files by their size or age. Ask for all of them, or for those of one kind.",
            "按规则不能比较文件的大小和新旧。可以列出所有文件，或某一类文件。",
        ),
        (_, "except") => lang.pick(
            "By rules I cannot leave out some files. Ask for all of them, or for those of one kind.",
            "按规则不能排除某些文件。可以列出所有文件，或某一类文件。",
        ),
        (Some(IntentKind::Search | IntentKind::AskMemory), _) | (_, "read")
            if let Some(text) = unfound(agent) =>
        {
            return text;
        }
        // It is no wish, and yet it is kept: that is said.
        _ if let Some(noticed) = worth_keeping(&agent.turn) => {
            return lang.pick(
                format!("I have noted “{noticed}” in notes/MEMORY.md, and did nothing else. “Forget that …” removes it."),
                format!("已把“{noticed}”记在 notes/MEMORY.md 里，别的什么也没做。说“忘掉……”可以删掉。"),
            );
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

/// Returns the answer to a reminder that comes again, but not on some day.
fn not_left_out(agent: &AgentState) -> String {
    let words = super::waived(&agent.turn.request.text).map_or("", |(_, words)| words);
    agent.lang.pick(
        format!(
            "A reminder that comes again leaves no day out (“{words}”), so nothing is scheduled. Say the \
             days on which I shall remind you."
        ),
        format!("反复的提醒不能空出某一天（“{words}”），所以没有安排。请直接说要在哪几天提醒。"),
    )
}

/// Returns the answer to several wishes of which nothing was done.
fn one_by_one(agent: &AgentState) -> String {
    let wishes = super::several(&agent.turn.request.text);
    let wishes: Vec<_> = wishes.iter().map(|it| format!("“{it}”")).collect();
    agent.lang.pick(
        format!(
            "These are several wishes. Nothing was done; say one after the other: {}.",
            wishes.join(", ")
        ),
        format!(
            "这里有几件事，什么也没做。请一件一件说：{}。",
            wishes.join("、")
        ),
    )
}

/// Returns the time at which the turn began, in the zone of the person.
fn clock(agent: &AgentState) -> String {
    let now = reminder::began(&agent.turn);
    let sign = ["一", "二", "三", "四", "五", "六", "日"];
    let day = usize::try_from(now.weekday().to_monday_zero_offset());
    let day = day.ok().and_then(|day| sign.get(day)).copied();
    let day = day.unwrap_or_default();
    agent.lang.pick(
        now.strftime("It is %A, %F, %H:%M.").to_string(),
        format!(
            "{}，星期{day}，{}。",
            now.strftime("%F"),
            now.strftime("%H:%M")
        ),
    )
}

/// Returns true for a question about what the agent does, or a greeting before it.
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

/// Returns the answer to a wish that something is not remembered, if no note was forgotten.
fn not_forgotten(agent: &AgentState) -> String {
    let (turn, lang) = (&agent.turn, agent.lang);
    let notes = unwanted_notes(turn);
    if let Some(refusal) = forget_refusal(&turn.request.text, lang).filter(|_| notes.is_empty()) {
        return refusal;
    }
    let unwanted = to_forget(&turn.request.text);
    let Some(unwanted) = unwanted.filter(|unwanted| !unwanted.is_empty()) else {
        let text = lang.pick(
            "I have written nothing down of this. What I remember stands in notes/MEMORY.md, where you can delete any line; “forget that …” deletes one.",
            "这句话我没有记下。记住的内容都在 notes/MEMORY.md 里，您可以删掉任何一行；说“忘掉……”可以删掉一条。",
        );
        return text.to_owned();
    };
    if notes.is_empty() {
        return lang.pick(
            format!("I remember nothing about “{unwanted}”, so nothing was forgotten."),
            format!("我没有记住关于“{unwanted}”的内容，所以什么都没有忘掉。"),
        );
    }
    let notes: Vec<String> = notes.iter().map(|note| format!("- {note}")).collect();
    let which = lang.pick(
        "Which one? Nothing was forgotten yet:",
        "忘掉哪一条？现在还什么都没有忘掉：",
    );
    format!("{which}\n{}", notes.join("\n"))
}

/// Returns the question for what a reminder lacks: its time, or what it is of.
fn lacking(turn: &TurnState, lang: Lang) -> String {
    let due = reminder::due(turn);
    let params = turn.intent.as_ref().map(|intent| &intent.params);
    let is_of_nothing = params.is_some_and(|it| reminder::task_of(turn, it).is_none());
    if due.is_ok() && is_of_nothing {
        let what = lang.pick(
            "What shall I remind you of? Nothing is scheduled yet.",
            "提醒您做什么？现在还没有安排。",
        );
        return what.to_owned();
    }
    no_time(due.err(), lang)
}

/// Returns the answer to a reminder whose time cannot be used.
fn no_time(error: Option<ScheduleError>, lang: Lang) -> String {
    match error {
        Some(ScheduleError::Past) => lang.pick(
            "That time is in the past, so nothing is scheduled. When shall I remind you?".to_owned(),
            "这个时间已过，没有安排。什么时候提醒？".to_owned(),
        ),
        Some(ScheduleError::NoHour) => lang.pick(
            "At what time of the day shall I remind you? Nothing is scheduled yet.".to_owned(),
            "几点提醒？现在还没有安排。".to_owned(),
        ),
        Some(ScheduleError::SeveralTimes(part)) => lang.pick(
            format!("A reminder has one time, and “{part}” is another, so nothing is scheduled. Ask for one reminder after the other."),
            format!("一个提醒只有一个时间，而“{part}”是另一个，所以没有安排。请一个一个地说。"),
        ),
        Some(ScheduleError::Unclear(part)) => lang.pick(
            format!("“{part}” is no time that I understand, so nothing is scheduled. When shall I remind you?"),
            format!("“{part}”不是我能听懂的时间，所以没有安排。什么时候提醒？"),
        ),
        _ => lang.pick(
            "When shall I remind you? Say for instance: every day at 8:30, tomorrow at 15:00, in 10 minutes.".to_owned(),
            "什么时候提醒？比如：每天8点半、明天下午3点、10分钟后。".to_owned(),
        ),
    }
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
            // Words that are about nothing, or about several, do not say which.
            let several = reminder::is_vague(&agent.turn);
            let told = if several {
                lang.pick(
                    "Which one? Nothing was changed yet:",
                    "是哪一个？现在还没有改动：",
                )
            } else {
                lang.pick(
                    "There is no such reminder. There are:",
                    "没有这样的提醒。现有：",
                )
            };
            format!("{told}\n{}", made.for_people())
        }
    }
}
