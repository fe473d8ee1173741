#![doc = include_str!("../README.md")]

#[macro_use]
mod lang;

pub mod calendar;
pub mod schedule;
