//! The conversation of a client that names none, by the card or question that it repeats.
use std::{
    collections::VecDeque,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use fugato_graph::ThreadStatus;
use fugato_state::Interrupt;
use fugato_store::{Status, ThreadFilter};
use fugato_stream::card_text;
use serde_json::Value;

use crate::{
    Caller, ThreadAccess, TimelineItem,
    address::{Address, prefix},
    app_state::AppState,
    consent::{has_word, last_of_the_assistant},
    error::ApiResult,
    incoming,
};

/// The age of the oldest conversation that is looked at.
const AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// The largest number of waiting conversations that are looked at, the newest first.
const MOST: usize = 50;
/// The largest number of lists of conversations that are read.
const LISTS: usize = 20;

/// Returns the conversation that waits with the card or question which the client repeats among the
/// assistant's messages; none if it repeats none, or if several wait with the same words. Of several the
/// one that was shown last is meant.
///
/// A client of OpenAI's protocol knows no conversation, and sends all that was said along. Its person
/// answers what was shown there last, or names the code of an earlier card, which waits while other words
/// are said. A question may be asked in any conversation, so it is that of the thread only if the client
/// repeats what was said there, too.
pub(crate) async fn conversation(
    app_state: &AppState,
    caller: &Caller,
    request: &Value,
) -> ApiResult<Option<Address>> {
    let messages = request.get("messages").and_then(Value::as_array);
    let messages = messages.map_or(&[][..], Vec::as_slice);
    if last_of_the_assistant(messages).is_none() {
        return Ok(None);
    }
    let shown: Vec<String> = said_by("assistant", messages).collect();
    let words = messages.last().map(incoming::words).unwrap_or_default();
    let Some(threads) = app_state.agent.admin() else {
        return Ok(None);
    };
    let mut filter = ThreadFilter::default();
    filter.prefix = prefix(caller);
    // Names that are generated begin with the time, and no other conversation is without a name.
    let since = SystemTime::now().duration_since(UNIX_EPOCH + AGE);
    let since = format!("{:012x}", since.unwrap_or_default().as_millis());
    filter.after = Some(Address::new(caller, &since)?.thread);
    let begins = filter.prefix.len();
    let mut waiting = VecDeque::new();
    for _ in 0..LISTS {
        let found = threads.list(filter.clone()).await?;
        filter.after = found.last().map(|it| it.thread.clone());
        let is_last = found.len() < filter.limit;
        let open = found
            .into_iter()
            .filter(|it| matches!(it.status, Status::Waiting { .. }));
        waiting.extend(open.map(|it| it.thread));
        waiting.drain(..waiting.len().saturating_sub(MOST));
        if is_last {
            break;
        }
    }
    let (mut last, mut meant) = (0, None);
    for thread in waiting.iter().rev() {
        let name = thread.as_str().get(begins..).unwrap_or_default();
        let Ok(to) = app_state.find(caller, name, ThreadAccess::Write).await else {
            continue;
        };
        let ThreadStatus::Waiting(open) = app_state.agent.standing(&to.thread).await? else {
            continue;
        };
        let shown = open
            .iter()
            .filter_map(|asked| place(&shown, &words, asked))
            .max();
        let Some((at, is_card)) = shown.filter(|(at, _)| *at >= last) else {
            continue;
        };
        if is_card || is_repeated(app_state, &to, messages).await? {
            meant = (at > last).then_some(to);
            last = at;
        }
    }
    Ok(meant)
}

/// Returns the texts of the messages of a role, oldest first.
fn said_by<'m>(role: &'m str, messages: &'m [Value]) -> impl Iterator<Item = String> + 'm {
    let is_of = move |message: &&Value| message.get("role").and_then(Value::as_str) == Some(role);
    messages.iter().filter(is_of).map(incoming::words)
}

/// Returns the number, from 1, of the message that is answered, and true for an approval: the last of
/// all, if it has the text of an approval or ends with that of a question; or an earlier one with the
/// approval whose code is among the words.
fn place(shown: &[String], words: &str, asked: &Interrupt) -> Option<(usize, bool)> {
    let text = card_text(asked);
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    if asked.question.digest.is_some() {
        let at = shown.iter().rposition(|shown| shown.contains(text))? + 1;
        let is_named = || has_word(&words.to_uppercase(), &asked.id.code());
        return (at == shown.len() || is_named()).then_some((at, true));
    }
    let is_last = shown.last()?.trim_end().ends_with(text);
    is_last.then_some((shown.len(), false))
}

/// Returns true if the client repeats all that the person has said in a thread, in the order in which
/// it was said.
async fn is_repeated(app_state: &AppState, to: &Address, messages: &[Value]) -> ApiResult<bool> {
    let Some(head) = app_state.agent.log().head(&to.thread).await? else {
        return Ok(false);
    };
    let items = app_state.agent.timeline(&to.thread, &head).await?;
    let own = items.into_iter().filter_map(|entry| match entry.item {
        TimelineItem::UserText { text } => Some(text),
        _ => None,
    });
    let own: Vec<_> = own.collect();
    // The last message answers.
    let before = messages.split_last().map_or(&[][..], |(_, before)| before);
    let mut said = said_by("user", before);
    let repeated = |text: &String| said.any(|said| said.trim() == text.trim());
    Ok(!own.is_empty() && own.iter().all(repeated))
}
