pub(crate) mod client;
mod suite;
