use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;
use fugato_state::Millis;
use fugato_store::{
    Doc, DocEntry, DocFilter, DocKey, DocStore, DocWrite, Namespace, StoreError, StoreErrorKind,
    Version,
};
use serde_json::Value;

use super::DocFlaw;
use crate::log::TestClock;

/// A store in memory with a flaw.
#[derive(Debug)]
pub(super) struct BrokenStore {
    flaw: DocFlaw,
    clock: TestClock,
    docs: Mutex<Docs>,
}

#[derive(Debug, Default)]
struct Docs {
    kept: BTreeMap<(String, DocKey), Doc>,
    version: u64,
    newest: Millis,
    /// The documents before the last write, for readers that see it later.
    before: BTreeMap<(String, DocKey), Doc>,
}

impl BrokenStore {
    pub(super) fn new(flaw: DocFlaw, clock: &TestClock) -> Self {
        Self {
            flaw,
            clock: clock.clone(),
            docs: Mutex::default(),
        }
    }

    fn has(&self, flaw: DocFlaw) -> bool {
        self.flaw == flaw
    }

    fn open(&self) -> (MutexGuard<'_, Docs>, Millis) {
        let mut docs = self.docs.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = self.clock.now();
        docs.newest = docs.newest.max(shown);
        let now = if self.has(DocFlaw::FollowsClock) {
            shown
        } else {
            docs.newest
        };
        (docs, now)
    }

    fn address(&self, space: &Namespace, key: &DocKey) -> (String, DocKey) {
        let path = space.as_str();
        let folded = self.has(DocFlaw::FoldsCase).then(|| path.to_lowercase());
        (folded.unwrap_or_else(|| path.to_owned()), key.clone())
    }

    fn is_there(&self, doc: &Doc, now: Millis) -> bool {
        let now = now - Millis::from(self.has(DocFlaw::ExpiresLate));
        self.has(DocFlaw::IgnoresTtl) || !doc.has_expired(now)
    }

    fn check(&self, docs: &Docs, write: &DocWrite, now: Millis) -> Result<(), StoreError> {
        let unchecked = self.has(DocFlaw::LosesUpdate)
            || self.has(DocFlaw::DeletesAnything) && write.value.is_none();
        if unchecked {
            return Ok(());
        }
        let there = docs.kept.get(&self.address(&write.space, &write.key));
        let there =
            there.filter(|doc| self.has(DocFlaw::ComparesExpired) || self.is_there(doc, now));
        let checked = write.expect.check(there.map(|doc| doc.version));
        checked.map_err(|kind| StoreError::new(kind, "write").on_document(&write.space, &write.key))
    }

    fn apply(&self, docs: &mut Docs, write: &DocWrite, now: Millis) -> Option<Version> {
        let address = self.address(&write.space, &write.key);
        docs.before = docs.kept.clone();
        let old = if write.value.is_none() && self.has(DocFlaw::KeepsDeleted) {
            None
        } else {
            docs.kept.remove(&address)
        };
        let value = self.keep(write.value.clone()?);
        let version = if self.has(DocFlaw::CountsAnew) {
            old.as_ref().map_or(1, |old| old.version.0 + 1)
        } else {
            docs.version += 1;
            docs.version
        };
        let inherited = old.filter(|_| self.has(DocFlaw::InheritsTtl));
        let expires = write.ttl.map(|ttl| now.saturating_add(ttl));
        let doc = Doc {
            value,
            version: Version(version),
            written: now,
            expires: expires.or(inherited.and_then(|old| old.expires)),
        };
        docs.kept.insert(address, doc);
        Some(Version(version))
    }

    /// Returns a value as the flaw stores it.
    fn keep(&self, value: Value) -> Value {
        match value {
            Value::Number(number) if self.has(DocFlaw::RoundsNumbers) => {
                number.as_f64().map_or(Value::Null, Value::from)
            }
            Value::String(text) if self.has(DocFlaw::DropsControls) => {
                text.replace(char::is_control, "").into()
            }
            other => other,
        }
    }

    fn compare(&self, batch: &[DocWrite]) -> Result<Millis, StoreError> {
        let (docs, now) = self.open();
        if !self.has(DocFlaw::WritesHalf) {
            batch
                .iter()
                .try_for_each(|write| self.check(&docs, write, now))?;
        }
        Ok(now)
    }

