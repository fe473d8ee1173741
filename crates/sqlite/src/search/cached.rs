use std::collections::{BTreeMap, BTreeSet};

use fugato_memory::{IndexUpdate, SearchQuery, VectorError, Vectors};
use fugato_store::StoreErrorKind;
use rusqlite::{Connection, Error};

use super::row;
use crate::{error::Refusal, row::damaged};

/// The vectors of an index, in memory because a search reads all of them.
#[derive(Debug)]
pub(super) struct VectorCache {
    /// The `data_version` of `SQLite` when the vectors were read; it changes when another
    /// connection writes.
    pub(super) seen: i64,
    vectors: Vectors,
    /// The name and the importance of each slot that holds a vector.
    named: Vec<Option<(String, f32)>>,
    slots: BTreeMap<String, usize>,
}

impl VectorCache {
    pub(super) fn load(connection: &Connection, seen: i64) -> Result<Self, Error> {
        let mut cached = Self {
            seen,
            vectors: Vectors::default(),
            named: vec![],
            slots: BTreeMap::new(),
        };
        row::each_vector(connection, |id, name, importance, vector| {
            let slot = slot(id).ok_or_else(|| damaged("an entry has no number"))?;
            cached.vectors.put(slot, &vector).map_err(damaged)?;
            cached.name(slot, &name, importance);
            Ok(())
        })?;
        Ok(cached)
    }

    fn name(&mut self, slot: usize, name: &str, importance: f32) {
        if self.named.len() <= slot {
            self.named.resize(slot + 1, None);
        }
        if let Some(named) = self.named.get_mut(slot) {
            *named = Some((name.to_owned(), importance));
        }
        self.slots.insert(name.to_owned(), slot);
    }

    fn named(&self, slot: usize) -> Option<&(String, f32)> {
        self.named.get(slot)?.as_ref()
    }

    /// Refuses an update that would fail halfway.
    pub(super) fn check(&self, update: &IndexUpdate) -> Result<(), Refusal> {
        let put = update.put.iter().map(|entry| &entry.id);
        let replaced: BTreeSet<&String> = update.remove.iter().chain(put).collect();
        let leaving = replaced
            .iter()
            .filter(|name| self.slots.contains_key(**name));
        let vectors = update
            .put
            .iter()
            .filter_map(|entry| entry.vector.as_deref());
        let checked = self.vectors.check_all(leaving.count(), vectors);
        checked.map_err(refused)
    }

    pub(super) fn put(
        &mut self,
        id: i64,
        name: &str,
        importance: f32,
        vector: &[f32],
    ) -> Result<(), Refusal> {
        let slot = slot(id).ok_or_else(|| Refusal::from(damaged("an entry has no number")))?;
        self.vectors.put(slot, vector).map_err(refused)?;
        self.name(slot, name, importance);
        Ok(())
    }

    pub(super) fn remove(&mut self, id: i64) {
        let Some(slot) = slot(id) else { return };
        self.vectors.remove(slot);
        if let Some((name, _)) = self.named.get_mut(slot).and_then(Option::take) {
            self.slots.remove(&name);
        }
    }

    pub(super) fn nearest(
        &self,
        vector: &[f32],
        query: &SearchQuery,
    ) -> Result<Vec<(String, f64)>, Refusal> {
        let all = query.prefix.is_empty() && query.min_importance <= 0.0;
        let wanted = |slot: usize| {
            // All vectors are named, and the look-up takes longer than the comparison.
            all || self.named(slot).is_some_and(|(name, importance)| {
                *importance >= query.min_importance && name.starts_with(&query.prefix)
            })
        };
        let depth = query.depth();
        let nearest = self
            .vectors
            .nearest(vector, depth, wanted)
            .map_err(refused)?;
        let named = nearest.into_iter().filter_map(|(slot, cosine)| {
            let (name, _) = self.named(slot)?;
            Some((name.clone(), cosine))
        });
        let mut named: Vec<_> = named.collect();
        named.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        named.truncate(depth);
        Ok(named)
    }
}

fn slot(id: i64) -> Option<usize> {
    usize::try_from(id).ok()
}

fn refused(error: VectorError) -> Refusal {
    StoreErrorKind::Invalid(error.to_string()).into()
}
