mod event;
mod request;

pub use event::{EventDecoder, MalformedEvent};
pub(crate) use request::body;

/// Under which name the blocks of this protocol are kept with a message.
const PROTOCOL: &str = "anthropic";
