mod copy;

use std::sync::Arc;

use fugato_state::Millis;
use fugato_store::{
    DocKey, DocStore, DocStoreExt as _, InvalidName, Namespace, Precondition, StoreError,
    StoreErrorKind,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{MemoryUpdate, PreferenceUpdate, Preferences, TaskDecision, TaskState, TaskUpdate};

pub use copy::{PersonCopy, PersonUpdate};

/// The memory layers of a person across sessions, task and preferences: documents under keys, in
/// one namespace for all people.
///
/// A session takes a copy. It stores its changes by applying them to the current document, so that
/// concurrent sessions lose no change of each other. An empty task is stored as an empty string.
///
/// ```
/// use std::sync::Arc;
/// use fugato_memory::{MemoryUpdate, PersonLayers, TaskUpdate};
/// use fugato_store::MemoryDocs;
///
/// # futures::executor::block_on(async {
/// let people = PersonLayers::new(Arc::new(MemoryDocs::default()));
/// let learnt = |fact: &str| MemoryUpdate::Task(TaskUpdate::Learnt { fact: fact.into(), at: 7 });
/// people.apply("ada", &[learnt("trades by day")]).await?;
/// people.apply("ada", &[learnt("is new to this")]).await?; // another session
/// let (task, preferences) = people.recall("ada").await?;
/// assert_eq!(task.facts, ["trades by day", "is new to this"]);
/// assert_eq!(preferences.iter().count(), 0);
///
/// let stored = people.document(&PersonLayers::task_key("ada")).await?;
/// assert_eq!(stored.unwrap_or_default()["important_facts"][0], "trades by day");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).expect("it is stored");
/// ```
#[derive(derive_more::Debug, Clone)]
#[debug("PersonLayers {{ .. }}")]
pub struct PersonLayers {
    docs: Arc<dyn DocStore>,
    admits: Arc<Admits>,
}

type Admits = dyn Fn(TaskUpdate) -> TaskUpdate + Send + Sync;

/// The namespace of the keys.
const CONFIG: &str = "config";
/// The most attempts of one change, if other writers get in between.
const TRIES: usize = 32;

impl PersonLayers {
    /// Creates the layers over a document store.
    pub fn new(docs: Arc<dyn DocStore>) -> Self {
        let admits = Arc::new(|update| update);
        Self { docs, admits }
    }

    fugato_state::setters! {
        /// Sets a filter for task changes, to keep out what can be looked up at any time. Only its
        /// result is stored.
        pub fn admitting(admits: impl Fn(TaskUpdate) -> TaskUpdate + Send + Sync + 'static) {
            admits = Arc::new(admits)
        }
    }

    /// Returns the key of a person's task.
    pub fn task_key(person: &str) -> String {
        format!("agent_task_state_{person}")
    }

    /// Returns the key of a person's preferences.
    pub fn preference_key(person: &str) -> String {
        format!("agent_preferences_{person}")
    }

    /// Reads the task and the preferences of a person; the defaults if nothing is stored.
    pub async fn recall(&self, person: &str) -> Result<(TaskState, Preferences), StoreError> {
        let (task, _) = self.read::<StoredTask>(&Self::task_key(person)).await?;
        let (preferences, _) = self.read(&Self::preference_key(person)).await?;
        Ok((task.into(), preferences))
    }

    /// Applies changes to the stored documents, and retries if another writer gets in between.
    /// Changes of other layers are ignored.
    pub async fn apply(&self, person: &str, updates: &[MemoryUpdate]) -> Result<(), StoreError> {
        let (mut tasks, mut wishes): (Vec<TaskUpdate>, Vec<PreferenceUpdate>) = (vec![], vec![]);
        for update in updates {
            match update {
                MemoryUpdate::Task(update) => tasks.push((self.admits)(update.clone())),
                MemoryUpdate::Preference(update) => wishes.push(update.clone()),
                _ => {}
            }
        }
        if !tasks.is_empty() {
            let merge = |stored: StoredTask| {
                let mut task = TaskState::from(stored);
                for update in &tasks {
                    task.apply(update.clone());
                }
                if task.is_empty() {
                    Value::String(String::new())
                } else {
                    json(StoredTask::from(task))
                }
            };
            self.change(&Self::task_key(person), merge).await?;
        }
        if !wishes.is_empty() {
            let merge = |mut preferences: Preferences| {
                for update in &wishes {
                    preferences.apply(update.clone());
                }
                json(preferences)
            };
            self.change(&Self::preference_key(person), merge).await?;
        }
        Ok(())
    }

    /// Returns the stored document under a key as it is.
    pub async fn document(&self, key: &str) -> Result<Option<Value>, StoreError> {
        let (space, key) = place(key)?;
        Ok(self.docs.get(&space, &key).await?.map(|doc| doc.value))
    }

    async fn read<T: Default + DeserializeOwned>(
        &self,
        key: &str,
    ) -> Result<(T, Precondition), StoreError> {
        let (space, key) = place(key)?;
        let Some(doc) = self.docs.get(&space, &key).await? else {
            return Ok((T::default(), Precondition::Absent));
        };
        let expect = Precondition::Version(doc.version);
        if doc.value.as_str() == Some("") {
            return Ok((T::default(), expect));
        }
        let value = serde_json::from_value(doc.value).map_err(|error| {
            let what = "it is not what this key is for".to_owned();
            StoreError::new(StoreErrorKind::Corrupt(what), "get")
                .on_document(&space, &key)
                .because(error)
        })?;
        Ok((value, expect))
    }

    async fn change<T: Default + DeserializeOwned>(
        &self,
        name: &str,
        merge: impl Fn(T) -> Value,
    ) -> Result<(), StoreError> {
        let (space, key) = place(name)?;
        let mut tries = 1;
        loop {
            let (stored, expect) = self.read(name).await?;
            match self.docs.put_if(&space, &key, merge(stored), expect).await {
                Err(error) if error.is_conflict() && tries < TRIES => tries += 1,
                written => return written.map(drop),
            }
        }
    }
}

fn place(key: &str) -> Result<(Namespace, DocKey), StoreError> {
    let invalid = |error: InvalidName| {
        let what = format!("{key:?} cannot be a key");
        StoreError::new(StoreErrorKind::Invalid(what), "get").because(error)
    };
    let space = Namespace::new([CONFIG]).map_err(invalid)?;
    Ok((space, DocKey::new(key).map_err(invalid)?))
}

fn json(value: impl Serialize) -> Value {
    serde_json::to_value(value).expect("strings, numbers and lists of them are JSON")
}

/// A stored task, under the names that it is stored by.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredTask {
    current_goal: String,
    active_flow: String,
    open_loops: Vec<String>,
    important_facts: Vec<String>,
    last_decision: Option<StoredDecision>,
    updated_at: Millis,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredDecision {
    action: String,
    reason: String,
    still_valid: bool,
    timestamp: Millis,
}

impl From<StoredTask> for TaskState {
    fn from(stored: StoredTask) -> Self {
        Self {
            goal: stored.current_goal,
            flow: stored.active_flow,
            open_loops: stored.open_loops,
            facts: stored.important_facts,
            decision: stored.last_decision.map(|decision| TaskDecision {
                action: decision.action,
                reason: decision.reason,
                still_valid: decision.still_valid,
            }),
            updated: stored.updated_at,
        }
    }
}

impl From<TaskState> for StoredTask {
    fn from(task: TaskState) -> Self {
        let timestamp = task.updated;
        Self {
            current_goal: task.goal,
            active_flow: task.flow,
            open_loops: task.open_loops,
            important_facts: task.facts,
            last_decision: task.decision.map(|decision| StoredDecision {
                action: decision.action,
                reason: decision.reason,
                still_valid: decision.still_valid,
                timestamp,
            }),
            updated_at: task.updated,
        }
    }
}
