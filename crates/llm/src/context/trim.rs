//! Which messages are left out of a request that is too long.

use fugato_state::{Message, Role, TokenCount};

use crate::ChatRequest;

/// Says in the place of the beginning of a message that it was longer.
const CUT: &str = "[…]\n";

/// The tokens of a request, tools included.
pub(super) fn tokens(request: &ChatRequest, count: &dyn TokenCount) -> u64 {
    let tools = request.tools.iter().map(|tool| {
        let schema = count.text(&tool.parameters.as_value().to_string());
        count.text(&tool.name) + count.text(&tool.description) + schema
    });
    count.messages(&request.messages) + tools.sum::<u64>()
}

/// Leaves out the oldest messages until so many tokens are left; otherwise the tokens that remain.
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
                // Of a long text the end is worth more than nothing.
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

/// Messages that are sent together or not at all.
struct Group {
    messages: Vec<Message>,
    stays: bool,
}

/// A call and its results are a group. What the system says stays, and so do the last words of the
/// person and the newest group.
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

/// Cuts the beginning of a text, by whole lines where there are some, so that so many tokens less
/// remain.
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

/// The last place at or before this one at which a text can be cut.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
