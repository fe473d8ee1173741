mod chunk;
mod request;

pub use chunk::ChunkDecoder;
pub(super) use request::body;
