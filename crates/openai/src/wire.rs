mod chunk;
mod request;

pub use chunk::{ChunkDecoder, MalformedChunk};
pub(crate) use request::body;
