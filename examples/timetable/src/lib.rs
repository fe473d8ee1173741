#![doc = include_str!("../README.md")]

pub mod calendar;
pub mod schedule;
