mod event;
mod request;

pub use event::EventDecoder;
pub(super) use request::body;

/// The name under which the blocks of this protocol are kept with a message.
const PROTOCOL: &str = "anthropic";
