//! The tools on small schedules, and the invariants that any sequence of writes keeps.
mod invariants;
mod reads;
mod writes;