    fn set(&self, batch: &[DocWrite], now: Millis) -> Result<Vec<Option<Version>>, StoreError> {
        let (mut docs, _) = self.open();
        if !self.has(DocFlaw::WritesHalf) && !self.has(DocFlaw::ComparesTooEarly) {
            batch
                .iter()
                .try_for_each(|write| self.check(&docs, write, now))?;
        }
        let mut answers = vec![];
        for write in batch {
            if self.has(DocFlaw::WritesHalf) {
                self.check(&docs, write, now)?;
            }
            answers.push(self.apply(&mut docs, write, now));
        }
        Ok(answers)
    }

    /// Returns true if the batch is to be written.
    fn accept(&self, batch: &[DocWrite]) -> Result<bool, StoreError> {
        match DocWrite::encode(batch) {
            Ok(_) => Ok(true),
            Err(StoreError {
                kind: StoreErrorKind::TooLarge { .. },
                ..
            }) if self.has(DocFlaw::SwallowsLarge) => Ok(false),
            Err(error) if error.document.is_some() && self.has(DocFlaw::WritesTwice) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl DocStore for BrokenStore {
    async fn get(&self, space: &Namespace, key: &DocKey) -> Result<Option<Doc>, StoreError> {
        let (docs, now) = self.open();
        let docs = if self.has(DocFlaw::Lags) {
            &docs.before
        } else {
            &docs.kept
        };
        let doc = docs.get(&self.address(space, key));
        Ok(doc.filter(|doc| self.is_there(doc, now)).cloned())
    }

    async fn write(&self, batch: Vec<DocWrite>) -> Result<Vec<Option<Version>>, StoreError> {
        if !self.accept(&batch)? {
            return Ok(vec![None; batch.len()]);
        }
        let now = self.compare(&batch)?;
        match self.flaw {
            DocFlaw::ComparesTooEarly => tokio::task::yield_now().await,
            DocFlaw::ShowsHalf => {
                let mut answers = vec![];
                for write in &batch {
                    answers.push(self.apply(&mut self.open().0, write, now));
                    // Long enough for a reader on a busy machine to see half a batch.
                    tokio::time::sleep(std::time::Duration::from_millis(2)).await;
                }
                return Ok(answers);
            }
            _ => {}
        }
        self.set(&batch, now)
    }

    async fn list(
        &self,
        space: &Namespace,
        filter: DocFilter,
    ) -> Result<Vec<DocEntry>, StoreError> {
        let (docs, now) = self.open();
        let (path, _) = self.address(space, &DocKey::new("k").expect("one letter is a key"));
        let within = format!("{path}/");
        let within = |other: &str| self.has(DocFlaw::ListsWithin) && other.starts_with(&within);
        let matching = docs.kept.iter().filter(|((space, key), doc)| {
            let there = self.has(DocFlaw::CountsExpired) || self.is_there(doc, now);
            (*space == path || within(space)) && there && self.matches(&filter, key)
        });
        let values = filter.values || self.has(DocFlaw::ShowsValues);
        let mut entries: Vec<_> = matching
            .map(|((_, key), doc)| DocEntry {
                key: key.clone(),
                value: values.then(|| doc.value.clone()),
                version: doc.version,
                written: doc.written,
                expires: doc.expires,
            })
            .collect();
        if self.has(DocFlaw::ListsBackwards) {
            entries.reverse();
        }
        let more = usize::from(self.has(DocFlaw::ListsPastLimit));
        entries.truncate(filter.limit.saturating_add(more));
        if self.has(DocFlaw::CountsExpired) {
            entries.retain(|entry| entry.expires.is_none_or(|expires| expires > now));
        }
        Ok(entries)
    }

    async fn remove(&self, space: &Namespace) -> Result<(), StoreError> {
        let path = self
            .address(space, &DocKey::new("k").expect("one letter is a key"))
            .0;
        let within = format!("{path}/");
        let (mut docs, _) = self.open();
        docs.kept.retain(|(other, _), _| match self.flaw {
            DocFlaw::RemovesNeighbours => !other.starts_with(&path),
            DocFlaw::RemovesShallow => *other != path,
            _ => *other != path && !other.starts_with(&within),
        });
        Ok(())
    }
}

impl BrokenStore {
    fn matches(&self, filter: &DocFilter, key: &DocKey) -> bool {
        match self.flaw {
            DocFlaw::RepeatsLast => filter.after.as_ref() == Some(key) || filter.matches(key),
            DocFlaw::MatchesPatterns => {
                let (prefix, mut name) = (filter.prefix.chars(), key.as_str().chars());
                let mut like =
                    prefix.map(|want| name.next().is_some_and(|c| want == '_' || want == c));
                like.all(|fits| fits) && filter.after.as_ref().is_none_or(|after| key > after)
            }
            _ => filter.matches(key),
        }
    }
}
