//! Our clients and programs against servers and models of others.
mod aimock;
mod llama;
mod planner;
mod react;
mod steward;
mod transparent;
