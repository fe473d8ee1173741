use std::sync::Arc;

use crate::machine::{Names, Path};

/// The address of a scope; none for the graph itself, so that it costs nothing there.
pub(crate) type At = Option<Arc<Place>>;

/// The address of a subgraph.
#[derive(Debug)]
pub(crate) struct Place {
    /// The tasks above it, outermost first.
    pub(crate) trail: Box<[Path]>,
    /// The same as text: `outer#1/inner#2[3]`.
    pub(crate) text: Arc<str>,
    pub(crate) names: Arc<Names>,
}

/// Returns the address of the scope under a task.
pub(crate) fn under(at: &At, parent: &Names, task: Path, names: Arc<Names>) -> Arc<Place> {
    let name = parent.text(task);
    let (mut trail, text) = match at {
        Some(place) => (place.trail.to_vec(), format!("{}/{name}", place.text)),
        None => (vec![], name),
    };
    trail.push(task);
    Arc::new(Place {
        trail: trail.into(),
        text: text.into(),
        names,
    })
}

/// Returns the tasks above a scope, outermost first.
pub(crate) fn trail(at: &At) -> &[Path] {
    at.as_ref().map_or(&[], |place| &place.trail)
}
