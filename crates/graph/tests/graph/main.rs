//! Tests of graphs through their runner, in one binary.

mod golden;
mod in_place;
mod language;
mod late_actions;
mod lease;
mod midway;
mod misread;
mod preview;
mod reach;
mod repeats;
mod stack;
