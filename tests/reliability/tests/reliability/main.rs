//! Processes that are killed, stopped and starved, on every store.
mod clock;
mod disk;
mod kill;
mod memory;
mod placed;
mod resume;
mod servers;
mod share;
mod tls;
