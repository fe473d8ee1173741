//! Slash commands: they are carried out before anything else, and no model is asked.
use fugato::cli::Lang;

use crate::{
    answer::help,
    session::{Session, SessionUpdate, preferred},
    view,
};

/// Returns the changes that a command makes, with the reply to the person; none if the text is no
/// command.
pub fn command(session: &Session, thread: &str, text: &str) -> Option<Vec<SessionUpdate>> {
    let command = text.strip_prefix('/')?;
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let reply = |text: String| SessionUpdate::Replied { text };
    Some(match name {
        "clear" => {
            let told = "The conversation, the work and what I knew of the task are gone; preferences stay.";
            vec![SessionUpdate::Cleared, reply(told.into())]
        }
        "new" => {
            let told = "A new session begins; what I know of you stays.";
            vec![SessionUpdate::Renewed, reply(told.into())]
        }
        "status" | "help" => vec![reply(told(session, thread, text))],
        "prefer" => match rest.split_once('=') {
            Some((name, wish)) if !name.trim().is_empty() && !wish.trim().is_empty() => {
                let told = format!("{}: {}", name.trim(), wish.trim());
                vec![preferred(name.trim(), wish.trim()), reply(told)]
            }
            _ => vec![reply(
                "say what you prefer, such as: /prefer tone = short answers".into(),
            )],
        },
        other => {
            let told = format!(
                "there is no command /{other}; there is: /clear, /help, /new, /prefer, /status"
            );
            vec![reply(told)]
        }
    })
}

/// Returns true if a command only shows something. It is answered while a question waits, and the
/// question stays open.
pub fn only_tells(text: &str) -> bool {
    matches!(text.split_whitespace().next(), Some("/status" | "/help"))
}

/// Returns the output of such a command.
pub fn told(session: &Session, thread: &str, text: &str) -> String {
    match text.split_whitespace().next() {
        Some("/status") => view::status(session, thread),
        _ => help(Lang::of(text)).to_owned(),
    }
}
