use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

/// The writes that a program has tried, by their keys: one that is tried again under its key is the
/// same. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct KeyedWrites(Arc<Mutex<BTreeMap<String, Value>>>);

impl KeyedWrites {
    /// Notes that this content is written under a key.
    pub fn note(&self, key: impl Into<String>, content: impl Into<Value>) {
        let mut writes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writes.insert(key.into(), content.into());
    }

    /// Returns the contents.
    pub fn contents(&self) -> Vec<Value> {
        let writes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writes.values().cloned().collect()
    }
}
