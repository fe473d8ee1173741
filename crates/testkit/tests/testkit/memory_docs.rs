//! The documents in memory keep their contract, and refuse the features that they lack.
use std::sync::Arc;

use fugato_store::{
    Doc, DocEntry, DocFilter, DocHit, DocKey, DocQuery, DocSearch, DocStore, DocStoreExt as _,
    DocWrite, MemoryDocs, Namespace, StoreError, StoreErrorKind, Version,
};
use fugato_testkit::{
    doc::DocFactory,
    log::{OpenError, TestClock},
};

struct InMemory;

#[async_trait::async_trait]
impl DocFactory for InMemory {
    async fn fresh(&self, clock: &TestClock) -> Result<Arc<dyn DocStore>, OpenError> {
        let clock = clock.clone();
        Ok(Arc::new(MemoryDocs::with_clock(move || clock.now())))
    }
}

fugato_testkit::doc_store_suite!(InMemory);

/// Documents whose values hold a text, with a search over them.
struct SearchedDocs(MemoryDocs);

#[async_trait::async_trait]
impl DocStore for SearchedDocs {
    async fn get(&self, space: &Namespace, key: &DocKey) -> Result<Option<Doc>, StoreError> {
        self.0.get(space, key).await
    }

    async fn write(&self, batch: Vec<DocWrite>) -> Result<Vec<Option<Version>>, StoreError> {
        self.0.write(batch).await
    }

    async fn list(
        &self,
        space: &Namespace,
        filter: DocFilter,
    ) -> Result<Vec<DocEntry>, StoreError> {
        self.0.list(space, filter).await
    }

    async fn remove(&self, space: &Namespace) -> Result<(), StoreError> {
        self.0.remove(space).await
    }

    fn searcher(&self) -> Option<&dyn DocSearch> {
        Some(self)
    }
}

#[async_trait::async_trait]
impl DocSearch for SearchedDocs {
    async fn search(&self, space: &Namespace, query: &DocQuery) -> Result<Vec<DocHit>, StoreError> {
        let listed = self.0.list(space, DocFilter::default().values()).await?;
        let holds = |entry: &DocEntry| {
            let text = entry.value.as_ref().and_then(|value| value.as_str());
            text.is_some_and(|text| text.contains(&query.text))
        };
        let hit = |entry| DocHit {
            space: space.clone(),
            entry,
            score: 1.0,
        };
        Ok(listed
            .into_iter()
            .filter(holds)
            .map(hit)
            .take(query.limit)
            .collect())
    }
}

#[tokio::test]
async fn a_store_is_searched_if_it_can_be() -> Result<(), Box<dyn std::error::Error>> {
    let (space, query) = (Namespace::new(["note"])?, DocQuery::new("tea").limit(1));
    let docs = MemoryDocs::default();
    for (key, text) in [("1", "coffee"), ("2", "green tea"), ("3", "tea time")] {
        docs.put(&space, &DocKey::new(key)?, text).await?;
    }
    let refused = docs
        .search(&space, &query)
        .await
        .map_err(|error| error.kind);
    assert_eq!(refused, Err(StoreErrorKind::Unsupported));

    let searched: Arc<dyn DocStore> = Arc::new(SearchedDocs(docs));
    let found = searched.search(&space, &query).await?;
    let found: Vec<_> = found.into_iter().map(|hit| hit.entry.key).collect();
    assert_eq!(found, [DocKey::new("2")?]);
    Ok(())
}

#[tokio::test]
async fn a_value_that_is_no_such_type_is_named() -> Result<(), Box<dyn std::error::Error>> {
    let (docs, space, key) = (
        MemoryDocs::default(),
        Namespace::new(["user", "7"])?,
        DocKey::new("tone")?,
    );
    docs.put(&space, &key, "plain").await?;
    let read = docs.get_as::<u8>(&space, &key).await;
    let expected = "cannot get document \"tone\" of user/7: unreadable: the value is no u8";
    assert_eq!(
        read.map_err(|error| error.to_string()),
        Err(expected.to_owned())
    );
    docs.delete(&space, &key).await?;
    assert_eq!(docs.get_as::<u8>(&space, &key).await?, None);
    Ok(())
}
