//! The progress of a session, for programs and for people.
use fugato::{cli::Lang, memory::Speaker, words::keywords};
use serde_json::{Value, json};

use crate::{facts, session::PlannerSession, tools};

/// Returns the progress of a session's work as a document, under the names that other programs use.
pub fn execution_state(session: &PlannerSession, thread: &str) -> Value {
    let mut document = session.work.document();
    let references = &session.work.execution.references;
    let kinds = facts::all()
        .values()
        .filter_map(|fact| fact.is_named.as_ref());
    let referred = kinds.map(|kind| (kind.clone(), json!(references.get(kind))));
    let id = session.id(thread);
    let plan = format!("{id}/{}", session.message.number);
    let own = [
        ("session_id", json!(id)),
        ("user_id", json!(session.user)),
        ("plan_id", json!(plan)),
        ("current_references", referred.collect()),
        ("updated_at", json!(session.message.at)),
    ];
    document.extend(own.map(|(name, value)| (name.to_owned(), value)));
    Value::Object(document)
}

/// Returns the same for people, in a few lines.
pub fn status(session: &PlannerSession, thread: &str, lang: Lang) -> String {
    let execution = &session.work.execution;
    let word = |value: Value| {
        let word = value.as_str().unwrap_or_default().to_owned();
        let names = WORDS.iter().find(|(en, _)| *en == word);
        lang.pick(word.clone(), names.map_or(word, |(_, zh)| (*zh).to_owned()))
    };
    let status = word(json!(execution.status));
    let goal = if execution.goal.is_empty() {
        lang.pick("nothing", "无")
    } else {
        &execution.goal
    };
    let (id, user) = (session.id(thread), &session.user);
    let mut lines = vec![
        lang.pick(
            format!("session {id} of {user}"),
            format!("会话 {id}，属于 {user}"),
        ),
        lang.pick(
            format!("work: {goal} ({status})"),
            format!("任务：{goal}（{status}）"),
        ),
    ];
    let steps = session.work.steps.iter().map(|step| {
        let tool = tool(&step.draft.tool_name, lang);
        let words = [word(json!(step.draft.kind)), tool, word(json!(step.status))];
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        format!("  {} {}", step.id, words.join(" "))
    });
    lines.extend(steps);
    if let Some(waiting) = &execution.waiting {
        let question = &waiting.question;
        lines.push(lang.pick(
            format!("waits for an answer: {question}"),
            format!("等待回答：{question}"),
        ));
    }
    let (turns, facts) = (session.history.turns().len(), &session.person.task.facts);
    let wishes = session.person.preferences.iter().count();
    lines.push(lang.pick(
        format!("turns kept: {turns}"),
        format!("保留的对话：{turns}"),
    ));
    lines.push(lang.pick(
        format!("facts known of you: {}, preferences: {wishes}", facts.len()),
        format!("记得关于您的事：{}，偏好：{wishes}", facts.len()),
    ));
    lines.join("\n")
}

/// Returns what people call a tool.
fn tool(name: &str, lang: Lang) -> String {
    let known = tools::WORDS.iter().find(|(tool, ..)| *tool == name);
    known.map_or_else(
        || name.to_owned(),
        |(_, en, zh)| lang.pick(*en, *zh).to_owned(),
    )
}

/// The statuses and kinds of steps in Chinese.
const WORDS: [(&str, &str); 12] = [
    ("planning", "规划中"),
    ("running", "进行中"),
    ("waiting_user", "等待回答"),
    ("waiting_user_confirmation", "等待确认"),
    ("completed", "完成"),
    ("failed", "未完成"),
    ("pending", "待办"),
    ("tool", "工具"),
    ("reason", "思考"),
    ("ask_user", "提问"),
    ("respond", "回答"),
    ("idle", "空闲"),
];

/// Returns what the person said last in this conversation.
pub(crate) fn said(session: &PlannerSession, lang: Lang) -> String {
    /// The most messages.
    const MOST: usize = 5;
    let turns = session.history.turns().iter();
    let turns = turns.filter(|turn| turn.by == Speaker::User);
    let said: Vec<_> = turns.map(|turn| format!("- {}", turn.text)).collect();
    let last = said
        .get(said.len().saturating_sub(MOST)..)
        .unwrap_or_default();
    if last.is_empty() {
        let none = lang.pick(
            "You have said nothing here before.",
            "您在这里还没有说过什么。",
        );
        return none.to_owned();
    }
    let last = last.join("\n");
    lang.pick(format!("You said:\n{last}"), format!("您说过：\n{last}"))
}

/// Returns everything that is kept of the person.
pub fn kept(session: &PlannerSession, lang: Lang) -> String {
    kept_about(session, "", lang)
}

/// Returns what is kept of the person about something: all of it if that is empty.
pub fn kept_about(session: &PlannerSession, about: &str, lang: Lang) -> String {
    let wishes = session.person.preferences.iter();
    let wishes = wishes.map(|(name, wish)| format!("{name}: {wish}"));
    let facts = session.person.task.facts.iter().cloned();
    let words = keywords(about);
    let is_about = |line: &String| {
        let line = line.to_lowercase();
        about.is_empty() || line.contains(about) || words.iter().any(|word| line.contains(word))
    };
    let mut all: Vec<String> = facts.chain(wishes).collect();
    if all.is_empty() {
        let zh = "没有记过关于您的事。可以说“记住……”，或用 /prefer。";
        let en = "Nothing is kept of you yet: say \"remember that …\", or use /prefer.";
        return lang.pick(en, zh).to_owned();
    }
    all.retain(is_about);
    if all.is_empty() {
        return nothing_kept(session, about, lang);
    }
    let all = all.join("\n");
    lang.pick(
        format!("You asked me to keep:\n{all}"),
        format!("您让我记住的：\n{all}"),
    )
}

/// Returns that nothing is kept about something, and what is.
pub(crate) fn nothing_kept(session: &PlannerSession, about: &str, lang: Lang) -> String {
    let all = kept(session, lang);
    if about.is_empty() {
        let told = lang.pick(
            "Nothing was forgotten: say what shall be, as in “forget that …”. “/clear” forgets the conversation and all facts.",
            "什么都没有忘：请说明要忘掉什么，例如“忘掉……”。“/clear”会清除对话和所有记住的事。",
        );
        return format!("{told}\n{all}");
    }
    lang.pick(
        format!("Nothing is kept about “{about}”. {all}"),
        format!("没有记过关于“{about}”的事。{all}"),
    )
}
