//! Tests of model clients around scripted and recorded models, in one binary.
mod ask;
mod cassette;
mod contract;
mod decorators;
mod guards;
mod limits;
mod models;
mod noisy;
mod real;
mod traced;
