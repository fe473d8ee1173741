#![doc = include_str!("../README.md")]

mod allowed;
#[cfg(feature = "http")]
mod html;
#[cfg(feature = "http")]
mod http;
mod tool;
mod web;

pub use allowed::{AllowedHosts, NotAllowed};
#[cfg(feature = "http")]
pub use http::{BadSearchUrl, HttpWeb};
pub use tool::{WebFetch, WebFetchArgs, WebSearch, WebSearchArgs};
pub use web::{FetchFailure, Web, WebHit};
