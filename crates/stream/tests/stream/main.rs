//! Tests of encoders and decoders, in one binary.

mod decode;
mod encode;
mod redaction;
