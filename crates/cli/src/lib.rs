#![doc = include_str!("../README.md")]

mod app;
mod archive;
mod belongings;
mod chat;
mod command;
mod drive;
mod flags;
mod inspect;
mod model;
mod observe;
mod open;
#[cfg(feature = "otlp")]
mod otlp;
mod reply;
mod screen;
mod serve;
mod store;
mod tables;
mod talk;
mod threads;
mod told;
mod trace;
mod wired;

pub use app::App;
pub use belongings::{Folders, ThreadResources};
pub use command::{CliCommand, Format, SayArgs};
pub use flags::{Flags, Provider, thread_name};
pub use fugato_words::{Lang, UnknownLang};
pub use open::Resources;
pub use screen::Screen;
pub use store::without_password;
pub use tables::{Tables, TablesError};
pub use talk::ChatSession;
pub use told::CliError;
pub use wired::{IntoService, WithRoutes};
