#![doc = include_str!("web/README.md")]

mod allowed;
mod client;
#[cfg(feature = "web-http")]
mod http;
mod tool;

pub use allowed::{AllowedHosts, NotAllowed};
pub use client::{FetchFailure, Web, WebHit};
#[cfg(feature = "web-http")]
pub use http::{BadSearchUrl, HttpWeb};
pub use tool::{WebFetch, WebFetchArgs, WebSearch, WebSearchArgs};
