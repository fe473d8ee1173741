//! Tests of the tools, in one binary.

#[cfg(feature = "file")]
mod file;
#[cfg(feature = "web-http")]
mod web_http;
