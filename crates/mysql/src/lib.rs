#![doc = include_str!("../README.md")]

mod append;
mod clock;
mod durability;
mod error;
mod lease;
mod log;
mod options;
mod pool;
mod row;
mod schema;
mod server;
mod sql;
mod tables;
mod threads;

pub use durability::ServerDurability;
pub use log::MySqlLog;
pub use options::MySqlOptions;
pub use tables::MySqlTables;
