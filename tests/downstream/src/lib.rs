//! A small service as somebody else would write it: its own state, node, tool, log and encoder,
//! against the facade alone. An order is checked by a tool, approved by a person, and kept in a file
//! of JSON lines.

mod json_lines;
mod order;
mod telegram;

pub use json_lines::JsonLines;
pub use order::{Change, Order, OrderAgent, Stock, desk};
pub use telegram::Telegram;
