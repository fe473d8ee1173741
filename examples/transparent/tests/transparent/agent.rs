//! The agent over a log in memory: turns, corrections, memory, archives, jobs, crashes.
mod archive;
mod crashes;
mod due;
mod intents;
mod jobs;
mod language;
mod memory;
mod plans;
mod repair;
mod rules;
mod settings;
mod turn;
