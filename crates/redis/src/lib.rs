#![doc = include_str!("../README.md")]

mod admin;
mod check;
mod connection;
mod durability;
mod error;
mod log;
mod options;
mod reply;
mod request;
mod script;

pub use durability::ServerDurability;
pub use log::RedisLog;
pub use options::RedisOptions;
