mod client;
mod suite;
