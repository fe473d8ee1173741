//! The choice of the messages that are left out of a request that is too long.

use fugato_state::{Message, Role, TokenCount};

use crate::ChatRequest;

/// The mark that replaces the cut beginning of a message.
const CUT: &str = "[…]\n";

/// Returns the number of tokens of a request, tools included.
pub(super) fn tokens(request: &ChatRequest, count: &dyn TokenCount) -> u64 {
    let tools = request.tools.iter().map(|tool| {
        let schema = count.text(&tool.parameters.as_value().to_string());
        count.text(&tool.name) + count.text(&tool.description) + schema
    });
    count.messages(&request.messages) + tools.sum::<u64>()
}

/// Leaves out the oldest messages until at most `room` tokens remain. Returns the number of tokens
/// that remain as the error if that is not possible.
pub(super) fn fit(
    mut request: ChatRequest,
    room: u64,
    count: &dyn TokenCount,
) -> Result<ChatRequest, u64> {
    let mut left = tokens(&request, count);
    if left <= room {
        return Ok(request);
    }
    let mut kept = vec![];
    let mut old = groups(std::mem::take(&mut request.messages)).into_iter();
    for mut group in old.by_ref() {
        let excess = left.saturating_sub(room);
        if excess > 0 && !group.stays {
            let size = count.messages(&group.messages);
            match group.messages.as_mut_slice() {
                // The end of a long text is kept rather than nothing.
                [message] if message.tool_calls.is_empty() && size / 2 > excess => {
                    cut(message, excess, count);
                    left = left - size + count.message(message);
                }
                _ => {
                    left -= size;
                    continue;
                }
            }
        }
        kept.append(&mut group.messages);
    }
    request.messages = kept;
    if left <= room { Ok(request) } else { Err(left) }
}

/// Messages that are sent or left out together.
struct Group {
    messages: Vec<Message>,
    stays: bool,
}

/// Groups messages: a call and its results are one group. System messages, the last message of the
/// user and the newest group stay.
fn groups(messages: Vec<Message>) -> Vec<Group> {
    let last = messages.iter().rposition(|it| it.role == Role::User);
    let mut groups: Vec<Group> = vec![];
    for (at, message) in messages.into_iter().enumerate() {
        match groups.last_mut() {
            Some(group) if message.role == Role::Tool => {
                group.messages.push(message);
            }
            _ => groups.push(Group {
                stays: message.role == Role::System || Some(at) == last,
                messages: vec![message],
            }),
        }
    }
    if let Some(newest) = groups.last_mut() {
        newest.stays = true;
    }
    groups
}

/// Cuts the beginning of a text, at a line break if possible, so that `excess` fewer tokens remain.
fn cut(message: &mut Message, excess: u64, count: &dyn TokenCount) {
    let text = &message.content;
    let goal = count.text(text).saturating_sub(excess + count.text(CUT));
    let (mut low, mut high) = (0, text.len());
    while low < high {
        let middle = boundary(text, low.midpoint(high));
        if count.text(text.get(middle..).unwrap_or_default()) > goal {
            low = middle
                + text
                    .get(middle..)
                    .and_then(|it| it.chars().next())
                    .map_or(1, char::len_utf8);
        } else {
            high = middle;
        }
    }
    let tail = text.get(high..).unwrap_or_default();
    let line = tail.split_once('\n').map(|(_, rest)| rest);
    let tail = line
        .filter(|rest| rest.len() * 2 > tail.len())
        .unwrap_or(tail);
    message.content = format!("{CUT}{tail}");
}

/// Returns the last character boundary at or before this place.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
