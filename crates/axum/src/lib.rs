#![doc = include_str!("../README.md")]

mod address;
mod ag_ui;
mod agent;
mod ai_sdk;
mod body;
mod caller;
mod chat;
mod collect;
mod connection;
mod erased;
mod error;
mod follow;
mod guard;
mod health;
mod inspect;
mod limits;
mod load;
mod log_key;
mod named;
mod native;
mod office;
mod openai;
mod page;
mod progress;
mod relay;
mod routes;
mod said;
mod serve;
mod socket;
mod speak;
mod talk;
mod threads;
mod timeline;

/// The head of a request, for [`Authenticate`].
pub use ::axum::http::request::Parts;
pub use agent::{Access, Agent, Heard, Said, Unusable, belongs};
pub use caller::{Authenticate, Caller, Denied, Everyone, InvalidTenant, Tenant};
pub use error::ApiError;
pub use limits::Limits;
pub use page::{Asset, Page};
pub use progress::progress;
pub use routes::AgentRoutes;
pub use serve::serve;
pub use speak::{Spoken, Unsaid, say};
pub use talk::{timeline, title};
pub use timeline::{Asked, Confirm, Item};
