#![doc = include_str!("../README.md")]

mod app;
mod archive;
mod backup;
mod chat;
mod check;
mod command;
mod copy;
mod difference;
mod error;
mod flags;
mod follow;
mod inspect;
mod model;
mod observe;
mod open;
#[cfg(feature = "otlp")]
mod otlp;
mod people;
mod reply;
mod resources;
mod retention;
mod serve;
mod service;
mod session;
mod signals;
mod store;
mod story;
mod tables;
mod terminal;
mod threads;
mod trace;
mod whole;

pub use app::App;
pub use command::{CliCommand, Format, SayArgs};
pub use error::CliError;
pub use flags::{Flags, Provider, thread_name};
pub use fugato_text::{Lang, UnknownLang};
pub use open::Resources;
pub use people::{PeopleCommand, PersonLimits};
pub use resources::{Folders, ThreadResources};
pub use service::{IntoService, WithRoutes};
pub use session::ChatSession;
pub use store::without_password;
pub use tables::{Tables, TablesError};
pub use terminal::{Terminal, announce, notice};
