use std::{collections::HashMap, sync::Arc};

use fugato_memory::{Bm25, QueryTerm, SearchQuery};
use rusqlite::{Connection, Error};

use super::row;
use crate::row::damaged;

/// The data for scoring the texts of an index, in memory: the length of each text, and the posting
/// lists that were fetched since the last change.
#[derive(Debug)]
pub(super) struct Texts {
    /// The `data_version` of `SQLite` when the texts were read; it changes when another connection
    /// writes.
    pub(super) seen: i64,
    kept: Vec<Option<StoredText>>,
    count: u32,
    terms: u64,
    lists: HashMap<QueryTerm, Arc<[Posting]>>,
}

#[derive(Debug, Clone)]
struct StoredText {
    name: Arc<str>,
    importance: f32,
    length: u32,
}

/// An occurrence of a term in a text, with the number of times.
#[derive(Debug, Clone, Copy)]
struct Posting {
    slot: usize,
    count: u32,
}

impl Texts {
    pub(super) fn load(connection: &Connection, seen: i64) -> Result<Self, Error> {
        let mut texts = Self {
            seen,
            kept: vec![],
            count: 0,
            terms: 0,
            lists: HashMap::new(),
        };
        row::each_text(connection, |id, name, importance, length| {
            texts.put(id, name, importance, length)
        })?;
        Ok(texts)
    }

    pub(super) fn put(
        &mut self,
        id: i64,
        name: &str,
        importance: f32,
        length: u32,
    ) -> Result<(), Error> {
        let slot = slot(id)?;
        self.lists.clear();
        if self.kept.len() <= slot {
            self.kept.resize(slot + 1, None);
        }
        if let Some(kept) = self.kept.get_mut(slot) {
            *kept = Some(StoredText {
                name: name.into(),
                importance,
                length,
            });
            self.count += 1;
            self.terms += u64::from(length);
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, id: i64) -> Result<(), Error> {
        let slot = slot(id)?;
        self.lists.clear();
        if let Some(kept) = self.kept.get_mut(slot).and_then(Option::take) {
            self.count -= 1;
            self.terms -= u64::from(kept.length);
        }
        Ok(())
    }

    /// Returns the names of the best entries, with their scores. Of equal scores the lesser names
    /// come first.
    pub(super) fn best(
        &mut self,
        connection: &Connection,
        wanted: Vec<QueryTerm>,
        query: &SearchQuery,
    ) -> Result<Vec<(String, f64)>, Error> {
        let bm25 = Bm25::new(self.count, self.terms);
        let (mut scores, mut touched) = (vec![0.0; self.kept.len()], vec![]);
        for wanted in wanted {
            let list = self.list(connection, wanted)?;
            let rarity = bm25.rarity(list.len());
            for &Posting { slot, count } in list.iter() {
                let (Some(Some(kept)), Some(score)) = (self.kept.get(slot), scores.get_mut(slot))
                else {
                    return Err(damaged("a text without an entry"));
                };
                if *score == 0.0 {
                    touched.push(slot);
                }
                *score += bm25.score(rarity, count, kept.length);
            }
        }
        let all = query.prefix.is_empty() && query.min_importance <= 0.0;
        let accepted = |kept: &&StoredText| {
            let important = kept.importance >= query.min_importance;
            all || important && kept.name.starts_with(&query.prefix)
        };
        let mut named: Vec<(&Arc<str>, f64)> = touched
            .into_iter()
            .filter_map(|slot| {
                let kept = self.kept.get(slot)?.as_ref().filter(accepted)?;
                Some((&kept.name, *scores.get(slot)?))
            })
            .collect();
        let order = |a: &(&Arc<str>, f64), b: &(&Arc<str>, f64)| {
            b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0))
        };
        let depth = query.depth();
        if named.len() > depth {
            named.select_nth_unstable_by(depth, order);
            named.truncate(depth);
        }
        named.sort_unstable_by(order);
        let owned = |(name, score): (&Arc<str>, f64)| (name.to_string(), score);
        Ok(named.into_iter().map(owned).collect())
    }

    fn list(
        &mut self,
        connection: &Connection,
        wanted: QueryTerm,
    ) -> Result<Arc<[Posting]>, Error> {
        if let Some(list) = self.lists.get(&wanted) {
            return Ok(Arc::clone(list));
        }
        let list: Arc<[Posting]> = fetch(connection, &wanted)?.into();
        self.lists.insert(wanted, Arc::clone(&list));
        Ok(list)
    }
}

/// Returns the texts that contain a term, in the order of their slots.
fn fetch(connection: &Connection, wanted: &QueryTerm) -> Result<Vec<Posting>, Error> {
    let term = match wanted {
        QueryTerm::Term(term) => term,
        QueryTerm::Beginning(c) => {
            let slots = row::holding(connection, &format!("\"{c}\"*"))?;
            return slots.into_iter().map(once).collect();
        }
    };
    let slots = row::holding(connection, &format!("\"{term}\""))?;
    let mut list: Vec<Posting> = slots.into_iter().map(once).collect::<Result<_, _>>()?;
    for times in 2..=row::COUNTED {
        let more = row::holding(connection, &format!("\"{}\"", row::repeated(term, times)))?;
        if more.is_empty() {
            break;
        }
        for id in more {
            let slot = slot(id)?;
            if let Ok(at) = list.binary_search_by_key(&slot, |posting| posting.slot)
                && let Some(posting) = list.get_mut(at)
            {
                posting.count = times;
            }
        }
    }
    Ok(list)
}

fn once(id: i64) -> Result<Posting, Error> {
    let slot = slot(id)?;
    Ok(Posting { slot, count: 1 })
}

fn slot(id: i64) -> Result<usize, Error> {
    usize::try_from(id).map_err(|_| damaged("an entry has no number"))
}
