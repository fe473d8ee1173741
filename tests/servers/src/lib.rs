//! Private servers for tests, of databases, of models, of tools and of engines: each in a folder of
//! its own, on a free port of the loopback interface, and gone when the test program is, however it
//! ends.
//!
//! A server whose program is not installed is none: on a developer's machine one line says what to
//! install, and the tests that need it pass. Where the variable `CI` is set they fail.
//!
//! ```
//! # use servers::Postgres;
//! let Some(server) = Postgres::start() else { return };
//! println!("connect to {}", server.url());
//! server.kill9();
//! server.restart();
//! ```

mod aimock;
mod find;
mod guard;
mod llama;
mod mariadb;
mod mcp;
mod moto;
mod postgres;
mod radicale;
mod redis;
mod restate;
mod server;
mod wire;

pub use aimock::Aimock;
pub use find::skipped;
pub use llama::Llama;
pub use mariadb::MariaDb;
pub use mcp::Mcp;
pub use moto::Moto;
pub use postgres::Postgres;
pub use radicale::Radicale;
pub use redis::Redis;
pub use restate::Restate;
pub use server::{Server, free_port};
pub use wire::Wire;
