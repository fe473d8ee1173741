#![doc = include_str!("../README.md")]

pub mod answer;
pub mod command;
pub mod context;
pub mod correction;
pub mod exchange;
pub mod facts;
pub mod graph;
pub mod intent;
mod nodes;
pub mod rules;
pub mod service;
pub mod session;
pub mod terms;
pub mod tools;
pub mod view;
