//! The endpoints, called without a network where none is needed.
#[cfg(test)]
mod amid;
#[cfg(test)]
mod beside;
#[cfg(test)]
mod busy;
#[cfg(test)]
mod colleague;
#[cfg(test)]
mod consent;
#[cfg(test)]
mod consent_broken;
#[cfg(test)]
mod documented;
#[cfg(test)]
mod effort;
#[cfg(test)]
mod ending;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod health;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod live;
#[cfg(test)]
mod malformed;
#[cfg(test)]
mod native;
#[cfg(test)]
mod progress;
#[cfg(test)]
mod protocols;
#[cfg(test)]
mod redaction;
#[cfg(test)]
mod server;
#[cfg(test)]
mod socket;
#[cfg(test)]
mod timeline;
#[cfg(test)]
mod wire;
