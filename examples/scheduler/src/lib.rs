#![doc = include_str!("../README.md")]

pub mod agent;
#[cfg(feature = "caldav")]
pub mod caldav;
pub mod calendar;
pub mod clock;
mod compact;
pub mod contract;
pub mod deps;
pub mod draft;
#[cfg(feature = "evening")]
pub mod evening;
mod failure;
mod gates;
pub mod graph;
pub mod keywords;
pub mod llm_config;
pub mod nodes;
mod plain;
pub mod prompts;
mod prose;
mod reason;
pub mod recall;
pub mod remote;
pub mod report;
pub mod results;
pub mod route;
pub mod rules;
mod scope;
pub mod served;
pub mod service;
pub mod store;
pub mod task_class;
pub mod tools;
pub mod transfer;
pub mod understand;
mod wish;

pub use timetable::schedule;
