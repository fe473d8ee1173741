use std::sync::Arc;

use crate::machine::{Names, TaskPath};

/// The address of a scope; none for the graph itself, so that it costs nothing there.
pub(crate) type ScopeAddress = Option<Arc<ScopePlace>>;

/// The address of a subgraph.
#[derive(Debug)]
pub(crate) struct ScopePlace {
    /// The tasks above it, outermost first.
    pub(crate) trail: Box<[TaskPath]>,
    /// The same as text: `outer#1/inner#2[3]`.
    pub(crate) text: Arc<str>,
    pub(crate) names: Arc<Names>,
}

/// Returns the address of the scope under a task.
pub(crate) fn under(
    at: &ScopeAddress,
    parent: &Names,
    task: TaskPath,
    names: Arc<Names>,
) -> Arc<ScopePlace> {
    let name = parent.text(task);
    let (mut trail, text) = match at {
        Some(place) => (place.trail.to_vec(), format!("{}/{name}", place.text)),
        None => (vec![], name),
    };
    trail.push(task);
    Arc::new(ScopePlace {
        trail: trail.into(),
        text: text.into(),
        names,
    })
}

/// Returns the tasks above a scope, outermost first.
pub(crate) fn trail(at: &ScopeAddress) -> &[TaskPath] {
    at.as_ref().map_or(&[], |place| &place.trail)
}
