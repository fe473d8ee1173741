#![doc = include_str!("../README.md")]

pub mod agent;
pub mod deps;
pub mod graph;
pub mod intent;
pub mod nodes;
pub mod open;
pub mod plan;
pub mod plugins;
pub mod prompts;
pub mod reminders;
pub mod resources;
pub mod rules;
pub mod served;
pub mod settings;
pub mod tools;
pub mod workspace;
