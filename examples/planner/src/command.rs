//! Slash commands: they are carried out before anything else, and no model is asked.
use fugato::{cli::Lang, state::State as _};

use crate::{
    answer::help,
    session::{PlannerSession, SessionUpdate, preferred},
    view,
};

/// Returns the changes that a command makes, with the reply to the person; none if the text is no
/// command.
pub fn command(session: &PlannerSession, thread: &str, text: &str) -> Option<Vec<SessionUpdate>> {
    let command = text.strip_prefix('/')?;
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let lang = language(session, text);
    let reply = |en: &str, zh: &str| SessionUpdate::Replied {
        text: lang.pick(en, zh).to_owned(),
    };
    Some(match name {
        "clear" => {
            let told = reply(
                "The conversation, the work and what I knew of the task are gone; preferences stay.",
                "对话、任务和与任务有关的记忆都已清空；偏好还在。",
            );
            vec![SessionUpdate::Cleared, told]
        }
        "new" => {
            let told = reply(
                "A new session begins; what I know of you stays.",
                "新的会话开始了；我记得的关于您的事还在。",
            );
            vec![SessionUpdate::Renewed, told]
        }
        "status" | "help" => {
            let text = told(session, thread, text);
            vec![SessionUpdate::Replied { text }]
        }
        "prefer" => match rest.split_once('=') {
            Some((name, wish)) if !name.trim().is_empty() && !wish.trim().is_empty() => {
                let (name, wish) = (name.trim(), wish.trim());
                let en = format!("{name}: {wish}");
                vec![
                    preferred(name, wish),
                    reply(&en, &format!("记住了，{name}：{wish}")),
                ]
            }
            _ => vec![reply(
                "say what you prefer, such as: /prefer tone = short answers",
                "请说明偏好，例如：/prefer 语气 = 简短",
            )],
        },
        other => {
            let all = "/clear, /help, /new, /prefer, /status";
            let en = format!("there is no command /{other}; there is: {all}");
            vec![reply(&en, &format!("没有命令 /{other}；现有：{all}"))]
        }
    })
}

/// Returns the language of a command: that of its own words, or of the conversation.
fn language(session: &PlannerSession, text: &str) -> Lang {
    match Lang::of(text) {
        Lang::Zh => Lang::Zh,
        Lang::En => session.lang(),
    }
}

/// Returns true if a command only shows something. It is answered while a question waits, and the
/// question stays open.
pub fn only_tells(text: &str) -> bool {
    matches!(text.split_whitespace().next(), Some("/status" | "/help"))
}

/// Returns the output of such a command.
pub fn told(session: &PlannerSession, thread: &str, text: &str) -> String {
    let lang = language(session, text);
    match text.split_whitespace().next() {
        Some("/help") => help(lang, true),
        _ => view::status(session, thread, lang),
    }
}
