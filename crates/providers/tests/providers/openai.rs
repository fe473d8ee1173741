pub(crate) mod client;
mod embed;
mod hostile;
mod suite;
