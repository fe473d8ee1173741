//! Title and timeline of a conversation that is kept as messages.
use fugato_state::{Message, Role};

use crate::TimelineItem;

/// The longest title, in characters.
const LONGEST: usize = 40;

/// Returns a title for a conversation: the first line of the person's first message, cut short.
pub fn title<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Option<String> {
    let mut asked = messages.into_iter();
    let first = asked.find(|message| message.role == Role::User)?;
    let line = first.content.lines().next()?.trim();
    let mut title: String = line.chars().take(LONGEST).collect();
    if title.len() < line.len() {
        title.push('…');
    }
    Some(title)
}

/// Returns the items of a page's [timeline](crate::ServedAgent::timeline): messages, calls of tools, and
/// their results.
///
/// ```
/// use fugato_axum::{TimelineItem, timeline, title};
/// use fugato_state::Message;
///
/// let messages = [Message::user("Good morning"), Message::assistant("And to you")];
/// assert_eq!(title(&messages).as_deref(), Some("Good morning"));
/// assert!(matches!(timeline(&messages)[..], [TimelineItem::UserText { .. }, TimelineItem::AssistantText { .. }]));
/// ```
pub fn timeline<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<TimelineItem> {
    messages.into_iter().flat_map(TimelineItem::of).collect()
}
