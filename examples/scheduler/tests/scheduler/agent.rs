//! The requirements of the agent, topic by topic.
mod anything;
mod classification;
mod compaction;
mod crashes;
mod decisions;
mod drafts;
mod hands;
mod hostile;
mod language;
mod limits;
mod planning;
mod prompts;
mod recovery;
mod routes;
mod state;
mod statuses;
mod wiring;
