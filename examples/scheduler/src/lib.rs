//! A scheduling agent: it places what you want to do around what you have to attend.

pub mod calendar;
pub mod schedule;
